// export and unexport as a person meets them: what they write, what they refuse and in which words, and what a dry run shows,
// over HTTPS and on real time.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import type { ServiceSpec } from "../src/api/builtin.ts";
import { SERVICE_EXPORT } from "../src/api/mcs.ts";
import { EmbeddedCluster } from "../src/embedded/cluster.ts";
import { serveCluster } from "../src/embedded/server.ts";
import { systemClock, systemRandom } from "../src/kube/clock.ts";
import { type CommandRun, runCommand } from "./commandLine.ts";
import { temporaryDirectory } from "./loopback.ts";
import { openAgents, openCentral, type ReadingSite, type ReadingWorld } from "./readingWorld.ts";
import { eventually } from "./scenarios/poll.ts";

const PORT_8000: ServiceSpec = {
  ports: [{ name: "http", protocol: "TCP", port: 8000, targetPort: 8080 }],
};

/** Asks one of them alone. */
function askAt(world: ReadingWorld, site: ReadingSite, ...args: readonly string[]) {
  return runCommand([...args, "--kubeconfig", site.path], { home: world.home });
}

function exportOf({ site }: ReadingSite, name: string) {
  return site.get(SERVICE_EXPORT, name);
}

function expectRefused(run: CommandRun, code: string, ...sentences: readonly string[]): void {
  expect(run.code).toBe(1);
  for (const sentence of sentences) expect(run.err).toContain(sentence);
  expect(run.err).toContain(`See ${code} in docs/errors.md.`);
  expect(run.err).not.toMatch(/^\s+at /m);
}

describe("export", () => {
  test("makes the export, says that it is there when it is, and waits until it is ready", async () => {
    const world = await openCentral("east", "west");
    const [east] = world.sites;
    await east!.site.serve("web", ["10.1.0.1"]);
    const made = await askAt(world, east!, "export", "web", "-n", "shop", "--wait");
    expect(made.out).toBe("shop/web: exported.\nshop/web: valid and ready.");
    expect(made.code).toBe(0);
    const { metadata } = (await exportOf(east!, "web"))!;
    const again = await askAt(world, east!, "export", "shop/web");
    expect(again).toMatchObject({
      code: 0,
      out: `shop/web: exported already, since ${metadata.creationTimestamp}.`,
    });
    expect((await exportOf(east!, "web"))!.metadata.uid).toBe(metadata.uid);
  });

  test("takes several, and none of them when one cannot be exported", async () => {
    const world = await openCentral("east");
    const [east] = world.sites;
    for (const name of ["a", "b", "c"]) await east!.site.serve(name);
    await east!.site.serve("far", [], { type: "ExternalName", externalName: "example.org" });
    const refused = await askAt(world, east!, "export", "a", "nope", "far", "-n", "shop");
    expectRefused(
      refused,
      "NotExportable",
      'there is no Service "nope" in namespace "shop"; shop/far cannot be exported',
      "Create it first",
      "ExternalName has no endpoints to share. Export a ClusterIP",
      "Nothing was exported.",
    );
    expect(await exportOf(east!, "a")).toBeUndefined();
    const made = await askAt(world, east!, "export", "a", "b", "c", "a", "-n", "shop");
    expect(made.out).toBe("shop/a: exported.\nshop/b: exported.\nshop/c: exported.");
    for (const name of ["a", "b", "c"]) expect(await exportOf(east!, name)).toBeDefined();
  });

  test("refuses a namespace that is denied by default, unless it is said to be allowed", async () => {
    const world = await openCentral("east");
    const [east] = world.sites;
    const other = east!.site.in("default");
    await other.serve("web");
    expectRefused(
      await askAt(world, east!, "export", "web"),
      "NotExportable",
      'Services of namespace "default" are not exported',
      "Name another namespace with -n",
      "--allow-namespace default",
    );
    const allowed = ["export", "web", "--allow-namespace", "default"];
    expect((await askAt(world, east!, ...allowed)).code).toBe(0);
    // Central was not told so, and what it says ends the waiting at once.
    const waited = await askAt(world, east!, ...allowed, "--wait", "--timeout", "1h");
    expectRefused(waited, "NotWell", 'Services of namespace "default" are not exported.');
  });

  test("a cluster without the CustomResourceDefinitions is told how to get them", async () => {
    const home = temporaryDirectory();
    const cluster = new EmbeddedCluster({
      name: "bare",
      clock: systemClock,
      random: systemRandom,
    });
    onTestFinished(() => cluster.stop());
    const server = await serveCluster(cluster, { clock: systemClock });
    onTestFinished(() => server.close());
    const path = join(home, "bare.yaml");
    writeFileSync(path, server.kubeconfig());
    for (const verb of ["export", "unexport"]) {
      const run = await runCommand([verb, "web", "-n", "shop", "--kubeconfig", path], { home });
      expect(run.out).toBe("");
      expectRefused(
        run,
        "ServiceExportsMissing",
        "the cluster does not know ServiceExports",
        "isthmus crds install",
      );
    }
  });

  test("waiting in vain says why, and that the export stays", async () => {
    const world = await openCentral("east");
    const [east] = world.sites;
    await world.halt();
    await east!.site.serve("web");
    const run = await askAt(world, east!, "export", "shop/web", "--wait", "--timeout", "1s");
    expectRefused(run, "NotWell", "Nobody has looked at it yet.", "stays");
    expect(await exportOf(east!, "web")).toBeDefined();
    expect((await askAt(world, east!, "export", "web", "--timeout", "soon")).code).toBe(2);
  });

  test("waiting tells of a conflict in the words of the condition", async () => {
    const world = await openCentral("east", "west");
    const [east, west] = world.sites;
    await east!.site.offer("web", ["10.1.0.1"]);
    await west!.site.serve("web", ["10.2.0.1"], PORT_8000);
    await eventually("west imports it", async () => {
      expect((await world.ask("get", "imports", "-n", "shop")).out).toMatch(/^web +west /m);
    });
    const run = await askAt(world, west!, "export", "shop/web", "--wait");
    expect(run.code).toBe(0);
    expect(run.err).toContain("warning: shop/web: Conflicting ports. Using");
  });

  test("-o yaml prints what it would apply, and applies nothing", async () => {
    const world = await openCentral("east");
    const [east] = world.sites;
    await east!.site.serve("a");
    await east!.site.serve("b");
    const run = await askAt(world, east!, "export", "a", "b", "-n", "shop", "-o", "yaml");
    expect(run.code).toBe(0);
    const objects = parseAllDocuments(run.out).map((document) => document.toJS());
    expect(objects).toEqual(
      ["a", "b"].map((name) => ({
        apiVersion: "multicluster.x-k8s.io/v1beta1",
        kind: "ServiceExport",
        metadata: { namespace: "shop", name },
      })),
    );
    expect(await exportOf(east!, "a")).toBeUndefined();
  });
});

