// Central mode: one process, one store per member, the hub in memory. No member can hold up another: each is identified,
// joined and retried on its own.

import type { ClusterId } from "../api/names.ts";
import { explainStuck } from "../core/health.ts";
import type { LivenessPolicy, MemberContact } from "../core/liveness.ts";
import type { Policy } from "../core/policy.ts";
import { createMemoryHub } from "../hub/memory.ts";
import { type Clock, type Random, sleep } from "../ports/clock.ts";
import { type HubMember, STRANGER } from "../ports/hub.ts";
import type { Log } from "../ports/log.ts";
import { isStoreError, type Store } from "../ports/store.ts";
import type { Tracer } from "../ports/trace.ts";
import { backoffMs } from "../runtime/backoff.ts";
import { runBounded } from "../runtime/bounded.ts";
import { detectFamilies, identifyCluster, type SelfDescription } from "./identify.ts";
import { watchLiveness } from "./liveness.ts";
import { type MemberMeasures, nameQueues } from "./measures.ts";
import { describe, type Member, startMember } from "./member.ts";
import { createLatencies, type Latencies } from "./propagation.ts";

export interface CentralMember {
  /** What the administrator calls it: a kubeconfig or a context. */
  readonly name: string;
  readonly givenId?: string;
  readonly store: Store;
  /** What the cluster needs before it can be joined. Fails while the cluster is unreachable. */
  readonly prepare?: (signal: AbortSignal) => Promise<void>;
}

export interface CentralOptions {
  readonly members: readonly CentralMember[];
  readonly policy: Policy;
  readonly liveness?: LivenessPolicy;
  /** How often each member is asked whether it is there, a tenth more or less; 5 seconds when absent. */
  readonly heartbeatMs?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Absent: nothing is traced. */
  readonly tracer?: Tracer | undefined;
}

export interface Central {
  /** Members that are identified and at work. */
  joined(): readonly ClusterId[];
  isIdle(): boolean;
  members(): readonly HubMember[];
  /** Of those that are at work. */
  measures(): readonly MemberMeasures[];
  latencies(): Latencies;
  /** How many have not said who they are. */
  unidentified(): number;
  /** Why it is of no use yet. Once every cluster was read or did not answer, and one was read, it is: whatever goes away later. */
  explainUnread(): string | undefined;
  /** Why it should be started anew; undefined while everything moves. */
  explainStuck(): string | undefined;
  stop(): Promise<void>;
}

const JOIN_BACKOFF = { baseMs: 500, capMs: 15_000 };
const JOIN_BOUND_MS = 90_000;
const HEARTBEAT_MS = 5_000;
const HEARTBEAT_BOUND_MS = 4_000;
/** A cluster that was silent for so long while it was first read is not waited for. */
const AWAY_MS = 20_000;

