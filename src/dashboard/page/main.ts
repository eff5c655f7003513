// Page: everything joined: what the server tells and what the reader does in, the document out. Shows, and changes nothing.

import { ROUTES } from "../state.ts";
import { browserClock } from "./clock.ts";
import { renderClusters } from "./clusters.ts";
import type { Child } from "./element.ts";
import { startExplaining } from "./explain.ts";
import { type Connection, followServer } from "./feed.ts";
import type { Model } from "./model.ts";
import { renderPanel } from "./panel.ts";
import { createView } from "./patch.ts";
import { renderPicture } from "./picture.ts";
import { renderFigures, renderPairs, renderPlot } from "./plot.ts";
import { linkToCluster, linkToService, parseRoute, type Route } from "./route.ts";
import {
  type Column,
  COLUMNS,
  type Filter,
  FILTERS,
  FIRST_WISH,
  pickRows,
  type Wish,
} from "./rows.ts";
import { renderFilters, renderServices } from "./services.ts";
import { summarize } from "./summary.ts";
import { announce, FIRST_EVENTS, MORE_EVENTS, renderTimeline } from "./timeline.ts";
import { renderTop } from "./top.ts";
import { renderSwitch } from "./switch.ts";

let model: Model | undefined;
let connection: Connection = { state: "connecting" };
let wish: Wish = FIRST_WISH;
let route: Route | undefined = parseRoute(location.hash);
let shape = { clusters: "picture", latency: "picture" };
let pointedAt: string | undefined;
let current: string | undefined;
let lastEvent: number | undefined;
let mostEvents = FIRST_EVENTS;
/** Has the focus again when the panel is closed. */
let opener: Element | null = null;

const explaining = startExplaining(schedule);

const page = {
  top: mount("status"),
  clusterSwitch: mount("clusterSwitch"),
  clusters: mount("clustersBody"),
  timeline: mount("timelineBody"),
  latencySwitch: mount("latencySwitch"),
  figures: mount("figures"),
  latency: mount("latencyBody"),
  filters: mount("filters"),
  services: mount("servicesBody"),
  panel: mount("panel"),
};

function requireElement(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the page has no element ${id}`);
  return element;
}

function mount(id: string): (children: readonly Child[]) => void {
  return createView(requireElement(id));
}

let isScheduled = false;

/** Many changes, one drawing. */
function schedule(): void {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    render();
  });
}

function render(): void {
  const nowMs = performance.now();
  page.top(renderTop(model, connection));
  document.title = `${summarize(model).words.split(". ")[0]?.replace(/\.$/, "")} · Isthmus`;
  renderPanelOf(nowMs);
  if (model === undefined) return;
  document.body.classList.remove("waiting");
  page.clusterSwitch(renderSwitch("clusters", shape.clusters));
  page.latencySwitch(renderSwitch("latency", shape.latency));
  page.clusters(
    shape.clusters === "table"
      ? renderClusters(model, nowMs)
      : renderPicture(model, { width: roomOf("clustersBody").width, nowMs, current, pointedAt }),
  );
  page.timeline(
    renderTimeline(model.events, { startedAt: model.server.startedAt, most: mostEvents }),
  );
  page.figures(renderFigures(model.latency));
  page.latency(
    shape.latency === "table"
      ? renderPairs(model.latency)
      : renderPlot(model.latency, roomOf("latencyBody")),
  );
  const rows = pickRows(model.services, wish, nowMs);
  const selected = route?.kind === "service" ? route.key : undefined;
  const { services, clusters } = model;
  const table = { rows, wish, nowMs, total: services.size, clusters, selected };
  page.filters(renderFilters(table));
  page.services(renderServices(table));
}

function roomOf(id: string): { readonly width: number; readonly height: number } {
  const { clientWidth, clientHeight } = requireElement(id);
  return { width: Math.max(240, clientWidth), height: Math.max(160, clientHeight) };
}

function renderPanelOf(nowMs: number): void {
  const panel = requireElement("panel");
  const isOpen = route !== undefined;
  panel.hidden = !isOpen;
  document.body.classList.toggle("beside", isOpen);
  // On a narrow screen the panel covers everything, so nothing behind it is to be reached.
  const covers = isOpen && matchMedia("(max-width: 899px)").matches;
  for (const id of ["top", "main"]) requireElement(id).inert = covers;
  if (route === undefined || model === undefined) page.panel([]);
  else page.panel(renderPanel(model, { route, explained: explaining.explained(), nowMs }));
}

function select(next: Route | undefined): void {
  const closed = route;
  route = next;
  explaining.select(next?.kind === "service" ? next.key : undefined);
  render();
  if (next !== undefined) {
    document.getElementById("panelTitle")?.focus();
    return;
  }
  if (closed === undefined) return;
  const link = closed.kind === "service" ? linkToService(closed.key) : linkToCluster(closed.id);
  const back = isUsable(opener)
    ? opener
    : document.querySelector(`main a[href="${CSS.escape(link)}"]`);
  const target = back ?? requireElement("search");
  if (target instanceof HTMLElement || target instanceof SVGElement) target.focus();
  opener = null;
}

function isUsable(element: Element | null): element is Element {
  return element !== null && element.isConnected && element !== document.body;
}

function openLink(link: string): void {
  if (route === undefined) opener = document.activeElement;
  location.hash = link;
}

function close(): void {
  if (route === undefined) return;
  history.pushState(null, "", location.pathname + location.search);
  select(undefined);
}

function act(words: string): void {
  const [verb = "", ...rest] = words.split(" ");
  const object = rest.join(" ");
  if (verb === "close") close();
  else if (verb === "service") openLink(linkToService(object));
  else if (verb === "cluster") openLink(linkToCluster(object));
  else if (verb === "show") shape = { ...shape, [rest[0] ?? ""]: rest[1] ?? "picture" };
  else if (verb === "filter") wish = { ...wish, filter: pick<Filter>(FILTERS, object), page: 0 };
  else if (verb === "sort") wish = sortBy(pick<Column>(COLUMNS, object));
  else if (verb === "page") turnPage(Number(object));
  else if (verb === "older") showOlder();
  schedule();
}

function pick<T extends string>(all: readonly T[], word: string): T {
  return all.find((each) => each === word) ?? (all[0] as T);
}

function sortBy(column: Column): Wish {
  const isDescending = wish.sort === column ? !wish.isDescending : false;
  return { ...wish, sort: column, isDescending, page: 0 };
}

function turnPage(by: number): void {
  if (model === undefined) return;
  const { page: shown, pages } = pickRows(model.services, wish, performance.now());
  wish = { ...wish, page: Math.min(pages - 1, Math.max(0, shown + by)) };
}

/** The button moves away, or goes: who pressed it reads on at the first that it brought. */
function showOlder(): void {
  const first = mostEvents + 1;
  mostEvents += MORE_EVENTS;
  render();
  document.querySelector<HTMLElement>(`#timelineBody li:nth-child(${first}) a`)?.focus();
}

