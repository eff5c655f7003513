import { expect, test } from "vitest";
import { aFlow } from "./aFlow.ts";
import type { FlowTally, Tally } from "./programs/tally.ts";
import { encodeRows, parseRows, renderMarkdown, renderText, type Row, toRows } from "./table.ts";

const ABOUT = { story: "move", mode: "central", proxy: "iptables" } as const;

function aTally(...flows: readonly Partial<FlowTally>[]): Tally {
  return { caller: "1", window: 0, stalledMs: 0, flows: flows.map(aFlow) };
}

function aRow(wishes: Partial<Row> = {}): Row {
  return { ...ABOUT, family: 4, sent: 1200, failed: 3, longestGapMs: 1234, ...wishes };
}

test("requests of all protocols and windows add up by family, and the longest gap is that of the worst", () => {
  const tallies = [
    aTally({ sent: 10, failed: 1, longestGapMs: 100 }, { family: 6, sent: 7, longestGapMs: 150 }),
    aTally({ protocol: "udp", sent: 5, failed: 2, longestGapMs: 900 }, { family: 6, sent: 1 }),
  ];
  expect(toRows(ABOUT, tallies)).toEqual([
    { ...ABOUT, family: 4, sent: 15, failed: 3, longestGapMs: 900 },
    { ...ABOUT, family: 6, sent: 8, failed: 0, longestGapMs: 150 },
  ]);
});

test("a family that was not measured has no row, and a dash in the table", () => {
  const rows = toRows(ABOUT, [aTally({ sent: 10 })]);
  expect(rows).toHaveLength(1);
  expect(renderText(rows).split("\n")[1]).toMatch(
    /^move +central +iptables +10 +0 +0\.0 s +– +– +–$/,
  );
});

test("the text has one aligned line for each story, mode and kube-proxy, the families side by side", () => {
  const rows = [
    aRow(),
    aRow({ family: 6, sent: 7, failed: 0, longestGapMs: 99 }),
    aRow({ story: "loss", note: "withdrawn after 31 s" }),
  ];
  expect(renderText(rows).split("\n").slice(0, 3)).toEqual([
    "story  mode     kube-proxy  IPv4 sent  failed  longest gap  IPv6 sent  failed  longest gap  note",
    "move   central  iptables         1200       3        1.2 s          7       0        0.1 s",
    "loss   central  iptables         1200       3        1.2 s          –       –            –  withdrawn after 31 s",
  ]);
});

test("stories stay in the order in which they were told, whichever bed they were told in", () => {
  const rows = [
    aRow({ story: "move", mode: "agents" }),
    aRow({ story: "loss", mode: "agents" }),
    aRow({ story: "move", proxy: "nftables" }),
    aRow({ story: "move" }),
  ];
  const lines = renderText(rows)
    .split("\n")
    .slice(1, 5)
    .map((line) => line.split(/ +/).slice(0, 3).join(" "));
  expect(lines).toEqual([
    "move central iptables",
    "move central nftables",
    "move agents iptables",
    "loss agents iptables",
  ]);
});

test("the Markdown has the same lines, and a note cannot break out of its cell", () => {
  const lines = renderMarkdown([aRow({ note: "a | b" })]).split("\n");
  expect(lines[1]).toBe("| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |");
  expect(lines[2]).toBe("| move | central | iptables | 1200 | 3 | 1.2 s | – | – | – | a \\| b |");
});

test("the table says what counts as failed", () => {
  for (const text of [renderText([]), renderMarkdown([])]) {
    expect(text.replaceAll("\n", " ")).toContain("a connection kept open that is reset");
  }
});

test("rows survive the file that carries them", () => {
  const rows = [aRow(), aRow({ family: 6, note: "two\nlines" })];
  expect(parseRows(encodeRows(rows.slice(0, 1)) + encodeRows(rows.slice(1)))).toEqual(rows);
});
