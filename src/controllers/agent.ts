// Agent mode: one process per cluster, the hub anywhere. The cluster's store and the hub in; exports, imports, heartbeats
// and liveness kept going out. Neither of the two has to be there: what is missing is waited for.
//
//   prepared ─▶ member at work ─▶ heartbeats while the own API server answers, liveness of the others

import { type IPFamily, SERVICE } from "../api/builtin.ts";
import type { ClusterId } from "../api/names.ts";
import { explainStuck } from "../core/health.ts";
import type { Liveness, LivenessPolicy } from "../core/liveness.ts";
import type { Policy } from "../core/policy.ts";
import { type Clock, type Random, sleep } from "../ports/clock.ts";
import type { KubernetesHub } from "../hub/kubernetes.ts";
import type { Hub } from "../ports/hub.ts";
import type { Log } from "../ports/log.ts";
import { isStoreError, type Store } from "../ports/store.ts";
import type { Tracer } from "../ports/trace.ts";
import { backoffMs } from "../runtime/backoff.ts";
import { runBounded } from "../runtime/bounded.ts";
import type { Contact } from "../runtime/contact.ts";
import { detectFamilies, identifyCluster, type SelfDescription } from "./identify.ts";
import { watchLiveness } from "./liveness.ts";
import { type MemberMeasures, nameQueues } from "./measures.ts";
import { describe, type Member, startMember } from "./member.ts";
import { createLatencies, type Latencies } from "./propagation.ts";

export interface AgentOptions {
  /** The id that the cluster joined under. */
  readonly cluster: ClusterId;
  /** Absent: the cluster is asked. */
  readonly families?: readonly IPFamily[];
  readonly store: Store;
  /** Stays the caller's to stop, after the agent. */
  readonly hub: Pick<KubernetesHub, keyof Hub | "retryNow">;
  /** What the hub's store is reached through, so that nothing is asked of it in vain. */
  readonly contact?: Pick<Contact, "isAway" | "onReturn">;
  readonly policy: Policy;
  readonly liveness?: LivenessPolicy;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Absent: nothing is traced. */
  readonly tracer?: Tracer | undefined;
  /** What the cluster needs before it can be worked on. Fails while the cluster is unreachable. */
  readonly prepare?: (signal: AbortSignal) => Promise<void>;
}

export interface Agent {
  /** Cluster and hub are known, and the hub has been told everything. */
  isSynced(): boolean;
  isIdle(): boolean;
  livenessOf(cluster: ClusterId): Liveness;
  /** Undefined until the cluster can be worked on. */
  measures(): MemberMeasures | undefined;
  latencies(): Latencies;
  /** Why it has not read the cluster and the hub yet; undefined once it has, whatever goes away later. */
  explainUnread(): string | undefined;
  /** Why it should be started anew; undefined while everything moves. */
  explainStuck(): string | undefined;
  stop(): Promise<void>;
}

const PREPARE_BACKOFF = { baseMs: 500, capMs: 15_000 };
const PREPARE_BOUND_MS = 90_000;
const HEARTBEAT_MS = 5_000;
const HEARTBEAT_BOUND_MS = 4_000;
const BEAT_BACKOFF = { baseMs: 2_000, capMs: HEARTBEAT_MS };
/** The other troubles are for a person. */
const PASSES_BY_ITSELF: ReadonlySet<string> = new Set(["hub", "cluster"]);

