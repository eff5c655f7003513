// The command with made-up benches: what it prints, writes and exits with.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { aRecord, aResult, aRow, MACHINE } from "./fixture.ts";
import { encodeRecord, parseRecord } from "./record.ts";
import { type Benches, runCall } from "./run.ts";
import { UnfinishedBench } from "./table.ts";

const GOOD = aResult([aRow({ goal: 2 })], { title: "good ÷ floor", notes: ["n^0.01"] });
const MISSED = aResult([aRow({ goal: 1 })], { title: "slow ÷ floor" });
const BENCHES: Benches = {
  broken: () => Promise.reject(new Error("the server died", { cause: new Error("out of memory") })),
  good: () => Promise.resolve(GOOD),
  slow: () => Promise.resolve(MISSED),
};

async function run(args: readonly string[], benches: Benches = BENCHES) {
  let [output, errors] = ["", ""];
  const code = await runCall(args, {
    benches,
    readMachine: () => Promise.resolve(MACHINE),
    print: (text) => (output += text),
    printError: (text) => (errors += text),
  });
  return { code, output, errors };
}

function aFolder(): (name: string) => string {
  const folder = mkdtempSync(join(tmpdir(), "isthmus-bench-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return (name) => join(folder, name);
}

test("the machine comes first, then the tables with their notes", async () => {
  const { code, output, errors } = await run(["good"]);
  expect({ code, errors }).toEqual({ code: 0, errors: "" });
  expect(output).toMatch(/^processor {3}Abacus 9, 2 cores\n[^]*good ÷ floor\n[^]*n\^0\.01\n/);
});

test("a busy machine is said to be one", async () => {
  const { output } = await run(["good"]);
  expect(output).toContain("0.10 0.20 0.30 at the start\n");
  const busy = { ...MACHINE, load: [1.5, 1, 1] };
  const file = aFolder()("busy.json");
  writeFileSync(file, encodeRecord(aRecord({ machine: busy })));
  expect((await run(["--from", file])).output).toContain("others work here too");
});

test("a missed goal is exit code 1", async () => {
  expect(await run(["good", "slow"])).toMatchObject({ code: 1, errors: "1 goal missed\n" });
});

test("a bench that fails is named with its sentence, and the later ones run", async () => {
  const { code, output, errors } = await run([]);
  expect(code).toBe(1);
  expect(output).toContain("slow ÷ floor");
  expect(errors).toBe(
    "broken failed: the server died: out of memory\n\n1 goal missed; failed: broken\n",
  );
});

test("results and plot are in their files after each bench, before the next begins", async () => {
  const [json, svg] = ["a.json", "a.svg"].map(aFolder()) as [string, string];
  const seen: unknown[] = [];
  await run(["--json", json, "--svg", svg], {
    ...BENCHES,
    late: () => {
      seen.push(parseRecord(readFileSync(json, "utf8")), readFileSync(svg, "utf8"));
      return Promise.resolve(GOOD);
    },
  });
  const failures = [{ bench: "broken", sentence: "the server died: out of memory" }];
  expect(seen[0]).toEqual(aRecord({ results: [GOOD, MISSED], failures }));
  expect(seen[1]).toContain("slow ÷ floor");
});

test("of a bench that could not measure everything, what it did measure is kept and shown, and it has failed", async () => {
  const json = aFolder()("a.json");
  const { code, output, errors } = await run(["--json", json], {
    half: () => Promise.reject(new UnfinishedBench(GOOD, new Error("the server died"))),
  });
  expect({ code, errors }).toEqual({
    code: 1,
    errors: "half failed: not everything was measured: the server died\n\nfailed: half\n",
  });
  expect(output).toContain("good ÷ floor");
  const sentence = "not everything was measured: the server died";
  const failures = [{ bench: "half", sentence }];
  expect(parseRecord(readFileSync(json, "utf8"))).toEqual(aRecord({ results: [GOOD], failures }));
});

test("files are shown again without measuring, tables and plot alike", async () => {
  const fileOf = aFolder();
  const [a, b, svg] = [fileOf("a.json"), fileOf("b.json"), fileOf("out.svg")];
  await run(["--json", a, "good"]);
  await run(["--json", b, "slow", "broken"]);
  const { code, output } = await run(["--from", a, b, "--svg", svg], {});
  expect(code).toBe(1);
  for (const words of ["good ÷ floor", "slow ÷ floor", "broken failed: the server died"]) {
    expect(output).toContain(words);
    expect(readFileSync(svg, "utf8")).toContain(words);
  }
});

test("a ratio that is none survives its file", () => {
  const none = { median: Number.NaN, min: Number.NaN, max: Number.NaN };
  const record = aRecord({ results: [aResult([aRow({ floor: 0, ratio: none })])] });
  expect(parseRecord(encodeRecord(record))).toEqual(record);
});

test.each([
  { args: ["nope"], says: "There is no bench nope, only broken, good, slow." },
  { args: ["--rounds", "0"], says: "--rounds needs a whole number from 1, not 0." },
  { args: ["--form"], says: "Unknown option '--form'" },
  { args: ["--from"], says: "--from needs at least one file of bench results." },
  { args: ["--from", "--quick", "a"], says: "--from measures nothing, so --quick has no meaning." },
  { args: ["--from", "/no/such.json"], says: "/no/such.json cannot be read: ENOENT" },
  { args: ["--json", "/no/such/file", "good"], says: "/no/such/file cannot be written: ENOENT" },
])("$args is refused with a sentence, and nothing is measured", async ({ args, says }) => {
  const { code, output, errors } = await run(args);
  expect({ code, output }).toEqual({ code: 2, output: "" });
  expect(errors).toContain(says);
});

const RECORD = { isthmusBench: 1, ...aRecord() };
test.each([
  { text: "{", says: "is not JSON." },
  { text: "[1]", says: "holds no bench results." },
  { text: `{"isthmusBench":7}`, says: "has bench results of format 7, and this bench reads 1." },
  { text: `{"isthmusBench":1}`, says: "has broken bench results: all of it must have" },
  {
    text: JSON.stringify({ ...RECORD, results: [aResult([{ ...aRow(), unit: "miles" as "ms" }])] }),
    says: "has broken bench results: results.0.rows.0.unit must be",
  },
])("a file with $text is refused: it $says", async ({ text, says }) => {
  const file = aFolder()("a.json");
  writeFileSync(file, text);
  const { code, errors } = await run(["--from", file]);
  expect(code).toBe(2);
  expect(errors).toContain(`${file} ${says}`);
});
