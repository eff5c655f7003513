// The demo's folder: what goes away, and what is left alone.

import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openFolder } from "./folder.ts";

function makeParent(): string {
  const parent = mkdtempSync(join(tmpdir(), "isthmus-folder-"));
  onTestFinished(() => rmSync(parent, { recursive: true }));
  return parent;
}

/** Of a process that has ended. */
function findDeadPid(): number {
  return spawnSync(process.execPath, ["--version"]).pid;
}

test("a folder is removed with all that is in it", async () => {
  const parent = makeParent();
  const folder = await openFolder(parent);
  writeFileSync(join(folder.path, "east.yaml"), "");
  await folder.remove();
  expect(readdirSync(parent)).toEqual([]);
});

test("what a killed demo left behind goes when the next one starts", async () => {
  const parent = makeParent();
  const left = join(parent, `isthmus-demo-${findDeadPid()}-AbCdEf`);
  mkdirSync(left);
  writeFileSync(join(left, "east.yaml"), "");
  const folder = await openFolder(parent);
  expect(readdirSync(parent).map((name) => join(parent, name))).toEqual([folder.path]);
  await folder.remove();
});

test("where no folder can be made, the place is named and what to do", async () => {
  const parent = join(makeParent(), "none");
  const refused = openFolder(parent);
  await expect(refused).rejects.toThrow(parent);
  await expect(refused).rejects.toMatchObject({ code: "FileUnwritable" });
});

test("the folder of a demo that runs, a link of such a name and what is called otherwise stay", async () => {
  const parent = makeParent();
  const dead = findDeadPid();
  const others = [`isthmus-demo-${process.pid}-AbCdEf`, `isthmus-demo-${dead}`, "isthmus-demo-x"];
  for (const name of others) mkdirSync(join(parent, name));
  const link = `isthmus-demo-${dead}-AbCdEf`;
  symlinkSync(parent, join(parent, link));
  const folder = await openFolder(parent);
  await folder.remove();
  expect(readdirSync(parent).toSorted()).toEqual([...others, link].toSorted());
});
