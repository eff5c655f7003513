// Bench: what an agent holds of the services that it imports, as a multiple of the same data as JSON: the specs of the shares
// on the hub, each counted once. Measured in two ways: by the agent that imported them, and by one started afterwards. The
// same agent with an empty hub is subtracted.

import { ENDPOINT_SLICE, SERVICE } from "../src/api/builtin.ts";
import { ENDPOINT_SHARE, SERVICE_SHARE } from "../src/api/hubshare.ts";
import { SERVICE_IMPORT } from "../src/api/mcs.ts";
import { MANAGED_LABEL, SOURCE_CLUSTER_LABEL } from "../src/api/names.ts";
import type { KubeObject } from "../src/api/object.ts";
import type { AgentTask, HeldReport } from "./agent.ts";
import { type Child, startChild } from "./child.ts";
import { SPACE } from "./access.ts";
import { type Fleet, withFleet } from "./fleet.ts";
import { ENDPOINTS, type Source, startSource } from "./shares.ts";
import { removeImports } from "./source.ts";
import { type BenchOptions, type BenchResult, compareRounds, type Row } from "./table.ts";

const GOAL = 1.5;

interface Round {
  /** Nothing is imported. */
  readonly empty: HeldReport;
  /** By the process that wrote the imports. */
  readonly imported: HeldReport;
  /** By one that found them written. */
  readonly restarted: HeldReport;
  readonly json: Sizes;
}

interface Sizes {
  /** The specs of the shares: what there is to know. */
  readonly sharesBytes: number;
  /** Every object that the agent follows, as the servers send it, but for managedFields. */
  readonly objectsBytes: number;
}

export function runMemoryBench({ quick, rounds }: BenchOptions): Promise<BenchResult> {
  const count = quick ? 200 : 1_000;
  return withFleet(async (fleet) => {
    const source = await startSource(fleet.hub);
    try {
      const results: Round[] = [];
      for (let round = 0; round < rounds; round++) {
        results.push(await measureRound(fleet, source, count));
        await source.empty();
        await removeImports(fleet);
      }
      return { title: titleOf(count), rows: rowsOf(results) };
    } finally {
      await source.stop();
    }
  });
}

function titleOf(count: number): string {
  return `memory of an agent with ${count} imported services of ${ENDPOINTS} endpoints ÷ the same data as JSON`;
}

async function measureRound(fleet: Fleet, source: Source, count: number): Promise<Round> {
  const [empty, imported] = await withAgent(fleet, async (agent) => {
    const before = await askReport(agent, 0);
    await source.fill(count);
    return [before, await askReport(agent, count)] as const;
  });
  const json = await measureJson(fleet, count);
  const restarted = await withAgent(fleet, (agent) => askReport(agent, count));
  return { empty, imported, restarted, json };
}

async function withAgent<T>({ access }: Fleet, work: (agent: Child) => Promise<T>): Promise<T> {
  const agent = await startChild("agent", access.b);
  try {
    await agent.ask("start" satisfies AgentTask);
    return await work(agent);
  } finally {
    await agent.stop();
  }
}

async function askReport(agent: Child, imports: number): Promise<HeldReport> {
  return (await agent.ask({ held: imports } satisfies AgentTask)) as HeldReport;
}

async function measureJson({ hub, b }: Fleet, count: number): Promise<Sizes> {
  const here = { namespace: SPACE };
  const shares = [
    ...(await hub.list(SERVICE_SHARE)).items,
    ...(await hub.list(ENDPOINT_SHARE)).items,
  ];
  const slices = (await b.list(ENDPOINT_SLICE, { ...here, labelSelector: SOURCE_CLUSTER_LABEL }))
    .items;
  const imports = (await b.list(SERVICE_IMPORT, here)).items;
  const services = (await b.list(SERVICE, { ...here, labelSelector: `${MANAGED_LABEL}=true` }))
    .items;
  const whole = slices.filter(({ endpoints }) => endpoints.length === ENDPOINTS);
  if ([whole, imports, services].some((list) => list.length !== count)) {
    throw new Error(
      `of ${count} services there are ${whole.length} whole slices, ${imports.length} imports and ${services.length} Services`,
    );
  }
  const objects: readonly KubeObject[] = [...shares, ...slices, ...imports, ...services];
  return {
    sharesBytes: sumBytes(shares.map(({ spec }) => spec)),
    objectsBytes: sumBytes(objects.map(dropManagedFields)),
  };
}

function sumBytes(values: readonly unknown[]): number {
  return values.reduce<number>((sum, value) => sum + Buffer.byteLength(JSON.stringify(value)), 0);
}

function dropManagedFields(object: KubeObject): KubeObject {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function rowsOf(rounds: readonly Round[]): Row[] {
  const held = (
    name: string,
    phase: "imported" | "restarted",
    floor: keyof Sizes,
    goal?: number,
  ): Row =>
    compareRounds(rounds, {
      name,
      unit: "MB",
      ours: (round) => (round[phase].heldBytes - round.empty.heldBytes) / 1e6,
      floor: ({ json }) => json[floor] / 1e6,
      ...(goal !== undefined && { goal }),
    });
  const rss = (name: string, phase: "imported" | "restarted", field: "rssBytes" | "peakRssBytes") =>
    compareRounds(rounds, {
      name,
      unit: "MB",
      ours: (round) => round[phase][field] / 1e6,
      floor: ({ empty }) => empty.rssBytes / 1e6,
    });
  return [
    held("held ÷ the shares", "imported", "sharesBytes", GOAL),
    held("held after a restart ÷ the shares", "restarted", "sharesBytes", GOAL),
    held("held ÷ all objects it follows", "imported", "objectsBytes"),
    rss("RSS ÷ RSS with nothing imported", "imported", "rssBytes"),
    rss("peak RSS ÷ RSS with nothing imported", "imported", "peakRssBytes"),
    rss("peak RSS, restarted ÷ the same", "restarted", "peakRssBytes"),
  ];
}
