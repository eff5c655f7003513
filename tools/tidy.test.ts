// House rules that a linter cannot express: each test is one rule, each failure names the file.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { VERSION } from "../src/api/version.ts";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\n")
  .filter((file) => file !== "" && existsSync(join(root, file)));
const sources = files.filter((file) => file.endsWith(".ts"));
const read = (file: string): string => readFileSync(join(root, file), "utf8");

test("there are sources to look at", () => {
  expect(sources.length).toBeGreaterThan(20);
});

test("every source file outside the tests starts by saying what it is", () => {
  const silent = sources.filter(
    (file) => !file.endsWith(".test.ts") && !/^(#!.*\n)?\/[/*]/.test(read(file)),
  );
  expect(silent).toEqual([]);
});

test("no file is longer than 500 lines", () => {
  expect(sources.filter((file) => read(file).split("\n").length > 500)).toEqual([]);
});

test("no file is named after nothing in particular", () => {
  const vague = /(^|\/)(index|utils?|helpers?|common|misc)\.ts$/;
  expect(files.filter((file) => vague.test(file))).toEqual([]);
});

test("links between our own pages lead somewhere", () => {
  const broken = files
    .filter((file) => file.endsWith(".md"))
    .flatMap((page) =>
      [...read(page).matchAll(/\]\((?!\w+:|#)([^)#]+)(#[^)]*)?\)/g)]
        .map((match) => join(dirname(page), match[1] ?? ""))
        .filter((target) => !existsSync(join(root, target)))
        .map((target) => `${page} -> ${target}`),
    );
  expect(broken).toEqual([]);
});

test("no lock file names a registry host", () => {
  const lock = read("package-lock.json");
  expect(lock).not.toMatch(/"resolved"/);
});

test("the version in the code is that of the package", () => {
  const { version } = JSON.parse(read("package.json")) as { version: string };
  expect(VERSION).toBe(version);
});
