// docs/metrics.md and the registries say the same: every series, with its labels, and none that does not exist.

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { listMetrics } from "./metricNames.ts";

const page = readFileSync(new URL("../docs/metrics.md", import.meta.url), "utf8");

function documentedIn(title: string): readonly string[] {
  const from = page.indexOf(`## ${title}\n`);
  expect(from).toBeGreaterThan(-1);
  const [section = ""] = page.slice(from + 3).split("\n## ");
  return [...section.matchAll(/^\| `(isthmus_[^`]+)` \|/gm)].map(([, series]) => series!).sort();
}

const { core, dns } = listMetrics();

test.each([
  ["Series of agents and central", core],
  ["Series of DNS servers", dns.filter(({ name }) => name !== "isthmus_build_info")],
])("%s are those that exist", (title, metrics) => {
  const existing = metrics.map(({ name, labels }) =>
    labels.length === 0 ? name : `${name}{${labels.join(",")}}`,
  );
  expect(documentedIn(title)).toEqual(existing.sort());
});
