// Test double: candidates for one Lease on an embedded cluster and virtual time. Each is a process of its own: it can
// be suspended, with its timers and the answers it waits for, while the clock goes on, and it can crash.

import type { Lease } from "../src/api/builtin.ts";
import { LEASE } from "../src/api/builtin.ts";
import type { EmbeddedCluster } from "../src/embedded/cluster.ts";
import type { FaultRule } from "../src/embedded/fault.ts";
import { type Clock, type Random, sleep } from "../src/ports/clock.ts";
import type { Log, LogFields } from "../src/ports/log.ts";
import type { Store } from "../src/ports/store.ts";
import { type ElectionTiming, type Leadership, runElected } from "../src/runtime/leader.ts";
import type { VirtualClock } from "./clock.ts";
import { seededRandom, TestCluster } from "./embedded.ts";

const REF = { namespace: "default", name: "lead" };
const PATH = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
const WRITE_EVERY_MS = 250;

/** Suspended: nothing that it waits for arrives. Monotonic time goes on, as it does through a SIGSTOP. */
class Suspension {
  isSuspended = false;
  #held: (() => void)[] = [];

  pass(call: () => void): void {
    if (this.isSuspended) this.#held.push(call);
    else call();
  }

  resume(): void {
    this.isSuspended = false;
    for (const call of this.#held.splice(0)) call();
  }
}

export interface Candidate {
  readonly identity: string;
  /** Of the current or last term. */
  readonly leadership: Leadership | undefined;
  readonly terms: number;
  readonly isWorking: boolean;
  readonly said: readonly { readonly message: string; readonly fields: LogFields }[];
  /** Of runElected. */
  readonly end: Promise<void>;
  mayWrite(): boolean;
  stop(): Promise<void>;
  suspend(): void;
  resume(): void;
}

export interface CandidateOptions {
  readonly timing?: Partial<ElectionTiming>;
  readonly seed?: number;
  /** Default: writes a note every so often, as long as it may, until the signal aborts. */
  readonly work?: (leadership: Leadership) => Promise<void>;
}

export class ElectionWorld {
  readonly #test: TestCluster;
  readonly clock: VirtualClock;
  readonly cluster: EmbeddedCluster;
  readonly candidates: Candidate[] = [];
  /** Who wrote, in the order of the writes. */
  readonly notes: string[] = [];
  /** Moments at which two could write. */
  readonly clashes: string[] = [];

  constructor(seed = 1) {
    this.#test = new TestCluster({ seed });
    this.clock = this.#test.clock;
    this.cluster = this.#test.cluster;
  }

  /** At once and without faults. */
  lease(): Lease | undefined {
    const answer = this.#test.call("GET", `${PATH}/${REF.name}`);
    return answer.status === 200 ? (answer.body as unknown as Lease) : undefined;
  }

  /** As somebody else writes it. */
  put(spec: Lease["spec"]): void {
    const { metadata } = this.lease() ?? { metadata: { ...REF } };
    const body = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata, spec };
    this.#test.must("PUT", `${PATH}/${REF.name}`, body as never);
  }

  remove(): void {
    this.#test.must("DELETE", `${PATH}/${REF.name}`);
  }

  start(identity: string, options: CandidateOptions = {}): Candidate {
    const suspension = new Suspension();
    const clock = suspendableClock(this.clock, suspension);
    const store = suspendableStore(this.cluster.store({ userAgent: identity }), suspension);
    const said: { message: string; fields: LogFields }[] = [];
    const say = (message: string, fields: LogFields = {}): void => {
      said.push({ message, fields });
    };
    const log: Log = { debug: say, info: say, warn: say, error: say, with: () => log };
    const stop = new AbortController();
    const state = { leadership: undefined as Leadership | undefined, terms: 0, isWorking: false };
    const writeNotes = async ({ signal, mayWrite }: Leadership): Promise<void> => {
      while (!signal.aborted) {
        if (mayWrite()) this.notes.push(identity);
        await sleep(clock, WRITE_EVERY_MS, signal).catch(() => undefined);
      }
    };
    const run = async (leadership: Leadership): Promise<void> => {
      Object.assign(state, { leadership, terms: state.terms + 1, isWorking: true });
      this.look();
      try {
        await (options.work ?? writeNotes)(leadership);
      } finally {
        state.isWorking = false;
      }
    };
    const random = seededRandom(options.seed ?? this.candidates.length + 1);
    const timing = options.timing ?? {};
    const election = { store, clock, random, log, lease: REF, identity, timing };
    const end = runElected(election, run, stop.signal);
    end.catch(() => undefined);
    const candidate: Candidate = {
      identity,
      said,
      end,
      get leadership() {
        return state.leadership;
      },
      get terms() {
        return state.terms;
      },
      get isWorking() {
        return state.isWorking;
      },
      mayWrite: () => state.leadership?.mayWrite() ?? false,
      stop: () => {
        stop.abort(new Error("stopped by the test"));
        return end;
      },
      suspend: () => {
        suspension.isSuspended = true;
      },
      resume: () => suspension.resume(),
    };
    this.candidates.push(candidate);
    return candidate;
  }

