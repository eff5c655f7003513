// Data plane: a caller as a story uses it: windows of requests in which all must be well, and all of them on record for the
// table. The caller itself, and what it counts, is somebody else's.

import { eventually } from "../scenarios/poll.ts";
import {
  answersOf,
  countFailed,
  countLostInMoves,
  failuresBeyondFlight,
  failuresOf,
  type IsRight,
  nameOf,
  podsOf,
} from "./measured.ts";
import type { Tally } from "./programs/tally.ts";
import type { Caller } from "./traffic.ts";

/** Requests of each flow after which a window says something. */
const ENOUGH = 15;
/** Nothing is promised about how long it takes on a busy machine. */
const LIMIT_MS = 60_000;

/** What failures mean: a word in the table, the story's end, a number in the table, nothing. */
type Attitude = "starting" | "strict" | "counting" | "careless";

export class Stream {
  readonly caller: Caller;
  /** Windows that are over. */
  readonly #windows: { readonly tally: Tally; readonly attitude: Attitude }[] = [];
  #attitude: Attitude = "starting";

  constructor(caller: Caller) {
    this.caller = caller;
  }

  /** All but those that were ignored. */
  get windows(): readonly Tally[] {
    return this.#of("starting", "strict", "counting");
  }

  /** Those that the table adds up. */
  get counted(): readonly Tally[] {
    return this.#of("strict", "counting");
  }

  #of(...attitudes: readonly Attitude[]): readonly Tally[] {
    return this.#windows.flatMap(({ tally, attitude }) =>
      attitudes.includes(attitude) ? [tally] : [],
    );
  }

  /** Begins a new window; answers the one that this ends. */
  async mark(): Promise<Tally> {
    const tally = await this.caller.mark();
    this.#windows.push({ tally, attitude: this.#attitude });
    return tally;
  }

  /** From now on failures are counted and do no harm. */
  excuse(): Promise<void> {
    return this.#turn("counting");
  }

  /** From now on requests are bound to fail, and not counted. */
  ignore(): Promise<void> {
    return this.#turn("careless");
  }

  /** From now on nothing may fail. */
  holdToAccount(): Promise<void> {
    return this.#turn("strict");
  }

  async #turn(attitude: Attitude): Promise<void> {
    await this.mark();
    this.#attitude = attitude;
  }

  /** Every flow is answered before long. What failed until then is the start of the service and no disturbance of it. */
  async begin(): Promise<void> {
    await this.caller.until(
      "every flow is answered",
      ({ flows }) => flows.every((flow) => answersOf(flow) > 0),
      { limitMs: LIMIT_MS },
    );
    await this.holdToAccount();
  }

  /** In this window, which goes on. */
  async sees(what: string, isRight: IsRight): Promise<Tally> {
    return this.caller.until(what, ({ flows }) => flows.every(isRight), { limitMs: LIMIT_MS });
  }

  /** Until a whole window passes in which it is so for every flow. Answers that window. */
  settles(what: string, isRight: IsRight, limitMs = LIMIT_MS): Promise<Tally> {
    return eventually(
      `${this.caller.name}: ${what}`,
      async () => {
        await this.mark();
        await this.caller.until(what, ({ flows }) => flows.every(({ sent }) => sent >= ENOUGH));
        const window = await this.mark();
        const wrong = window.flows.filter((flow) => !isRight(flow));
        if (wrong.length === 0) return window;
        const seen = wrong.map(
          (flow) => `${nameOf(flow)}: ${podsOf(flow).join(", ")}, ${flow.failed} failed`,
        );
        throw new Error([...seen, ...failuresOf(window)].join("\n"));
      },
      limitMs,
    );
  }

  async stop(): Promise<void> {
    const tally = await this.caller.stop();
    this.#windows.push({ tally, attitude: this.#attitude });
  }

  /** Before all flows had been answered. */
  countFailedAtStart(): number {
    return countFailed(this.#of("starting"));
  }

  /** Datagrams that were under way when kube-proxy moved their flow. */
  countLostInMoves(): number {
    return countLostInMoves(this.#of("strict"));
  }

  /** But for those, of what is on record until now. */
  requireNoFailure(): void {
    const strict = this.#of("strict");
    const failures = failuresBeyondFlight(strict);
    if (failures.length === 0) return;
    // A machine that has no time for the caller makes requests late that nobody was late with.
    const stalledMs = Math.max(...strict.map((tally) => tally.stalledMs));
    const head = `${this.caller.name}, itself kept waiting for ${stalledMs} ms at most:`;
    throw new Error([head, ...failures].join("\n"));
  }
}
