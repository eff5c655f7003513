// Alert rules and the dashboard of Grafana: what they speak of exists, and every alert says what to do.

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { ALERT_TESTS, pathOf, readAlerts, readShown } from "./alerts/files.ts";
import { listMetrics } from "./metricNames.ts";

const alerts = readAlerts();
const shown = readShown();

const { core, dns } = listMetrics();
/** As Prometheus has them: a histogram is three. */
const series: ReadonlyMap<string, readonly string[]> = new Map(
  [...core, ...dns].flatMap(({ name, labels, isHistogram }) =>
    isHistogram
      ? [
          [`${name}_bucket`, [...labels, "le"]] as const,
          [`${name}_sum`, labels] as const,
          [`${name}_count`, labels] as const,
        ]
      : [[name, labels] as const],
  ),
);
/** What a scrape adds to every series. */
const OF_SCRAPE = ["job", "instance"];

describe("alert rules", () => {
  test("have a test each", () => {
    const tests = readFileSync(ALERT_TESTS, "utf8");
    expect(alerts.map(({ alert }) => alert).filter((alert) => !tests.includes(alert))).toEqual([]);
  });

  test.each(alerts.map(({ alert, ...rest }) => [alert, rest] as const))(
    "%s says what it means, how bad it is, and where to read on",
    (alert, { annotations, labels }) => {
      expect(["critical", "warning", "info"]).toContain(labels.severity);
      expect(annotations["summary"]).toMatch(/\.$/);
      expect(annotations["description"]).toMatch(/\.$/);
      const [page = "", anchor] = (annotations["runbook_url"] ?? "").split("#");
      expect(page).toBe("docs/runbook.md");
      expect(anchor).toBe(alert.toLowerCase());
      const text = readFileSync(pathOf(`../../${page}`), "utf8");
      const [section = ""] = text.split(`\n## ${alert}\n`)[1]?.split("\n## ") ?? [];
      for (const word of ["Means.", "Users see", "Look at", "Do"]) {
        expect(section).toContain(`**${word}**`);
      }
    },
  );

  test("and the runbook speaks of no alert that does not exist", () => {
    const text = readFileSync(pathOf("../../docs/runbook.md"), "utf8");
    const titles = [...text.matchAll(/^## (.+)$/gm)].map(([, title]) => title!);
    expect(titles.sort()).toEqual(alerts.map(({ alert }) => alert).sort());
  });
});

describe("what is asked of Prometheus", () => {
  const asked = [...alerts.map(({ expr }) => expr), ...shown];

  test.each(asked)("%s names series that exist, by labels that they have", (expr) => {
    const names = [...expr.matchAll(/isthmus_\w+/g)].map(([name]) => name);
    expect(names).not.toEqual([]);
    expect(names.filter((name) => !series.has(name))).toEqual([]);
    const known = new Set([...OF_SCRAPE, ...names.flatMap((name) => series.get(name) ?? [])]);
    const grouped = [...expr.matchAll(/\b(?:by|on) \(([^)]*)\)/g)].flatMap(([, list]) =>
      list!.split(/,\s*/),
    );
    const matched = [...expr.matchAll(/[{,](\w+)(?:=|!=)/g)].map(([, label]) => label!);
    expect([...grouped, ...matched].filter((label) => !known.has(label))).toEqual([]);
  });

  test("shows every series of agents and central", () => {
    const text = shown.join("\n");
    expect(core.map(({ name }) => name).filter((name) => !text.includes(name))).toEqual([]);
  });
});
