// DNS: what a server counts, as numbers in one array: cheap to add to for every query, cheap to send to another process, and of
// a size that no client can change. metrics.ts gives them their names.

export const TYPES = [
  "A",
  "AAAA",
  "SRV",
  "TXT",
  "NS",
  "SOA",
  "PTR",
  "HTTPS",
  "ANY",
  "other",
] as const;
const TYPE_NUMBERS = [1, 28, 33, 16, 2, 6, 12, 65, 255] as const;

export const RCODES = [
  "NOERROR",
  "FORMERR",
  "SERVFAIL",
  "NXDOMAIN",
  "NOTIMP",
  "REFUSED",
  "BADVERS",
  "other",
] as const;
const BADVERS = 16;

/** Why something that came in got no answer. */
export const DROPS = [
  /** Not a query, or not one that may be answered. */
  "no-query",
  /** Nothing can be sent to port 0. */
  "bad-source",
  /** The network takes answers more slowly than queries come. */
  "send-queue",
  /** The socket failed, or we did: the log says how. */
  "failure",
  "rate-limit",
  /** Over TCP: a length that no query has. */
  "tcp-length",
  /** Over TCP: nothing complete was asked in time. */
  "tcp-idle",
  /** Over TCP: answers were not read in time. */
  "tcp-unread",
  /** Over TCP: closed to make room for a new connection. */
  "tcp-crowded",
  /** Over TCP: cut by the client. */
  "tcp-reset",
] as const;
export type Drop = (typeof DROPS)[number];

export const TRANSPORTS = ["udp", "tcp"] as const;

export const FORWARDS = ["answered", "failed", "crowded"] as const;
export type Forwarded = (typeof FORWARDS)[number];

/** Upper ends, in seconds. */
export const LATENCY_BUCKETS = [
  0.000_005, 0.000_01, 0.000_02, 0.000_05, 0.000_1, 0.000_2, 0.000_5, 0.001, 0.002, 0.005, 0.01,
  0.05, 0.1,
] as const;

/** One of so many queries is timed. */
export const SAMPLE_EVERY = 64;

/** Where each number is. `zones` is how many zones are served; what is in none of them has a place of its own behind them. */
export interface Layout {
  readonly zones: number;
  readonly length: number;
  readonly transport: number;
  readonly dropped: number;
  readonly slipped: number;
  readonly forwarded: number;
  readonly latency: number;
  readonly latencySum: number;
}

export function createLayout(zones: number): Layout {
  const transport = (zones + 1) * TYPES.length * RCODES.length;
  const dropped = transport + TRANSPORTS.length;
  const slipped = dropped + DROPS.length;
  const forwarded = slipped + 1;
  const latency = forwarded + FORWARDS.length;
  const latencySum = latency + LATENCY_BUCKETS.length + 1;
  return {
    zones,
    transport,
    dropped,
    slipped,
    forwarded,
    latency,
    latencySum,
    length: latencySum + 1,
  };
}

export function queryIndex(zone: number, type: number, rcode: number): number {
  return (zone * TYPES.length + type) * RCODES.length + rcode;
}

const OTHER_TYPE = TYPES.length - 1;
const OTHER_RCODE = RCODES.length - 1;
const TYPE_INDEX = new Uint8Array(256).fill(OTHER_TYPE);
for (const [index, type] of TYPE_NUMBERS.entries()) TYPE_INDEX[type] = index;
const RCODE_INDEX = new Uint8Array(BADVERS + 1).fill(OTHER_RCODE);
for (let rcode = 0; rcode <= 5; rcode++) RCODE_INDEX[rcode] = rcode;
RCODE_INDEX[BADVERS] = RCODES.indexOf("BADVERS");

export interface Counters {
  readonly values: Float64Array;
  /** `zone` as the answerer has it: -1 for none of ours. */
  answered(zone: number, type: number, rcode: number): void;
  received(transport: (typeof TRANSPORTS)[number]): void;
  dropped(why: Drop): void;
  slipped(): void;
  forwarded(how: Forwarded): void;
  /** Of one sampled query. */
  took(seconds: number): void;
}

export function createCounters(zones: number): Counters {
  const layout = createLayout(zones);
  const values = new Float64Array(layout.length);
  function add(index: number): void {
    values[index] = (values[index] ?? 0) + 1;
  }
  return {
    values,
    answered(zone, type, rcode) {
      const place = zone < 0 || zone > zones ? zones : zone;
      add(queryIndex(place, TYPE_INDEX[type] ?? OTHER_TYPE, RCODE_INDEX[rcode] ?? OTHER_RCODE));
    },
    received: (transport) => add(layout.transport + (transport === "udp" ? 0 : 1)),
    dropped: (why) => add(layout.dropped + DROPS.indexOf(why)),
    slipped: () => add(layout.slipped),
    forwarded: (how) => add(layout.forwarded + FORWARDS.indexOf(how)),
    took(seconds) {
      let bucket = 0;
      while (bucket < LATENCY_BUCKETS.length && seconds > (LATENCY_BUCKETS[bucket] ?? 0)) bucket++;
      add(layout.latency + bucket);
      values[layout.latencySum] = (values[layout.latencySum] ?? 0) + seconds;
    },
  };
}
