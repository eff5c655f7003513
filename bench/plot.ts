// Bench: records → one SVG for people who read no tables: every row a line, every bench a group. Pure, and without a script: text
// stays text, and nothing is said by colour alone.

import { type Axis, planAxis } from "./axis.ts";
import { nameMachine } from "./machine.ts";
import { type BenchRecord, type Failure, renderFailure } from "./record.ts";
import { type BenchResult, digitsOf, isMet, type Row } from "./table.ts";

const WIDTH = 960;
const MARGIN = 20;
/** Names end here, ratios begin there. */
const LEFT = 300;
const RIGHT = 670;
const COLUMNS = { ratio: 730, spread: 822, goal: 880, verdict: 888 } as const;
const ROW = 22;
const LINE = 15;
/** Of the widest fonts that a page may choose: how long a line may be is all that there is to know without one. */
const NAME_LETTERS = 42;
const WIDE_LETTERS = 118;
const TITLE_LETTERS = 108;

const STYLE = `
svg { color-scheme: light dark; --paper: #fff; --ink: #1b1f24; --faint: #59636e; --rule: #d5dae0; --ours: #0b57d0; --missed: #b3261e; }
@media (prefers-color-scheme: dark) {
  svg { --paper: #0d1117; --ink: #e6edf3; --faint: #9da7b1; --rule: #30363d; --ours: #7aa7ff; --missed: #ff8a80; }
}
.paper { fill: var(--paper); }
text { fill: var(--ink); font: 12px system-ui, sans-serif; }
.head { font-size: 16px; font-weight: 600; }
.title { font-size: 13px; font-weight: 600; }
.faint { fill: var(--faint); }
.tick { fill: var(--faint); font-size: 10px; text-anchor: middle; }
.end { text-anchor: end; font-variant-numeric: tabular-nums; }
.missed { fill: var(--missed); font-weight: 700; }
path { fill: none; stroke: var(--ink); }
.rule { stroke: var(--rule); }
.floor { stroke: var(--ink); stroke-dasharray: 4 3; }
.goal { stroke-width: 2; }
.whisker, .cross, .dot, .ring, .clip { stroke: var(--ours); stroke-width: 1.5; }
.dot, .clip { fill: var(--ours); }
.ring { fill: var(--paper); }
.bad .whisker, .bad .cross, .bad .clip { stroke: var(--missed); }
.bad .clip { fill: var(--missed); }
.cross { stroke-width: 3; }
`;

/** Something of a certain height, drawn once it is known where. */
interface Block {
  readonly height: number;
  draw(y: number): string;
}

