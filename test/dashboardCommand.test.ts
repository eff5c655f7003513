// `isthmus dashboard`, and the same out of an agent and out of central, against embedded clusters behind HTTPS: what is printed, who
// is let in, and that it explains as `isthmus explain` does.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCommand } from "./commandLine.ts";
import { openAgents, openCentral, type ReadingWorld } from "./readingWorld.ts";
import {
  ageless,
  readState,
  startCommand,
  untilShown,
  URL_PRINTED,
  uses,
} from "./runningDashboard.ts";

function kubeconfigs({ sites }: ReadingWorld): readonly string[] {
  return sites.flatMap(({ path }) => ["--kubeconfig", path]);
}

test("isthmus dashboard serves what all named clusters have, explains as isthmus explain does, and ends with Ctrl-C", async () => {
  const world = await openCentral("east", "west");
  const [east, west] = world.sites;
  await east!.site.offer("web", ["10.1.0.1", "10.1.0.2"]);
  await west!.site.offer("web", ["10.2.0.1"]);
  await west!.site.offer("other", ["10.2.0.2"]);
  const run = startCommand(
    world.home,
    "dashboard",
    "--address",
    "127.0.0.1:0",
    ...kubeconfigs(world),
  );
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
  const run = startCommand(world.home, "dashboard", "--address", "127.0.0.1:0", ...at);
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
  const run = startCommand(
    world.home,
    "dashboard",
    "--address",
    "0.0.0.0:0",
    ...kubeconfigs(world),
  );
  // Alone on its line, so that nothing sticks to what people copy.
  const token = await run.prints(/^ {2}http:\S+\?token=([\w-]{32})$/m);
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
  const run = startCommand(world.home, ...args, ...kubeconfigs(world));
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
  const run = startCommand(
    world.home,
    "dashboard",
    "--address",
    "127.0.0.1:0",
    ...kubeconfigs(world),
  );
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
  const run = startCommand(world.home, "agent", ...at, "--dashboard-address", "127.0.0.1:0");
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
  const run = startCommand(
    world.home,
    "central",
    "--dashboard-address=127.0.0.1:0",
    "--metrics-address=127.0.0.1:0",
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
    const metrics = ["--metrics-address", "127.0.0.1:0"];
    const args = [verb, ...kubeconfigs(world), ...metrics, "--dashboard-address", "0.0.0.0:0"];
    const refused = await runCommand(args, { home: world.home });
    expect(refused.code).toBe(2);
    expect(refused.err).toContain("--dashboard-token-file");
    const run = startCommand(world.home, ...args, "--dashboard-token-file", file);
    const url = await run.prints(/"url":"(http:[^"]+)"/);
    await readState(url, token);
    expect(run.error()).not.toContain(token);
  },
);
