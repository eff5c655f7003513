// Addresses: text in, IP addresses and ranges out, and questions about them. Runs for every endpoint that a member shares, so
// addresses are plain numbers and ranges are compiled once.

import type { IPFamily } from "../api/builtin.ts";

export interface Address {
  readonly family: IPFamily;
  /** 32 bits each: one for IPv4, four for IPv6. Signed, as the operators on bits have it. */
  readonly words: readonly number[];
}

export interface Cidr {
  readonly family: IPFamily;
  /** The first address of the range. */
  readonly words: readonly number[];
  readonly masks: readonly number[];
  readonly prefixLength: number;
  /** As it was written. */
  readonly text: string;
}

const DOT = 46;
const ZERO = 48;
const NINE = 57;
const COLON = 58;
const GROUPS = 8;

/** Undefined for what is no address. One spelling of IPv4 only: others read "010.0.0.1" and "10.1" each in their own way. */
export function parseAddress(text: string): Address | undefined {
  return text.includes(":") ? parseIPv6(text) : parseIPv4(text);
}

function parseIPv4(text: string): Address | undefined {
  const word = parseQuad(text, 0);
  return word === undefined ? undefined : { family: "IPv4", words: [word] };
}

/** Four decimal numbers from `start` to the end. */
function parseQuad(text: string, start: number): number | undefined {
  let word = 0;
  let part = 0;
  let digits = 0;
  let dots = 0;
  for (let at = start; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === DOT) {
      if (digits === 0 || dots === 3) return undefined;
      word = (word << 8) | part;
      dots += 1;
      part = 0;
      digits = 0;
    } else {
      const isZeroLed = digits > 0 && part === 0;
      if (code < ZERO || code > NINE || isZeroLed) return undefined;
      part = part * 10 + code - ZERO;
      digits += 1;
      if (part > 255) return undefined;
    }
  }
  return dots === 3 && digits > 0 ? (word << 8) | part : undefined;
}

function parseIPv6(text: string): Address | undefined {
  const groups: number[] = [];
  /** How many groups stand before the "::". */
  let gap = -1;
  let at = 0;
  if (text.startsWith("::")) {
    gap = 0;
    at = 2;
  }
  while (at < text.length) {
    const start = at;
    let group = 0;
    for (let digit = hexAt(text, at); digit >= 0; digit = hexAt(text, at)) {
      group = group * 16 + digit;
      at += 1;
      if (at - start > 4) return undefined;
    }
    if (text.charCodeAt(at) === DOT) {
      const quad = parseQuad(text, start);
      if (quad === undefined) return undefined;
      groups.push(quad >>> 16, quad & 0xffff);
      break;
    }
    if (at === start) return undefined;
    groups.push(group);
    if (at === text.length) break;
    if (text.charCodeAt(at) !== COLON) return undefined;
    at += 1;
    if (text.charCodeAt(at) === COLON) {
      if (gap >= 0) return undefined;
      gap = groups.length;
      at += 1;
    } else if (at === text.length) return undefined;
  }
  return fillGap(groups, gap);
}

function hexAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code >= ZERO && code <= NINE) return code - ZERO;
  // a–f, once lower-case; NaN past the end is neither.
  const lower = code | 0x20;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}

function fillGap(groups: readonly number[], gap: number): Address | undefined {
  const missing = GROUPS - groups.length;
  // "::" stands for one group at least.
  if (gap < 0 ? missing !== 0 : missing < 1) return undefined;
  const group = (at: number): number =>
    (at < gap || gap < 0 ? groups[at] : at < gap + missing ? 0 : groups[at - missing]) ?? 0;
  const words = [0, 2, 4, 6].map((at) => (group(at) << 16) | group(at + 1));
  return { family: "IPv6", words };
}

/** Undefined for what is no range. Bits past the prefix are ignored: 10.1.2.3/16 is 10.1.0.0/16. */
export function parseCidr(text: string): Cidr | undefined {
  const slash = text.indexOf("/");
  const length = text.slice(slash + 1);
  if (slash < 0 || !/^(0|[1-9][0-9]{0,2})$/.test(length)) return undefined;
  const address = parseAddress(text.slice(0, slash));
  const prefixLength = Number(length);
  if (address === undefined || prefixLength > address.words.length * 32) return undefined;
  const masks = address.words.map((_, at) => maskOf(prefixLength - at * 32));
  const words = address.words.map((word, at) => word & (masks[at] ?? 0));
  return { family: address.family, words, masks, prefixLength, text };
}

function maskOf(bits: number): number {
  if (bits <= 0) return 0;
  return bits >= 32 ? -1 : -1 << (32 - bits);
}

export function isInside(address: Address, cidr: Cidr): boolean {
  return address.family === cidr.family && matches(address.words, cidr);
}

function matches(words: readonly number[], cidr: Cidr): boolean {
  for (let at = 0; at < words.length; at += 1) {
    if (((words[at] ?? 0) & (cidr.masks[at] ?? 0)) !== cidr.words[at]) return false;
  }
  return true;
}

/** Ranges overlap when one holds the other: they are never half inside. */
export function doCidrsOverlap(a: Cidr, b: Cidr): boolean {
  if (a.family !== b.family) return false;
  return a.prefixLength <= b.prefixLength ? matches(b.words, a) : matches(a.words, b);
}

const FORBIDDEN = [
  // Unspecified, and "this network".
  "0.0.0.0/8",
  "127.0.0.0/8",
  // Link-local: metadata services of clouds live here.
  "169.254.0.0/16",
  "224.0.0.0/4",
  "255.255.255.255/32",
  // Unspecified, loopback, and IPv4 in its old disguise.
  "::/96",
  // IPv4 in its present disguise, which would hide any of the above.
  "::ffff:0:0/96",
  "fe80::/10",
  "ff00::/8",
].flatMap((text) => parseCidr(text) ?? []);

/** Wherever such an address leads, it is not to a pod of another cluster. */
export function isForbiddenAddress(address: Address): boolean {
  return FORBIDDEN.some((cidr) => isInside(address, cidr));
}