export function startAgent(options: AgentOptions): Agent {
  const { cluster, store, hub, contact, clock, random } = options;
  const log = options.log.with({ cluster });
  const stopping = new AbortController();
  const { signal } = stopping;
  const say = createTeller(log);
  const latencies = createLatencies();
  let member: Member | undefined;
  let turnedAtMs = clock.monotonic();
  let isHubKnown = false;
  let isDrained = false;
  /** The hub became known since the last heartbeat was sent, which failed for that. */
  let isBeatDue = false;
  let cutPause = (): void => undefined;

  async function run(): Promise<void> {
    const families = await prepare();
    if (families === undefined) return;
    // Before anything is written: else a drained cluster would be used by its own clients until it is known that it is.
    let isAnswering = await isClusterAnswering();
    log.info("agent is at work", { families });
    member = startMember({
      ...options,
      log,
      families,
      latencies,
      livenessOf: (source) => liveness.livenessOf(source),
      ...(contact === undefined ? {} : { isHubAway: () => contact.isAway() }),
    });
    for (let failures = 0; ; isAnswering = await isClusterAnswering()) {
      turnedAtMs = clock.monotonic();
      failures = (await beat(isAnswering)) ? 0 : failures + 1;
      if (!(await pauseAfterBeat(chooseBeatPause(failures)))) return;
    }
  }

  /** One that was lost on its way is made up for at once: three lost in a row must not look like the end of the cluster. */
  function chooseBeatPause(failures: number): number {
    if (failures > 0) return backoffMs(BEAT_BACKOFF, failures, random);
    return HEARTBEAT_MS * (0.9 + 0.2 * random());
  }

  /** Undefined when it is time to stop. */
  async function prepare(): Promise<readonly IPFamily[] | undefined> {
    for (let failures = 1; ; failures += 1) {
      turnedAtMs = clock.monotonic();
      try {
        return await within(PREPARE_BOUND_MS, async (bound) => {
          await options.prepare?.(bound);
          return options.families ?? (await findFamilies(bound));
        });
      } catch (error) {
        if (signal.aborted) return undefined;
        log.warn("cluster cannot be worked on yet", { error: describe(error) });
      }
      if (!(await pause(backoffMs(PREPARE_BACKOFF, failures, random)))) return undefined;
    }
  }

  function noteDrain({ drain }: SelfDescription): void {
    if (drain === undefined) return;
    const { why } = drain;
    hub.noteDrain(cluster, why);
    if (isDrained === (why !== undefined)) return;
    isDrained = why !== undefined;
    log.info(isDrained ? "cluster is drained" : "cluster is not drained any more", {
      ...(why !== undefined && { why }),
    });
    member?.reviewImports();
  }

  async function findFamilies(bound: AbortSignal): Promise<readonly IPFamily[]> {
    try {
      return await detectFamilies(store, bound);
    } catch (error) {
      if (!isStoreError(error, "Forbidden", "Invalid", "BadRequest")) throw error;
      // Who may not try it out takes what the cluster's own Service has: one family, but never a wrong one.
      const { items } = await store.list(SERVICE, {
        namespace: "default",
        fieldSelector: "metadata.name=kubernetes",
        signal: bound,
      });
      const families = items[0]?.spec?.ipFamilies;
      if (families === undefined) throw error;
      log.warn("cluster does not let its IP families be tried out", { error: describe(error) });
      return families;
    }
  }

  /** True when the hub took it. A cluster is heard while its API server answers: an agent that cannot see its pods must not vouch for them. */
  async function beat(isAnswering: boolean): Promise<boolean> {
    isBeatDue = false;
    if (!isAnswering) return false;
    const isTaken = await tellHub();
    reviewMembership();
    return isTaken;
  }

  async function tellHub(): Promise<boolean> {
    try {
      await within(HEARTBEAT_BOUND_MS, (bound) => hub.heartbeat(cluster, bound));
      say("hub", undefined);
      return true;
    } catch (error) {
      if (!signal.aborted) say("hub", `The hub took no heartbeat: ${describe(error)}`);
      return false;
    }
  }

  async function isClusterAnswering(): Promise<boolean> {
    const configured = { name: cluster, givenId: cluster };
    try {
      const described = await within(HEARTBEAT_BOUND_MS, (bound) =>
        identifyCluster(store, configured, bound),
      );
      const { identity } = described;
      noteDrain(described);
      say("cluster", undefined);
      say(
        "identity",
        identity.ok ? undefined : `${identity.problem} It stays "${cluster}", as it joined.`,
      );
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      // To be turned away is to be answered: its pods are none the worse for what we may not ask, or ask too often.
      const isAnswer = isStoreError(error, "Forbidden", "TooManyRequests");
      say("cluster", isAnswer ? undefined : `The API server does not answer: ${describe(error)}`);
      return isAnswer;
    }
  }

  async function awaitHub(): Promise<void> {
    try {
      await hub.whenSynced();
      isHubKnown = true;
      // The others have not heard of this cluster since the agent before us: they should not wait for the next turn.
      isBeatDue = true;
      cutPause();
    } catch (error) {
      log.debug("hub was closed before it was known", { error: describe(error) });
    }
  }

  function reviewMembership(): void {
    say(
      "membership",
      !isHubKnown || !hub.hasStrangers()
        ? undefined
        : `The hub does not know the cluster "${cluster}": it was evicted, or the hub has lost its data. What is imported stays as it is. Join again with "isthmus join", or remove everything with "isthmus leave".`,
    );
  }

  function explainUnread(): string | undefined {
    if (member?.isRead() !== true) return "The cluster has not been read yet.";
    if (isHubKnown) return undefined;
    return "The hub has not been read yet. Until it answers, what is imported stays as it is.";
  }

  function within<X>(boundMs: number, ask: (signal: AbortSignal) => Promise<X>): Promise<X> {
    return runBounded({ clock, boundMs, stop: signal }, ask);
  }

  /** False when it is time to stop. */
  async function pause(ms: number): Promise<boolean> {
    await sleep(clock, ms, signal).catch(() => undefined);
    return !signal.aborted;
  }

  /** The same, but shorter when a heartbeat is due before. */
  async function pauseAfterBeat(ms: number): Promise<boolean> {
    const cut = new AbortController();
    cutPause = () => cut.abort();
    signal.addEventListener("abort", cutPause);
    if (isBeatDue || signal.aborted) cutPause();
    await sleep(clock, ms, cut.signal).catch(() => undefined);
    signal.removeEventListener("abort", cutPause);
    return !signal.aborted;
  }

  const liveness = watchLiveness({
    contacts: () => hub.members(),
    isDrained: (source) => hub.isDrained(source),
    self: cluster,
    ...(options.liveness === undefined ? {} : { policy: options.liveness }),
    clock,
    onChange: () => member?.reviewImports(),
    log,
  });
  const stopListening = contact?.onReturn(() => {
    // What is written to a hub that is not read at the same time is soon written again.
    hub.retryNow();
    member?.retryExports();
    // It may be away again before the next turn, and to the others that would be one long silence.
    isBeatDue = true;
    cutPause();
  });
  void awaitHub();
  const running = run();

  return {
    isSynced: () => member?.isSynced() === true,
    isIdle: () => member?.isIdle() === true,
    livenessOf: (source) => liveness.livenessOf(source),
    measures: () => member?.measures(),
    latencies: () => latencies,
    explainUnread,
    explainStuck: () =>
      explainStuck({
        loops: [{ name: "The loop of heartbeats", stillMs: clock.monotonic() - turnedAtMs }],
        queues: member === undefined ? [] : nameQueues(cluster, member.queues()),
      }),
    async stop() {
      stopping.abort(new Error("stopped"));
      stopListening?.();
      await Promise.all([running, liveness.stop()]);
      await member?.stop();
    },
  };
}

/** Says a thing when it comes, changes or goes, not every time that it is looked at. */
function createTeller(log: Log): (about: string, sentence: string | undefined) => void {
  const said = new Map<string, string>();
  return (about, sentence) => {
    if (said.get(about) === sentence) return;
    if (sentence === undefined) {
      said.delete(about);
      log.info("agent is well again", { about });
      return;
    }
    // Details of the same trouble may differ each time: only the first is worth a line above debug.
    const isNew = !said.has(about);
    said.set(about, sentence);
    const level = !isNew ? "debug" : PASSES_BY_ITSELF.has(about) ? "warn" : "error";
    log[level]("agent is in trouble", { about, problem: sentence });
  };
}
