import * as fc from "fast-check";
import { expect, test } from "vitest";
import { encodeName } from "./name.ts";
import { createNameIndex } from "./nameIndex.ts";
import { createTable, type RenderedAnswer, type RenderedName } from "./table.ts";

const wire = (text: string) => encodeName(text) ?? new Uint8Array();
/** Told apart by its type. */
function anAnswer(type: number): RenderedAnswer {
  const nothing = new Uint8Array();
  return {
    type,
    records: nothing,
    starts: Uint32Array.of(0),
    additional: nothing,
    additionalCount: 0,
  };
}
const aName = (text: string, ...types: readonly number[]): RenderedName => ({
  name: wire(text),
  answers: types.map(anAnswer),
});
function look(table: ReturnType<typeof createTable>, text: string): readonly number[] | undefined {
  return table.find(wire(text), wire(text).length)?.map(({ type }) => type);
}
const aTable = () => createTable(["z"], { ttlSeconds: 5 });

test("an owner's names come, change and go as a whole", () => {
  const table = aTable();
  table.replace({ owner: "a", names: [aName("one.z", 1), aName("two.z", 1, 28)] });
  expect([look(table, "one.z"), look(table, "two.z"), table.size]).toEqual([[1], [1, 28], 2]);
  table.replace({ owner: "a", names: [aName("two.z", 33), aName("three.z")] });
  expect([look(table, "one.z"), look(table, "two.z"), look(table, "three.z")]).toEqual([
    undefined,
    [33],
    [],
  ]);
  table.replace({ owner: "a", names: [] });
  expect([look(table, "two.z"), table.size]).toEqual([undefined, 0]);
});

test("a name that several owners have exists until the last of them is gone", () => {
  const table = aTable();
  table.replace({ owner: "a", names: [aName("shared.z")] });
  table.replace({ owner: "b", names: [aName("shared.z"), aName("shared.z")] });
  table.replace({ owner: "a", names: [] });
  expect(look(table, "shared.z")).toEqual([]);
  table.replace({ owner: "b", names: [aName("other.z")] });
  expect(look(table, "shared.z")).toBeUndefined();
});

test("each change has a serial of its own, or the one that comes with it, and the SOA says so", () => {
  const table = createTable(["z"], { ttlSeconds: 5, serial: 0xffff_ffff });
  const serialOf = () => Buffer.from(table.soa).readUInt32BE(table.soa.length - 20);
  expect([table.serial, serialOf()]).toEqual([0xffff_ffff, 0xffff_ffff]);
  table.replace({ owner: "a", names: [] });
  expect([table.serial, serialOf()]).toEqual([0, 0]);
  table.replace({ owner: "a", names: [], serial: 2_000_000_000 });
  expect([table.serial, serialOf()]).toEqual([2_000_000_000, 2_000_000_000]);
});

test.each(["", ".", "a..b"])("%j is refused as a zone, in a sentence", (zone) => {
  expect(() => createTable([zone], { ttlSeconds: 5 })).toThrow(
    "is no domain name; give one such as clusterset.local.",
  );
});

const change = fc.record({
  owner: fc.constantFrom("a", "b", "c"),
  names: fc.array(
    fc.record({ name: fc.integer({ min: 0, max: 60 }), types: fc.subarray([1, 28]) }),
    { maxLength: 40 },
  ),
});

test("after any changes the table holds what a plain map of owners holds", () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 30 }), fc.integer(), (changes, hashSeed) => {
      const table = createTable(["z"], { ttlSeconds: 5, hashSeed });
      const model = new Map<string, Map<string, readonly number[]>>();
      for (const { owner, names } of changes) {
        const texts = names.map(({ name, types }) => ({ text: `n${name}.z`, types }));
        table.replace({ owner, names: texts.map(({ text, types }) => aName(text, ...types)) });
        const mine = new Map<string, readonly number[]>();
        for (const { text, types } of texts) {
          if (types.length > 0 || !mine.has(text)) mine.set(text, types);
        }
        model.set(owner, mine);
      }
      const known = new Set([...model.values()].flatMap((mine) => [...mine.keys()]));
      expect(table.size).toBe(known.size);
      for (let name = 0; name <= 61; name += 1) {
        const text = `n${name}.z`;
        const given = ["a", "b", "c"].flatMap((owner) => [model.get(owner)?.get(text) ?? []]);
        const expected = known.has(text)
          ? (given.find((types) => types.length > 0) ?? [])
          : undefined;
        expect(look(table, text)).toEqual(expected);
      }
    }),
  );
});

test("names that come and go leave nothing behind: places are given back, numbers used again", () => {
  const index = createNameIndex(1);
  let largest = 0;
  for (let round = 0; round < 50; round += 1) {
    const ids = Array.from({ length: 500 }, (_, at) => index.add(wire(`n${round}-${at}.z`)));
    largest = Math.max(largest, ...ids);
    for (const id of ids) index.remove(id);
  }
  expect(largest).toBe(499);
  expect([index.size, index.capacity]).toEqual([0, 64]);
});

test("names that happen to have one hash are told apart by their bytes", () => {
  const index = createNameIndex(1);
  // Among so many, about ten pairs share 32 bits.
  for (let at = 0; at < 300_000; at += 1) {
    const scattered = Math.imul(at, 2_654_435_761) >>> 0;
    index.add(wire(`n${at}-${scattered}.z`));
  }
  expect(index.size).toBe(300_000);
});

test("names are found whatever else comes and goes beside them", () => {
  const operations = fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 0, max: 200 })), {
    maxLength: 300,
  });
  fc.assert(
    fc.property(operations, fc.integer(), (steps, seed) => {
      const index = createNameIndex(seed);
      const model = new Map<string, number>();
      for (const [isAdded, number] of steps) {
        const text = `n${number}.z`;
        const id = model.get(text);
        if (isAdded) model.set(text, index.add(wire(text)));
        else if (id !== undefined) {
          index.remove(id);
          model.delete(text);
        }
      }
      expect(index.size).toBe(model.size);
      for (let number = 0; number <= 200; number += 1) {
        const text = `n${number}.z`;
        expect(index.find(wire(text), wire(text).length)).toBe(model.get(text) ?? -1);
      }
    }),
  );
});
