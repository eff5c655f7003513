// `isthmus dashboard`, and the same out of an agent and out of central, against embedded clusters behind HTTPS: what is printed, who
// is let in, and that it explains as `isthmus explain` does.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { DashboardState } from "../src/dashboard/state.ts";
import { type CommandRun, runCommand } from "./commandLine.ts";
import { openAgents, openCentral, type ReadingWorld } from "./readingWorld.ts";

interface Running {
  /** Resolves with what the pattern finds in what is printed. */
  prints(pattern: RegExp): Promise<string>;
  readonly out: () => string;
  readonly error: () => string;
  stop(): Promise<CommandRun>;
}

/** A command that runs until it is stopped, at the latest at the end of the test. */
function start(home: string, ...args: readonly string[]): Running {
  const stopping = new AbortController();
  const printed: { readonly to: "out" | "error"; readonly line: string }[] = [];
  let look = (): void => undefined;
  const note = (to: "out" | "error") => (line: string) => {
    printed.push({ to, line });
    look();
  };
  const run = runCommand(args, {
    home,
    out: note("out"),
    error: note("error"),
    signal: stopping.signal,
  });
  const stop = async (): Promise<CommandRun> => {
    stopping.abort();
    return run;
  };
  onTestFinished(async () => void (await stop()));
  const text = (to: "out" | "error"): string =>
    printed.flatMap((one) => (one.to === to ? one.line : [])).join("\n");
  return {
    prints: (pattern) =>
      new Promise((resolve, reject) => {
        look = () => {
          const found = pattern.exec(`${text("out")}\n${text("error")}`)?.[1];
          if (found !== undefined) resolve(found);
        };
        look();
        void run.then(({ code }) => reject(new Error(`ended with ${code}: ${text("error")}`)));
      }),
    out: () => text("out"),
    error: () => text("error"),
    stop,
  };
}

