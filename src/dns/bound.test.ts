// What one cluster can make a server hold: counted, never timed.

import { describe, expect, test } from "vitest";
import { anImport, aSlice, ZONE } from "../../test/dnsWorld.ts";
import {
  MOST_ADDRESSES,
  MOST_PORTS,
  MOST_RECORDS,
  MOST_SCOPED_PORTS,
  takeInTurns,
} from "./bound.ts";
import { listServiceRecords } from "./records.ts";
import type { NamedRecords } from "./recordSet.ts";
import { renderService } from "./render.ts";
import { MOST_SERVERS } from "./srv.ts";

const KEY = "prod/db";
const DB = "db.prod.svc";

function somePorts(count: number, prefix = "p"): string[] {
  return Array.from({ length: count }, (_, at) => `${prefix}${at} ${1_000 + at}/TCP`);
}

function someEndpoints(count: number, { net = 1, zones = 1 } = {}): string[] {
  return Array.from(
    { length: count },
    (_, at) => `10.${net + (at >> 16)}.${(at >> 8) & 255}.${at & 255} zone=z${at % zones}`,
  );
}

function serviceOf(...slices: readonly ReturnType<typeof aSlice>[]) {
  return { serviceImport: anImport(KEY), slices };
}

function list(...slices: readonly ReturnType<typeof aSlice>[]): readonly NamedRecords[] {
  return listServiceRecords(serviceOf(...slices), ZONE);
}

function countOf(records: readonly NamedRecords[], name: string, type: "A" | "SRV"): number {
  const set = records.find((one) => one.name === name)?.sets.find((one) => one.type === type);
  if (set === undefined) return 0;
  if ("addresses" in set) return set.addresses.length;
  return "servers" in set ? set.servers.length : 0;
}

function sumOf(records: readonly NamedRecords[], type: "A" | "SRV"): number {
  return records.reduce((sum, { name }) => sum + countOf(records, name, type), 0);
}

describe("ten thousand endpoints with a hundred ports", () => {
  const slices = [aSlice("east", KEY, someEndpoints(10_000), somePorts(100))];
  const records = list(...slices);
  const portNames = records.filter(({ name }) => name.startsWith("_p") && name.endsWith(DB));
  const podNames = records.filter(({ name }) => name.endsWith(`.east.${DB}`));

  test("are answered with as many addresses as fit into a message", () => {
    expect(countOf(records, DB, "A")).toBe(MOST_ADDRESSES);
    expect(countOf(records, DB, "SRV")).toBeLessThanOrEqual(MOST_SERVERS);
    expect(countOf(records, DB, "SRV")).toBeGreaterThan(MOST_SERVERS - 100);
  });

  test("have a bounded number of records at the names of ports and of endpoints", () => {
    expect(portNames).toHaveLength(100);
    expect(podNames).toHaveLength(MOST_ADDRESSES);
    for (const some of [portNames, podNames]) {
      expect(sumOf(some, "SRV")).toBeLessThanOrEqual(MOST_RECORDS);
      expect(sumOf(some, "SRV")).toBeGreaterThan(MOST_RECORDS / 2);
    }
  });

  test("have one set of addresses for all ports, rendered once", () => {
    const sets = new Set(portNames.map(({ sets }) => sets.find(({ type }) => type === "A")));
    expect(sets.size).toBe(1);
    const { names } = renderService(serviceOf(...slices), ZONE);
    const answers = new Set(names.flatMap((one) => one.answers));
    const addresses = [...answers].filter(({ type, starts }) => type === 1 && starts.length > 1);
    // Of the service, of its ports, and of both in the one zone.
    expect(addresses).toHaveLength(4);
  });
});

test("what is left out does not depend on the order of slices", () => {
  const endpoints = someEndpoints(5_000);
  const parts = [0, 2_000, 4_000].map((from) =>
    aSlice("east", KEY, endpoints.slice(from, from + 2_000), somePorts(20)),
  );
  const [one, other] = [parts, parts.toReversed()].map((slices) => list(...slices));
  expect(JSON.stringify(one) === JSON.stringify(other)).toBe(true);
});

