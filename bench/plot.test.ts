import { expect, test } from "vitest";
import { planAxis } from "./axis.ts";
import { aRecord, aResult, aRow, MACHINE } from "./fixture.ts";
import { renderPlot } from "./plot.ts";
import type { Row } from "./table.ts";

function plotOf(...rows: readonly Row[]): string {
  return renderPlot([aRecord({ results: [aResult(rows)] })]);
}

/** The drawing of one row: legend and other rows have the same shapes. */
function groupOf(svg: string, name: string): string {
  const group = svg.split("<g").find((part) => part.includes(`<title>${name}:`));
  if (group === undefined) throw new Error(`there is no row ${name}`);
  return group.slice(0, group.indexOf("</g>"));
}

test("a row has its name, a median, a whisker, its goal and its figures", () => {
  const row = groupOf(plotOf(aRow({ goal: 1.5 })), "time");
  expect(row).toContain(">time</text>");
  for (const kind of ["dot", "whisker", "goal"]) expect(row).toContain(`class="${kind}"`);
  for (const words of ["1.20 ×", "1.10–1.30", "≤ 1.5", "met"]) expect(row).toContain(`>${words}<`);
});

test("a missed goal has another shape and a word of its own", () => {
  const row = groupOf(plotOf(aRow({ goal: 1.1 })), "time");
  expect(row).toContain('class="cross"');
  expect(row).not.toContain("<circle");
  expect(row).toContain(">MISSED</text>");
});

test("a row without a goal has a ring, and no verdict", () => {
  const row = groupOf(plotOf(aRow()), "time");
  expect(row).toContain('class="ring"');
  expect(row).not.toMatch(/class="goal"|>met<|MISSED/);
});

test("marks lie where the axis has their ratios", () => {
  const svg = plotOf(aRow({ ratio: { median: 2, min: 1, max: 5 }, goal: 5 }));
  const tickOf = (tick: number): string =>
    new RegExp(`class="tick" x="([\\d.]+)" y="\\d+">${tick}<`).exec(svg)?.[1] ?? "none";
  const row = groupOf(svg, "time");
  expect(row).toContain(`cx="${tickOf(2)}"`);
  expect(row).toMatch(new RegExp(`class="whisker" d="M${tickOf(1)} [^"]*H${tickOf(5)}M`));
  expect(row).toMatch(new RegExp(`class="goal" d="M[^"]*H${tickOf(5)}V`));
  expect(svg).toContain(`<path class="floor" d="M${tickOf(1)} `);
});

test("0.1 and 4 are on one axis, equally spaced by factor", () => {
  const axis = planAxis([0.1, 4]);
  expect(axis.ticks).toEqual([0.1, 0.2, 0.5, 1, 2, 5]);
  expect(axis.place(0.4) - axis.place(0.2)).toBeCloseTo(axis.place(4) - axis.place(2), 9);
});

test("what no scale can hold is at its edge, with an arrow", () => {
  expect(planAxis([1e-6, 1e6]).ticks).toHaveLength(13);
  const row = groupOf(plotOf(aRow({ ratio: { median: 1, min: 0, max: 1e6 } })), "time");
  expect(row.match(/class="clip"/g)).toHaveLength(2);
});

test("a row without a ratio says so, and draws none", () => {
  const none = { median: Number.NaN, min: Number.NaN, max: Number.NaN };
  const svg = plotOf(aRow({ ratio: none, goal: 1 }));
  expect(groupOf(svg, "time")).toContain(">no ratio</text>");
  expect(svg.replaceAll(/<title>[^<]*/g, "")).not.toContain("NaN");
});

test("long names and titles are wrapped, markup in them is text", () => {
  const svg = renderPlot([
    aRecord({
      results: [
        aResult([aRow({ name: `<a> & ${"word ".repeat(20)}` })], { title: "t".repeat(300) }),
      ],
    }),
  ]);
  expect(svg).toContain("&lt;a&gt; &amp; word");
  const linesWith = (words: string): number[] =>
    [...svg.matchAll(/<text[^>]*>([^<]*)</g)].flatMap(([, line = ""]) =>
      line.includes(words) ? line.length : [],
    );
  // Markup is longer escaped than shown.
  expect(Math.max(...linesWith("word"))).toBeLessThanOrEqual(42 + 10);
  expect(linesWith("ttt")).toHaveLength(3);
});

test("it says in words what it shows: title, description, notes, failures", () => {
  const svg = renderPlot([
    aRecord({
      results: [aResult([aRow({ goal: 1.1 }), aRow({ goal: 2 })], { notes: ["n^0.01"] })],
      failures: [{ bench: "dns", sentence: "no dnsperf" }],
    }),
  ]);
  expect(svg).toContain('aria-labelledby="title desc"');
  expect(svg).toMatch(/<title id="title">Isthmus bench/);
  expect(svg).toMatch(/<desc id="desc">[^<]*1 of 2 goals met\. Missed: time\. Failed: dns\.</);
  expect(svg).toContain(">n^0.01</text>");
  expect(svg).toContain("dns failed: no dnsperf");
});

test("one machine is named once, of several every group says its own", () => {
  const one = aRecord({ results: [aResult([aRow()])] });
  const again = { ...one, machine: { ...MACHINE, load: [9, 9, 9] } };
  const other = { ...one, machine: { ...MACHINE, cores: 64 } };
  expect(renderPlot([one, again])).not.toContain("machine 1");
  expect(renderPlot([one, other])).toContain("cold ÷ the floor (machine 2)");
});

test("nothing measured is a plot too", () => {
  expect(renderPlot([aRecord()])).toContain("0 of 0 goals met");
});
