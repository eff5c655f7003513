// Fault tests: many services that one cluster offers and takes back at once, so that its agent has its hands full when
// something happens to it.

import { expect } from "vitest";
import { ENDPOINT_SLICE, SERVICE } from "../../src/api/builtin.ts";
import { ENDPOINT_SHARE, SERVICE_SHARE } from "../../src/api/hubshare.ts";
import { SERVICE_IMPORT } from "../../src/api/mcs.ts";
import { memberNamespace, SERVICE_NAME_LABEL } from "../../src/api/names.ts";
import type { Resource } from "../../src/api/object.ts";
import { eventually } from "../scenarios/poll.ts";
import { type Bed, CONVERGE_MS, type Member } from "./bed.ts";
import type { Replica } from "./replica.ts";

export interface Burst {
  readonly bed: Bed;
  readonly exporter: Member;
  /** The one endpoint of each service. */
  readonly address: string;
}

const NAMES: readonly string[] = Array.from({ length: 50 }, (_, index) => `burst-${index}`);
export const BURST_SIZE = NAMES.length;
/** Of fifty: in the middle of it, with time for the signal to arrive. */
const SOME = 5;
/** On a machine that has no time for us the agent may be done before the blow. */
const ATTEMPTS = 5;

/** What is done to an agent that has its hands full, and how it gets back to work. */
interface Blow {
  readonly agent: Replica;
  strike(): Promise<void>;
  recover(): Promise<void>;
}

/** Services with endpoints, not exported yet; they may be there from an earlier burst. */
export async function serveBurst({ exporter, address }: Burst): Promise<void> {
  const serve = async (name: string): Promise<void> => {
    if ((await exporter.site.get(SERVICE, name)) !== undefined) return;
    await exporter.site.serve(name, [address]);
  };
  await Promise.all(NAMES.map(serve));
}

/** All are exported, and the agent is struck when it has shared some of them. Answers how many, and since when that is so. */
export async function strikeWhileSharing(
  burst: Burst,
  blow: Blow,
): Promise<{ readonly shared: number; readonly sinceMs: number }> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const sinceMs = performance.now();
    await catchAtWork(burst, blow.agent, () => beginExports(burst));
    await blow.strike();
    const shared = await countShares(burst, SERVICE_SHARE);
    if (shared < BURST_SIZE) return { shared, sinceMs };
    await blow.recover();
    await endExports(burst);
    await burstIsNowhere(burst);
  }
  throw new Error(`the agent had shared them all before it was struck, ${ATTEMPTS} times`);
}

/** None is exported any more, and the agent is struck when it has taken back some of them. Answers how many are left. */
export async function strikeWhileTakingBack(burst: Burst, blow: Blow): Promise<number> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    await catchAtWork(burst, blow.agent, () => endExports(burst));
    await blow.strike();
    const left = await countShares(burst, ENDPOINT_SHARE);
    if (left > 0) return left;
    await blow.recover();
    await beginExports(burst);
    await burstIsEverywhere(burst);
  }
  throw new Error(`the agent had taken them all back before it was struck, ${ATTEMPTS} times`);
}

async function beginExports({ exporter }: Burst): Promise<void> {
  await Promise.all(NAMES.map((name) => exporter.site.export(name)));
}

/** Whoever is at work has them to take back then. */
export async function endExports({ exporter }: Burst): Promise<void> {
  await Promise.all(NAMES.map((name) => exporter.site.unexport(name)));
}

/**
 * The agent is held until all is there to be done: what is then done to it meets it at work, not waiting for us. On a busy machine
 * that may be for longer than its lease: who would take over has to be held, too.
 */