  /** Those that could write now. */
  writers(): string[] {
    return this.candidates.filter((one) => one.mayWrite()).map(({ identity }) => identity);
  }

  look(): void {
    const writers = this.writers();
    if (writers.length > 1) this.clashes.push(`${this.clock.monotonic()}: ${writers.join(" ")}`);
  }

  /** In small steps, looking at each. */
  async advance(ms: number, stepMs = 100): Promise<void> {
    for (let doneMs = 0; doneMs < ms; doneMs += stepMs) {
      await this.clock.advance(Math.min(stepMs, ms - doneMs));
      this.look();
    }
  }

  /** How long it took, within the limit; Infinity when it did not come. */
  async advanceUntil(limitMs: number, isReached: () => boolean): Promise<number> {
    for (let ms = 0; ms <= limitMs; ms += 100) {
      if (isReached()) return ms;
      await this.advance(100);
    }
    return Number.POSITIVE_INFINITY;
  }

  async stop(): Promise<void> {
    this.cluster.faults.clear();
    for (const candidate of this.candidates) candidate.resume();
    const ends = this.candidates.map((candidate) => candidate.stop().catch(() => undefined));
    await this.clock.advance(60_000);
    await Promise.all(ends);
  }
}

function suspendableClock(clock: VirtualClock, suspension: Suspension): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    schedule(delayMs, callback) {
      let isCancelled = false;
      const timer = clock.schedule(delayMs, () => {
        suspension.pass(() => {
          if (!isCancelled) callback();
        });
      });
      return {
        cancel: () => {
          isCancelled = true;
          timer.cancel();
        },
      };
    },
  };
}

/** Of the store only what an election uses. What was asked before the suspension is done; its answer waits. */
function suspendableStore(store: Store, suspension: Suspension): Store {
  const later = <X>(answer: Promise<X>): Promise<X> =>
    new Promise((resolve, reject) => {
      answer.then(
        (value) => suspension.pass(() => resolve(value)),
        (error: unknown) => suspension.pass(() => reject(error)),
      );
    });
  return {
    ...store,
    get: (resource, ref, options) => later(store.get(resource, ref, options)),
    create: (resource, object, options) => later(store.create(resource, object, options)),
    replace: (resource, object, options) => later(store.replace(resource, object, options)),
  };
}

export const LEASES = { resource: LEASE.plural } as const;

/** What can befall the requests of one candidate, or of all. */
export function drawFault(names: readonly string[], random: Random): FaultRule {
  const name = names[Math.floor(random() * (names.length + 1))];
  const match = { ...LEASES, ...(name === undefined ? {} : { userAgent: name }) };
  const writes = { ...match, verb: ["create", "update"] as const };
  const rules: readonly FaultRule[] = [
    { match, disconnect: true },
    { match: writes, disconnect: true, afterWrite: true },
    { match, fail: { status: 500 } },
    { match, fail: { status: 429, retryAfterSeconds: 5 } },
    // Late, and done all the same, after its sender has given up.
    { match: writes, delayMs: 500 + random() * 30_000 },
    { match, delayMs: random() * 4_000 },
    { match: writes, fail: { status: 504 }, afterWrite: true },
  ];
  return rules[Math.floor(random() * rules.length)] ?? { match };
}
