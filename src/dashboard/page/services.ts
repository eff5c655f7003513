// Page: the table of services: what each is, where it is reached, who offers how much of it, and what is wrong, in words.

import type { ServicePart, ServiceState } from "../state.ts";
import { count, formatAge, formatCount } from "./age.ts";
import { type Child, type Element, glyph, h } from "./element.ts";
import type { Model, Told } from "./model.ts";
import { linkToService } from "./route.ts";
import {
  type Column,
  type Filter,
  FILTERS,
  findAge,
  PAGE_SIZE,
  type Rows,
  type Wish,
} from "./rows.ts";
import { judgeSource } from "./summary.ts";

/** More than that are told by their number; the panel has them all. */
const MOST_CHIPS = 3;

export interface TableWish {
  readonly rows: Rows;
  readonly wish: Wish;
  readonly nowMs: number;
  /** Of all services, whatever is searched for. */
  readonly total: number;
  readonly clusters: Model["clusters"];
  readonly selected?: string | undefined;
}

const FILTER_WORDS: Readonly<Record<Filter, string>> = {
  all: "All",
  unwell: "Not well",
  conflicts: "Conflicts",
};

export function renderFilters({ rows, wish }: TableWish): readonly Child[] {
  return FILTERS.map((filter) =>
    h(
      "button",
      { type: "button", do: `filter ${filter}`, "aria-pressed": String(wish.filter === filter) },
      FILTER_WORDS[filter],
      h("span", { class: "count" }, formatCount(rows.counts[filter])),
    ),
  );
}

export function renderServices(table: TableWish): readonly Child[] {
  const { rows, total, wish } = table;
  const known = [...table.clusters.values()];
  if (total === 0 && known.length > 0 && known.every(({ value }) => value.exports === undefined)) {
    const words = "What is exported is not known: no cluster could be read.";
    return [h("p", { class: "empty" }, words)];
  }
  if (total === 0) {
    return [
      h(
        "div",
        { class: "empty" },
        h("p", {}, "No service is exported yet."),
        h("p", {}, "Export one: ", h("code", {}, "isthmus export -n shop checkout")),
      ),
    ];
  }
  if (rows.rows.length === 0) return [h("p", { class: "empty" }, sayNoneFound(wish))];
  return [
    h(
      "table",
      { class: "services", role: "table", "aria-label": "Services" },
      h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, renderHead(wish))),
      h(
        "tbody",
        { role: "rowgroup" },
        rows.rows.map((told) => renderRow(told, table)),
      ),
    ),
    ...(rows.pages > 1 ? [renderPager(rows, wish)] : []),
  ];
}

function sayNoneFound({ query, filter }: Wish): string {
  if (query.trim() !== "")
    return `Nothing matches “${query.trim()}”${filter === "all" ? "." : " with this filter."}`;
  return filter === "conflicts" ? "No service has a conflict." : "Every service is well.";
}

function renderHead(wish: Wish): readonly Element[] {
  return [
    renderSortable("service", "Service", wish),
    renderPlain("ports", "Ports"),
    renderPlain("vip", "Virtual IP"),
    renderSortable("endpoints", "Endpoints", wish),
    renderSortable("state", "State", wish),
    renderSortable("age", "Sync age", wish),
  ];
}

function renderPlain(column: string, words: string): Element {
  return h("th", { scope: "col", role: "columnheader", class: column }, words);
}

function renderSortable(column: Column, words: string, { sort, isDescending }: Wish): Element {
  const isSorted = sort === column;
  const order = isDescending ? "descending" : "ascending";
  return h(
    "th",
    { scope: "col", role: "columnheader", class: column, "aria-sort": isSorted ? order : "none" },
    h("button", { type: "button", do: `sort ${column}` }, words),
  );
}

function renderRow(told: Told<ServiceState>, { nowMs, selected, clusters }: TableWish): Element {
  const service = told.value;
  const { key, type, ports, verdict } = service;
  const [namespace = "", name = ""] = key.split("/");
  const age = findAge(told, nowMs);
  const attributes = {
    key,
    role: "row",
    class: verdict,
    do: `service ${key}`,
    "aria-current": key === selected ? "true" : undefined,
  };
  const cell = (column: string, ...children: (Child | readonly Child[])[]): Element =>
    h("td", { role: "cell", class: column }, ...children.flat());
  return h(
    "tr",
    attributes,
    h(
      "th",
      { scope: "row", role: "rowheader", class: "service" },
      h(
        "a",
        { href: linkToService(key) },
        h("span", { class: "namespace" }, `${namespace}/`),
        name,
      ),
      type === "Headless" && h("span", { class: "tag" }, "headless"),
    ),
    cell("ports", ports.length === 0 ? "–" : ports.map(renderPort)),
    cell("vip", renderIps(service)),
    cell("endpoints", renderOffers(service, clusters)),
    cell("state", renderState(service)),
    cell("age", age === undefined ? "–" : formatAge(age)),
  );
}

