// Scenario suite: what users wait for, in the words that most scenarios share.

import { expect } from "vitest";
import { SERVICE } from "../../src/api/builtin.ts";
import { SERVICE_IMPORT } from "../../src/api/mcs.ts";
import type { KubeObject } from "../../src/api/object.ts";
import { eventually } from "./poll.ts";
import type { Site } from "./site.ts";
import type { World } from "./world.ts";

/** The import is there, ready, and leads to exactly these addresses. */
export async function expectUsable(
  site: Site,
  name: string,
  addresses: readonly string[],
): Promise<void> {
  expect(await site.importConditions(name)).toMatchObject({ Ready: { status: "True" } });
  expect(await site.addresses(name)).toEqual(addresses.toSorted());
}

export async function usableEverywhere(
  world: World,
  name: string,
  addresses: readonly string[],
): Promise<void> {
  await world.everywhere(`${name} leads to ${addresses.join(", ")}`, (site) =>
    expectUsable(site, name, addresses),
  );
}

/** Nothing of ours is left of the import. */
export async function expectAbsent(site: Site, name: string): Promise<void> {
  expect(await site.get(SERVICE_IMPORT, name)).toBeUndefined();
  expect(await site.get(SERVICE, site.derivedName(name))).toBeUndefined();
  expect(await site.slices(name)).toEqual([]);
}

export async function absentEverywhere(world: World, name: string): Promise<void> {
  await world.everywhere(`nothing is left of ${name}`, (site) => expectAbsent(site, name));
}

export async function readVip(site: Site, name: string): Promise<readonly string[]> {
  const { spec } = await site.serviceImport(name);
  expect(spec?.ips?.length).toBeGreaterThan(0);
  return spec!.ips!;
}

/** What is made after this is younger: timestamps have whole seconds. */
export async function untilYounger(object: KubeObject): Promise<void> {
  const madeAtMs = Date.parse(object.metadata.creationTimestamp!);
  await eventually("a second has passed", () => {
    expect(Date.now()).toBeGreaterThanOrEqual(madeAtMs + 1000);
  });
}