async function catchAtWork(
  { bed, exporter }: Burst,
  agent: Replica,
  prepare: () => Promise<void>,
): Promise<void> {
  const namespace = memberNamespace(exporter.id);
  await agent.pause();
  await prepare();
  const { resourceVersion } = await bed.hubAdmin.list(SERVICE_SHARE, { namespace });
  const enough = new AbortController();
  const { signal } = enough;
  let seen = 0;
  await bed.hubAdmin.watch(
    SERVICE_SHARE,
    { namespace, resourceVersion, timeoutSeconds: 180, signal, onOpen: () => void agent.resume() },
    (event) => {
      if (event.type !== "BOOKMARK") seen += 1;
      if (seen >= SOME) enough.abort();
    },
  );
  if (!signal.aborted) throw new Error("the watch ended before anything happened");
}

/** How many of them are on the hub. */
async function countShares({ bed, exporter }: Burst, resource: Resource): Promise<number> {
  const namespace = memberNamespace(exporter.id);
  const { items } = await bed.hubAdmin.list(resource, { namespace });
  return items.filter(({ metadata }) => metadata.name?.includes(".burst-")).length;
}

/** Each is on the hub once and imported everywhere, with its one address. */
export async function burstIsEverywhere(burst: Burst): Promise<void> {
  await sharesAre(burst, NAMES.length);
  const wanted = NAMES.map((name) => `${name} ${burst.address}`).toSorted();
  for (const member of burst.bed.members) {
    await eventually(
      `each of them is ready and leads to its one address in ${member.id}`,
      async () => {
        expect(await listImported(member)).toEqual(wanted);
        const { items } = await member.admin.list(SERVICE_IMPORT);
        const ready = items.filter(({ metadata, status }) => {
          const conditions = status?.conditions ?? [];
          const isReady = conditions.some((one) => one.type === "Ready" && one.status === "True");
          return isReady && NAMES.includes(metadata.name ?? "");
        });
        expect(ready).toHaveLength(NAMES.length);
      },
      CONVERGE_MS,
    );
  }
}

/** Nothing of them is left on the hub or in any cluster. */
export async function burstIsNowhere(burst: Burst): Promise<void> {
  await sharesAre(burst, 0);
  for (const member of burst.bed.members) {
    await eventually(
      `nothing of them is imported in ${member.id}`,
      async () => {
        const { items } = await member.admin.list(SERVICE_IMPORT);
        const names = items.map(({ metadata }) => metadata.name ?? "");
        expect(names.filter((name) => NAMES.includes(name))).toEqual([]);
        expect(await listImported(member)).toEqual([]);
      },
      CONVERGE_MS,
    );
  }
}

/** One virtual IP each since then, in every cluster, and none of the imports went away. */
export function expectSteadyBurst({ bed }: Burst, sinceMs: number): void {
  for (const { id, history } of bed.members) {
    const changes = history.changes.filter(
      ({ atMs, kind, service }) =>
        atMs >= sinceMs && kind === SERVICE_IMPORT.kind && NAMES.includes(service),
    );
    expect(changes.filter(({ type }) => type === "DELETED")).toEqual([]);
    for (const name of NAMES) {
      const own = changes.filter(({ service }) => service === name);
      const ips = new Set(own.flatMap((change) => change.ips?.join() ?? []));
      expect(ips.size, `virtual IPs of ${name} in ${id}`).toBe(1);
    }
  }
}

async function sharesAre(burst: Burst, count: number): Promise<void> {
  await eventually(
    `the hub has ${count} of them`,
    async () => {
      expect(await countShares(burst, SERVICE_SHARE)).toBe(count);
      expect(await countShares(burst, ENDPOINT_SHARE)).toBe(count);
    },
    CONVERGE_MS,
  );
}

/** As in "burst-1 10.3.0.1", once for each endpoint of each slice. */
async function listImported({ admin }: Member): Promise<readonly string[]> {
  const { items } = await admin.list(ENDPOINT_SLICE, { labelSelector: SERVICE_NAME_LABEL });
  return items
    .flatMap(({ metadata, endpoints }) => {
      const name = metadata.labels?.[SERVICE_NAME_LABEL] ?? "";
      return (endpoints ?? []).map(({ addresses }) => `${name} ${addresses.join()}`);
    })
    .filter((text) => text.startsWith("burst-"))
    .toSorted();
}