const URL_PRINTED = /(http:\/\/[^\s"]+\/)/;

function kubeconfigs({ sites }: ReadingWorld): readonly string[] {
  return sites.flatMap(({ path }) => ["--kubeconfig", path]);
}

async function readState(url: string, token?: string): Promise<DashboardState> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(new URL("/api/state", url), { headers });
  expect(response.status).toBe(200);
  return (await response.json()) as DashboardState;
}

/** Follows the page's own stream until the state is as wanted. */
async function untilShown(
  url: string,
  isShown: (state: DashboardState) => boolean,
): Promise<DashboardState> {
  const stream = await fetch(new URL("/api/changes", url));
  for await (const _ of stream.body!) {
    const state = await readState(url);
    if (isShown(state)) return state;
  }
  throw new Error("the stream ended");
}

function uses(cluster: string, ready: number): (state: DashboardState) => boolean {
  return ({ services }) =>
    services.some(({ parts }) =>
      parts.some(
        (part) =>
          part.cluster === cluster &&
          part.sources.reduce((sum, one) => sum + one.ready, 0) === ready,
      ),
    );
}

test("isthmus dashboard serves what all named clusters have, explains as isthmus explain does, and ends with Ctrl-C", async () => {
  const world = await openCentral("east", "west");
  const [east, west] = world.sites;
  await east!.site.offer("web", ["10.1.0.1", "10.1.0.2"]);
  await west!.site.offer("web", ["10.2.0.1"]);
  await west!.site.offer("other", ["10.2.0.2"]);
  const run = start(world.home, "dashboard", "--address", "127.0.0.1:0", ...kubeconfigs(world));
  const url = await run.prints(URL_PRINTED);
  const state = await untilShown(url, uses("east", 3));
  expect(state.clusters.map(({ id, liveness }) => [id, liveness])).toEqual([
    ["east", "live"],
    ["west", "live"],
  ]);
  expect(state.server.mode).toBe("isthmus dashboard");
  const page = await fetch(url);
  expect(page.headers.get("content-type")).toContain("text/html");

  await untilWell(world);
  const told = await world.ask("explain", "shop/web", "-o", "json");
  const answer = await fetch(new URL("/api/explain/shop/web", url));
  expect(ageless(await answer.text())).toEqual(ageless(told.out));
  expect((await fetch(new URL("/api/explain/shop/none", url))).status).toBe(404);

  expect(run.error()).toBe("");
  expect((await run.stop()).code).toBe(0);
  await expect(fetch(url)).rejects.toThrow("fetch failed");
});

/** One is asked a moment after the other. */
function ageless(json: string): unknown {
  return JSON.parse(json.replaceAll(/\b[\dsmhd]+ ago\b/g, "some time ago"));
}

/** Nothing is on its way any more. */
async function untilWell(world: ReadingWorld): Promise<void> {
  const { code } = await world.ask("status", "--wait");
  expect(code).toBe(0);
}

test("of a joined cluster it shows the hub and who is known by it, and explains through the hub", async () => {
  const world = await openAgents("east", "west");
  const [east, west] = world.sites;
  await east!.site.offer("web", ["10.1.0.1"]);
  await west!.site.offer("web", ["10.2.0.1"]);
  const at = ["--kubeconfig", east!.path];
  const run = start(world.home, "dashboard", "--address", "127.0.0.1:0", ...at);
  const url = await run.prints(URL_PRINTED);
  const state = await untilShown(url, uses("east", 2));
  expect(state.hub).toEqual({ server: world.hub.server.url });
  expect(state.clusters.map(({ id, problems }) => [id, problems])).toEqual([
    ["east", []],
    ["west", []],
  ]);
  await untilWell(world);
  const told = await runCommand(["explain", "shop/web", "-o", "json", ...at], { home: world.home });
  const answer = await fetch(new URL("/api/explain/shop/web", url));
  expect(ageless(await answer.text())).toEqual(ageless(told.out));
});

test("where others can reach it a token is made up, said once on standard error, and demanded", async () => {
  const world = await openCentral("east");
  const run = start(world.home, "dashboard", "--address", "0.0.0.0:0", ...kubeconfigs(world));
  const token = await run.prints(/\?token=([\w-]{32})/);
  const url = await run.prints(URL_PRINTED);
  expect(run.out()).not.toContain(token);
  expect((await fetch(new URL("/api/state", url))).status).toBe(401);
  expect((await readState(url, token)).server.mode).toBe("isthmus dashboard");
});

test("a token of one's own is demanded on loopback, too, and must not be easy to guess", async () => {
  const world = await openCentral("east");
  const file = join(world.home, "token");
  const args = ["dashboard", "--address", "127.0.0.1:0", "--token-file", file];
  writeFileSync(file, "short\n");
  const refused = await runCommand([...args, ...kubeconfigs(world)], { home: world.home });
  expect(refused.code).toBe(2);
  expect(refused.err).toContain("holds no good token");
  const token = "0123456789abcdef0123";
  writeFileSync(file, `${token}\n`);
  const run = start(world.home, ...args, ...kubeconfigs(world));
  const url = await run.prints(URL_PRINTED);
  expect(`${run.out()}${run.error()}`).not.toContain(token);
  expect((await fetch(new URL("/api/state", url))).status).toBe(401);
  await readState(url, token);
});

test.each([
  [["--address", "nowhere"], 2, "is no address to listen on"],
  [["--address", "127.0.0.1:0", "--token-file", "/nonexistent"], 2, "cannot be read"],
])("isthmus dashboard %j is refused in words", async (args, code, words) => {
  const world = await openCentral("east");
  const run = await runCommand(["dashboard", ...args, ...kubeconfigs(world)], { home: world.home });
  expect(run.code).toBe(code);
  expect(run.err).toContain(words);
  expect(run.err).not.toMatch(/^\s+at /m);
});

test("a port that is taken is said, with what to do", async () => {
  const world = await openCentral("east");
  const run = start(world.home, "dashboard", "--address", "127.0.0.1:0", ...kubeconfigs(world));
  const { host } = new URL(await run.prints(URL_PRINTED));
  const second = await runCommand(["dashboard", "--address", host, ...kubeconfigs(world)], {
    home: world.home,
  });
  expect(second).toMatchObject({ code: 1 });
  expect(second.err).toContain("is taken");
});

test("an agent serves the dashboard where it is told to: its own cluster, and the others by the hub", async () => {
  const world = await openAgents("east", "west");
  const [east, west] = world.sites;
  await west!.site.offer("web", ["10.2.0.1"]);
  const at = ["--kubeconfig", east!.path, "--metrics-address", "127.0.0.1:0"];
  const run = start(world.home, "agent", ...at, "--dashboard-address", "127.0.0.1:0");
  const url = await run.prints(/"url":"(http:[^"]+)"/);
  const state = await untilShown(url, uses("east", 1));
  expect(state.server.mode).toBe("isthmus agent");
  expect(state.clusters.map(({ id, imports }) => [id, imports])).toEqual([
    ["east", 1],
    ["west", undefined],
  ]);
  expect((await run.stop()).code).toBe(0);
});

test("central serves the dashboard where it is told to", async () => {
  const world = await openCentral("east", "west");
  await world.halt();
  await world.sites[1]!.site.offer("web", ["10.2.0.1"]);
  const run = start(
    world.home,
    "central",
    "--dashboard-address=127.0.0.1:0",
    ...kubeconfigs(world),
  );
  const url = await run.prints(/"url":"(http:[^"]+)"/);
  const state = await untilShown(url, uses("east", 1));
  expect(state.server.mode).toBe("isthmus central");
  expect((await run.stop()).code).toBe(0);
});

test.each(["agent", "central"])(
  "%s does not open the dashboard to others without a token, and does not log one",
  async (verb) => {
    const world = await openAgents("east");
    const file = join(world.home, "token");
    const token = "0123456789abcdef0123";
    writeFileSync(file, token);
    const metrics = verb === "agent" ? ["--metrics-address", "127.0.0.1:0"] : [];
    const args = [verb, ...kubeconfigs(world), ...metrics, "--dashboard-address", "0.0.0.0:0"];
    const refused = await runCommand(args, { home: world.home });
    expect(refused.code).toBe(2);
    expect(refused.err).toContain("--dashboard-token-file");
    const run = start(world.home, ...args, "--dashboard-token-file", file);
    const url = await run.prints(/"url":"(http:[^"]+)"/);
    await readState(url, token);
    expect(run.error()).not.toContain(token);
  },
);
