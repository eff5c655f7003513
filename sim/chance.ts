// Chance: one seed in, as many independent streams as there are names out. A stream is not disturbed by how much of another
// is used, so that a schedule with a step less still meets nearly the same world.

import type { Random } from "../src/ports/clock.ts";

/** The same seed and name tell the same story. */
export function createStream(seed: number, name: string): Random {
  let state = hashText(`${seed} ${name}`);
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** FNV-1a, 32 bits. `from` goes on where another text ended. */
export function hashText(text: string, from = 0x811c9dc5): number {
  let hash = from;
  for (let at = 0; at < text.length; at += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  }
  return hash >>> 0;
}

export function flip(random: Random, probability: number): boolean {
  return random() < probability;
}

/** Whole, from `low` to `high`, both included. */
export function between(random: Random, low: number, high: number): number {
  return low + Math.floor(random() * (high - low + 1));
}

export function pick<T>(random: Random, choices: readonly T[]): T {
  const choice = choices[Math.floor(random() * choices.length)];
  if (choice === undefined) throw new RangeError("there is nothing to choose from");
  return choice;
}

/** One of the keys; its number says how often compared with the others. */
export function pickWeighted<K extends string>(
  random: Random,
  weights: Readonly<Record<K, number>>,
): K {
  const entries = Object.entries(weights) as [K, number][];
  let left = random() * entries.reduce((sum, [, weight]) => sum + weight, 0);
  for (const [key, weight] of entries) {
    left -= weight;
    if (left < 0) return key;
  }
  return pick(random, entries)[0];
}
