// Alert rules and the dashboard of Grafana by Prometheus's own word: they can be parsed, and alerts fire when they should.

import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ALERT_RULES, ALERT_TESTS, readAlerts, readShown } from "./alerts/files.ts";
import { temporaryDirectory } from "./loopback.ts";

/** What it said; throws that when it was not content. */
function runPromtool(...args: readonly string[]): string {
  const { error, status, stdout, stderr } = spawnSync("promtool", args, { encoding: "utf8" });
  if (error !== undefined) {
    const message =
      "The tests of alert rules need promtool: install the Debian package prometheus.";
    throw new Error(message, { cause: error });
  }
  if (status !== 0) throw new Error(`${stdout}${stderr}`);
  return stdout;
}

test("alert rules are rules", () => {
  const said = runPromtool("check", "rules", ALERT_RULES);
  expect(said).toContain(`${readAlerts().length} rules found`);
});

test("alerts fire when they should, and do not when they should not", () => {
  expect(runPromtool("test", "rules", ALERT_TESTS)).toContain("SUCCESS");
});

test("what the dashboard asks can be parsed", () => {
  // As rules, because nothing else of promtool takes an expression without a server.
  const rules = readShown().map((expr, index) => ({
    record: `shown:${index}`,
    expr: expr.replaceAll("$__rate_interval", "5m").replaceAll("$job", ".+"),
  }));
  const file = join(temporaryDirectory(), "dashboard.rules.yaml");
  writeFileSync(file, JSON.stringify({ groups: [{ name: "dashboard", rules }] }));
  expect(runPromtool("check", "rules", file)).toContain("SUCCESS");
});
