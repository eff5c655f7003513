// The line between one agent and one API server: messages in, later out, as the troubles in force allow. Nothing on it is
// reordered within a stream; across streams and requests anything can be.

import type { Random } from "../src/ports/clock.ts";
import { StoreError, type StoreErrorCode } from "../src/ports/store.ts";
import { flip } from "./chance.ts";
import type { SimTime } from "./time.ts";

export type Direction = "requests" | "answers";

export interface Call {
  readonly verb: "get" | "list" | "watch" | "create" | "replace" | "apply" | "delete";
  readonly plural: string;
}

/** What a server, or something in front of it, says instead of the truth. */
export interface Failure {
  readonly status: 409 | 429 | 500 | 503 | 504 | 0;
  /** It did what it was asked to, all the same. */
  readonly afterWrite: boolean;
  /** Of the calls that it concerns. */
  readonly share: number;
  readonly retryAfterSeconds?: number;
  /** Absent: all. */
  readonly plural?: string;
}

/** What is wrong with a line for a while. */
export interface Trouble {
  readonly loses?: readonly Direction[];
  /** Connections are refused or reset, rather than silent. */
  readonly refuses?: boolean;
  readonly delayMs?: number;
  /** Answers alone are late: the watch tells of a write before its answer does. */
  readonly answerDelayMs?: number;
  readonly failure?: Failure;
  readonly watchDelay?: { readonly ms: number; readonly plural: string | undefined };
  /** How many of the watch events come twice. */
  readonly duplicates?: number;
}

export interface Latency {
  readonly lowMs: number;
  readonly highMs: number;
}

/** How long a silent stream is believed in: by the client's own watchdog at the latest. */
const SHORTEST_STALL_MS = 20_000;
const LONGEST_STALL_MS = 180_000;
const WRITES: ReadonlySet<string> = new Set(["create", "replace", "apply", "delete"]);
/** A deletion by uid that conflicts says that the object is another: no server says so when it is not. */
const CONFLICTING: ReadonlySet<string> = new Set(["replace", "apply"]);

export class Line {
  readonly #time: SimTime;
  readonly #random: Random;
  readonly #latency: Latency;
  readonly #troubles = new Set<Trouble>();
  readonly #streams = new Set<Stream>();
  #held: { readonly direction: Direction; readonly pass: () => void }[] = [];

  constructor(options: {
    readonly time: SimTime;
    readonly random: Random;
    readonly latency: Latency;
  }) {
    this.#time = options.time;
    this.#random = options.random;
    this.#latency = options.latency;
  }

