// What the stories measured in, a table for a person out: as text, and as Markdown for the docs. Pure.

import type { Family, Tally } from "./programs/tally.ts";

/** One story in one bed over one family. */
export interface Row {
  readonly story: string;
  readonly mode: "central" | "agents";
  readonly proxy: "iptables" | "nftables";
  readonly family: Family;
  readonly sent: number;
  readonly failed: number;
  readonly longestGapMs: number;
  readonly note?: string;
}

const FAMILIES = [4, 6] as const;
const HEADER = [
  "story",
  "mode",
  "kube-proxy",
  ...FAMILIES.flatMap((family) => [`IPv${family} sent`, "failed", "longest gap"]),
  "note",
];
const FOOTNOTE =
  "Callers ask over TCP (a connection each time, from another port), UDP (one source port) and HTTP (one connection kept open), over each family " +
  "on its own, a request every 100 ms (`headless`: 250 ms). Failed is what got no right answer within 5 s, or no connection within 2 s, the resolution of its name included. " +
  "Nothing is asked again, also not a request on a connection kept open that is reset, where many HTTP clients would; only the " +
  "question for a name is, within that time, as stub resolvers do. The longest gap is the longest time that any one of these went without " +
  "a right answer.";

/** One row per family that was measured, over all protocols and all the windows given. */
export function toRows(
  about: Pick<Row, "story" | "mode" | "proxy" | "note">,
  tallies: readonly Tally[],
): Row[] {
  const flows = tallies.flatMap((tally) => tally.flows);
  return FAMILIES.flatMap((family) => {
    const measured = flows.filter((flow) => flow.family === family);
    if (measured.length === 0) return [];
    return {
      ...about,
      family,
      sent: measured.reduce((sum, flow) => sum + flow.sent, 0),
      failed: measured.reduce((sum, flow) => sum + flow.failed, 0),
      longestGapMs: Math.max(...measured.map((flow) => flow.longestGapMs)),
    };
  });
}

/** One line per story, mode and kube-proxy, the families side by side. */
export function renderText(rows: readonly Row[]): string {
  const lines = [HEADER, ...toLines(rows)];
  const widths = HEADER.map((_, column) =>
    Math.max(...lines.map((line) => cell(line, column).length)),
  );
  const table = lines.map((line) =>
    HEADER.map((_, column) => {
      const width = widths[column] ?? 0;
      return isNumber(column)
        ? cell(line, column).padStart(width)
        : cell(line, column).padEnd(width);
    })
      .join("  ")
      .trimEnd(),
  );
  return `${[...table, "", ...wrap(FOOTNOTE)].join("\n")}\n`;
}

export function renderMarkdown(rows: readonly Row[]): string {
  const dashes = HEADER.map((_, column) => (isNumber(column) ? "---:" : "---"));
  const table = [HEADER, dashes, ...toLines(rows)].map((line) => {
    const cells = HEADER.map((_, column) => cell(line, column).replaceAll("|", "\\|"));
    return `| ${cells.join(" | ")} |`;
  });
  return `${[...table, "", FOOTNOTE].join("\n")}\n`;
}

/** One JSON object per line: test processes append to one file. */
export function encodeRows(rows: readonly Row[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

export function parseRows(text: string): Row[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Row);
}

/** In the order in which stories were first heard of, and of one story by mode and kube-proxy. */
function toLines(rows: readonly Row[]): string[][] {
  const groups = new Map<string, Row[]>();
  for (const row of rows) {
    const key = JSON.stringify([row.story, row.mode, row.proxy]);
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  const stories = [...new Set(rows.map(({ story }) => story))];
  return [...groups.values()]
    .flatMap((group) => (group[0] === undefined ? [] : [{ head: group[0], group }]))
    .toSorted(({ head: a }, { head: b }) => {
      const order = stories.indexOf(a.story) - stories.indexOf(b.story);
      return order || b.mode.localeCompare(a.mode) || a.proxy.localeCompare(b.proxy);
    })
    .map(({ head, group }) => [
      head.story,
      head.mode,
      head.proxy,
      ...FAMILIES.flatMap((family) => toCells(group.filter((row) => row.family === family))),
      [...new Set(group.flatMap(({ note }) => note ?? []))].join("; "),
    ]);
}

/** Nothing measured is a dash and not a zero. */
function toCells(rows: readonly Row[]): [string, string, string] {
  if (rows.length === 0) return ["–", "–", "–"];
  const sum = (count: (row: Row) => number): number =>
    rows.reduce((total, row) => total + count(row), 0);
  const gapMs = Math.max(...rows.map(({ longestGapMs }) => longestGapMs));
  const sent = String(sum((row) => row.sent));
  const failed = String(sum((row) => row.failed));
  return [sent, failed, `${(gapMs / 1000).toFixed(1)} s`];
}

function cell(line: readonly string[], column: number): string {
  return line[column] ?? "";
}

function isNumber(column: number): boolean {
  return column >= 3 && column < HEADER.length - 1;
}

const LINE_LENGTH = 120;

function wrap(text: string): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + word.length >= LINE_LENGTH) {
      lines.push(line);
      line = "";
    }
    line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
