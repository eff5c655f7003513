// Embedded server, fault injection: rules in, what befalls one request or watch out. Never touches storage.

import type { Target, Verb } from "./request.ts";

export interface FaultTarget extends Target {
  readonly userAgent: string | undefined;
}

export interface FaultMatch {
  readonly verb?: Verb | readonly Verb[];
  /** Plural: "services". */
  readonly resource?: string;
  readonly group?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly userAgent?: string;
  readonly where?: (target: FaultTarget) => boolean;
}

export interface FaultFailure {
  readonly status: number;
  readonly reason?: string;
  readonly message?: string;
  readonly retryAfterSeconds?: number;
}

export interface FaultRule {
  /** Absent: every request. */
  readonly match?: FaultMatch;
  /** Forgotten after that many hits. */
  readonly times?: number;
  /** Answer with this instead. On watches: refuse to open them. */
  readonly fail?: FaultFailure;
  /** No answer at all, as when the connection breaks. */
  readonly disconnect?: boolean;
  /** With `fail` or `disconnect`: do the work first, so that the caller cannot know whether it was done. */
  readonly afterWrite?: boolean;
  readonly delayMs?: number;
  /** Gets and lists answer as of that many revisions ago. */
  readonly staleRevisions?: number;
  /** Cuts the running watches that match, once, when the rule is added. */
  readonly dropWatches?: boolean;
  /** Events reach matching watches, running ones too, that much later. */
  readonly watchDelayMs?: number;
}

export interface Fault {
  remove(): void;
  /** Requests met, watches cut and events delayed. */
  readonly hits: number;
}

export interface FaultEffect {
  readonly delayMs: number;
  readonly staleRevisions: number;
  readonly failure: FaultFailure | "disconnect" | undefined;
  readonly afterWrite: boolean;
}

/** No answer came. Adapters report it as a broken connection. */
export class Disconnected extends Error {
  override readonly name = "Disconnected";
  constructor() {
    super("connection closed by the server");
  }
}

export const NO_EFFECT: FaultEffect = {
  delayMs: 0,
  staleRevisions: 0,
  failure: undefined,
  afterWrite: false,
};
const MOST_RULES = 1000;

interface ActiveRule {
  readonly rule: FaultRule;
  hits: number;
}

export class Faults {
  readonly #rules = new Set<ActiveRule>();
  readonly #dropWatches: (matches: (target: FaultTarget) => boolean) => number;

  constructor(dropWatches: (matches: (target: FaultTarget) => boolean) => number) {
    this.#dropWatches = dropWatches;
  }

  add(rule: FaultRule): Fault {
    if (this.#rules.size >= MOST_RULES) throw new Error(`more than ${MOST_RULES} fault rules`);
    const active: ActiveRule = { rule, hits: 0 };
    this.#rules.add(active);
    if (rule.dropWatches === true) {
      active.hits += this.#dropWatches((target) => matchesTarget(rule.match, target));
    }
    const rules = this.#rules;
    return {
      remove: () => {
        rules.delete(active);
      },
      get hits() {
        return active.hits;
      },
    };
  }

  clear(): void {
    this.#rules.clear();
  }

  /** Nothing is met, whatever the target. */
  get isNone(): boolean {
    return this.#rules.size === 0;
  }

  /** Counts a hit for each rule that bears on the request. */
  meet(target: FaultTarget): FaultEffect {
    if (this.isNone) return NO_EFFECT;
    let { delayMs, staleRevisions, failure, afterWrite } = NO_EFFECT;
    for (const active of this.#matching(target, bearsOnRequests)) {
      const { rule } = active;
      active.hits += 1;
      delayMs += rule.delayMs ?? 0;
      staleRevisions = Math.max(staleRevisions, rule.staleRevisions ?? 0);
      const own = rule.disconnect === true ? "disconnect" : rule.fail;
      if (failure === undefined && own !== undefined) {
        failure = own;
        afterWrite = rule.afterWrite === true;
      }
    }
    return { delayMs, staleRevisions, failure, afterWrite };
  }

  watchDelayMs(target: FaultTarget): number {
    if (this.isNone) return 0;
    let delayMs = 0;
    for (const active of this.#matching(target, (rule) => rule.watchDelayMs !== undefined)) {
      active.hits += 1;
      delayMs += active.rule.watchDelayMs ?? 0;
    }
    return delayMs;
  }

  *#matching(target: FaultTarget, bears: (rule: FaultRule) => boolean): Generator<ActiveRule> {
    for (const active of this.#rules) {
      const { rule } = active;
      if (rule.times !== undefined && active.hits >= rule.times) continue;
      if (bears(rule) && matchesTarget(rule.match, target)) yield active;
    }
  }
}

function bearsOnRequests(rule: FaultRule): boolean {
  return (
    rule.fail !== undefined ||
    rule.disconnect === true ||
    rule.delayMs !== undefined ||
    rule.staleRevisions !== undefined
  );
}

function matchesTarget(match: FaultMatch | undefined, target: FaultTarget): boolean {
  if (match === undefined) return true;
  const verbs = typeof match.verb === "string" ? [match.verb] : match.verb;
  if (verbs !== undefined && (target.verb === undefined || !verbs.includes(target.verb))) {
    return false;
  }
  if (match.resource !== undefined && match.resource !== target.plural) return false;
  if (match.group !== undefined && match.group !== target.group) return false;
  if (match.namespace !== undefined && match.namespace !== target.namespace) return false;
  if (match.name !== undefined && match.name !== target.name) return false;
  if (match.userAgent !== undefined && match.userAgent !== target.userAgent) return false;
  return match.where?.(target) ?? true;
}
