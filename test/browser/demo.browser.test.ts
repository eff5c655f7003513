// The dashboard of the demo's world, in a real browser: three clusters with real controllers between them. What the page shows is
// compared with what the API servers have, while services come, disagree, and a cluster loses its power.
// With ISTHMUS_SCREENSHOTS=1 it also makes the pictures in docs/images anew.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { SERVICE_EXPORT, SERVICE_IMPORT } from "../../src/api/mcs.ts";
import { SHOP } from "../../src/cli/demo/shop.ts";
import type { World } from "../../src/cli/demo/world.ts";
import { closeBrowserAtEnd, openPage, WIDE } from "./chromium.ts";
import { addPod, offer, openDemoShop, readSources } from "./demoShop.ts";

closeBrowserAtEnd();

const IMAGES = join(import.meta.dirname, "../../docs/images");
const MOST_BYTES = 200_000;
/** A busy machine takes its time; nothing here is measured. */
const PATIENCE = { timeout: 60_000 };

const row = (name: string): string => `table.services tr:has(a[href='#/service/${SHOP}/${name}'])`;

async function untilShown(page: Page, selector: string, text: string | RegExp): Promise<void> {
  await page
    .locator(selector, { hasText: text })
    .first()
    .waitFor({ ...PATIENCE, state: "attached" });
}

/** What the open panel says of each cluster: its virtual IP, and where it leads. */
async function readPanel(page: Page): Promise<Readonly<Record<string, string>>> {
  const rows = await page.locator("#panel table.parts tbody tr").all();
  const cells = await Promise.all(rows.map((each) => each.locator("th, td").allTextContents()));
  return Object.fromEntries(cells.map(([cluster = "", , leads = ""]) => [cluster, leads]));
}

/** The same, from the API servers. */
async function readServers(world: World, name: string): Promise<Readonly<Record<string, string>>> {
  const entries = Object.values(world.clusters).map(async (cluster) => {
    const found = await cluster.client.get(SERVICE_IMPORT, { namespace: SHOP, name });
    const sources = Object.entries(await readSources(cluster, name)).toSorted(([a], [b]) =>
      a < b ? -1 : 1,
    );
    const words = sources.map(([source, ready]) => `${source} ${ready}`).join("");
    return [`${cluster.name}${found?.spec?.ips?.join("") ?? ""}`, words] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

async function readConflict(world: World, name: string): Promise<string> {
  const found = await world.clusters.west.client.get(SERVICE_EXPORT, { namespace: SHOP, name });
  const condition = found?.status?.conditions?.find(({ type }) => type === "Conflict");
  return condition?.message ?? "";
}

test("the page follows the demo's clusters: what it shows is what their API servers have", async () => {
  const world = await openDemoShop();
  const { east, west, edge } = world.clusters;
  const page = await openPage(world.url, { colorScheme: "light" });
  await page.evaluate("globalThis.sameDocument = true");
  await untilShown(page, "#verdict", "All is well.");
  expect(await page.textContent("#servicesBody")).toContain("isthmus export -n shop checkout");

  await offer(east, world, { name: "checkout", pods: 2, port: 80 });
  await offer(west, world, { name: "checkout", pods: 2, port: 80 });
  await offer(east, world, { name: "cart", pods: 3, port: 80 });
  await offer(west, world, { name: "cart", pods: 2, port: 80 });
  await offer(edge, world, { name: "telemetry", pods: 1, port: 4318 });
  await offer(east, world, { name: "ledger", pods: 3, port: 5432, isHeadless: true });
  await untilShown(page, `${row("cart")} .endpoints`, "east 3west 2");
  for (let nth = 4; nth <= 9; nth++) {
    await addPod(east, "cart", nth);
    await untilShown(page, `${row("cart")} .endpoints`, `east ${nth}`);
  }
  await page.click(`${row("cart")} a`);
  for (const cluster of ["east", "west", "edge"]) {
    await untilShown(page, `#panel table.parts tr:has(a:text-is('${cluster}'))`, /east 9\s*west 2/);
  }
  const shown = await readPanel(page);
  expect(shown).toEqual(await readServers(world, "cart"));
  expect(Object.keys(shown).length).toBe(3);
  await untilShown(page, "#panel .tree", "east");
  await page.keyboard.press("Escape");
  await untilShown(page, ".figures", /p50\d+/);

  await offer(west, world, { name: "catalog", pods: 2, port: 81 });
  await untilShown(page, row("catalog"), "west 2");
  await offer(east, world, { name: "catalog", pods: 2, port: 80 });
  await untilShown(page, `${row("catalog")}.warn`, "80");
  await expect
    .poll(async () => {
      const told = (await readConflict(world, "catalog")).split("\n")[0] ?? "";
      const shown = await page.textContent(`${row("catalog")} td.state`);
      return told !== "" && shown?.includes(told);
    }, PATIENCE)
    .toBe(true);
  await untilShown(page, "#timelineBody .kind", "conflict");

  await west.cutPower();
  await untilShown(page, "#verdict", "west is lost.");
  await page.waitForSelector("g.cluster.bad[aria-label^='west lost']");
  await untilShown(page, "#said", "west");
  await untilShown(page, "#timelineBody .kind", "failover");
  await page.click(`${row("cart")} a`);
  await untilShown(
    page,
    "#panel table.parts tr:has(a:text-is('edge')) td:nth-child(3)",
    /^east 9$/,
  );
  expect(await readSources(edge, "cart")).toEqual({ east: 9 });
  await page.keyboard.press("Escape");

  await west.restorePower();
  await page.waitForSelector("g.cluster.well[aria-label^='west live']", PATIENCE);
  await untilShown(page, "#timelineBody .kind", "returned");
  await untilShown(page, "#verdict", /^1 service needs a look\.$/);
  expect(await page.evaluate("globalThis.sameDocument")).toBe(true);
  await takePictures(page);
});

/** Both themes of what is shown, as the README has them. */
async function takePictures(page: Page): Promise<void> {
  await page.setViewportSize(WIDE);
  await page.mouse.move(0, 0);
  await page.evaluate("document.activeElement?.blur()");
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const path = join(IMAGES, `dashboard-${colorScheme}.png`);
    const isWanted = process.env["ISTHMUS_SCREENSHOTS"] === "1";
    const picture = await page.screenshot(isWanted ? { path } : {});
    expect(picture.byteLength).toBeLessThan(MOST_BYTES);
    const kept = readFileSync(path);
    expect([kept.readUInt32BE(16), kept.readUInt32BE(20)]).toEqual([WIDE.width, WIDE.height]);
    expect(kept.byteLength).toBeLessThan(MOST_BYTES);
  }
}
