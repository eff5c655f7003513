// Can everybody use it: axe-core looks at the page in both themes and both widths, in every state that it has.

import axe from "axe-core";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { type CannedFeed, type Explained, serveCanned } from "./cannedFeed.ts";
import { closeBrowserAtEnd, openPage, PHONE, WIDE } from "./chromium.ts";
import { aDrainedShop, aLargeSet, anEvent, aShop, EMPTY } from "./states.ts";

closeBrowserAtEnd();

const EXPLAINED = {
  what: "shop/checkout",
  service: "shop/checkout",
  usable: [],
  verdict: "bad",
  why: "Not all exports agree.",
  parts: [
    {
      what: "import in cairo",
      verdict: "bad",
      why: "It has no virtual IP.",
      next: "Wait.",
      parts: [{ what: "10.1.0.3", verdict: "good", why: "It is ready.", inUse: true, parts: [] }],
    },
    { what: "export in elba", verdict: "unknown", why: "It cannot be asked.", parts: [] },
  ],
} as unknown as NonNullable<Explained>;

/** What is wrong, and where. */
async function findFaults(page: Page): Promise<readonly string[]> {
  await page.evaluate(axe.source);
  const results = await page.evaluate<axe.AxeResults>(
    `axe.run(document, { resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] })`,
  );
  return results.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary ?? ""}`),
  );
}

const open = async (page: Page, hash: string): Promise<void> => {
  await page.evaluate(`location.hash = ${JSON.stringify(hash)}`);
  await page.waitForSelector(`#panel h2:text('${hash.split("/").slice(2).join("/")}')`);
};

/** One after the other, on one page. */
const STATES: Readonly<Record<string, (page: Page, feed: CannedFeed) => Promise<void>>> = {
  "all of the page": async () => {},
  "a service": async (page) => {
    await open(page, "#/service/shop/checkout");
    await page.waitForSelector(".tree");
  },
  "a service that nobody knows": (page) => open(page, "#/service/shop/nothing"),
  "a lost cluster": (page) => open(page, "#/cluster/delphi"),
  "tables in place of pictures": async (page) => {
    await page.keyboard.press("Escape");
    await page.click("#clusterSwitch button:text('Table')");
    await page.click("#latencySwitch button:text('Table')");
    await page.waitForSelector("#latencyBody table");
  },
  "a server that is away": async (page, feed) => {
    await feed.stop();
    await page.waitForSelector(".connection.connecting");
  },
};

const WIDTHS = { wide: WIDE, "on a phone": PHONE } as const;

test.each([
  ["light", "wide"],
  ["light", "on a phone"],
  ["dark", "wide"],
  ["dark", "on a phone"],
] as const)("axe finds nothing in any state of the page: %s, %s", async (colorScheme, width) => {
  const feed = await serveCanned(aShop());
  feed.explain(EXPLAINED);
  const page = await openPage(feed.url, { colorScheme, viewport: WIDTHS[width] });
  await page.waitForSelector("table.services");
  const faults: Record<string, readonly string[]> = {};
  for (const [state, reach] of Object.entries(STATES)) {
    await reach(page, feed);
    faults[state] = await findFaults(page);
  }
  expect(faults).toEqual(Object.fromEntries(Object.keys(STATES).map((state) => [state, []])));
});

test("axe finds nothing where nothing is exported yet", async () => {
  const page = await openPage((await serveCanned(EMPTY)).url);
  await page.waitForSelector("#servicesBody .empty");
  expect(await findFaults(page)).toEqual([]);
});

test("axe finds nothing with a ring of many clusters", async () => {
  const page = await openPage((await serveCanned(aLargeSet(20, 120))).url);
  await page.waitForSelector(".pager");
  expect(await findFaults(page)).toEqual([]);
});

test.each(["light", "dark"] as const)(
  "axe finds nothing with a drained cluster and a long time line: %s",
  async (colorScheme) => {
    const events = Array.from({ length: 80 }, (_, index) =>
      anEvent(index + 1, "drained", "west", "west is drained."),
    );
    const page = await openPage((await serveCanned({ ...aDrainedShop(), events })).url, {
      colorScheme,
    });
    await page.waitForSelector("path.way.drained");
    await open(page, "#/service/shop/cart");
    await page.waitForSelector("#panel .chip.drained");
    expect(await findFaults(page)).toEqual([]);
  },
);

test("axe would find something: a button without a name", async () => {
  const page = await openPage((await serveCanned(EMPTY)).url);
  await page.waitForSelector("#servicesBody .empty");
  await page.evaluate(`document.getElementById("main").append(document.createElement("button"))`);
  expect((await findFaults(page)).join()).toContain("button-name");
});
