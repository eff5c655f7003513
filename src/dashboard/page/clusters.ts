// Page: the clusters as a table: what the picture shows, for those who read rather than look.

import { ageNow, formatAge, formatCount, list } from "./age.ts";
import { type Child, type Element, glyph, h } from "./element.ts";
import type { Model } from "./model.ts";
import { linkToCluster } from "./route.ts";
import { levelOf } from "./summary.ts";
import { listWays } from "./ways.ts";

const COLUMNS = ["Cluster", "State", "Exports", "Sends to", "Lease"] as const;

export function renderClusters(model: Model, nowMs: number): readonly Child[] {
  const clusters = [...model.clusters.values()].toSorted((a, b) =>
    a.value.id.localeCompare(b.value.id),
  );
  if (clusters.length === 0) return [h("p", { class: "empty" }, "No cluster is a member yet.")];
  const importers = new Map<string, string[]>();
  for (const { source, importer } of listWays(model.services)) {
    importers.set(source, [...(importers.get(source) ?? []), importer].toSorted());
  }
  const rows = clusters.map((told) => {
    const { id, liveness, exports, leaseAgeSeconds } = told.value;
    const lease =
      leaseAgeSeconds === undefined ? "–" : formatAge(ageNow(told, leaseAgeSeconds, nowMs));
    return h(
      "tr",
      { key: id },
      h("th", { scope: "row" }, h("a", { href: linkToCluster(id) }, id)),
      h("td", {}, renderLiveness(liveness)),
      h("td", { class: "number" }, exports === undefined ? "–" : formatCount(exports)),
      h("td", {}, list(importers.get(id) ?? [], 4) || "nobody"),
      h("td", { class: "number" }, lease),
    );
  });
  const head = COLUMNS.map((name) => h("th", { scope: "col" }, name));
  return [
    h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": "Clusters" },
      h("table", { class: "plain" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)),
    ),
  ];
}

export function renderLiveness(liveness: Parameters<typeof levelOf>[0]): Element {
  const level = levelOf(liveness);
  return h("span", { class: `state ${level}` }, glyph(level, level), liveness);
}
