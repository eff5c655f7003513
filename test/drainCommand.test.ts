// drain and undrain as a person meets them: what they write, what they foresee and wait for, and in which words they refuse, over
// HTTPS and on real time.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { CLUSTER_PROPERTY } from "../src/api/about.ts";
import { DRAIN_PROPERTY } from "../src/api/names.ts";
import { EmbeddedCluster } from "../src/embedded/cluster.ts";
import { serveCluster } from "../src/embedded/server.ts";
import { systemClock, systemRandom } from "../src/kube/clock.ts";
import { runCommand } from "./commandLine.ts";
import { temporaryDirectory } from "./loopback.ts";
import { openAgents, openCentral, type ReadingSite, type ReadingWorld } from "./readingWorld.ts";
import { eventually } from "./scenarios/poll.ts";

const EAST = "10.1.0.1";
const WEST = "10.2.0.1";

function propertyOf({ client }: ReadingSite) {
  return client.get(CLUSTER_PROPERTY, { name: DRAIN_PROPERTY });
}

function askAt(world: ReadingWorld, site: ReadingSite, ...args: readonly string[]) {
  return runCommand([...args, "--kubeconfig", site.path], { home: world.home });
}

/** Both have "web", east alone has "sole". */
async function offer(world: ReadingWorld): Promise<readonly [ReadingSite, ReadingSite]> {
  const [east, west] = world.sites;
  await east!.site.offer("web", [EAST]);
  await west!.site.offer("web", [WEST]);
  await east!.site.offer("sole", ["10.1.0.9"]);
  await eventually("everything is in step", async () => {
    for (const { site } of world.sites) {
      expect(await site.addresses("web")).toEqual([EAST, WEST]);
      expect(await site.addresses("sole")).toEqual(["10.1.0.9"]);
    }
  });
  return [east!, west!];
}

describe.each([
  ["central", () => openCentral("east", "west")],
  ["agents", () => openAgents("east", "west")],
] as const)("kept in step by %s", (_, open) => {
  test("drain waits until nobody is led there who has another place, and undrain until all are again", async () => {
    const world = await open();
    const [east, west] = await offer(world);
    const run = await world.ask("drain", "east", "--reason", "new kernel", "--wait");
    expect(run.err).toContain(
      "warning: Nobody else who is not drained serves all of shop/sole: they go on using east.",
    );
    expect(run.out).toBe(
      "east: drained (new kernel).\neast: no new traffic is led there in east and west, but for what nobody else serves: shop/sole.",
    );
    expect(run.code).toBe(0);
    for (const { site } of [east, west]) {
      expect(await site.addresses("web")).toEqual([WEST]);
      expect(await site.addresses("sole")).toEqual(["10.1.0.9"]);
    }
    expect(await world.ask("get", "clusters")).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^east +drained .*\nwest +live /m) as string,
    });
    expect((await world.ask("get", "imports", "-n", "shop", "web")).out).toContain(
      "east 0/1 (drained), west 1",
    );
    const status = await world.ask("status");
    expect(status.code).toBe(0);
    expect(status.out).toContain("2 of 2 well: east drained, west");
    expect(status.out).toContain("east, drain: It is drained (new kernel)");
    const back = await world.ask("undrain", "east", "--wait");
    expect(back).toMatchObject({
      code: 0,
      out: "east: not drained any more.\neast: in use again in east and west.",
    });
    for (const { site } of [east, west]) {
      expect(await site.addresses("web")).toEqual([EAST, WEST]);
    }
  });
});

test("a dry run says where traffic would go, and writes nothing", async () => {
  const world = await openCentral("east", "west");
  const [east] = await offer(world);
  const run = await world.ask("drain", "east", "--dry-run");
  expect(run).toMatchObject({ code: 0, err: "Nothing was written." });
  expect(run.out.split("\n").map((line) => line.split(/ {2,}/))).toEqual([
    ["NAMESPACE", "NAME", "TRAFFIC", "READY LEFT", "WHY"],
    ["shop", "sole", "stays", "west 0/1", "Only east serves it."],
    [
      "shop",
      "web",
      "leaves",
      "west 1/2",
      "1 ready endpoint of 2 would be left in west: west stays.",
    ],
  ]);
  expect(await propertyOf(east)).toBeUndefined();
});

test("the last that is not drained is told to be used on, before and after", async () => {
  const world = await openCentral("east", "west");
  const [east, west] = await offer(world);
  await world.ask("drain", "east", "--wait");
  const foreseen = await world.ask("drain", "west", "--dry-run");
  expect(foreseen.out).toMatch(/^shop +web +stays .* is drained, too: all are used then\.$/m);
  const run = await world.ask("drain", "west", "--wait");
  expect(run.code).toBe(0);
  expect(run.err).toContain(
    "warning: Nobody else who is not drained serves all of shop/web: they go on using west.",
  );
  expect(run.out).toContain(
    "west: no new traffic is led there in east and west, but for what nobody else serves: shop/web.",
  );
  for (const { site } of [east, west]) expect(await site.addresses("web")).toContain(WEST);
});

