// Where the data-plane tests cannot run, one sentence says why and what to do.

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { findRefusal, type Machine } from "./dataplane.ts";

const LAUNCHER = fileURLToPath(new URL("dataplane.ts", import.meta.url));
const TSX = fileURLToPath(new URL("../node_modules/tsx/dist/loader.mjs", import.meta.url));

function aMachine(overrides: Partial<Machine> = {}): Machine {
  return {
    platform: "linux",
    isRoot: true,
    hasProgram: () => true,
    tryNamespaces: () => undefined,
    ...overrides,
  };
}

test("nothing is refused where root may make namespaces", () => {
  expect(findRefusal(aMachine())).toBeUndefined();
});

test("another system than Linux is refused by name, before anything is tried", () => {
  const tryNamespaces = (): string => expect.unreachable();
  const said = findRefusal(aMachine({ platform: "darwin", isRoot: false, tryNamespaces }));
  expect(said).toMatch(/^[^.]*only Linux has \(this is darwin\): run them on Linux, as root\.$/u);
});

test("a user who is not root is told to be", () => {
  const tryNamespaces = (): string => expect.unreachable();
  const said = findRefusal(aMachine({ isRoot: false, tryNamespaces }));
  expect(said).toMatch(/^[^.]*takes root: run them as root\.$/u);
});

test("programs that are missing are named, each with its Debian package, once", () => {
  const missing = new Set(["ip", "iptables", "ip6tables"]);
  const said = findRefusal(aMachine({ hasProgram: (name) => !missing.has(name) }));
  expect(said).toMatch(
    /need ip, iptables, ip6tables .* packages iproute2, iptables or their like\.$/u,
  );
});

test("a kernel that refuses is quoted", () => {
  const said = findRefusal(aMachine({ tryNamespaces: () => "unshare: Operation not permitted" }));
  expect(said).toContain("this system refuses (unshare: Operation not permitted): run them where");
});

test("the sentence is all that is printed, and the exit code is 1", async () => {
  const run = await new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    const args = ["--import", TSX, LAUNCHER];
    const child = execFile(process.execPath, args, { env: { PATH: "" } }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
  expect(run).toMatchObject({ code: 1, stdout: "" });
  expect(run.stderr.trim().split("\n")).toHaveLength(1);
  expect(run.stderr).toMatch(/^The data-plane tests (need|make|run) /u);
});
