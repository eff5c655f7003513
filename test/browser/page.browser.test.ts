// The dashboard's page in a real browser, before a server whose words the test chooses: what it shows, how it follows, and that
// everything can be done with keys.

import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { type CannedFeed, type Explained, serveCanned } from "./cannedFeed.ts";
import { closeBrowserAtEnd, findChromium, openPage, PHONE } from "./chromium.ts";
import { aCluster, anEvent, aService, aShop, EMPTY, partsOf, PORT_CONFLICT } from "./states.ts";

closeBrowserAtEnd();

async function openShop(
  options: Parameters<typeof openPage>[1] = {},
): Promise<{ page: Page; feed: CannedFeed }> {
  const feed = await serveCanned(aShop());
  const page = await openPage(feed.url, options);
  await page.waitForSelector("table.services");
  return { page, feed };
}

/** Waits until it says so. */
async function untilText(page: Page, selector: string, text: string | RegExp): Promise<void> {
  await page.locator(selector).filter({ hasText: text }).first().waitFor({ state: "attached" });
}

const rowNames = (page: Page): Promise<string[]> =>
  page.locator("table.services tbody th a").allTextContents();
const row = (key: string): string => `table.services tr:has(a[href='#/service/${key}'])`;
const focused = (page: Page): Promise<string> =>
  page.evaluate<string>(`document.activeElement?.textContent ?? ""`);

test("without chromium the tests say which package is missing", () => {
  expect(() => findChromium("/nowhere")).toThrow("install the Debian package chromium");
});

test("the head says in words what is not well, and the picture and the table agree", async () => {
  const { page } = await openShop();
  expect(await page.textContent("#verdict")).toBe(
    "delphi is lost. 1 service leads nowhere in a cluster. 2 services need a look. The state of elba is unknown.",
  );
  expect(await page.title()).toBe("delphi is lost · Isthmus");
  expect(await page.textContent("#connection")).toBe("Live");
  const delphi = page.locator("g.cluster.bad");
  expect(await delphi.getAttribute("aria-label")).toMatch(/^delphi lost · lease \d+ s$/);
  expect(await delphi.locator(".sub").textContent()).toContain("lost · lease");
  await page.click("#clusterSwitch button:has-text('Table')");
  await page.waitForSelector("#clustersBody table");
  const cells = page.locator("#clustersBody tr:has(a:text-is('delphi')) > *");
  expect((await cells.allTextContents()).slice(0, 4)).toEqual([
    "delphi",
    "lost",
    "1",
    "apollo, borneo, cairo and elba",
  ]);
});

test("a row has a service's ports, virtual IPs, endpoints per cluster, what is wrong and its age", async () => {
  const { page } = await openShop();
  const cells = await page.locator(`${row("shop/checkout")} > *`).allTextContents();
  expect(cells).toEqual([
    "shop/checkout",
    "80 http",
    "apollo 10.101.13.21+4 more clusters",
    "apollo 2borneo 2",
    PORT_CONFLICT,
    "40 s",
  ]);
  expect(await page.locator(`${row("data/postgres")} > *`).allTextContents()).toEqual([
    "data/postgresheadless",
    "5432 sql",
    "none: pods' own",
    "apollo 2/3",
    "1 of 3 endpoints of apollo is not ready.",
    "40 s",
  ]);
});

test("what needs somebody comes first, and every other order is a click away", async () => {
  const { page } = await openShop();
  expect((await rowNames(page)).slice(0, 3)).toEqual([
    "shop/ledger",
    "data/postgres",
    "shop/checkout",
  ]);
  await page.click("thead button:has-text('Service')");
  await page.waitForSelector("th.service[aria-sort=ascending]");
  expect((await rowNames(page))[0]).toBe("data/postgres");
  await page.click("thead button:has-text('Service')");
  await page.waitForSelector("th.service[aria-sort=descending]");
  expect((await rowNames(page))[0]).toBe("shop/ledger");
});

test("filters and search leave what was asked for, and say when that is nothing", async () => {
  const { page } = await openShop();
  await page.click("#filters button:has-text('Conflicts')");
  await page.waitForSelector("#filters button[aria-pressed=true]:has-text('Conflicts')");
  expect(await rowNames(page)).toEqual(["shop/checkout"]);
  await page.click("#filters button:has-text('All')");
  await page.keyboard.press("/");
  await page.keyboard.type("udp");
  await untilText(page, "#filters", "All1");
  expect(await rowNames(page)).toEqual(["infra/resolver"]);
  await page.keyboard.type("x");
  await untilText(page, "#servicesBody", "Nothing matches “udpx”.");
});

