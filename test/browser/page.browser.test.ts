// The dashboard's page in a real browser, before a server whose words the test chooses: what it shows, how it follows, and that
// everything can be done with keys.

import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { type CannedFeed, type Explained, serveCanned } from "./cannedFeed.ts";
import { closeBrowserAtEnd, findChromium, openPage, PHONE, WIDE } from "./chromium.ts";
import {
  aCluster,
  aDrainedShop,
  anEvent,
  aService,
  aShop,
  EMPTY,
  partsOf,
  PORT_CONFLICT,
} from "./states.ts";

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
  // Not longer: a connection that is dumb for 40 s is opened anew.
  await page.clock.fastForward("00:30");
  await untilText(page, `${row("shop/cart")} .age`, /^([7-9]\d|1\d\d) s$/);
  expect(await page.textContent("g.cluster.bad .sub")).toMatch(/^lost · lease ([7-9]\d|1\d\d) s$/);
});

test("a connection that is dead without a word is noticed, said, and opened anew", async () => {
  const feed = await serveCanned(aShop());
  const page = await openPage("about:blank");
  await page.clock.install();
  let asked = 0;
  let goOn = (): void => {};
  const held = new Promise<void>((resolve) => (goOn = resolve));
  await page.route("**/api/changes", async (route) => {
    asked += 1;
    if (asked > 1) await held;
    await route.continue();
  });
  await page.goto(feed.url);
  await untilText(page, "#connection", "Live");
  await page.clock.fastForward("00:41");
  await untilText(page, "#connection", "Reconnecting… as of");
  expect(await page.textContent("#said")).toContain("connection to the server is lost");
  feed.tell({ goneServices: ["shop/ledger"] });
  goOn();
  await untilText(page, "#connection", "Live");
  await page.waitForSelector(row("shop/ledger"), { state: "detached" });
  expect(asked).toBe(2);
});

test("the time line goes back to the first of 500 events, with keys alone, and says of which day each is", async () => {
  const events = Array.from({ length: 500 }, (_, index) =>
    anEvent(index + 1, "exported", "shop/cart", `The event ${index + 1}.`),
  );
  const feed = await serveCanned({ ...aShop(), events });
  const page = await openPage("about:blank", { timezoneId: "UTC" });
  await page.clock.install({ time: "2026-01-03T12:00:00Z" });
  await page.goto(feed.url);
  await untilText(page, "#timelineBody li:last-child", "The event 441.");
  for (const [button, first] of [
    ["Show older: 440 more", 440],
    ["Show older: 320 more", 320],
    ["Show older: 200 more", 200],
    ["Show older: 80 more", 80],
  ] as const) {
    await page.focus(`#timelineBody button:text-is('${button}')`);
    await page.keyboard.press("Enter");
    await untilText(page, "#timelineBody li:has(:focus)", `The event ${first}.`);
  }
  expect(await page.locator("#timelineBody li").count()).toBe(500);
  expect(await page.locator("#timelineBody button").count()).toBe(0);
  expect(await page.textContent("#timelineBody li:last-child time")).toBe("2 Jan, 09:01:01");
  feed.tell({
    events: [{ ...anEvent(501, "exported", "shop/cart", "."), at: "2026-01-03T11:59:00Z" }],
  });
  await untilText(page, "#timelineBody li:first-child time", /^11:59:00$/);
});

test("a drained cluster is told calmly: its arrows, and its share of a service, are grey and say so", async () => {
  const feed = await serveCanned(aDrainedShop());
  const page = await openPage(feed.url);
  await untilText(page, "#verdict", "All is well. west is drained.");
  expect(await page.locator("path.way.drained").count()).toBe(2);
  expect(await page.locator("path.way.idle").count()).toBe(0);
  expect(await page.locator("path.way.drained title").first().textContent()).toMatch(
    /^west → \w+: 2 services, 2 drained$/,
  );
  await untilText(page, "#clustersBody .note", "Dotted: drained.");
  await page.click(`${row("shop/cart")} a`);
  const chip = page.locator("#panel table.parts tr:has(a:text-is('edge')) .chip.drained");
  expect(await chip.textContent()).toBe("west 0/2, drained");
  expect(await chip.getAttribute("title")).toBe("west: 0 of 2 endpoints ready, drained");
  expect(await page.locator("#panel .chip.bad").count()).toBe(0);
  const colours = async (): Promise<unknown> =>
    page.evaluate(`["path.way.drained", "#panel .chip.drained"].map((each) => {
      const { stroke, color, strokeDasharray, borderStyle } = getComputedStyle(document.querySelector(each));
      return each.startsWith("path") ? [stroke, strokeDasharray] : [color, borderStyle];
    })`);
  expect(await colours()).toEqual([
    ["rgb(132, 145, 154)", "0.1px, 6px"],
    ["rgb(86, 101, 112)", "dotted"],
  ]);

  feed.tell({ clusters: [aCluster("west", { liveness: "unknown" })] });
  await page.waitForSelector("path.way.unknown");
  expect(await chip.count()).toBe(0);
  expect(await page.locator("#panel .chip.unknown").first().textContent()).toBe(
    "west 0/2, its state is unknown",
  );
  expect(await page.locator("path.way.idle, .chip.bad").count()).toBe(0);

  feed.tell({ clusters: [aCluster("west", { liveness: "lost" })] });
  await page.waitForSelector("path.way.idle");
  expect(await page.locator("#panel .chip.bad").first().getAttribute("title")).toBe(
    "west: 0 of 2 endpoints ready, lost",
  );
});

test("beside an open panel every part of the page is still there, and none is under it", async () => {
  const { page } = await openShop({ viewport: WIDE });
  for (const width of [1200, 1280, 1699, 1920]) {
    await page.setViewportSize({ width, height: 800 });
    await page.evaluate("location.hash = '#/service/shop/checkout'");
    await page.waitForSelector("#panel h2:text('shop/checkout')");
    const panel = await page.locator("#panel").boundingBox();
    for (const title of ["Clusterset", "Time line", "Propagation", "Services"]) {
      const card = page.locator(".card", { has: page.locator(`h2:text-is('${title}')`) });
      await card.scrollIntoViewIfNeeded();
      expect(await card.isVisible()).toBe(true);
      const { x, width: wide } = (await card.boundingBox())!;
      expect(x + wide).toBeLessThanOrEqual(panel!.x);
      expect(wide).toBeGreaterThan(300);
    }
    expect(await page.locator(".plot .point").count()).toBeGreaterThan(0);
    await page.keyboard.press("Escape");
  }
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
