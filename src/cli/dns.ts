// CLI: `isthmus dns`: one cluster's imported services in, a DNS server for their names until it is stopped out. Started again by itself
// as a server process, it serves and nothing else.
//
//   sockets open (SERVFAIL) ─▶ where it is ─▶ objects read and rendered ─▶ answers, whatever becomes of the API server

import { Registry } from "prom-client";
import { Problem } from "../api/problem.ts";
import type { Settings } from "../api/settings.ts";
import { startFeed, type Feed } from "../dns/feed.ts";
import { createFork, isServerProcess, runServerProcess } from "../dns/fork.ts";
import { registerDnsMetrics } from "../dns/metrics.ts";
import { type Servers, startPool } from "../dns/pool.ts";
import { type Endpoint, formatEndpoint } from "../dns/responder.ts";
import { createDnsServer } from "../dns/server.ts";
import { createClient } from "../kube/client.ts";
import { describeFailure } from "../kube/failure.ts";
import type { Log } from "../ports/log.ts";
import { chooseConfig } from "./cluster.ts";
import { type CliContext, untilStopped } from "./context.ts";
import { type DnsSettings, parseDnsSettings } from "./dnsFlags.ts";
import { readPlace } from "./dnsPlace.ts";
import { serveRegistry } from "./metrics.ts";

export async function runDns(context: CliContext, flags: Settings["dns"], log: Log): Promise<void> {
  const { clock, random, signal } = context;
  if (isServerProcess(context.env)) {
    await runServerProcess({ clock, log, signal });
    return;
  }
  const settings = parseDnsSettings(flags, { random, nowMs: clock.now() });
  const config = chooseConfig(context, flags);
  const startedMs = clock.monotonic();
  const undo: (() => Promise<void>)[] = [];
  try {
    const { servers, at } = await startServers(context, settings, log);
    undo.push(() => servers.stop());
    const served: { feed: Feed | undefined } = { feed: undefined };
    const registry = new Registry();
    registerDnsMetrics(registry, {
      zones: settings.zone.zones,
      servers,
      feed: {
        isSynced: () => served.feed?.isSynced() ?? false,
        ageMs: () => served.feed?.ageMs() ?? clock.monotonic() - startedMs,
      },
    });
    const listener = await serveRegistry(flags.metricsAddress, registry, {
      explainUnready: () => explainUnready(served.feed, servers),
    });
    undo.push(() => listener.close());
    log.info("dns server starts", {
      listen: at.map(formatEndpoint),
      zones: settings.zone.zones,
      processes: settings.processes,
      server: config.server,
      metrics: listener.address,
    });
    const client = createClient(config, { clock, userAgent: "isthmus-dns" });
    undo.push(() => client.close());
    const here = await readPlace(context, flags, { store: client, log });
    const feed = startFeed({
      store: client,
      zone: { ...settings.zone, here },
      serial: settings.server.serial,
      onChange: (change) => servers.replace(change),
      onSynced: () => servers.markSynced(),
      clock,
      random,
      log,
    });
    served.feed = feed;
    undo.push(() => feed.stop());
    await untilStopped(signal);
  } catch (error) {
    if (signal.aborted || error instanceof Problem) throw error;
    throw describeFailure(error, { config, nowMs: clock.now() });
  } finally {
    for (const step of undo.toReversed()) await step();
  }
  log.info("dns server stops");
}

/** In this process, or in others that share its sockets. */
async function startServers(
  { clock, random, signal }: CliContext,
  { server: config, processes }: DnsSettings,
  log: Log,
): Promise<{ readonly servers: Servers; readonly at: readonly Endpoint[] }> {
  const server = createDnsServer(config, { clock, log });
  const at = await server.open();
  if (processes === 1) {
    const servers: Servers = {
      replace: (change) => server.replace(change),
      markSynced: () => server.markSynced(),
      report: () => server.report(),
      processes: () => ({ running: 1, restarts: 0 }),
      stop: () => server.close(),
    };
    return { servers, at };
  }
  // Only to see that the addresses can be had, and which ports were meant: a process that fails later can but try again.
  await server.close();
  const opened = { ...config, listen: at };
  const fork = createFork();
  const isEnding = (): boolean => signal.aborted;
  const options = { processes, config: opened, fork, isEnding, clock, random, log };
  return { servers: startPool(options), at };
}

function explainUnready(feed: Feed | undefined, servers: Servers): string | undefined {
  if (feed === undefined) return "It is not known yet where the server is.";
  const waitsFor = feed.waitsFor();
  if (waitsFor !== undefined) return waitsFor;
  if (servers.processes().running === 0) return "No server process answers.";
  return servers.report().isSynced ? undefined : "The server processes are taking everything in.";
}