export function renderPlot(records: readonly BenchRecord[]): string {
  const rows = records.flatMap(({ results }) => results.flatMap((result) => result.rows));
  const axis = planAxis(rows.flatMap(({ ratio, goal = 1 }) => [ratio.min, ratio.max, goal]));
  const machines = [...new Set(records.map(({ machine }) => nameMachine(machine)))];
  const isOne = machines.length === 1;
  const blocks = [
    gap(10),
    textBlock("Isthmus bench: ours ÷ floor", { kind: "head", line: 24, letters: 80 }),
    ...machines.flatMap((name, index) =>
      textBlock(isOne ? name : `machine ${index + 1}: ${name}`, { kind: "faint" }),
    ),
    ...(records.some(({ options }) => options.quick)
      ? [textBlock("Some of it with --quick: it shows that the bench runs, not how fast we are.")]
      : []),
    gap(8),
    legendBlock(),
    ...records.flatMap(({ machine, results, failures }) => {
      const where = isOne ? "" : ` (machine ${machines.indexOf(nameMachine(machine)) + 1})`;
      return [
        ...results.flatMap((result) => groupBlocks(result, { axis, where })),
        ...failures.flatMap((failure) => failureBlocks(failure, where)),
      ];
    }),
    gap(12),
  ];
  const height = blocks.reduce((sum, block) => sum + block.height, 0);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="graphics-document document" aria-labelledby="title desc">
<title id="title">Isthmus bench: ours ÷ floor</title>
<desc id="desc">${escape(describe(records, rows))}</desc>
<style>${STYLE}</style>
<rect class="paper" width="${WIDTH}" height="${height}"/>
${stack(blocks)}
</svg>
`;
}

function describe(records: readonly BenchRecord[], rows: readonly Row[]): string {
  const benches = records.reduce((sum, { results }) => sum + results.length, 0);
  const goals = rows.filter(({ goal }) => goal !== undefined).length;
  const missed = rows.filter((row) => !isMet(row)).map(({ name }) => name);
  const failed = records.flatMap(({ failures }) => failures.map(({ bench }) => bench));
  return [
    `${rows.length} ratios of ${benches} benches on a logarithmic scale; smaller is better, 1 is the floor.`,
    `${goals - missed.length} of ${goals} goals met.`,
    ...(missed.length === 0 ? [] : [`Missed: ${missed.join("; ")}.`]),
    ...(failed.length === 0 ? [] : [`Failed: ${failed.join("; ")}.`]),
  ].join(" ");
}

function stack(blocks: readonly Block[]): string {
  let y = 0;
  const drawn: string[] = [];
  for (const block of blocks) {
    drawn.push(block.draw(y));
    y += block.height;
  }
  return drawn.filter((text) => text !== "").join("\n");
}

function gap(height: number): Block {
  return { height, draw: () => "" };
}

function textBlock(
  words: string,
  {
    kind = "",
    line = LINE,
    letters = WIDE_LETTERS,
  }: { readonly kind?: string; readonly line?: number; readonly letters?: number } = {},
): Block {
  const lines = wrap(words, letters);
  return {
    height: lines.length * line,
    draw: (y) =>
      lines.map((part, index) => text(MARGIN, y + (index + 1) * line - 4, part, kind)).join("\n"),
  };
}

function groupBlocks(
  { title, rows, notes = [] }: BenchResult,
  { axis, where }: { readonly axis: Axis; readonly where: string },
): readonly Block[] {
  return [
    gap(16),
    textBlock(`${title}${where}`, { kind: "title", line: 17, letters: TITLE_LETTERS }),
    gap(4),
    ...(rows.length === 0 ? [] : [rowsBlock(rows, axis)]),
    ...notes.map((note) => textBlock(note)),
  ];
}

function failureBlocks(failure: Failure, where: string): readonly Block[] {
  return [
    gap(16),
    textBlock(`✕ ${renderFailure(failure)}${where}`, { kind: "missed", letters: TITLE_LETTERS }),
  ];
}

function rowsBlock(rows: readonly Row[], axis: Axis): Block {
  const blocks = rows.map((row) => rowBlock(row, axis));
  const height = blocks.reduce((sum, block) => sum + block.height, 0);
  return {
    height: height + LINE + 2,
    draw: (y) =>
      [
        ...axis.ticks.map((tick) => {
          const x = placeOf(axis, tick);
          const kind = tick === 1 ? "floor" : "rule";
          return `<path class="${kind}" d="M${x} ${y}V${y + height}"/>${text(x, y + height + 12, `${tick}`, "tick")}`;
        }),
        stack([gap(y), ...blocks]),
      ].join("\n"),
  };
}

function rowBlock(row: Row, axis: Axis): Block {
  const lines = wrap(row.name, NAME_LETTERS);
  const height = ROW + (lines.length - 1) * LINE;
  return {
    height,
    draw: (top) => {
      const y = top + height / 2;
      const first = y + 4 - ((lines.length - 1) * LINE) / 2;
      return [
        `<g${isMet(row) ? "" : ' class="bad"'}><title>${escape(sayRow(row))}</title>`,
        `<path class="rule" d="M${LEFT} ${y}H${RIGHT}"/>`,
        ...lines.map((part, index) => text(MARGIN, first + index * LINE, part)),
        drawMarks(row, { axis, y }),
        ...writeFigures(row, y + 4),
        "</g>",
      ].join("");
    },
  };
}

function drawMarks(row: Row, { axis, y }: { readonly axis: Axis; readonly y: number }): string {
  const { ratio, goal } = row;
  const [min, max] = [placeOf(axis, ratio.min), placeOf(axis, ratio.max)];
  const marks = goal === undefined ? [] : [drawGoal(placeOf(axis, goal), y)];
  if (Number.isNaN(ratio.median)) return marks.join("");
  marks.push(drawWhisker({ min, max, y }));
  if (axis.clips(ratio.min) === "below") marks.push(drawClip({ x: LEFT, by: -6, y }));
  if (axis.clips(ratio.max) === "above") marks.push(drawClip({ x: RIGHT, by: 6, y }));
  marks.push(drawMedian(row, placeOf(axis, ratio.median), y));
  return marks.join("");
}

function drawMedian(row: Row, x: number, y: number): string {
  if (!isMet(row)) return drawCross(x, y);
  return `<circle class="${row.goal === undefined ? "ring" : "dot"}" cx="${x}" cy="${y}" r="4"/>`;
}

function drawCross(x: number, y: number): string {
  return `<path class="cross" d="M${x - 5} ${y - 5}L${x + 5} ${y + 5}M${x - 5} ${y + 5}L${x + 5} ${y - 5}"/>`;
}

function drawWhisker({ min, max, y }: { min: number; max: number; y: number }): string {
  return `<path class="whisker" d="M${min} ${y - 4}V${y + 4}M${min} ${y}H${max}M${max} ${y - 4}V${y + 4}"/>`;
}

/** Open towards where the median has to be. */
function drawGoal(x: number, y: number): string {
  return `<path class="goal" d="M${x - 5} ${y - 8}H${x}V${y + 8}H${x - 5}"/>`;
}

/** An arrow at the edge: it goes on there. */
function drawClip({ x, by, y }: { x: number; by: number; y: number }): string {
  return `<path class="clip" d="M${x} ${y - 5}L${x + by} ${y}L${x} ${y + 5}Z"/>`;
}

function writeFigures(row: Row, y: number): readonly string[] {
  const { median, min, max } = row.ratio;
  return [
    ...(Number.isNaN(median)
      ? [text(COLUMNS.ratio, y, "no ratio", "end")]
      : [
          text(COLUMNS.ratio, y, `${shorten(median)} ×`, "end"),
          text(COLUMNS.spread, y, `${shorten(min)}–${shorten(max)}`, "faint end"),
        ]),
    ...(row.goal === undefined
      ? []
      : [
          text(COLUMNS.goal, y, `≤ ${row.goal}`, "end"),
          text(COLUMNS.verdict, y, isMet(row) ? "met" : "MISSED", isMet(row) ? "" : "missed"),
        ]),
  ];
}

function sayRow(row: Row): string {
  const { name, unit, ours, floor, ratio, goal } = row;
  const spread = `${ratio.min.toFixed(2)} to ${ratio.max.toFixed(2)}`;
  const verdict = goal === undefined ? "no goal" : `goal ${goal} ${isMet(row) ? "met" : "missed"}`;
  return `${name}: ${ratio.median.toFixed(2)} times the floor, ${spread}, ${verdict}; ${digitsOf(ours)} ${unit} to ${digitsOf(floor)} ${unit}`;
}

/** Three digits that count, whatever the size: columns are narrow. */
function shorten(ratio: number): string {
  if (ratio >= 1e4) return "> 9999";
  return ratio.toFixed(ratio >= 100 ? 0 : ratio >= 10 ? 1 : 2);
}

function legendBlock(): Block {
  const marks: readonly (readonly [x: number, mark: (y: number) => string, words: string])[] = [
    [26, (y) => `<circle class="dot" cx="26" cy="${y}" r="4"/>`, "median, goal met"],
    [160, (y) => `<circle class="ring" cx="160" cy="${y}" r="4"/>`, "median, no goal"],
    [288, (y) => `<g class="bad">${drawCross(288, y)}</g>`, "median, goal MISSED"],
    [454, (y) => drawWhisker({ min: 440, max: 458, y }), "smallest to largest"],
    [602, (y) => drawGoal(604, y), "goal: at most"],
    [714, (y) => `<path class="floor" d="M716 ${y - 8}V${y + 8}"/>`, "the floor"],
    [804, (y) => drawClip({ x: 800, by: 6, y }), "beyond the scale"],
  ];
  return {
    height: ROW,
    draw: (y) =>
      marks
        .map(
          ([x, mark, words]) =>
            `${mark(y + ROW / 2)}${text(x + 10, y + ROW / 2 + 4, words, "faint")}`,
        )
        .join("\n"),
  };
}

function placeOf(axis: Axis, ratio: number): number {
  return Math.round((LEFT + axis.place(ratio) * (RIGHT - LEFT)) * 10) / 10;
}

function text(x: number, y: number, words: string, kind = ""): string {
  const names = kind === "" ? "" : ` class="${kind}"`;
  return `<text${names} x="${x}" y="${y}">${escape(words)}</text>`;
}

/** By words; a word longer than a line is cut. */
function wrap(words: string, letters: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of words.split(/\s+/).flatMap((word) => cut(word, letters))) {
    if (line !== "" && line.length + 1 + word.length > letters) {
      lines.push(line);
      line = "";
    }
    line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

function cut(word: string, letters: number): readonly string[] {
  const parts = Math.max(1, Math.ceil(word.length / letters));
  return Array.from({ length: parts }, (_, at) => word.slice(at * letters, (at + 1) * letters));
}

function escape(words: string): string {
  return words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
