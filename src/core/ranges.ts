// Ranges: CIDRs as people or nodes wrote them in, the fewest that cover exactly the same addresses out. Pure; used once per
// join, so it may count with big numbers.

import type { IPFamily } from "../api/builtin.ts";
import { parseCidr } from "./address.ts";
import { compareText } from "./order.ts";

interface Range {
  readonly family: IPFamily;
  readonly first: bigint;
  readonly prefixLength: number;
}

/**
 * Twins become their parent and what lies inside another goes. When more than `most` are left, the two neighbours whose
 * common parent adds the fewest addresses become it. What is no CIDR is left out.
 */
export function mergeRanges(texts: readonly string[], most: number): readonly string[] {
  let ranges = joinTwins(texts.flatMap(readRange));
  while (ranges.length > most) {
    const fewer = joinNearest(ranges);
    if (fewer.length === ranges.length) break;
    ranges = fewer;
  }
  return ranges.map(formatRange);
}

function joinTwins(ranges: readonly Range[]): readonly Range[] {
  const joined: Range[] = [];
  for (const range of ranges.toSorted(compareRanges)) pushRange(joined, range);
  return joined;
}

function readRange(text: string): readonly Range[] {
  const cidr = parseCidr(text.trim());
  if (cidr === undefined) return [];
  const first = cidr.words.reduce((sum, word) => (sum << 32n) | BigInt(word >>> 0), 0n);
  return [{ family: cidr.family, first, prefixLength: cidr.prefixLength }];
}

/** By family, then address, the wider first: whatever a range holds comes right after it. */
function compareRanges(a: Range, b: Range): number {
  if (a.family !== b.family) return compareText(a.family, b.family);
  if (a.first !== b.first) return a.first < b.first ? -1 : 1;
  return a.prefixLength - b.prefixLength;
}

function pushRange(ranges: Range[], range: Range): void {
  const last = ranges.at(-1);
  if (last !== undefined && holds(last, range)) return;
  if (last !== undefined && areTwins(last, range)) {
    ranges.pop();
    pushRange(ranges, { ...last, prefixLength: last.prefixLength - 1 });
    return;
  }
  ranges.push(range);
}

function holds(outer: Range, inner: Range): boolean {
  return (
    outer.family === inner.family &&
    outer.prefixLength <= inner.prefixLength &&
    inner.first < outer.first + sizeOf(outer)
  );
}

function areTwins(a: Range, b: Range): boolean {
  if (a.family !== b.family || a.prefixLength !== b.prefixLength || a.prefixLength === 0) {
    return false;
  }
  const size = sizeOf(a);
  return b.first === a.first + size && a.first % (size * 2n) === 0n;
}

/** The same ranges when no two are of one family. */
function joinNearest(ranges: readonly Range[]): readonly Range[] {
  let best: { readonly parent: Range; readonly added: bigint } | undefined;
  for (const [at, range] of ranges.entries()) {
    const next = ranges[at + 1];
    if (next === undefined || next.family !== range.family) continue;
    const parent = commonParent(range, next);
    const added = sizeOf(parent) - sizeOf(range) - sizeOf(next);
    if (best === undefined || added < best.added) best = { parent, added };
  }
  // The parent may hold others too, in front of it as well.
  return best === undefined ? ranges : joinTwins([...ranges, best.parent]);
}

function commonParent(a: Range, b: Range): Range {
  let prefixLength = Math.min(a.prefixLength, b.prefixLength);
  for (;;) {
    const parent = { family: a.family, first: 0n, prefixLength };
    const size = sizeOf(parent);
    if (a.first / size === b.first / size) return { ...parent, first: (a.first / size) * size };
    prefixLength -= 1;
  }
}

function sizeOf(range: Range): bigint {
  return 1n << BigInt((range.family === "IPv4" ? 32 : 128) - range.prefixLength);
}

function formatRange(range: Range): string {
  const address = range.family === "IPv4" ? formatIPv4(range.first) : formatIPv6(range.first);
  return `${address}/${range.prefixLength}`;
}

function formatIPv4(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 255n)).join(".");
}

/** RFC 5952: the longest run of zeros becomes "::". */
function formatIPv6(value: bigint): string {
  const groups = [112n, 96n, 80n, 64n, 48n, 32n, 16n, 0n].map((shift) =>
    ((value >> shift) & 0xffffn).toString(16),
  );
  const runs = groups.map((_, start) => {
    const end = groups.findIndex((group, at) => at >= start && group !== "0");
    return { start, length: (end < 0 ? groups.length : end) - start };
  });
  const [run] = runs.toSorted((a, b) => b.length - a.length || a.start - b.start);
  if (run === undefined || run.length < 2) return groups.join(":");
  const left = groups.slice(0, run.start).join(":");
  return `${left}::${groups.slice(run.start + run.length).join(":")}`;
}