test("both may be run again; a reason replaces another only when one is given", async () => {
  const world = await openCentral("east", "west");
  const [east, west] = await offer(world);
  expect((await askAt(world, east, "drain", "east")).out).toBe(
    "east: drained (drained with isthmus drain).",
  );
  await askAt(world, east, "drain", "east", "--reason", "new kernel");
  expect((await askAt(world, east, "drain", "east")).out).toBe(
    "east: drained already (new kernel).",
  );
  expect((await propertyOf(east))?.spec?.value).toBe("new kernel");
  expect(await propertyOf(west)).toBeUndefined();
  expect((await askAt(world, east, "undrain", "east")).out).toBe("east: not drained any more.");
  expect(await askAt(world, east, "undrain", "east")).toMatchObject({
    code: 0,
    out: "east: was not drained.",
  });
});

test("with the cluster alone it says what it could not see", async () => {
  const world = await openCentral("east", "west");
  const [east] = await offer(world);
  const run = await askAt(world, east, "drain", "east", "--wait");
  expect(run.code).toBe(0);
  expect(run.err).toContain(
    "Whether others serve shop/web cannot be told: name the other clusters, too.",
  );
  expect(run.out).toContain("by its own clients; no other cluster was asked");
});

test("-o yaml prints what kubectl takes, and asks nobody", async () => {
  const home = temporaryDirectory();
  const made = await runCommand(["drain", "east", "--reason", "new kernel", "-o", "yaml"], {
    home,
  });
  expect(made.code).toBe(0);
  expect(parse(made.out)).toEqual({
    apiVersion: "about.k8s.io/v1beta1",
    kind: "ClusterProperty",
    metadata: { name: "drain.isthmus.dev" },
    spec: { value: "new kernel" },
  });
  const taken = await runCommand(["undrain", "east", "-o", "yaml"], { home });
  expect(parse(taken.out)).toEqual({
    apiVersion: "about.k8s.io/v1beta1",
    kind: "ClusterProperty",
    metadata: { name: "drain.isthmus.dev" },
  });
});

describe("it is refused in words", () => {
  test("which cluster is not among those that were named, and what to give", async () => {
    const world = await openCentral("east", "west");
    const run = await world.ask("drain", "north");
    expect(run.code).toBe(1);
    expect(run.err).toContain('none of the clusters that were asked is "north": east and west');
    expect(run.err).toContain("--kubeconfig north.yaml or --context north");
    expect(run.err).toContain("See NothingFound in docs/errors.md.");
  });

  test("that a cluster is named twice", async () => {
    const world = await openCentral("east");
    const [east] = world.sites;
    const run = await world.ask("drain", "east", "--kubeconfig", east!.path);
    expect(run.code).toBe(2);
    expect(run.err).toContain('go by the id "east"');
    expect(await propertyOf(east!)).toBeUndefined();
  });

  test.each([
    [["drain", "No Such Id"], "No Such Id"],
    [["drain", "east", "--reason", " "], "--reason is empty"],
    [["undrain", "east", "--timeout", "soon"], "--timeout"],
    [["drain"], "missing required argument"],
  ])("%s ends with 2", async (args, words) => {
    const run = await runCommand(args, { home: temporaryDirectory() });
    expect(run.code).toBe(2);
    expect(run.err).toContain(words);
  });

  test("that nobody acts on it, when its time is up; the drain stays", async () => {
    const world = await openCentral("east", "west");
    const [east] = await offer(world);
    await world.halt();
    const run = await world.ask("drain", "east", "--wait", "--timeout", "1s");
    expect(run.code).toBe(1);
    expect(run.err).toContain(
      "east is drained, and is still in use by shop/web in east and shop/web in west",
    );
    expect(run.err).toContain("Is isthmus central running");
    expect(await propertyOf(east)).toBeDefined();
  });

  test("that a cluster knows no ClusterProperties", async () => {
    const home = temporaryDirectory();
    const clock = systemClock;
    const cluster = new EmbeddedCluster({ name: "bare", clock, random: systemRandom });
    onTestFinished(() => cluster.stop());
    const server = await serveCluster(cluster, { clock });
    onTestFinished(() => server.close());
    const path = join(home, "bare.yaml");
    writeFileSync(path, server.kubeconfig());
    for (const verb of ["drain", "undrain"]) {
      const run = await runCommand([verb, "bare", "--kubeconfig", `bare=${path}`], { home });
      expect(run.code).toBe(1);
      expect(run.err).toContain("the cluster does not know ClusterProperties");
      expect(run.err).toContain("isthmus crds install");
    }
  });
});
