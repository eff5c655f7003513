// Test tool: the files of alert rules and of the Grafana dashboard in, what they ask of Prometheus out.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";

interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: Readonly<Record<string, string>>;
}

export const ALERT_RULES = pathOf("../../charts/isthmus/rules/isthmus.rules.yaml");
export const ALERT_TESTS = pathOf("./isthmus.test.yaml");
const DASHBOARD = pathOf("../../charts/isthmus/dashboards/isthmus.json");

export function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}

export function readAlerts(): readonly Alert[] {
  const { groups } = parse(readFileSync(ALERT_RULES, "utf8")) as {
    readonly groups: readonly { readonly rules: readonly Alert[] }[];
  };
  return groups.flatMap(({ rules }) => rules);
}

/** Expressions of the dashboard's panels. */
export function readShown(): readonly string[] {
  const { panels } = JSON.parse(readFileSync(DASHBOARD, "utf8")) as {
    readonly panels: readonly { readonly targets?: readonly { readonly expr: string }[] }[];
  };
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}
