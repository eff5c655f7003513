// Page: how long changes took from cluster to cluster, as points over time, and as a table.

import type { LatencySample } from "../state.ts";
import { count, formatCount, formatMs } from "./age.ts";
import { type Child, type Element, h } from "./element.ts";
import { measurePairs, measureSpread, placeOnAxis, planAxis, type Spread } from "./latency.ts";
import { formatTime } from "./timeline.ts";

const LEFT = 46;
const RIGHT = 12;
const TOP = 12;
const BOTTOM = 24;
const MOST_PAIRS = 30;

const NONE =
  "No change of endpoints was seen on its way yet. Scale a workload that is exported, and its way to every cluster appears here.";

export interface Room {
  readonly width: number;
  readonly height: number;
}

/** The figures, as words: above picture and table alike. */
export function renderFigures(samples: readonly LatencySample[]): readonly Child[] {
  const spread = measureSpread(samples);
  if (spread === undefined) return [];
  const figure = (name: string, words: string): Element =>
    h("div", {}, h("dt", {}, name), h("dd", {}, words));
  return [
    h(
      "dl",
      { class: "figures" },
      figure("p50", formatMs(spread.p50)),
      figure("p99", formatMs(spread.p99)),
      figure("changes", formatCount(spread.samples)),
    ),
  ];
}

export function renderPlot(
  samples: readonly LatencySample[],
  { width, height }: Room,
): readonly Child[] {
  const spread = measureSpread(samples);
  const [first, last] = [samples[0], samples.at(-1)];
  if (spread === undefined || first === undefined || last === undefined) {
    return [h("p", { class: "empty" }, NONE)];
  }
  const axis = planAxis(samples);
  const [from, to] = [Date.parse(first.at), Date.parse(last.at)];
  const x = (at: string): number =>
    to <= from
      ? (LEFT + width - RIGHT) / 2
      : LEFT + ((Date.parse(at) - from) / (to - from)) * (width - LEFT - RIGHT);
  const y = (ms: number): number =>
    Math.round(height - BOTTOM - placeOnAxis(axis, ms) * (height - TOP - BOTTOM));
  const points = samples.map(({ at, ms, source, importer, service }, index) =>
    h(
      "circle",
      {
        key: `${at} ${service} ${source} ${importer} ${index}`,
        class: "point",
        cx: x(at).toFixed(1),
        cy: y(ms),
        r: 2.5,
      },
      h("title", {}, `${service}: ${source} → ${importer} in ${formatMs(ms)} at ${formatTime(at)}`),
    ),
  );
  const attributes = {
    class: "plot",
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "img",
    "aria-label": describe(spread),
  };
  return [
    h(
      "svg",
      attributes,
      h(
        "g",
        {},
        axis.ticks.map((ms) => renderTick(ms, y(ms), width)),
      ),
      h("g", {}, points),
      renderLine("p99", y(spread.p99), width),
      renderLine("p50", y(spread.p50), width),
      h("text", { class: "tick", x: LEFT, y: height - 6 }, formatTime(first.at)),
      to > from &&
        h("text", { class: "tick end", x: width - RIGHT, y: height - 6 }, formatTime(last.at)),
    ),
  ];
}

function describe({ samples, p50, p99, most }: Spread): string {
  return `Half of the last ${count(samples, "change")} reached the other cluster within ${formatMs(p50)}, 99 in 100 within ${formatMs(p99)}, all within ${formatMs(most)}.`;
}

function renderTick(ms: number, y: number, width: number): Element {
  return h(
    "g",
    { key: ms },
    h("path", { class: "grid", d: `M${LEFT} ${y}H${width - RIGHT}` }),
    h("text", { class: "tick end", x: LEFT - 6, y: y + 4 }, formatMs(ms).replace(".0", "")),
  );
}

function renderLine(name: string, y: number, width: number): Element {
  return h(
    "g",
    { class: `line ${name}` },
    h("path", { d: `M${LEFT} ${y}H${width - RIGHT}` }),
    h("text", { class: "end", x: width - RIGHT, y: y - 4 }, name),
  );
}

export function renderPairs(samples: readonly LatencySample[]): readonly Child[] {
  if (samples.length === 0) return [h("p", { class: "empty" }, NONE)];
  const rows = measurePairs(samples)
    .slice(0, MOST_PAIRS)
    .map(({ source, importer, samples: number, p50, p99 }) =>
      h(
        "tr",
        { key: `${source} ${importer}` },
        h("th", { scope: "row" }, `${source} → ${importer}`),
        h("td", { class: "number" }, formatCount(number)),
        h("td", { class: "number" }, formatMs(p50)),
        h("td", { class: "number" }, formatMs(p99)),
      ),
    );
  const head = ["From → to", "Changes", "p50", "p99"].map((name) =>
    h("th", { scope: "col" }, name),
  );
  return [
    h(
      "div",
      {
        class: "scroll",
        tabindex: 0,
        role: "region",
        "aria-label": "Propagation by pair of clusters, slowest first",
      },
      h("table", { class: "plain" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)),
    ),
  ];
}