describe("unexport", () => {
  test("takes the export back, and fails when there is none", async () => {
    const world = await openCentral("east");
    const [east] = world.sites;
    await east!.site.offer("web");
    const yaml = await askAt(world, east!, "unexport", "shop/web", "-o", "yaml");
    expect(parse(yaml.out)).toEqual({
      apiVersion: "multicluster.x-k8s.io/v1beta1",
      kind: "ServiceExport",
      metadata: { namespace: "shop", name: "web" },
    });
    expect(await exportOf(east!, "web")).toBeDefined();
    const both = await askAt(world, east!, "unexport", "shop/web", "shop/nope");
    expectRefused(both, "NothingFound", "shop/nope is not exported", "Nothing was taken back.");
    expect(await exportOf(east!, "web")).toBeDefined();
    const gone = await askAt(world, east!, "unexport", "web", "-n", "shop");
    expect(gone).toMatchObject({ code: 0, out: "shop/web: no longer exported.", err: "" });
    expect(await exportOf(east!, "web")).toBeUndefined();
    expectRefused(await askAt(world, east!, "unexport", "shop/web"), "NothingFound");
    const calm = await askAt(world, east!, "unexport", "shop/web", "--ignore-not-found");
    expect(calm).toMatchObject({ code: 0, out: "shop/web: was not exported." });
  });
});