test("a cluster that is lost is shown at once, and said to those who listen, without a reload", async () => {
  const { page, feed } = await openShop();
  await page.evaluate(() => Object.assign(globalThis, { sameDocument: true }));
  feed.tell({
    clusters: [aCluster("borneo", { liveness: "lost", why: "Its Lease has not been renewed." })],
    services: [
      aService("shop/cart", {
        verdict: "warn",
        why: "borneo is lost.",
        parts: partsOf(["apollo", "cairo"], { apollo: [3, 3] }),
      }),
    ],
    events: [
      anEvent(6, "lost", "borneo", "borneo is lost: its Lease has not been renewed for 30 s."),
    ],
  });
  await untilText(page, "#verdict", "borneo and delphi are lost.");
  await page.waitForSelector("g.cluster.bad[aria-label^='borneo lost']");
  await untilText(page, row("shop/cart"), "borneo is lost.");
  await untilText(page, "#timelineBody li:first-child", "lost borneo");
  expect(await page.textContent("#said")).toBe(
    "borneo is lost: its Lease has not been renewed for 30 s.",
  );
  expect(await page.evaluate(() => "sameDocument" in globalThis)).toBe(true);

  feed.tell({
    clusters: [aCluster("borneo")],
    goneClusters: ["delphi", "elba"],
    goneServices: ["shop/ledger"],
  });
  await untilText(page, "#verdict", /^3 services need a look\.$/);
  expect(await page.locator("g.cluster").count()).toBe(3);
  expect(await rowNames(page)).not.toContain("shop/ledger");
});

test("what happened before the page was opened is on the time line, and is not said aloud", async () => {
  const { page } = await openShop();
  expect(await page.locator("#timelineBody .kind").allTextContents()).toEqual([
    "failover",
    "lost",
    "conflict",
    "exported",
    "joined",
  ]);
  expect(await page.textContent("#said")).toBe("");
});

test("with keys alone a service is opened and closed, and the focus is where it was", async () => {
  const { page } = await openShop();
  await page.focus("#search");
  while (!(await focused(page)).startsWith("shop/checkout")) await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#panel:not([hidden])");
  expect(await focused(page)).toBe("shop/checkout");
  expect(await page.evaluate("document.activeElement?.id")).toBe("panelTitle");
  expect(new URL(page.url()).hash).toBe("#/service/shop/checkout");
  expect(await page.getAttribute(row("shop/checkout"), "aria-current")).toBe("true");
  await page.keyboard.press("Escape");
  await page.waitForSelector("#panel", { state: "hidden" });
  expect(await page.evaluate(`document.activeElement?.getAttribute("href")`)).toBe(
    "#/service/shop/checkout",
  );
  expect(new URL(page.url()).hash).toBe("");
});

test("the address keeps what is open, through a reload and back and forth", async () => {
  const { page } = await openShop();
  await page.click(row("shop/cart"));
  await page.waitForSelector("#panel h2:text('shop/cart')");
  await page.reload();
  await page.waitForSelector("#panel h2:text('shop/cart')");
  await page.click("#timelineBody a:text('delphi')");
  await page.waitForSelector("#panel h2:text('delphi')");
  expect(await page.textContent("#panel")).toContain(
    "Is its agent running, and does it reach the hub?",
  );
  await page.goBack();
  await page.waitForSelector("#panel h2:text('shop/cart')");
});

test("arrow keys walk the ring of clusters, and Enter opens one", async () => {
  const { page } = await openShop();
  await page.focus("g.cluster[tabindex='0']");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  expect(await page.evaluate(`document.activeElement?.getAttribute("aria-label")`)).toEqual(
    expect.stringMatching(/^cairo live/),
  );
  await page.keyboard.press("Enter");
  await page.waitForSelector("#panel h2:text('cairo')");
  await page.keyboard.press("Escape");
  expect(await page.evaluate(`document.activeElement?.getAttribute("aria-label")`)).toEqual(
    expect.stringMatching(/^cairo live/),
  );
});

const EXPLAINED = {
  what: "shop/checkout",
  service: "shop/checkout",
  usable: [],
  verdict: "bad",
  why: "Not all exports agree.",
  parts: [
    {
      what: "import in cairo",
      verdict: "good",
      why: "It has a virtual IP.",
      parts: [{ what: "10.1.0.3", verdict: "good", why: "It is ready.", inUse: true, parts: [] }],
    },
    {
      what: "export in borneo",
      verdict: "bad",
      why: PORT_CONFLICT,
      next: "Give both the same port.",
      parts: [],
    },
  ],
} as unknown as NonNullable<Explained>;

