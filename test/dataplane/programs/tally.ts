// Measuring, pure: how the requests of one flow ended in, counts out. Nothing is forgotten: what is too much to be listed
// is still counted. Knows no socket and no clock; the caller says what time it is.

export type FlowProtocol = "tcp" | "udp" | "http";
export type Family = 4 | 6;

export interface Flow {
  readonly protocol: FlowProtocol;
  readonly family: Family;
}

/** Why a request failed, as far as a client can tell. */
export type FailureReason =
  /** NXDOMAIN. */
  | "name not found"
  /** The name is there, and has no address of this family. */
  | "no address"
  /** SERVFAIL, REFUSED, no answer, nobody there: anything else that a name server can do wrong. */
  | "name server"
  | "refused"
  /** A connection that ended before the whole answer was there, one that was open for long included. */
  | "reset"
  | "unreachable"
  | "timeout"
  | "wrong answer"
  | "other";

export interface Failure {
  /** Wall clock, to be found again in logs. */
  readonly atMs: number;
  /** When it was asked, since the machine started, to be compared. */
  readonly askedMs: number;
  readonly reason: FailureReason;
  readonly what: string;
  /** "cluster/pod" of the last good answer of the flow, and how old that was: who may be to blame. */
  readonly after?: { readonly pod: string; readonly agoMs: number };
}

interface FailedOutcome {
  readonly address?: string;
  readonly reason: FailureReason;
  readonly what: string;
}

/** How one request ended. */
export type Outcome =
  | { readonly address: string; readonly cluster: string; readonly pod: string }
  | FailedOutcome;

export interface FlowTally extends Flow {
  /** Requests that ended in this window, well or not: the one in flight is not among them. */
  readonly sent: number;
  readonly failed: number;
  /**
   * Datagrams under way when their flow moved: kube-proxy forgets a UDP flow when its backend goes, and the answer that comes
   * after that finds no way back. One without an answer, between answers of two pods, at one address: a virtual IP.
   */
  readonly lostInMove: number;
  readonly inFlight: number;
  /** Between two good answers, the time since the last one until now included; runs on from the window before. */
  readonly longestGapMs: number;
  /** Good answers by "cluster/pod". */
  readonly byPod: Readonly<Record<string, number>>;
  /** That requests were sent to, well or not. */
  readonly addresses: readonly string[];
  readonly failedBy: Readonly<Partial<Record<FailureReason, number>>>;
  /** The last ones. */
  readonly failures: readonly Failure[];
}

export interface Tally {
  /** Of the process that counted: another one has lost what its forerunner knew. */
  readonly caller: string;
  /** How often a new window was begun. */
  readonly window: number;
  /** The longest time that the caller itself was kept from running: its gaps are not shorter than that. */
  readonly stalledMs: number;
  readonly flows: readonly FlowTally[];
}

/** Times are since the machine started, except `wallMs`. */
export interface FlowCounter {
  begin(): void;
  end(
    outcome: Outcome,
    at: { readonly askedMs: number; readonly nowMs: number; readonly wallMs: number },
  ): void;
  read(nowMs: number): FlowTally;
  /** A new window: counts from zero; a gap that is open stays open. */
  mark(): void;
}

const MAX_FAILURES = 50;
const MAX_NAMES = 256;
const OTHERS = "others";

export function createFlowCounter(flow: Flow, startedAtMs: number): FlowCounter {
  let lastGoodMs = startedAtMs;
  let lastGood: { readonly address: string; readonly pod: string } | undefined;
  /** Since then. */
  let failed: FailedOutcome[] = [];
  let inFlight = 0;
  let window = emptyWindow();

  return {
    begin() {
      inFlight += 1;
    },
    end(outcome, { askedMs, nowMs, wallMs }) {
      inFlight -= 1;
      window.sent += 1;
      if (outcome.address !== undefined && window.addresses.size < MAX_NAMES) {
        window.addresses.add(outcome.address);
      }
      if ("pod" in outcome) {
        window.longestGapMs = Math.max(window.longestGapMs, nowMs - lastGoodMs);
        lastGoodMs = nowMs;
        const good = { address: outcome.address, pod: `${outcome.cluster}/${outcome.pod}` };
        if (flow.protocol === "udp" && isLostInMove(failed, lastGood, good)) window.lostInMove += 1;
        lastGood = good;
        failed = [];
        countIn(window.byPod, good.pod);
        return;
      }
      // Two are as many as any number: no move loses more than one.
      if (failed.length < 2) failed.push(outcome);
      window.failed += 1;
      window.failedBy.set(outcome.reason, (window.failedBy.get(outcome.reason) ?? 0) + 1);
      window.failures.push({
        atMs: wallMs,
        askedMs,
        reason: outcome.reason,
        what: outcome.what,
        ...(lastGood && { after: { pod: lastGood.pod, agoMs: Math.round(nowMs - lastGoodMs) } }),
      });
      if (window.failures.length > MAX_FAILURES) window.failures.shift();
    },
    read(nowMs) {
      return {
        ...flow,
        sent: window.sent,
        failed: window.failed,
        lostInMove: window.lostInMove,
        inFlight,
        longestGapMs: Math.round(Math.max(window.longestGapMs, nowMs - lastGoodMs)),
        byPod: Object.fromEntries(window.byPod),
        addresses: [...window.addresses],
        failedBy: Object.fromEntries(window.failedBy),
        failures: [...window.failures],
      };
    },
    mark() {
      window = emptyWindow();
    },
  };
}

function isLostInMove(
  [lost, ...others]: readonly FailedOutcome[],
  before: { readonly address: string; readonly pod: string } | undefined,
  after: { readonly address: string; readonly pod: string },
): boolean {
  if (lost?.reason !== "timeout" || others.length > 0 || before === undefined) return false;
  const isOneAddress = before.address === after.address && lost.address === after.address;
  return isOneAddress && before.pod !== after.pod;
}

function emptyWindow() {
  return {
    sent: 0,
    failed: 0,
    lostInMove: 0,
    longestGapMs: 0,
    byPod: new Map<string, number>(),
    addresses: new Set<string>(),
    failedBy: new Map<FailureReason, number>(),
    failures: [] as Failure[],
  };
}

function countIn(counts: Map<string, number>, name: string): void {
  const key = counts.has(name) || counts.size < MAX_NAMES ? name : OTHERS;
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
