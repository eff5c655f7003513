// CLI: `isthmus agent`: one cluster that has joined a hub in, a process that keeps its services in step with the others'
// until it is stopped out. Of several such processes one works and the others stand by.
//
//   Secret read ─▶ standing by ─▶ leading: Secret read, hub and agent run ─▶ lost: standing by
//        ▲                            │
//        └── joined elsewhere ────────┘

import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { SECRET } from "../api/builtin.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT } from "../api/mcs.ts";
import type { Resource } from "../api/object.ts";
import { isProblem, Problem } from "../api/problem.ts";
import type { Settings } from "../api/settings.ts";
import { startAgent } from "../controllers/agent.ts";
import { keepCredential } from "../controllers/credential.ts";
import { createPolicy, type Policy } from "../core/policy.ts";
import { HUB_SECRET, type HubCredential, parseCredential } from "../hub/credential.ts";
import { createKubernetesHub } from "../hub/kubernetes.ts";
import { AGENT_LEASE } from "../hub/local.ts";
import { renderMemberTokenRequest } from "../hub/manifest/tokenrequest.ts";
import { createClient } from "../kube/client.ts";
import type { ClusterConfig, TokenSupply } from "../kube/connection.ts";
import { describeFailure } from "../kube/failure.ts";
import { requestToken } from "../kube/tokenrequest.ts";
import { sleep } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import { isStoreError, type Store } from "../ports/store.ts";
import { createContact } from "../runtime/contact.ts";
import { type Leadership, runElected } from "../runtime/leader.ts";
import { chooseConfig } from "./cluster.ts";
import type { CliContext } from "./context.ts";
import { describeSource, openBeside } from "./dashboard.ts";
import { renderHubConfig } from "./hubConfig.ts";
import { serveState } from "./metrics.ts";
import { askUntilAnswered } from "./patience.ts";
import type { ProcessState } from "./registry.ts";
import { startTraces, type Traces } from "./traces.ts";

type Credential = HubCredential & { readonly token: string };

const USER_AGENT = "isthmus-agent";
/** How soon somebody who has joined sees it work. */
const MEMBERSHIP_POLL_MS = 5_000;

export async function runAgent(
  context: CliContext,
  flags: Settings["agent"],
  log: Log,
): Promise<void> {
  const { clock, random, signal } = context;
  const policy = createPolicy({
    namespaces: flags.namespaces,
    allowed: flags.allowNamespace,
    denied: flags.denyNamespace,
  });
  const config = chooseConfig(context, flags);
  const state: ProcessState = { measured: undefined, unready: "The agent has not started yet." };
  const listener = await serveState(flags.metricsAddress, state);
  const client = createClient(config, { clock, userAgent: USER_AGENT });
  const identity = `${hostname()}_${randomUUID()}`;
  log.info("agent starts", { server: config.server, metrics: listener.address });
  const traced = { mode: "agent", instance: identity, log } as const;
  const traces = startTraces(context, flags.tracesEndpoint, traced);
  state.spans = traces.counts;
  const undo: (() => Promise<void>)[] = [];
  try {
    // Who stands by shows as much as who works: it reads the same cluster and the same hub.
    const sources = [describeSource(context, { name: "", config, client })];
    const page = { sources, asksHub: true, mode: "isthmus agent", log };
    const dashboard = await openBeside(context, flags, page);
    undo.push(() => dashboard.close());
    // Before anything else: who runs it in a cluster that has not joined learns it from each replica.
    await awaitMembership(context, { store: client, log, state });
    state.unready = "It is not known yet whether another agent works.";
    const onStandingBy = (): void => {
      state.unready = undefined;
    };
    const rules = { lease: AGENT_LEASE, identity, onStandingBy };
    const election = { store: client, clock, random, log, ...rules };
    const lead = (leadership: Leadership): Promise<void> =>
      work(context, { config, policy, log, state, leadership, traces });
    // A term that ends by itself has found that the cluster joined another hub: the next begins there.
    while (!signal.aborted) await runElected(election, lead, signal);
  } catch (error) {
    throw error instanceof Problem ? error : describeFailure(error, { config, nowMs: clock.now() });
  } finally {
    for (const step of undo) await step();
    await client.close();
    await traces.stop();
    await listener.close();
  }
  log.info("agent stops");
}

/** A pod cannot tell its user why it ends, and may have been installed before the cluster joined: it says so, and waits. */
async function awaitMembership(
  context: CliContext,
  options: { readonly store: Store; readonly log: Log; readonly state: ProcessState },
): Promise<void> {
  const { clock, env, signal } = context;
  const { log, state } = options;
  const isInPod = (env["KUBERNETES_SERVICE_HOST"] ?? "") !== "";
  for (let told = ""; ; ) {
    try {
      await readCredential(context, { ...options, signal });
      return;
    } catch (error) {
      if (!isInPod || !isProblem(error, "NotMember")) throw error;
      const hint = 'Run "isthmus join": the agent goes on by itself.';
      state.unready = `The agent waits: ${error.message}. ${hint}`;
      if (error.message !== told) log.warn("agent waits", { error, hint });
      told = error.message;
      await sleep(clock, MEMBERSHIP_POLL_MS, signal);
    }
  }
}

