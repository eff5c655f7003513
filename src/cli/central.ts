// CLI: `isthmus central`: kubeconfigs in, one process that keeps all of their clusters' services in step until it is stopped.

import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { MEMBER_CRDS } from "../api/crds.ts";
import type { Settings } from "../api/settings.ts";
import { type Central, startCentral, type CentralMember } from "../controllers/central.ts";
import { installCrds } from "../controllers/crd.ts";
import { createPolicy } from "../core/policy.ts";
import type { FeedSource } from "../dashboard/clusterFeed.ts";
import { createClient, type KubeClient } from "../kube/client.ts";
import { loadKubeconfig } from "../kube/config.ts";
import type { Log } from "../ports/log.ts";
import { type CliContext, untilStopped } from "./context.ts";
import { describeSource, openBeside } from "./dashboard.ts";
import { serveState } from "./metrics.ts";
import type { Measured, ProcessState } from "./registry.ts";
import { requireSources } from "./source.ts";
import { startTraces } from "./traces.ts";

export async function runCentral(
  context: CliContext,
  flags: Settings["central"],
  log: Log,
): Promise<void> {
  const { clock, random, signal } = context;
  const sources = requireSources(flags);
  const clients: KubeClient[] = [];
  const shown: FeedSource[] = [];
  const members = sources.map((source): CentralMember => {
    const config = loadKubeconfig({ ...source, env: context.env, home: context.home });
    const client = createClient(config, { clock, userAgent: "isthmus-central" });
    clients.push(client);
    shown.push(describeSource(context, { ...source, config, client }));
    return {
      name: source.name,
      ...(source.givenId === undefined ? {} : { givenId: source.givenId }),
      store: client,
      ...(flags.installCrds && {
        prepare: async (signal) => {
          await installCrds({ store: client, crds: MEMBER_CRDS, clock, signal });
        },
      }),
    };
  });
  const policy = createPolicy({
    namespaces: flags.namespaces,
    allowed: flags.allowNamespace,
    denied: flags.denyNamespace,
  });
  const state: ProcessState = { measured: undefined, unready: "Central has not started yet." };
  const page = { sources: shown, asksHub: false, mode: "isthmus central", log };
  const undo: (() => Promise<void>)[] = clients.map((client) => () => client.close());
  try {
    const listener = await serveState(flags.metricsAddress, state);
    undo.push(() => listener.close());
    const names = sources.map((source) => source.name);
    log.info("central starts", { members: names, metrics: listener.address });
    const dashboard = await openBeside(context, flags, page);
    undo.push(() => dashboard.close());
    const instance = `${hostname()}_${randomUUID()}`;
    const traced = { mode: "central", instance, log } as const;
    const traces = startTraces(context, flags.tracesEndpoint, traced);
    undo.push(() => traces.stop());
    state.spans = traces.counts;
    const { tracer } = traces;
    const central = startCentral({ members, policy, clock, random, log, tracer });
    undo.push(() => central.stop());
    state.measured = measure(central);
    state.unready = undefined;
    await untilStopped(signal);
    log.info("central stops");
  } finally {
    for (const step of undo.toReversed()) await step();
  }
}

function measure(central: Central): Measured {
  return {
    members: () => central.members(),
    rejectionTotals: () => new Map(),
    // It is in this process.
    hubSilentMs: () => 0,
    unidentified: () => central.unidentified(),
    clusters: () => central.measures(),
    latencies: () => central.latencies(),
    explainUnread: () => central.explainUnread(),
    explainStuck: () => central.explainStuck(),
  };
}
