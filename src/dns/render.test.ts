// What is rendered anew after a change: counted, never timed.

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { anImport, aSlice, ZONE } from "../../test/dnsWorld.ts";
import { type RenderMemory, renderService } from "./render.ts";
import type { Change } from "./table.ts";

const KEY = "prod/db";
const ZONES = { ...ZONE, zones: ["clusterset.local", "example.org"] };

function serviceOf(endpoints: readonly string[], ports?: readonly string[]) {
  const east = aSlice("east", KEY, endpoints, ports);
  return { serviceImport: anImport(KEY), slices: [east, aSlice("west", KEY, ["10.2.0.1 host=a"])] };
}

test("with a memory of what was, the outcome is the same as from nothing", () => {
  const endpoint = fc
    .tuple(
      fc.integer({ min: 1, max: 6 }),
      fc.constantFrom("", " host=a", " host=b", " unready", " zone=z1"),
    )
    .map(([at, words]) => `10.1.0.${at}${words}`);
  const ports = fc.uniqueArray(
    fc.constantFrom("a 1/TCP", "a 2/TCP", "b 1/UDP", "3/TCP", "c any/TCP"),
  );
  const world = fc.tuple(fc.array(endpoint, { maxLength: 8 }), ports);
  fc.assert(
    fc.property(fc.array(world, { minLength: 2, maxLength: 5 }), (worlds) => {
      const memory: RenderMemory = { names: new Map() };
      for (const [endpoints, some] of worlds) {
        const objects = serviceOf(endpoints, some);
        const anew = spell(renderService(objects, ZONES));
        expect(spell(renderService(objects, ZONES, memory))).toBe(anew);
      }
    }),
  );
});

/** To the last byte. */
function spell(change: Change): string {
  return JSON.stringify(change, (_, value: unknown) =>
    value instanceof Uint8Array || value instanceof Uint32Array
      ? Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("hex")
      : value,
  );
}

test.each([100, 400])(
  "of %i endpoints one moves, and one comes: their names and those of all together are rendered",
  (count) => {
    const before = Array.from(
      { length: count },
      (_, at) => `10.1.${at >> 8}.${at & 255} host=p${at}`,
    );
    const memory: RenderMemory = { names: new Map() };
    const first = renderService(serviceOf(before), ZONES, memory);
    const after = [...before.with(7, "10.1.9.9 host=p7"), "10.1.9.10"];
    const known = new Set(first.names);
    const { names } = renderService(serviceOf(after), ZONES, memory);
    const anew = names.filter((name) => !known.has(name));
    // In two zones: the service, its port, the endpoint that moved, the one that came.
    expect(anew).toHaveLength(2 * 4);
    expect(names).toHaveLength(first.names.length + 2);
  },
);

test("what is gone is not remembered", () => {
  const memory: RenderMemory = { names: new Map() };
  renderService(serviceOf(["10.1.0.1", "10.1.0.2"]), ZONES, memory);
  expect(memory.names.size).toBe(3);
  renderService({ serviceImport: anImport(KEY), slices: [] }, ZONES, memory);
  expect(memory.names.size).toBe(0);
});
