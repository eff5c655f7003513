// What others wrote goes to the terminal of whoever looks: nothing of it may be obeyed there.

import { expect, test } from "vitest";
import { runCommand } from "../../test/commandLine.ts";
import { VirtualClock } from "../../test/clock.ts";
import { aServiceExport } from "../../test/kubeObjects.ts";
import type { ServiceKey } from "../api/names.ts";
import type { StatusView } from "../core/clusterset/health.ts";
import type { WhatIfView } from "../core/clusterset/whatif.ts";
import type { Store } from "../ports/store.ts";
import type { CliContext } from "./context.ts";
import { renderTree } from "./explain.ts";
import { waitUntilReady } from "./exportWait.ts";
import { renderWhatIf } from "./foresight.ts";
import { renderStatus } from "./status.ts";
import { plain, plainLines } from "./terminal.ts";

const EVIL = "\u001b[2Jevil";
const SAFE = "?[2Jevil";

test("control characters become question marks; lines stay only where they are wanted", () => {
  expect(plain(`a\n  b${EVIL}\u202e`)).toBe(`a b${SAFE}?`);
  expect(plainLines(`a\n  b${EVIL}\r`)).toBe(`a\n  b${SAFE}?`);
});

test("status shows subjects and places of findings without what a terminal would obey", () => {
  const status: StatusView = {
    well: false,
    clusters: { total: 1, well: 0 },
    services: { total: 0, well: 0 },
    findings: [{ about: "cluster", subject: EVIL, verdict: "bad", what: EVIL, why: EVIL }],
  };
  const lines = renderStatus(status, { clusters: [], services: [] }, { color: false });
  expect(lines.join("\n")).not.toContain("\u001b");
  expect(lines.join("\n")).toContain(`${SAFE}, ${SAFE}: ${SAFE}`);
});

test("explain shows the service and its sentence without it, too", () => {
  const tree = { what: EVIL, verdict: "bad", why: EVIL, parts: [] } as const;
  expect(renderTree(tree, { color: false, isWide: false })).toEqual([`${SAFE}: ${SAFE}`]);
});

test("a dry run shows clusters, conflicts and changes of others without it", () => {
  const merged = {
    type: "ClusterSetIP",
    ports: [],
    clusters: [EVIL],
    oldest: EVIL,
  } as unknown as NonNullable<WhatIfView["after"]>;
  const view: WhatIfView = {
    namespace: "shop",
    name: "web",
    cluster: EVIL,
    change: "export",
    after: merged,
    conflicts: [{ reason: "PortConflict", message: EVIL, change: "begins", winner: EVIL }],
    clusters: [
      { cluster: EVIL, inNamespace: "present", changes: [EVIL], sources: [], leftOut: EVIL },
    ],
    unknown: [EVIL],
  };
  const text = renderWhatIf(view, { color: false } as CliContext).join("\n");
  expect(text).not.toContain("\u001b");
  expect(text.split(SAFE).length).toBeGreaterThan(8);
});

test("what an export waits for, and why in vain, is shown without it", async () => {
  const clock = new VirtualClock();
  const condition = { type: "Valid", status: "False", reason: "NoService", message: EVIL };
  const found = { ...aServiceExport(), status: { conditions: [condition] } };
  const store = { get: () => Promise.resolve(found) } as unknown as Store;
  const said: string[] = [];
  const say = (line: string): unknown => said.push(line);
  const context = { clock, signal: new AbortController().signal, out: say, error: say };
  const ref = { namespace: "shop", name: "web" };
  const key = "shop/web" as ServiceKey;
  const wanted = [{ key, ref, service: undefined, serviceExport: undefined }];
  const waiting = waitUntilReady(context as unknown as CliContext, {
    store,
    wanted,
    timeoutMs: 600,
  }).catch((error: unknown) => said.push((error as Error).message));
  await clock.advance(1_000);
  await waiting;
  expect(said).toEqual([`waiting: shop/web: ${SAFE}`, `not exported yet: shop/web: ${SAFE}`]);
});

test("a failure is told without it", async () => {
  const { err } = await runCommand(["get", "exports", "--kubeconfig", `/nowhere/${EVIL}`]);
  expect(err).toContain(`/nowhere/${SAFE}`);
  expect(err).not.toContain("\u001b");
});

test("a failure that nobody foresaw is a sentence and a hint; its stack is shown to who asks for it", async () => {
  const fail = (): never => {
    throw new Error("the paper is out");
  };
  const { code, err } = await runCommand(["crds", "print"], { out: fail });
  expect(code).toBe(1);
  expect(err).toContain("error: the paper is out\n");
  expect(err).toContain("ISTHMUS_DEBUG=1");
  expect(err).not.toMatch(/^\s+at /m);
  const debugged = await runCommand(["crds", "print"], { out: fail, env: { ISTHMUS_DEBUG: "1" } });
  expect(debugged.err).toMatch(/^\s+at /m);
});

test("help of a command that there is not says so", async () => {
  const { code, err } = await runCommand(["help", "bogus"]);
  expect(code).toBe(2);
  expect(err).toContain("unknown command 'bogus'");
  expect((await runCommand(["help", "get"])).out).toContain("get [options] [command]");
});