  /** Returns how to end it. */
  add(trouble: Trouble): () => void {
    this.#troubles.add(trouble);
    if (trouble.refuses === true) this.breakStreams();
    return () => {
      if (this.#troubles.delete(trouble)) this.#release();
    };
  }

  clear(): void {
    this.#troubles.clear();
    this.#release();
  }

  isLosing(direction: Direction): boolean {
    for (const { loses } of this.#troubles) if (loses?.includes(direction) === true) return true;
    return false;
  }

  /** Nothing is wrong with it at present. */
  get isSound(): boolean {
    return this.#troubles.size === 0;
  }

  breakStreams(): void {
    for (const stream of this.#streams) stream.break();
  }

  /** Brings one message over, or keeps it until the line is sound again, or loses it without a word. */
  carry(direction: Direction, arrive: () => void, refuse: () => void): void {
    const pass = (): void => {
      if (!this.isLosing(direction)) arrive();
      else if (this.#isRefusing()) refuse();
      else this.#held.push({ direction, pass });
    };
    const ms = this.#drawMs() + (direction === "answers" ? this.#answerDelayMs() : 0);
    if (ms === 0) pass();
    else this.#time.schedule(ms, pass);
  }

  /** What becomes of this call at the server, if not what was asked for. */
  rollFailure(call: Call): Failure | undefined {
    for (const { failure } of this.#troubles) {
      if (failure === undefined) continue;
      if (failure.plural !== undefined && failure.plural !== call.plural) continue;
      if (failure.afterWrite && !WRITES.has(call.verb)) continue;
      if (failure.status === 409 && !CONFLICTING.has(call.verb)) continue;
      if (flip(this.#random, failure.share)) return failure;
    }
    return undefined;
  }

  openStream(plural: string, onBroken: () => void): Stream {
    const stream = new Stream({
      time: this.#time,
      delayMs: () => Math.max(1, this.#drawMs()) + this.#watchDelayMs(plural),
      isStalled: () => this.isLosing("answers"),
      stallMs: SHORTEST_STALL_MS + this.#random() * (LONGEST_STALL_MS - SHORTEST_STALL_MS),
      onEnd: () => this.#streams.delete(stream),
      onBroken,
    });
    this.#streams.add(stream);
    return stream;
  }

  /** Whether this watch event comes twice. */
  isDoubled(): boolean {
    for (const { duplicates } of this.#troubles) {
      if (duplicates !== undefined && flip(this.#random, duplicates)) return true;
    }
    return false;
  }

  flip(probability: number): boolean {
    return flip(this.#random, probability);
  }

  #isRefusing(): boolean {
    for (const { refuses } of this.#troubles) if (refuses === true) return true;
    return false;
  }

  /** Mostly short; half of the messages take no time at all, which spares timers and lets things happen at once. */
  #drawMs(): number {
    let ms = 0;
    for (const { delayMs } of this.#troubles) ms += (delayMs ?? 0) * this.#random();
    const { lowMs, highMs } = this.#latency;
    if (flip(this.#random, 0.5)) return Math.floor(ms);
    return Math.floor(ms + lowMs + (highMs - lowMs) * this.#random() ** 3);
  }

  #answerDelayMs(): number {
    let ms = 0;
    for (const { answerDelayMs } of this.#troubles) {
      if (answerDelayMs !== undefined) ms += Math.floor(answerDelayMs * this.#random());
    }
    return ms;
  }

  #watchDelayMs(plural: string): number {
    let ms = 0;
    for (const { watchDelay } of this.#troubles) {
      if (watchDelay !== undefined && (watchDelay.plural ?? plural) === plural) ms += watchDelay.ms;
    }
    return ms;
  }

  /** What was on its way arrives now, or its connection did not live to see it. */
  #release(): void {
    const held = this.#held;
    this.#held = [];
    for (const message of held) {
      if (this.isLosing(message.direction)) this.#held.push(message);
      else if (flip(this.#random, 0.5)) this.#time.schedule(1, message.pass);
    }
    for (const stream of this.#streams) {
      if (stream.isHeld && flip(this.#random, 0.3)) stream.break();
      else stream.resume();
    }
  }
}

interface StreamOptions {
  readonly time: SimTime;
  readonly delayMs: () => number;
  readonly isStalled: () => boolean;
  /** How long it may be silent before it counts as broken. */
  readonly stallMs: number;
  readonly onEnd: () => void;
  readonly onBroken: () => void;
}

/** Events of one watch, on their way to the agent, in order. */
export class Stream {
  readonly #options: StreamOptions;
  #queue: { readonly dueMs: number; readonly deliver: () => void }[] = [];
  #isScheduled = false;
  #isOver = false;
  #heldSinceMs: number | undefined;

  constructor(options: StreamOptions) {
    this.#options = options;
  }

  get isHeld(): boolean {
    return this.#heldSinceMs !== undefined;
  }

  push(deliver: () => void): void {
    if (this.#isOver) return;
    const { time, delayMs } = this.#options;
    const dueMs = Math.max(this.#queue.at(-1)?.dueMs ?? 0, time.nowMs + delayMs());
    this.#queue.push({ dueMs, deliver });
    this.#scheduleNext();
  }

  resume(): void {
    this.#heldSinceMs = undefined;
    this.#scheduleNext();
  }

  break(): void {
    if (this.#isOver) return;
    this.end();
    this.#options.onBroken();
  }

  end(): void {
    this.#isOver = true;
    this.#queue = [];
    this.#options.onEnd();
  }

  #scheduleNext(): void {
    const next = this.#queue[0];
    if (next === undefined || this.#isScheduled || this.#isOver) return;
    this.#isScheduled = true;
    const { time } = this.#options;
    time.schedule(next.dueMs - time.nowMs, () => {
      this.#isScheduled = false;
      this.#deliverDue();
    });
  }

  #deliverDue(): void {
    const { time, isStalled } = this.#options;
    while (!this.#isOver && (this.#queue[0]?.dueMs ?? Infinity) <= time.nowMs) {
      if (isStalled()) {
        this.#hold();
        return;
      }
      this.#queue.shift()?.deliver();
    }
    this.#scheduleNext();
  }

  #hold(): void {
    const { time, stallMs } = this.#options;
    if (this.#heldSinceMs !== undefined) return;
    const sinceMs = time.nowMs;
    this.#heldSinceMs = sinceMs;
    time.schedule(stallMs, () => {
      if (this.#heldSinceMs === sinceMs) this.break();
    });
  }
}

const CODES: Readonly<Record<Failure["status"], StoreErrorCode>> = {
  0: "Unreachable",
  409: "Conflict",
  429: "TooManyRequests",
  500: "Internal",
  503: "Unavailable",
  504: "Timeout",
};

export function toError({ status, retryAfterSeconds }: Failure, call: Call): StoreError {
  const message = `simulated ${status}, on ${call.verb} ${call.plural}`;
  return new StoreError(CODES[status], message, { status, retryAfterSeconds });
}
