// Hostile packets for tests: a seed in, one packet after the other out, made of good queries that went through bad hands, of
// pure noise, of names that lead in circles and of names that are too long.

import { renderQuery } from "./dnsWorld.ts";
import { seededRandom } from "./embedded.ts";

const TYPES = [1, 28, 33, 16, 6, 2, 255, 251, 252, 41, 0, 12, 65_535];
const SIZES = [0, 100, 512, 513, 600, 1231, 1232, 1233, 4096, 65_535];

export interface PacketSource {
  /** Good until the next call. */
  next(): Buffer;
}

export function createPacketSource(names: readonly string[], seed: number): PacketSource {
  const roll = seededRandom(seed);
  const below = (limit: number): number => Math.floor(roll() * limit);
  const pick = <T>(list: readonly T[]): T => list[below(list.length)] as T;
  // A stock, since making one is slower than answering it.
  const stock = Array.from({ length: 4096 }, () => {
    const edns = { size: pick(SIZES), version: roll() < 0.05 ? below(256) : 0, isDo: roll() < 0.3 };
    const name = roll() < 0.3 ? changeCase(pick(names), roll) : pick(names);
    return renderQuery(name, pick(TYPES), {
      ...(roll() < 0.6 ? { edns } : {}),
      class: roll() < 0.05 ? below(256) : 1,
      flags: roll() < 0.1 ? below(0x1_0000) : 0x0100,
    });
  });
  const packet = Buffer.alloc(65_535);

  function copy(): number {
    const query = pick(stock);
    query.copy(packet);
    packet.writeUInt16BE(below(0x1_0000), 0);
    return query.length;
  }
  function noise(from: number, to: number): void {
    for (let at = from; at < to; at += 1) packet[at] = below(256);
  }

  const hands: readonly (() => number)[] = [
    copy,
    function flip() {
      const length = copy();
      for (let times = 1 + below(8); times > 0; times -= 1) packet[below(length)] = below(256);
      return length;
    },
    function flipBit() {
      const length = copy();
      const at = below(length);
      packet[at] = (packet[at] ?? 0) ^ (1 << below(8));
      return length;
    },
    function cut() {
      return below(copy() + 1);
    },
    function extend() {
      const length = copy();
      const end = length + below(200);
      noise(length, end);
      return end;
    },
    function recount() {
      const length = copy();
      for (let times = 1 + below(4); times > 0; times -= 1) packet[4 + below(8)] = below(4);
      return length;
    },
    function pointAround() {
      const length = copy();
      const at = 12 + below(length - 12);
      packet[at] = 0xc0 | below(64);
      packet[at + 1] = below(length);
      return Math.max(length, at + 2);
    },
    function splice() {
      const length = copy();
      const other = pick(stock);
      const from = below(other.length);
      const at = below(length);
      other.copy(packet, at, from);
      return at + other.length - from;
    },
    function grow() {
      copy();
      let at = 12;
      for (let labels = below(140); labels > 0; labels -= 1) {
        const size = 1 + below(64);
        packet[at] = size;
        packet.fill(97 + below(26), at + 1, at + 1 + size);
        at += size + 1;
      }
      packet.set([0, 0, 1, 0, 1], at);
      return at + 5;
    },
    function records() {
      let at = copy();
      const count = below(40);
      for (let record = 0; record < count; record += 1) {
        packet.set([0, 0, pick([41, 1, 250]), 4, 208, 0, below(2), 0, 0, 0, below(4)], at);
        at += 11 + (packet[at + 10] ?? 0);
      }
      packet.writeUInt16BE(count, 10);
      return at;
    },
    function random() {
      const length = below(roll() < 0.001 ? packet.length : 600);
      noise(0, length);
      if (roll() < 0.7) packet.set([0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, below(2)]);
      return length;
    },
  ];
  return { next: () => packet.subarray(0, pick(hands)()) };
}

function changeCase(name: string, roll: () => number): string {
  return Array.from(name, (letter) => (roll() < 0.5 ? letter.toUpperCase() : letter)).join("");
}