export function startCentral(options: CentralOptions): Central {
  const { clock, random, log, heartbeatMs = HEARTBEAT_MS } = options;
  const stopping = new AbortController();
  const { signal } = stopping;
  const running = new Map<ClusterId, Member>();
  /** Members that have not said who they are. */
  const strangers = new Set<CentralMember>(options.members);
  const hub = createMemoryHub(clock, () => strangers.size > 0);
  /** When a member last became one that has not said who it is. */
  let strangeSinceMs = clock.monotonic();
  const latencies = createLatencies();
  const turnedAtMs = new Map(options.members.map(({ name }) => [name, clock.monotonic()]));
  /** Those that have failed to join once: nobody waits for them. */
  const failed = new Set<CentralMember>();
  let isRead = false;

  async function runMember(configured: CentralMember): Promise<void> {
    for (let failures = 1; ; failures += 1) {
      turnedAtMs.set(configured.name, clock.monotonic());
      try {
        const cluster = await join(configured);
        if (cluster === undefined) failed.add(configured);
        if (cluster !== undefined) {
          await beat(cluster, configured);
          if (signal.aborted) return;
          await leave(cluster, configured);
          failures = 1;
        }
      } catch (error) {
        if (signal.aborted) return;
        failed.add(configured);
        log.warn("cluster cannot be joined yet", {
          cluster: configured.name,
          error: describe(error),
        });
      }
      if (!(await pause(backoffMs(JOIN_BACKOFF, failures, random)))) return;
    }
  }

  /** Undefined when the cluster may not be joined as it is; it is asked again, because that can change. */
  async function join(configured: CentralMember): Promise<ClusterId | undefined> {
    const { name, store } = configured;
    const { described, families } = await within(JOIN_BOUND_MS, async (bound) => {
      await configured.prepare?.(bound);
      return {
        described: await identifyCluster(store, configured, bound),
        families: await detectFamilies(store, bound),
      };
    });
    const { identity } = described;
    // It has answered: whether it is let in or not, it is nobody's unknown source any more.
    if (strangers.delete(configured)) hub.reviewMembers();
    if (!identity.ok) {
      log.error("cluster is refused", { cluster: name, problem: identity.problem });
      return undefined;
    }
    const cluster = identity.value;
    if (!hub.admit(cluster)) {
      const problem = `The cluster id "${cluster}" is taken by another member. Give one of the two another id.`;
      log.error("cluster is refused", { cluster: name, problem });
      return undefined;
    }
    // Before anything is written: what was drained when central stopped is drained when it starts.
    noteDrain(cluster, described);
    const member = startMember({
      cluster,
      families,
      store,
      hub,
      policy: options.policy,
      latencies,
      livenessOf: (source) => liveness.livenessOf(running.has(source) ? source : STRANGER),
      clock,
      random,
      log: log.with({ cluster }),
      tracer: options.tracer,
    });
    running.set(cluster, member);
    log.info("cluster joined", { cluster, families, name });
    return cluster;
  }

  /** To change one's id is to leave and to join again (R67). Until it has, its old id counts as not heard yet. */
  async function leave(cluster: ClusterId, configured: CentralMember): Promise<void> {
    log.warn("cluster changed its id", { cluster, name: configured.name });
    strangers.add(configured);
    strangeSinceMs = clock.monotonic();
    await running.get(cluster)?.stop();
    running.delete(cluster);
    hub.dismiss(cluster);
  }

  /** A cluster is heard when its API server answers. Ends when it answers with another id, or when it is time to stop. */
  async function beat(cluster: ClusterId, configured: CentralMember): Promise<void> {
    do {
      turnedAtMs.set(configured.name, clock.monotonic());
      try {
        const described = await within(HEARTBEAT_BOUND_MS, (bound) =>
          identifyCluster(configured.store, configured, bound),
        );
        const { identity } = described;
        // An id that has vanished is no new id: nobody's traffic should depend on it.
        if (identity.ok && identity.value !== cluster) return;
        noteDrain(cluster, described);
        await hub.heartbeat(cluster);
      } catch (error) {
        if (signal.aborted) return;
        // To be turned away is to be answered: its pods are none the worse for what we may not ask, or ask too often.
        if (isStoreError(error, "Forbidden", "TooManyRequests")) await hub.heartbeat(cluster);
        else log.debug("heartbeat missed", { cluster, error: describe(error) });
      }
    } while (await pause(heartbeatMs * (0.9 + 0.2 * random())));
  }

  function noteDrain(cluster: ClusterId, { drain }: SelfDescription): void {
    if (drain === undefined) return;
    const { why } = drain;
    const isDrained = why !== undefined;
    if (hub.isDrained(cluster) === isDrained) return;
    hub.noteDrain(cluster, why);
    log.info(isDrained ? "cluster is drained" : "cluster is not drained any more", {
      cluster,
      ...(isDrained && { why }),
    });
    reviewImports();
  }

  function reviewImports(): void {
    for (const member of running.values()) member.reviewImports();
  }

  function contacts(): readonly MemberContact[] {
    const silentMs = clock.monotonic() - strangeSinceMs;
    return [...hub.members(), ...[...strangers].map(() => ({ cluster: STRANGER, silentMs }))];
  }

  function explainUnread(): string | undefined {
    if (isRead) return undefined;
    const silent = new Set(
      hub.members().flatMap(({ cluster, silentMs }) => (silentMs > AWAY_MS ? cluster : [])),
    );
    const all = [...running];
    const awaited = [...strangers].filter((configured) => !failed.has(configured)).length;
    const unread = all.filter(([cluster, member]) => !member.isRead() && !silent.has(cluster));
    if (awaited + unread.length > 0) {
      return `${awaited + unread.length} of ${options.members.length} clusters have not been read yet.`;
    }
    if (!all.some(([, member]) => member.isRead())) return "No cluster has answered yet.";
    isRead = true;
    return undefined;
  }

  function within<X>(boundMs: number, ask: (signal: AbortSignal) => Promise<X>): Promise<X> {
    return runBounded({ clock, boundMs, stop: signal }, ask);
  }

  /** False when it is time to stop. */
  async function pause(ms: number): Promise<boolean> {
    await sleep(clock, ms, signal).catch(() => undefined);
    return !signal.aborted;
  }

  const liveness = watchLiveness({
    contacts,
    isDrained: (source) => hub.isDrained(source),
    ...(options.liveness === undefined ? {} : { policy: options.liveness }),
    clock,
    onChange: reviewImports,
    log,
  });
  const loops = options.members.map(runMember);

  return {
    joined: () => [...running.keys()],
    members: () => hub.members(),
    measures: () => [...running.values()].map((member) => member.measures()),
    latencies: () => latencies,
    unidentified: () => strangers.size,
    explainUnread,
    explainStuck: () =>
      explainStuck({
        loops: [...turnedAtMs].map(([name, atMs]) => ({
          name: `The loop of "${name}"`,
          stillMs: clock.monotonic() - atMs,
        })),
        queues: [...running].flatMap(([cluster, member]) => nameQueues(cluster, member.queues())),
      }),
    isIdle: () => [...running.values()].every((member) => member.isIdle()),
    async stop() {
      stopping.abort(new Error("stopped"));
      await Promise.all([...loops, liveness.stop()]);
      await Promise.all([...running.values()].map((member) => member.stop()));
    },
  };
}
