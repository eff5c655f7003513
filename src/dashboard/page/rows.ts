// Page: the services and what the reader asked for in, the rows of one page of the table out. Never more than PAGE_SIZE are in the
// document, however many services there are.

import type { ServiceState } from "../state.ts";
import { ageNow } from "./age.ts";
import type { Model, Told } from "./model.ts";

export const PAGE_SIZE = 50;

export const FILTERS = ["all", "unwell", "conflicts"] as const;
export type Filter = (typeof FILTERS)[number];
export const COLUMNS = ["service", "endpoints", "state", "age"] as const;
export type Column = (typeof COLUMNS)[number];

export interface Wish {
  readonly query: string;
  readonly filter: Filter;
  readonly sort: Column;
  readonly isDescending: boolean;
  /** From 0. */
  readonly page: number;
}

export interface Rows {
  readonly rows: readonly Told<ServiceState>[];
  /** By filter, with the search. */
  readonly counts: Readonly<Record<Filter, number>>;
  readonly page: number;
  readonly pages: number;
}

export const FIRST_WISH: Wish = {
  query: "",
  filter: "all",
  // What needs somebody comes first.
  sort: "state",
  isDescending: false,
  page: 0,
};

export function pickRows(services: Model["services"], wish: Wish, nowMs: number): Rows {
  const terms = wish.query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [...services.values()].filter(({ value }) => {
    const text = searchText(value);
    return terms.every((term) => text.includes(term));
  });
  const kept = found.filter(({ value }) => passes(value, wish.filter));
  const sign = wish.isDescending ? -1 : 1;
  const sorted = kept.toSorted(
    (a, b) =>
      sign * compare(a, b, { column: wish.sort, nowMs }) || compareText(a.value.key, b.value.key),
  );
  const pages = Math.max(1, Math.ceil(sorted.length / PAGE_SIZE));
  const page = Math.min(wish.page, pages - 1);
  return {
    rows: sorted.slice(page * PAGE_SIZE, (page + 1) * PAGE_SIZE),
    counts: {
      all: found.length,
      unwell: found.filter(({ value }) => passes(value, "unwell")).length,
      conflicts: found.filter(({ value }) => passes(value, "conflicts")).length,
    },
    page,
    pages,
  };
}

function passes({ verdict, conflicts }: ServiceState, filter: Filter): boolean {
  if (filter === "all") return true;
  return filter === "unwell" ? verdict !== "well" : conflicts.length > 0;
}

const texts = new WeakMap<ServiceState, string>();

/** Its name, type, ports, who exports it, and its virtual IPs. */
function searchText(service: ServiceState): string {
  const known = texts.get(service);
  if (known !== undefined) return known;
  const { key, type, ports, parts } = service;
  const text = [
    key,
    type,
    ...ports.map(({ name, port, protocol }) => `${name} ${port}/${protocol}`),
    ...parts.flatMap(({ cluster, exported, ips }) => (exported ? [cluster, ...ips] : ips)),
  ]
    .join("\n")
    .toLowerCase();
  texts.set(service, text);
  return text;
}

const GRAVITY = { bad: 0, warn: 1, well: 2 } as const;

function compare(
  a: Told<ServiceState>,
  b: Told<ServiceState>,
  { column, nowMs }: { readonly column: Column; readonly nowMs: number },
): number {
  if (column === "service") return compareText(a.value.key, b.value.key);
  if (column === "state") return GRAVITY[a.value.verdict] - GRAVITY[b.value.verdict];
  if (column === "endpoints") return countReady(a.value) - countReady(b.value);
  // Two without an age are equal.
  return (findAge(a, nowMs) ?? Infinity) - (findAge(b, nowMs) ?? Infinity) || 0;
}

// Not localeCompare, which takes 20 times as long and is asked ten thousand times.
function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function countReady({ parts }: ServiceState): number {
  return parts.reduce((sum, { offered }) => sum + (offered?.ready ?? 0), 0);
}

/** Seconds since anything that a cluster imports of it changed. */
export function findAge(told: Told<ServiceState>, nowMs: number): number | undefined {
  const ages = told.value.parts.flatMap(({ syncAgeSeconds }) => syncAgeSeconds ?? []);
  return ages.length === 0 ? undefined : ageNow(told, Math.min(...ages), nowMs);
}
