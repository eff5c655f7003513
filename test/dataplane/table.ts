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

/** One row per family that was measured, over all protocols and all the windows given. */
export function toRows(
  _about: Pick<Row, "story" | "mode" | "proxy" | "note">,
  _tallies: readonly Tally[],
): Row[] {
  throw new Error("The table is not there yet.");
}

/** One line per story, mode and kube-proxy, the families side by side. */
export function renderText(_rows: readonly Row[]): string {
  throw new Error("The table is not there yet.");
}

export function renderMarkdown(_rows: readonly Row[]): string {
  throw new Error("The table is not there yet.");
}

/** For `ISTHMUS_DATAPLANE_ROWS`: test processes append to one file, who prints reads it. One JSON object per line. */
export function encodeRows(rows: readonly Row[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

export function parseRows(text: string): Row[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Row);
}