test("addresses of targets are not kept where the records alone fill a message", () => {
  const { names } = renderService(serviceOf(aSlice("east", KEY, someEndpoints(3_000))), ZONE);
  const kept = names.flatMap(({ answers }) =>
    answers.filter(({ records, additional }) => records.length + additional.length > 65_535),
  );
  expect(kept.filter(({ additionalCount }) => additionalCount > 0)).toEqual([]);
  expect(kept.length).toBeGreaterThan(0);
});

test("one family with many addresses does not leave the other without any", () => {
  const six = Array.from({ length: 10 }, (_, at) => `fd00::${at + 1}`);
  const records = list(aSlice("east", KEY, someEndpoints(5_000)), aSlice("east", KEY, six));
  const sets = records.find(({ name }) => name === DB)!.sets;
  expect(sets.map((set) => ("addresses" in set ? set.addresses.length : set.type))).toEqual([
    MOST_ADDRESSES,
    10,
    "SRV",
  ]);
});

describe("a cluster with far too much", () => {
  const slices = Array.from({ length: 10 }, (_, at) =>
    aSlice(
      "a-first",
      KEY,
      someEndpoints(1_000, { net: 100 + at, zones: 1_000 }).map((one) => `${one}-${at}`),
      somePorts(100, `junk${at}-`),
    ),
  );
  const other = aSlice("east", KEY, ["10.1.0.1 zone=eu-1", "10.1.0.2 zone=eu-2"], ["sql 5432/TCP"]);
  const records = list(...slices, other);

  test("does not push out the endpoints, ports and zones of another", () => {
    for (const name of [DB, `_sql._tcp.${DB}`, `10-1-0-2.east.${DB}`, `${DB}.eu-2._zone`]) {
      const sets = records.find((one) => one.name === name)?.sets ?? [];
      const addresses = sets.flatMap((set) => ("addresses" in set ? set.addresses : []));
      expect([name, addresses.some(({ words }) => words[0] === 0x0a010002)]).toEqual([name, true]);
    }
    const targets = records
      .find(({ name }) => name === DB)!
      .sets.flatMap((set) => ("servers" in set ? set.servers.map(({ target }) => target) : []));
    expect(targets).toContain(`10-1-0-2.east.${DB}`);
  });

  test("has a bounded number of port names, alone and in zones", () => {
    const ports = records.filter(({ name, sets }) => /^_.*svc$/.test(name) && sets.length > 0);
    const scoped = records.filter(({ name, sets }) => /^_.*_zone$/.test(name) && sets.length > 0);
    expect(ports).toHaveLength(MOST_PORTS);
    expect(scoped.length).toBeGreaterThan(0);
    expect(scoped.length).toBeLessThanOrEqual(MOST_SCOPED_PORTS);
  });
});

test("nothing is left out of a large service", () => {
  const records = list(aSlice("east", KEY, someEndpoints(1_000, { zones: 150 }), somePorts(5)));
  expect(countOf(records, DB, "A")).toBe(1_000);
  for (const port of ["p0", "p4"])
    expect(countOf(records, `_${port}._tcp.${DB}`, "SRV")).toBe(1_000);
  expect(records.filter(({ name }) => name.endsWith(`.east.${DB}`))).toHaveLength(1_000);
  const zones = records.filter(({ name }) => /^_p0._tcp.*_zone$/.test(name));
  expect(zones).toHaveLength(150);
  expect(sumOf(zones, "SRV")).toBe(1_000);
});

test("those with much give way in turn, those with little keep all", () => {
  const all = ["a1", "a2", "a3", "a4", "b1", "c1", "c2"];
  const source = (one: string) => one.slice(0, 1);
  expect(takeInTurns(all, 7, { source })).toBe(all);
  expect(takeInTurns(all, 5, { source })).toEqual(["a1", "a2", "b1", "c1", "c2"]);
  expect(takeInTurns(all, 2, { source })).toEqual(["a1", "b1"]);
});