interface Term {
  readonly config: ClusterConfig;
  readonly policy: Policy;
  readonly log: Log;
  readonly state: ProcessState;
  readonly leadership: Leadership;
  readonly traces: Traces;
}

/** One term as the leader. Ends when the term does, or when the cluster has joined another hub. */
async function work(context: CliContext, term: Term): Promise<void> {
  const { clock, random } = context;
  const { log, state, leadership, policy } = term;
  const { signal } = leadership;
  const fence = { clock, userAgent: USER_AGENT, mayWrite: () => leadership.mayWrite() };
  const undo: (() => Promise<void>)[] = [];
  state.unready = "The agent takes over.";
  try {
    const local = createClient(term.config, fence);
    undo.push(() => local.close());
    // Read in every term: the leader before us may have renewed it many times.
    const credential = await readCredential(context, { store: local, log, signal });
    const { cluster } = credential;
    const moved = new AbortController();
    const tokens: TokenSupply = {
      current: () => keeper.current(),
      refresh: (refused) => keeper.refresh(refused),
    };
    const far = createClient(renderHubConfig(context, credential, tokens), fence);
    undo.push(() => far.close());
    const keeper = keepCredential({
      store: local,
      credential,
      requestToken: (bound) => {
        const order = renderMemberTokenRequest(cluster);
        return requestToken(far, order, { nowMs: clock.now(), signal: bound });
      },
      onMoved: () => moved.abort(),
      clock,
      random,
      log,
    });
    undo.push(() => keeper.stop());
    const contact = createContact({ store: far, clock });
    const hub = createKubernetesHub({ cluster, store: contact.store, clock, random, log });
    undo.push(() => hub.stop());
    const prepare = (bound: AbortSignal): Promise<void> => requireDefinitions(local, bound);
    const parts = { cluster, store: local, hub, contact, policy, prepare };
    const { tracer } = term.traces;
    const agent = startAgent({ ...parts, clock, random, log, tracer });
    undo.push(() => agent.stop());
    state.measured = {
      members: () => hub.members(),
      rejectionTotals: () => hub.rejectionTotals(),
      hubSilentMs: () => contact.silentMs(),
      unidentified: () => 0,
      clusters: () => {
        const own = agent.measures();
        const onHub = { watches: hub.watches(), writes: hub.writes() };
        return own === undefined ? [] : [{ ...own, hub: onHub }];
      },
      latencies: () => agent.latencies(),
      explainUnread: () => agent.explainUnread(),
      explainStuck: () => agent.explainStuck(),
    };
    state.unready = undefined;
    await aborted(signal, moved.signal);
    if (moved.signal.aborted) log.warn("cluster joined another hub: the agent starts anew");
  } finally {
    state.measured = undefined;
    state.unready = undefined;
    for (const step of undo.toReversed()) await step();
  }
}

/** Waits for an API server that is away, but not for somebody who never ran `isthmus join`. */
async function readCredential(
  context: CliContext,
  options: { readonly store: Store; readonly log: Log; readonly signal: AbortSignal },
): Promise<Credential> {
  return askUntilAnswered(context, options, () => readSecret(options.store, options.signal));
}

async function readSecret(store: Store, signal: AbortSignal): Promise<Credential> {
  const where = `${HUB_SECRET.namespace}/${HUB_SECRET.name}`;
  const secret = await store.get(SECRET, HUB_SECRET, { signal });
  if (secret === undefined) {
    throw new Problem("NotMember", `this cluster has not joined a hub: no Secret ${where}`, {
      hint: 'Run "isthmus join" with a join token of the hub, then start the agent again.',
    });
  }
  const parsed = parseCredential(secret);
  if (!parsed.ok) {
    const hint = 'Run "isthmus join" again: it writes the Secret anew.';
    throw new Problem("NotMember", parsed.problem, { hint });
  }
  const { token } = parsed.value;
  if (token === undefined) {
    const message = `this cluster has not finished joining: the Secret ${where} has no token`;
    throw new Problem("NotMember", message, {
      hint: 'Run "isthmus join" again: it goes on where it stopped.',
    });
  }
  return { ...parsed.value, token };
}

/** `isthmus join` and the chart install definitions. The agent's own role does not let it, so it does not try. */
async function requireDefinitions(store: Store, signal: AbortSignal): Promise<void> {
  const kinds: readonly Resource[] = [SERVICE_EXPORT, SERVICE_IMPORT];
  for (const kind of kinds) {
    try {
      await store.list(kind, { limit: 1, signal });
    } catch (error) {
      if (!isStoreError(error, "NotFound")) throw error;
      const next = '"isthmus crds install" adds what is missing';
      throw new Error(`the cluster does not know ${kind.kind}s: ${next}`, { cause: error });
    }
  }
}

function aborted(...signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of signals) {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve(), { once: true });
    }
  });
}