function walkRing(event: KeyboardEvent): void {
  const node = event.target instanceof Element ? event.target.closest("g.cluster") : null;
  if (node === null || model === undefined) return;
  const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
  if (event.key === "Enter" || event.key === " ") act(node.getAttribute("data-do") ?? "");
  else if (step === undefined) return;
  else {
    const nodes = [...document.querySelectorAll<SVGElement>("g.cluster")];
    const next = nodes[(nodes.indexOf(node as SVGElement) + step + nodes.length) % nodes.length];
    current = (next?.getAttribute("data-do") ?? "").replace(/^cluster /, "");
    next?.focus();
    schedule();
  }
  event.preventDefault();
}

function hear(next: Model | undefined, how: Connection): void {
  const wasLive = connection.state === "live";
  model = next;
  connection = how;
  if (wasLive && how.state !== "live") say("The connection to the server is lost. Trying again.");
  if (next !== undefined) {
    const last = next.events.at(-1)?.id ?? -1;
    // Not what happened before the page was opened, nor what another server counted.
    if (lastEvent !== undefined && last > lastEvent) {
      const heard = lastEvent;
      say(announce(next.events.filter(({ id }) => id > heard)));
    }
    lastEvent = last;
    explaining.look(next);
  }
  schedule();
}

function say(words: string): void {
  if (words !== "") requireElement("said").textContent = words;
}

document.addEventListener("click", (event) => {
  const target = event.target instanceof Element ? event.target : null;
  const link = target?.closest("a[href^='#/']");
  if (link !== null && link !== undefined) {
    if (route === undefined) opener = link;
    return;
  }
  // Whoever marks text in a row does not want to leave it.
  if (target?.closest("tr") !== null && String(getSelection()) !== "") return;
  const asked = target?.closest("[data-do]")?.getAttribute("data-do");
  if (asked !== null && asked !== undefined) act(asked);
});
document.addEventListener("keydown", (event) => {
  const isTyping = event.target instanceof HTMLInputElement;
  if (event.key === "Escape" && !(isTyping && event.target.value !== "")) close();
  else if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    requireElement("search").focus();
  } else walkRing(event);
});
for (const [type, isOver] of [
  ["pointerover", true],
  ["focusin", true],
  ["pointerout", false],
  ["focusout", false],
] as const) {
  requireElement("clustersBody").addEventListener(type, (event) => {
    const node = event.target instanceof Element ? event.target.closest("g.cluster") : null;
    if (node === null) return;
    pointedAt = isOver ? (node.getAttribute("data-do") ?? "").replace(/^cluster /, "") : undefined;
    schedule();
  });
}
requireElement("search").addEventListener("input", ({ target }) => {
  if (target instanceof HTMLInputElement) wish = { ...wish, query: target.value, page: 0 };
  schedule();
});
addEventListener("hashchange", () => select(parseRoute(location.hash)));
new ResizeObserver(schedule).observe(requireElement("main"));
matchMedia("(max-width: 899px)").addEventListener("change", schedule);
setInterval(schedule, 1000); // Ages count on.

if (route?.kind === "service") explaining.select(route.key);
followServer({
  clock: browserClock,
  connect: () => new EventSource(ROUTES.changes),
  listener: hear,
});
