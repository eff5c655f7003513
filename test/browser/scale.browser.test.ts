// Fifty clusters and a thousand services: the page stays usable because what is in the document stays small, and because a change
// of one service touches one row.

import { expect, test } from "vitest";
import { PAGE_SIZE } from "../../src/dashboard/page/rows.ts";
import { serveCanned } from "./cannedFeed.ts";
import { closeBrowserAtEnd, openPage } from "./chromium.ts";
import { aCluster, aLargeSet, nameLarge } from "./states.ts";

closeBrowserAtEnd();

const CLUSTERS = 50;
const SERVICES = 1000;

async function openLarge() {
  const state = aLargeSet(CLUSTERS, SERVICES);
  const feed = await serveCanned(state);
  const page = await openPage(feed.url);
  await page.waitForSelector("table.services");
  const countRows = (): Promise<number> => page.locator("table.services tbody tr").count();
  return { state, feed, page, countRows };
}

test("all are counted, and no more rows and lines are in the document than a reader can use", async () => {
  const { page, countRows } = await openLarge();
  expect(await page.textContent(".counts")).toBe("50 clusters · 1,000 services");
  expect(await countRows()).toBe(PAGE_SIZE);
  expect(await page.textContent(".pager span")).toBe("1–50 of 1,000");
  expect(await page.locator("g.cluster").count()).toBe(CLUSTERS);
  expect(await page.locator("path.way").count()).toBe(60);
  expect(await page.evaluate<number>("document.querySelectorAll('*').length")).toBeLessThan(4000);
});

test("pages are turned to the last, and no further", async () => {
  const { page } = await openLarge();
  await page.click("thead button:has-text('Service')");
  await page.waitForSelector("th.service[aria-sort=ascending]");
  for (let from = 51; from <= SERVICES; from += PAGE_SIZE) {
    await page.click(".pager button:text('Next')");
    await page
      .locator(".pager span", { hasText: `${from}–` })
      .or(page.locator(".pager span", { hasText: "951–1,000" }))
      .waitFor();
  }
  await page.locator(".pager span", { hasText: "951–1,000 of 1,000" }).waitFor();
  expect(await page.getAttribute(".pager button:text('Next')", "aria-disabled")).toBe("true");
  await page.click(".pager button:text('Next')", { force: true });
  await page.click(".pager button:text('Previous')");
  await page.locator(".pager span", { hasText: "901–950 of 1,000" }).waitFor();
});

test("typing finds one among all, by its name and by one of its 50 addresses", async () => {
  const { page, countRows } = await openLarge();
  await page.fill("#search", "service-0777");
  await page.locator("#filters .count", { hasText: /^1$/ }).waitFor();
  expect(await countRows()).toBe(1);
  await page.fill("#search", "10.49.3.9");
  await page.waitForSelector("table.services a[href$='service-0777']");
  expect(await page.locator("table.services tbody th").allTextContents()).toContain(
    "team-17/service-0777",
  );
  await page.fill("#search", "");
  await page.click("#filters button:has-text('Conflicts')");
  await page.waitForSelector("#filters button[aria-pressed=true]:has-text('Conflicts')");
  expect(await countRows()).toBe(SERVICES / 100);
});

test("a change of one service changes its row and leaves all others untouched", async () => {
  const { state, feed, page } = await openLarge();
  const [changed, ...others] = state.services.filter(({ verdict }) => verdict !== "well");
  await page.evaluate(`
    globalThis.touched = new Set();
    new MutationObserver((records) => {
      for (const { target } of records) {
        const row = (target instanceof Element ? target : target.parentElement)?.closest("tr");
        if (row && !target.parentElement?.closest(".age")) touched.add(row.querySelector("a")?.textContent);
      }
    }).observe(document.querySelector("table.services tbody"), { subtree: true, childList: true, characterData: true, attributes: true });`);
  feed.tell({ services: [{ ...changed!, why: "Something else." }] });
  await page.locator("tr", { hasText: "Something else." }).waitFor();
  expect(await page.evaluate("[...touched]")).toEqual([changed!.key]);
  expect(others.length).toBeGreaterThan(0);
});

test("pointing at a cluster shows its own ways, and a lost one stands out", async () => {
  const { feed, page } = await openLarge();
  await page.focus("g.cluster[tabindex='0']");
  await page.waitForFunction(`document.querySelectorAll("path.way").length > 60`);
  const titles = await page.locator("path.way title").allTextContents();
  expect(titles.filter((title) => !title.includes(nameLarge(0)))).toEqual([]);
  feed.tell({
    clusters: [aCluster(nameLarge(31), { liveness: "lost", why: "Its Lease is old." })],
  });
  await page.waitForSelector("g.cluster.bad[aria-label^='cluster-31 lost']");
  await page.locator("#verdict", { hasText: "cluster-31 is lost." }).waitFor();
});