export function renderPort({ name, protocol, port }: ServiceState["ports"][number]): Element {
  const words = protocol === "TCP" ? String(port) : `${port}/${protocol}`;
  return h(
    "span",
    { class: "port", title: name },
    words,
    name !== "" && h("span", { class: "faint" }, ` ${name}`),
  );
}

function renderIps({ type, parts }: ServiceState): readonly Child[] {
  const held = parts.filter(({ ips }) => ips.length > 0);
  if (held.length === 0)
    return [type === "Headless" ? h("span", { class: "faint" }, "none: pods' own") : "–"];
  const all = held.map(({ cluster, ips }) =>
    h(
      "span",
      { key: cluster, class: "pair" },
      h("span", { class: "faint" }, cluster),
      " ",
      h("code", {}, ips.join(", ")),
    ),
  );
  return cut(all, all.length > MOST_CHIPS ? 1 : MOST_CHIPS);
}

function renderOffers({ parts }: ServiceState, clusters: Model["clusters"]): readonly Child[] {
  const offers = parts.filter(({ exported }) => exported);
  if (offers.length === 0) return [h("span", { class: "faint" }, "nobody exports it")];
  return cut(
    offers.map((part) => renderOffer(part, clusters)),
    MOST_CHIPS,
  );
}

export function renderOffer(
  { cluster, offered }: Pick<ServicePart, "cluster" | "offered">,
  clusters: Model["clusters"],
): Element {
  if (offered === undefined)
    return h("span", { key: cluster, class: "chip" }, cluster, h("b", {}, "?"));
  const { ready, total } = offered;
  const { level, words } = judgeSource(clusters, cluster, offered);
  const isCalm = level === "drained" || level === "unknown";
  const why = words === "" ? "" : `, ${words}`;
  const title = `${cluster}: ${ready} of ${count(total, "endpoint")} ready${why}`;
  return h(
    "span",
    { key: cluster, class: `chip ${level}`, title },
    isCalm && glyph(level, level),
    `${cluster} `,
    h("b", {}, ready === total ? String(ready) : `${ready}/${total}`),
    isCalm && h("span", { class: "unseen" }, why),
  );
}

function cut(all: readonly Element[], most: number): readonly Child[] {
  if (all.length <= most) return all;
  const shown = Math.max(1, most - 1);
  const words = h("span", { class: "unseen" }, " more clusters");
  return [...all.slice(0, shown), h("span", { class: "more" }, `+${all.length - shown}`, words)];
}

function renderState({ verdict, why, conflicts }: ServiceState): readonly Child[] {
  if (verdict === "well")
    return [h("span", { class: "state well" }, glyph("well", "well"), "well")];
  const rest = conflicts.filter((sentence) => sentence !== why);
  return [
    h("span", { class: `state ${verdict}` }, glyph(verdict, verdict), h("span", {}, why)),
    ...(rest.length === 0
      ? []
      : [
          h(
            "span",
            { class: "also" },
            why.includes(rest[0] ?? "") ? "" : (rest[0] ?? ""),
            rest.length > 1 ? ` (and ${rest.length - 1} more)` : "",
          ),
        ]),
  ];
}

function renderPager({ page, pages, counts }: Rows, { filter }: Wish): Element {
  const total = counts[filter];
  const from = page * PAGE_SIZE + 1;
  const to = Math.min(total, from + PAGE_SIZE - 1);
  return h(
    "nav",
    { class: "pager", "aria-label": "Pages of services" },
    h("span", {}, `${formatCount(from)}–${formatCount(to)} of ${formatCount(total)}`),
    h("button", { type: "button", do: "page -1", "aria-disabled": String(page === 0) }, "Previous"),
    h(
      "button",
      { type: "button", do: "page 1", "aria-disabled": String(page === pages - 1) },
      "Next",
    ),
  );
}
