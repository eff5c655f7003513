// DNS: the address that a query claims to come from in, whether it is answered, told to use TCP, or not heard out. Counts by
// network (IPv4 /24, IPv6 /56), in a table of fixed size: an address costs nothing to forge, and a flood of forged ones must
// not cost us memory, nor hide behind each other.
//
// Each network has a bucket of one second's worth of answers. When it is empty every second query gets an empty answer with TC set:
// whoever really is there asks again over TCP, where addresses cannot be forged; who is not gets less than he sent.

import type { Clock } from "../ports/clock.ts";

export type Verdict = "answer" | "slip" | "drop";

export interface Limiter {
  judge(address: string): Verdict;
}

const SETS = 16_384;
const WAYS = 4;

export function createLimiter(options: {
  readonly perSecond: number;
  readonly clock: Clock;
  /** So that nobody can choose networks that share a place. */
  readonly seed: number;
}): Limiter {
  const { perSecond, clock, seed } = options;
  const capacity = Math.max(1, perSecond);
  const keys = new Float64Array(SETS * WAYS);
  const tokens = new Float64Array(SETS * WAYS);
  const seenMs = new Float64Array(SETS * WAYS).fill(-Infinity);
  const slips = new Uint8Array(SETS * WAYS);

  /** The place of the network: its own, else the one that was quiet for longest. */
  function place(key: number): number {
    const first = (mix(key, seed) % SETS) * WAYS;
    let oldest = first;
    for (let slot = first; slot < first + WAYS; slot++) {
      if (keys[slot] === key && (seenMs[slot] ?? 0) > -Infinity) return slot;
      if ((seenMs[slot] ?? 0) < (seenMs[oldest] ?? 0)) oldest = slot;
    }
    keys[oldest] = key;
    tokens[oldest] = capacity;
    slips[oldest] = 0;
    seenMs[oldest] = clock.monotonic();
    return oldest;
  }

  return {
    judge(address) {
      const slot = place(networkOf(address));
      const nowMs = clock.monotonic();
      const sinceMs = nowMs - (seenMs[slot] ?? nowMs);
      const left = Math.min(capacity, (tokens[slot] ?? 0) + (sinceMs / 1_000) * perSecond);
      seenMs[slot] = nowMs;
      tokens[slot] = left < 1 ? left : left - 1;
      if (left >= 1) return "answer";
      const slip = (slips[slot] ?? 0) ^ 1;
      slips[slot] = slip;
      return slip === 1 ? "slip" : "drop";
    },
  };
}

/** A number for the /24 of an IPv4 address, or the /56 of an IPv6 address: 53 bits hold either. Text that is no address is network 0. */
export function networkOf(address: string): number {
  // A socket of both families writes IPv4 as ::ffff:192.0.2.1.
  const dot = address.indexOf(".");
  if (dot >= 0) return networkOf4(address.slice(address.lastIndexOf(":") + 1));
  return networkOf6(address);
}

function networkOf4(address: string): number {
  let network = 0;
  let octet = 0;
  let dots = 0;
  for (let at = 0; at < address.length && dots < 3; at++) {
    const code = address.charCodeAt(at);
    if (code === 0x2e) {
      network = network * 256 + octet;
      octet = 0;
      dots++;
    } else octet = octet * 10 + code - 0x30;
  }
  return network;
}

/** The first 56 bits less the four highest, which tell little: what is routed begins with 2, what is private with f. */
function networkOf6(address: string): number {
  const [head = "", tail] = address.split("%")[0]?.split("::") ?? [];
  const front = head === "" ? [] : head.split(":");
  const back = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = 8 - front.length - back.length;
  const group = (index: number): number => {
    const text = index < front.length ? front[index] : back[index - front.length - zeros];
    return index >= front.length && index < front.length + zeros
      ? 0
      : Number.parseInt(text ?? "0", 16) || 0;
  };
  const low = group(1) * 2 ** 24 + group(2) * 2 ** 8 + (group(3) >>> 8);
  // Apart from every IPv4 network, which are below 2**24.
  return 2 ** 52 + (group(0) & 0x0fff) * 2 ** 40 + low;
}

function mix(key: number, seed: number): number {
  let hash = ((key % 2 ** 32) | 0) ^ seed;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b) ^ Math.floor(key / 2 ** 32);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
