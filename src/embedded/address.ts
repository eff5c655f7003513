// Embedded server, addresses: text to number and back, ranges of one family. Pure; nothing outside Service and EndpointSlice rules needs it.

import { isIPv4, isIPv6 } from "node:net";
import type { IPFamily } from "../api/builtin.ts";

export interface Address {
  readonly family: IPFamily;
  readonly value: bigint;
}

export interface Range {
  readonly family: IPFamily;
  readonly first: bigint;
  readonly size: bigint;
  readonly text: string;
}

/** Undefined when it is no address; zones ("%eth0") are none. */
export function parseAddress(text: string): Address | undefined {
  if (isIPv4(text)) {
    const value = text.split(".").reduce((sum, part) => sum * 256n + BigInt(part), 0n);
    return { family: "IPv4", value };
  }
  if (!isIPv6(text) || text.includes("%")) return undefined;
  const embedded = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  const plain = embedded === null ? text : `${embedded[1] ?? ""}${quadToGroups(embedded[2] ?? "")}`;
  const [head = "", tail] = plain.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length;
  const groups = [...left, ...Array<string>(zeros).fill("0"), ...right];
  return {
    family: "IPv6",
    value: groups.reduce((sum, group) => sum * 65536n + BigInt(`0x${group}`), 0n),
  };
}

function quadToGroups(quad: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = quad.split(".").map(Number);
  return `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}

/** Canonical: dotted, or RFC 5952. */
export function formatAddress({ family, value }: Address): string {
  if (family === "IPv4") {
    return [24n, 16n, 8n, 0n].map((shift) => ((value >> shift) & 255n).toString()).join(".");
  }
  const groups = Array.from({ length: 8 }, (_, at) =>
    ((value >> BigInt(112 - 16 * at)) & 0xffffn).toString(16),
  );
  const run = longestZeros(groups);
  if (run.length < 2) return groups.join(":");
  const before = groups.slice(0, run.start).join(":");
  return `${before}::${groups.slice(run.start + run.length).join(":")}`;
}

function longestZeros(groups: readonly string[]): {
  readonly start: number;
  readonly length: number;
} {
  let best = { start: 0, length: 0 };
  for (let start = 0; start < groups.length; start++) {
    let length = 0;
    while (groups[start + length] === "0") length++;
    if (length > best.length) best = { start, length };
  }
  return best;
}

/** Throws on what is no range: it comes from the program, never from a request. */
export function parseRange(text: string): Range {
  const [base = "", bits = ""] = text.split("/");
  const address = parseAddress(base);
  const width = address?.family === "IPv4" ? 32 : 128;
  const length = Number(bits);
  if (address === undefined || !/^\d+$/.test(bits) || length > width) {
    throw new RangeError(`${JSON.stringify(text)} is not a CIDR range`);
  }
  const size = 1n << BigInt(width - length);
  return { family: address.family, first: (address.value / size) * size, size, text };
}

export function isInside(range: Range, address: Address): boolean {
  return (
    range.family === address.family &&
    address.value >= range.first &&
    address.value < range.first + range.size
  );
}