describe("--dry-run", () => {
  test("shows the merged result and every conflict from all that are named; the first is the one that would export", async () => {
    const world = await openCentral("east", "west");
    const [east, west] = world.sites;
    await east!.site.offer("web", ["10.1.0.1"]);
    await west!.site.serve("web", ["10.2.0.1"], PORT_8000);
    const run = await runCommand(
      ["export", "shop/web", "--dry-run", "--kubeconfig", west!.path, "--kubeconfig", east!.path],
      { home: world.home },
    );
    expect(run.code).toBe(1);
    expect(run.out).toContain("shop/web, when west exports it:");
    expect(run.out).toMatch(
      /^ {2}merged then ClusterSetIP, http 80\/TCP; exported by east, west; the oldest is that of east$/m,
    );
    expect(run.out).toMatch(/^ {2}now +ClusterSetIP, http 80\/TCP; exported by east$/m);
    expect(run.out).toMatch(
      /^ {2}conflict +BEGINS +PortConflict \(east wins\): Conflicting ports\. Using/m,
    );
    expect(run.out).toMatch(/^ {2}in east +nothing changes\. Left out: Nothing of it/m);
    expect(run.err).toContain("Nothing was written.");
    expect(run.err).toContain("it would cause 1 conflict");
    expect(await exportOf(west!, "web")).toBeUndefined();
  });

  test("of an export that nobody disagrees with ends with 0, and says what clients would notice", async () => {
    const world = await openCentral("east", "west");
    const [east] = world.sites;
    await east!.site.serve("web", ["10.1.0.1", "10.1.0.2"]);
    await east!.site.serve("db");
    const run = await world.ask("export", "web", "db", "-n", "shop", "--dry-run");
    expect(run.err).toBe("Nothing was written.");
    expect(run.code).toBe(0);
    expect(run.out).toMatch(/^ {2}now +nobody exports it$/m);
    expect(run.out).toMatch(/^ {2}conflicts +none$/m);
    expect(run.out).toMatch(
      /^ {2}in west +the name begins to resolve: ClusterSetIP, http 80\/TCP; 2 endpoints of east come, ready\.$/m,
    );
    expect(run.out).toContain("shop/db, when east exports it:");
    expect(await exportOf(east!, "web")).toBeUndefined();
  });

  test("says who was not asked, and what to do", async () => {
    const world = await openCentral("east", "west");
    const [east, west] = world.sites;
    await east!.site.offer("web", ["10.1.0.1"]);
    await west!.site.serve("web", ["10.2.0.1"]);
    await eventually("west imports it", async () => {
      expect((await world.ask("get", "imports", "-n", "shop")).out).toMatch(/^web +west .*east 1/m);
    });
    const run = await askAt(world, west!, "export", "shop/web", "--dry-run");
    expect(run.out).toMatch(/^ {2}merged then .* exported by east, west/m);
    expect(run.out).toMatch(/^ {2}not asked +east: taken for what the imports show of it\.$/m);
    expect(run.out).toContain("→ Name east, too, with --kubeconfig or --context");
  });

  test("of unexport shows what would be left, and takes nothing back", async () => {
    const world = await openCentral("east", "west");
    const [east] = world.sites;
    await east!.site.offer("web", ["10.1.0.1"]);
    const run = await world.ask("unexport", "shop/web", "--dry-run");
    expect(run.code).toBe(0);
    expect(run.out).toContain("shop/web, when east no longer exports it:");
    expect(run.out).toMatch(/^ {2}merged then nobody exports it$/m);
    expect(run.out).toMatch(/^ {2}in west +the name ceases to resolve, and its virtual IP goes;/m);
    expect(await exportOf(east!, "web")).toBeDefined();
  });

  test("in one joined cluster the hub shows what the others share", async () => {
    const world = await openAgents("east", "west");
    const [east, west] = world.sites;
    await east!.site.offer("web", ["10.1.0.1"]);
    await west!.site.serve("web", ["10.2.0.1"], PORT_8000);
    await eventually("east has told the hub", async () => {
      const run = await askAt(world, west!, "export", "shop/web", "--dry-run");
      expect(run.out).toMatch(/^ {2}conflict +BEGINS +PortConflict \(east wins\)/m);
      expect(run.out).toMatch(/^ {2}in east +nothing changes/m);
      expect(run.out).not.toContain("not asked");
      expect(run.code).toBe(1);
    });
    const alone = await askAt(world, west!, "export", "shop/web", "--dry-run", "--no-hub");
    expect(alone.out).not.toContain("in east");
  });
});
