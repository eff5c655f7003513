// Page: the panel beside everything: all that is known of one service, or of one cluster.

import type { ClusterState, ServicePart, ServiceState } from "../state.ts";
import { ageNow, count, formatAge } from "./age.ts";
import { renderLiveness } from "./clusters.ts";
import { type Child, type Element, glyph, h } from "./element.ts";
import { type Explained, renderExplained } from "./explained.ts";
import type { Model, Told } from "./model.ts";
import { linkToCluster, linkToService, type Route } from "./route.ts";
import { renderOffer, renderPort } from "./services.ts";

const MOST_SERVICES = 100;

export interface PanelWish {
  readonly route: Route;
  readonly explained: Explained;
  readonly nowMs: number;
}

export function renderPanel(model: Model, wish: PanelWish): readonly Child[] {
  const { route } = wish;
  const name = route.kind === "service" ? route.key : route.id;
  const [title, body] =
    route.kind === "service"
      ? renderService(model, route.key, wish)
      : renderCluster(model, route.id, wish);
  return [
    h(
      "header",
      { class: "panelHead" },
      h(
        "div",
        {},
        h("p", { class: "eyebrow" }, route.kind),
        h("h2", { id: "panelTitle", tabindex: -1 }, name),
      ),
      h("button", { type: "button", class: "close", do: "close", "aria-label": "Close" }, "✕"),
    ),
    h("div", { class: "panelBody", key: `${route.kind} ${name}` }, title, ...body),
  ];
}

type Body = readonly [Element, readonly Child[]];

function renderService(model: Model, key: string, { explained, nowMs }: PanelWish): Body {
  const told = model.services.get(key);
  if (told === undefined) {
    const why = model.synced ? "Nobody exports it, and no cluster has it." : "Asking the clusters…";
    return [h("p", { class: "lead" }, why), [section("Explanation", renderExplained(explained))]];
  }
  const { verdict, why, type, ports, conflicts } = told.value;
  const lead = h(
    "p",
    { class: `lead state ${verdict}` },
    glyph(verdict, verdict),
    h("span", {}, why === "" ? "All is well." : why),
  );
  const rest = conflicts.filter((sentence) => sentence !== why);
  const [namespace = "", name = ""] = key.split("/");
  return [
    lead,
    [
      renderFacts([
        ["Name", h("code", {}, `${name}.${namespace}.svc.clusterset.local`)],
        ["Type", type],
        ["Ports", h("span", {}, ...(ports.length === 0 ? ["–"] : ports.map(renderPort)))],
      ]),
      ...(rest.length === 0
        ? []
        : [
            section("Conflicts", [
              h(
                "ul",
                { class: "sentences" },
                rest.map((each) => h("li", {}, each)),
              ),
            ]),
          ]),
      section("In each cluster", [renderParts(told, model.clusters, nowMs)]),
      section("Explanation", renderExplained(explained)),
    ],
  ];
}

function renderParts(
  told: Told<ServiceState>,
  clusters: Model["clusters"],
  nowMs: number,
): Element {
  const head = ["Cluster", "Offers", "Leads to", "Age"].map((name) =>
    h("th", { scope: "col" }, name),
  );
  const rows = told.value.parts.map(
    ({ cluster, exported, offered, ips, sources, syncAgeSeconds }) =>
      h(
        "tr",
        { key: cluster },
        h(
          "th",
          { scope: "row" },
          h("a", { href: linkToCluster(cluster) }, cluster),
          ips.map((ip) => h("code", { class: "ip" }, ip)),
        ),
        h("td", {}, exported ? sayOffer(offered) : h("span", { class: "faint" }, "–")),
        h(
          "td",
          {},
          sources.length === 0
            ? h("span", { class: "faint" }, "nobody")
            : sources.map((source) =>
                renderOffer({ cluster: source.cluster, offered: source }, clusters),
              ),
        ),
        h(
          "td",
          { class: "number" },
          syncAgeSeconds === undefined ? "–" : formatAge(ageNow(told, syncAgeSeconds, nowMs)),
        ),
      ),
  );
  return h(
    "table",
    { class: "plain parts" },
    h("thead", {}, h("tr", {}, head)),
    h("tbody", {}, rows),
  );
}

function sayOffer(offered: ServicePart["offered"]): string {
  if (offered === undefined) return "exported";
  return offered.ready === offered.total
    ? `${offered.ready} ready`
    : `${offered.ready} of ${offered.total} ready`;
}

function renderCluster(model: Model, id: string, { nowMs }: PanelWish): Body {
  const told = model.clusters.get(id);
  if (told === undefined)
    return [h("p", { class: "lead" }, "It is no member of this clusterset."), []];
  const cluster = told.value;
  const services = [...model.services.values()]
    .map(({ value }) => value)
    .filter(({ parts }) => parts.some((part) => part.cluster === id && part.exported))
    .toSorted((a, b) => a.key.localeCompare(b.key));
  return [
    h("p", { class: "lead" }, renderLiveness(cluster.liveness)),
    [
      h("p", {}, cluster.why),
      cluster.next !== undefined && h("p", { class: "next" }, cluster.next),
      renderFacts(listFacts(told, nowMs)),
      ...(cluster.problems.length === 0
        ? []
        : [
            section("What could not be read", [
              h(
                "ul",
                { class: "sentences" },
                cluster.problems.map((each) => h("li", {}, each)),
              ),
            ]),
          ]),
      section("Exports", renderExports(services)),
    ].filter((child) => child !== false),
  ];
}

function listFacts(told: Told<ClusterState>, nowMs: number): readonly (readonly [string, Child])[] {
  const { leaseAgeSeconds, version, region, zones, exports, imports } = told.value;
  return [
    ...(leaseAgeSeconds === undefined
      ? []
      : [["Lease", `renewed ${formatAge(ageNow(told, leaseAgeSeconds, nowMs))} ago`] as const]),
    ...(version === undefined ? [] : [["Version", version] as const]),
    ...(region === undefined ? [] : [["Region", region] as const]),
    ...(zones.length === 0 ? [] : [["Zones", zones.join(", ")] as const]),
    [
      "Services",
      [
        ...(exports === undefined ? [] : [count(exports, "export")]),
        ...(imports === undefined ? [] : [count(imports, "import")]),
      ].join(", ") || "not read",
    ],
  ];
}

function renderExports(services: readonly ServiceState[]): readonly Child[] {
  if (services.length === 0) return [h("p", { class: "faint" }, "It exports nothing.")];
  const shown = services.slice(0, MOST_SERVICES);
  const rest = services.length - shown.length;
  return [
    h(
      "ul",
      { class: "links" },
      shown.map(({ key, verdict }) =>
        h(
          "li",
          { key },
          glyph(verdict, verdict),
          h("span", { class: "unseen" }, `${verdict}: `),
          h("a", { href: linkToService(key) }, key),
        ),
      ),
    ),
    ...(rest > 0
      ? [h("p", { class: "faint" }, `And ${rest} more: search for its name in the table.`)]
      : []),
  ];
}

function renderFacts(facts: readonly (readonly [string, Child])[]): Element {
  return h(
    "dl",
    { class: "facts" },
    facts.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
  );
}

function section(title: string, children: readonly Child[]): Element {
  return h("section", { key: title }, h("h3", {}, title), children);
}