test("a service is explained in the panel, and again when it changes; what was opened stays open", async () => {
  const { page, feed } = await openShop();
  feed.explain(EXPLAINED);
  await page.click(row("shop/checkout"));
  await untilText(page, ".tree", "Give both the same port.");
  expect(await page.isVisible(".tree >> text=10.1.0.3")).toBe(false);
  await page.click(".tree summary");
  expect(await page.isVisible(".tree >> text=10.1.0.3")).toBe(true);
  feed.explain({ ...EXPLAINED, why: "Both have port 80 now." });
  feed.tell({
    services: [aService("shop/checkout", { parts: partsOf(["apollo"], { apollo: [2, 2] }) })],
  });
  await untilText(page, "#panel section", "Both have port 80 now.");
  expect(await page.isVisible(".tree >> text=10.1.0.3")).toBe(true);
  expect(await page.textContent("#panel .lead")).toBe("All is well.");
});

test("what cannot be explained is said in the server's words", async () => {
  const { page } = await openShop();
  await page.click(row("shop/cart"));
  await page.waitForSelector("#panel p.bad");
  expect(await page.textContent("#panel p.bad")).toBe(
    "Nobody exports or imports shop/cart, as far as can be told.",
  );
});

test("while the server is away what was known stays, marked; when it is back everything is of now", async () => {
  const { page, feed } = await openShop();
  await feed.stop();
  await untilText(page, "#connection", "Reconnecting… as of");
  expect(await page.textContent("#said")).toContain("connection to the server is lost");
  expect(await rowNames(page)).toContain("shop/ledger");
  feed.tell({ goneServices: ["shop/ledger"] });
  await feed.start();
  await untilText(page, "#connection", "Live");
  await page.waitForSelector(row("shop/ledger"), { state: "detached" });
});

test("a server that turns the page away is asked again", async () => {
  const feed = await serveCanned(aShop());
  const page = await openPage("about:blank");
  let refused = 0;
  await page.route("**/api/changes", async (route) => {
    refused += 1;
    if (refused > 2) await route.continue();
    else await route.fulfill({ status: 503, body: "Too many pages are open." });
  });
  await page.goto(feed.url);
  await untilText(page, "#connection", "Live");
  expect(refused).toBe(3);
});

test("ages count on while nothing is told", async () => {
  const feed = await serveCanned(aShop());
  const page = await openPage("about:blank");
  await page.clock.install();
  await page.goto(feed.url);
  await untilText(page, `${row("shop/cart")} .age`, /^\d+ s$/);
  await page.clock.fastForward("01:00:00");
  await untilText(page, `${row("shop/cart")} .age`, /^6\d min$/);
  expect(await page.textContent("g.cluster.bad .sub")).toMatch(/^lost · lease 6\d min$/);
});

test("with nothing exported yet the page says how to begin", async () => {
  const feed = await serveCanned({ ...EMPTY, synced: false });
  const page = await openPage(feed.url);
  await untilText(page, "#verdict", "Asking the clusters…");
  feed.tell({ clusters: [aCluster("apollo", { exports: 0 })] });
  await untilText(page, "#verdict", "All is well.");
  expect(await page.textContent("#servicesBody")).toBe(
    "No service is exported yet.Export one: isthmus export -n shop checkout",
  );
});

test("what others wrote is shown as it is, and never taken for a part of the page", async () => {
  const { page, feed } = await openShop();
  const evil = "<img src=x onerror=alert(1)><script>alert(1)</script>";
  feed.tell({
    services: [aService("shop/cart", { verdict: "bad", why: evil, conflicts: [evil] })],
    events: [anEvent(7, "conflict", "shop/cart", evil)],
  });
  await untilText(page, row("shop/cart"), evil);
  await page.click(row("shop/cart"));
  await untilText(page, "#panel", evil);
  expect(await page.locator("img, body script").count()).toBe(0);
});

test("on a phone nothing is wider than the screen, and the panel covers the page", async () => {
  const { page } = await openShop({ viewport: PHONE });
  const overflow = (): Promise<number> =>
    page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
  expect(await overflow()).toBeLessThanOrEqual(0);
  await page.click(`${row("shop/checkout")} a`);
  await page.waitForSelector("#panel h2");
  expect(await page.locator("#panel").boundingBox()).toMatchObject({
    x: 0,
    y: 0,
    width: PHONE.width,
  });
  expect(await page.evaluate(`document.getElementById("main")?.inert`)).toBe(true);
  expect(await overflow()).toBeLessThanOrEqual(0);
  await page.click("#panel .close");
  expect(await page.evaluate(`document.getElementById("main")?.inert`)).toBe(false);
});

test("who asked for less motion sees none", async () => {
  const { page, feed } = await openShop({ reducedMotion: "reduce" });
  await feed.stop();
  await untilText(page, "#connection", "Reconnecting…");
  expect(await page.evaluate("document.getAnimations().length")).toBe(0);
});
