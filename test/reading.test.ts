// The reading commands as a person meets them: tables, JSON, sentences and exit codes, over HTTPS and on real time.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { SERVICE } from "../src/api/builtin.ts";
import { runCommand } from "./commandLine.ts";
import { temporaryDirectory } from "./loopback.ts";
import { openAgents, openBare, openCentral, type ReadingWorld } from "./readingWorld.ts";
import { anEndpoint } from "./scenarios/objects.ts";
import { eventually } from "./scenarios/poll.ts";

const UNREADY = { conditions: { ready: false, serving: false, terminating: false } };

/** Its web is in step: three endpoints, one of east's not ready. */
async function offerWeb(world: ReadingWorld): Promise<void> {
  const [east, west] = world.sites;
  await east!.site.offer("web", ["10.1.0.1", anEndpoint("10.1.0.2", UNREADY)]);
  await west!.site.offer("web", ["10.2.0.1"]);
  await eventually("all is well", async () => {
    const { code, out, err } = await world.ask("status");
    expect(`${out}\n${err}`).toContain("1 of 1 well");
    expect(code).toBe(0);
    const { out: rows } = await world.ask("get", "imports", "-A");
    expect(rows).toContain("east 1/2, west 1");
  });
}

describe("with central", () => {
  test("get lists exports, imports and clusters of all that were asked, in the columns of the docs", async () => {
    const world = await openCentral("east", "west");
    await offerWeb(world);
    const exports = await world.ask("get", "exports", "-A");
    expect(exports.out.split("\n")[0]).toMatch(
      /^NAMESPACE +NAME +CLUSTER +VALID +READY +CONFLICT +ENDPOINTS +AGE$/,
    );
    expect(exports.out).toMatch(/^shop +web +east +True +True +- +1\/2 +\d+s$/m);
    expect(exports.out).toMatch(/^shop +web +west +True +True +- +1 +\d+s$/m);
    const imports = await world.ask("get", "imports", "-n", "shop");
    expect(imports.out.split("\n")[0]).toMatch(
      /^NAME +CLUSTER +TYPE +IP +READY +ENDPOINTS +SYNC AGE$/,
    );
    expect(imports.out).toMatch(
      /^web +east +ClusterSetIP +[\d.]+ +True +east 1\/2, west 1 +\d+s$/m,
    );
    const clusters = await world.ask("get", "clusters");
    expect(clusters.out).toMatch(/^east +live +- +1 +1 /m);
    for (const { code, err } of [exports, imports, clusters]) {
      expect(err).toBe("");
      expect(code).toBe(0);
    }
  });

  test("json, yaml and name say the same, for programs", async () => {
    const world = await openCentral("east", "west");
    await offerWeb(world);
    const json = JSON.parse((await world.ask("get", "imports", "-A", "-o", "json")).out);
    expect(json.imports[0]).toMatchObject({
      namespace: "shop",
      name: "web",
      cluster: "east",
      type: "ClusterSetIP",
      endpoints: 3,
      ready: 2,
      unknown: [],
      sources: [
        { cluster: "east", endpoints: 2, ready: 1, slices: 1, attached: 1, liveness: "live" },
        { cluster: "west", endpoints: 1, ready: 1, slices: 1, attached: 1, liveness: "live" },
      ],
    });
    const yaml = parse((await world.ask("get", "exports", "-A", "-o", "yaml")).out);
    expect(yaml.exports.map(({ cluster }: { cluster: string }) => cluster)).toEqual([
      "east",
      "west",
    ]);
    expect((await world.ask("get", "exports", "-A", "-o", "name")).out).toBe(
      "east/shop/web\nwest/shop/web",
    );
    expect((await world.ask("get", "clusters", "-o", "name")).out).toBe("east\nwest");
    const status = JSON.parse((await world.ask("status", "-o", "json")).out);
    expect(status).toMatchObject({ well: true, services: { total: 1, well: 1 } });
    const explained = JSON.parse((await world.ask("explain", "shop/web", "-o", "json")).out);
    expect(explained).toMatchObject({ service: "shop/web", verdict: "good" });
    const top = JSON.parse((await world.ask("top", "-o", "json")).out);
    expect(top.services[0]).toMatchObject({ name: "web", exports: 2, imports: 2, ready: 2 });
  });

  test("without -n the context's namespace is meant, and an empty answer says where else to look", async () => {
    const world = await openCentral("east", "west");
    await offerWeb(world);
    const run = await world.ask("get", "imports");
    expect(run).toMatchObject({
      code: 0,
      out: "",
      err: 'Nothing found in namespace "default". -A looks in all namespaces.',
    });
  });

  test("what is asked for by name and is not there ends with 1; a wrong flag with 2", async () => {
    const world = await openCentral("east");
    const missing = await world.ask("get", "imports", "nope", "-n", "shop");
    expect(missing.code).toBe(1);
    expect(missing.err).toContain('there is no import "nope" in namespace "shop"');
    const unknown = await world.ask("explain", "shop/nope");
    expect(unknown.code).toBe(1);
    expect(unknown.err).toContain("nobody exports or imports shop/nope, as far as east can tell");
    expect((await world.ask("simulate", "--without", "mars")).code).toBe(1);
    const wrong = await world.ask("explain", "a/b/c");
    expect(wrong.code).toBe(2);
    expect(wrong.err).toContain("names no service");
    expect((await world.ask("get", "exports", "-A", "-n", "shop")).code).toBe(2);
    expect((await world.ask("get", "exports", "-o", "table")).code).toBe(2);
    expect((await world.ask("get", "nonsense")).code).toBe(2);
    expect((await world.ask("simulate")).code).toBe(2);
  });

  test("explain goes from the name to every endpoint, by any of its names", async () => {
    const world = await openCentral("east", "west");
    await offerWeb(world);
    const { code, out } = await world.ask("explain", "web.shop.svc.clusterset.local");
    expect(code).toBe(0);
    expect(out).toContain("shop/web: It can be used in east and west.");
    expect(out).toMatch(/^ +10\.1\.0\.2 +out +It is not ready in east\.$/m);
    expect(out).toMatch(/^ +10\.2\.0\.1 +in +In use, port 8080\.$/m);
  });

  test("status --wait tells what it waits for and ends when all is well", async () => {
    const world = await openCentral("east", "west");
    const [east] = world.sites;
    await east!.site.export("web");
    const told: string[] = [];
    const at = world.sites.flatMap(({ path }) => ["--kubeconfig", path]);
    const waiting = runCommand(["status", "--wait", "--timeout", "60s", ...at], {
      home: world.home,
      error: (line) => told.push(line),
    });
    await eventually("it says what it waits for", () => {
      expect(told.join("\n")).toContain("waiting: shop/web");
    });
    await east!.site.serve("web", ["10.1.0.1"]);
    const { code, out } = await waiting;
    expect(out).toContain("services   ok    1 of 1 well");
    expect(code).toBe(0);
  });

  test("status that waited in vain ends with 1 and the sentence", async () => {
    const world = await openCentral("east");
    await world.sites[0]!.site.export("web");
    const { code, out, err } = await world.ask("status", "--wait", "--timeout", "1s");
    expect(code).toBe(1);
    expect(out).toContain('There is no Service "web" in namespace "shop".');
    expect(err).toContain("not all is well after 1s: 1 of 1 services");
    expect(err).toContain("See NotWell in docs/errors.md.");
  });

  test("a cluster that does not answer is a warning; the others are shown", async () => {
    const world = await openCentral("east", "west");
    await offerWeb(world);
    await world.halt();
    await world.sites[1]!.server.close();
    const imports = await world.ask("get", "imports", "-A");
    expect(imports.code).toBe(0);
    expect(imports.err).toMatch(
      /^warning: .*west\.yaml: Cannot reach .* Check that the cluster runs/,
    );
    expect(imports.out).toMatch(/^shop +web +east /m);
    expect((await world.ask("status")).code).toBe(1);
  });

  test("simulate says what would be left, and ends with 1 when a service would fail", async () => {
    const world = await openCentral("east", "west");
    await offerWeb(world);
    const weaker = await world.ask("simulate", "--without", "east");
    expect(weaker.out).toMatch(/^shop +web +weaker +west 1\/2 /m);
    expect(weaker.code).toBe(0);
    await world.sites[1]!.site.delete(SERVICE, "web");
    await eventually("west has nothing to offer", async () => {
      const gone = await world.ask("simulate", "--without", "east");
      expect(gone.out).toMatch(
        /^shop +web +gone +west 0\/1 +No ready endpoint would be left in west/m,
      );
      expect(gone.code).toBe(1);
    });
  });
});

describe("where nothing can be read", () => {
  function unreachable(): string {
    const file = join(temporaryDirectory(), "away.yaml");
    const content = {
      apiVersion: "v1",
      kind: "Config",
      "current-context": "away",
      clusters: [{ name: "away", cluster: { server: "https://127.0.0.1:1" } }],
      users: [{ name: "me", user: { token: "sesame" } }],
      contexts: [{ name: "away", context: { cluster: "away", user: "me" } }],
    };
    writeFileSync(file, stringify(content));
    return file;
  }

  test.each([
    [["get", "exports", "-A"]],
    [["get", "imports", "x"]],
    [["top", "-o", "json"]],
    [["explain", "shop/web"]],
    [["simulate", "--without", "east"]],
  ])("%j says so and ends with 1: nothing is said to be absent", async (args) => {
    const { code, out, err } = await runCommand([...args, "--kubeconfig", unreachable()]);
    expect(code).toBe(1);
    expect(out).toBe("");
    expect(err).toMatch(
      /error: the cluster could not be read: .*annot reach https:\/\/127.0.0.1:1/,
    );
    expect(err).toContain("NothingRead");
    expect(err).not.toMatch(/Nothing found|there is no|nobody/);
  });

  test("get clusters shows the cluster, no numbers, and ends with 1", async () => {
    const { code, out } = await runCommand(["get", "clusters", "--kubeconfig", unreachable()]);
    expect(code).toBe(1);
    expect(out).toMatch(/away\.yaml +unknown +- +- +- /);
  });

  test("status of a cluster that knows none of our kinds is not well", async () => {
    const { path } = await openBare("bare");
    const { code, out } = await runCommand(["status", "--kubeconfig", `bare=${path}`]);
    expect(code).toBe(1);
    expect(out).toMatch(/^BAD +bare, definitions: The cluster does not know ServiceExports\./m);
    expect(out).toContain("0 of 1 well: bare not well");
  });
});

describe("with agents", () => {
  test("one joined cluster is enough to see all: the hub is asked as that member may", async () => {
    const world = await openAgents("east", "west");
    await offerWeb(world);
    const [, west] = world.sites;
    const alone = ["--kubeconfig", west!.path];
    const clusters = await runCommand(["get", "clusters", ...alone], { home: world.home });
    expect(clusters.out).toMatch(/^east +live +\d+s ago +1 +- .* hub$/m);
    expect(clusters.out).toMatch(/^west +live +\d+s ago +1 +1 .* cluster$/m);
    const { code, out } = await runCommand(["explain", "shop/web", ...alone], { home: world.home });
    expect(code).toBe(0);
    expect(out).toMatch(/^export in east +ok .* So says the hub/m);
    const local = await runCommand(["get", "clusters", "--no-hub", "-o", "name", ...alone], {
      home: world.home,
    });
    expect(local.out).toBe("west");
  });

  test("a hub that is away is a sentence, and traffic is not said to be in danger", async () => {
    const world = await openAgents("east", "west");
    await offerWeb(world);
    await world.hub.server.close();
    const { code, out, err } = await world.ask("status");
    expect(code).toBe(1);
    expect(out).toContain("The hub could not be asked: Cannot reach");
    expect(out).toContain("traffic goes on");
    expect(err).toContain("not all is well: the hub");
    expect((await world.ask("explain", "shop/web")).code).toBe(0);
  });
});

describe("help", () => {
  test.each(["get exports", "get imports", "get clusters", "status", "explain", "top", "simulate"])(
    "of %s names its flags, and asks nobody",
    async (verb) => {
      const { code, out } = await runCommand([...verb.split(" "), "--help"]);
      expect(code).toBe(0);
      for (const flag of ["--kubeconfig", "--context", "--no-hub", "-o, --output"]) {
        expect(out).toContain(flag);
      }
    },
  );
});

describe("docs/cli.md", () => {
  const page = readFileSync(new URL("../docs/cli.md", import.meta.url), "utf8");
  const sections = new Map(
    page.split(/^## /m).map((text) => [text.split("\n")[0]!.trim(), text] as const),
  );
  const flagsIn = (text: string): readonly string[] =>
    [...text.matchAll(/^\| `(?:-\w, )?(--[a-z-]+)/gm)].map(([, flag]) => flag!);
  const shared = flagsIn(sections.get("Which clusters")!);

  test.each([
    ["isthmus get", "get exports"],
    ["isthmus get", "get imports"],
    ["isthmus status", "status"],
    ["isthmus explain", "explain"],
    ["isthmus top", "top"],
    ["isthmus simulate", "simulate"],
  ])("the section %s has just the flags that --help of %s names", async (title, verb) => {
    const { out } = await runCommand([...verb.split(" "), "--help"]);
    const help = [...out.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(([, flag]) => flag!);
    const documented = [...shared, ...flagsIn(sections.get(title)!)];
    expect(help.filter((flag) => flag !== "--help").toSorted()).toEqual(documented.toSorted());
  });

  test("names every field that JSON has", async () => {
    const world = await openCentral("east", "west");
    await offerWeb(world);
    const formats = sections.get("Formats")!;
    const fieldsOf = (value: unknown): readonly string[] =>
      value === null || typeof value !== "object"
        ? []
        : Object.entries(value).flatMap(([key, inner]) =>
            // What conditions hold is Kubernetes' own.
            key === "conditions"
              ? [key]
              : [...(Array.isArray(value) ? [] : [key]), ...fieldsOf(inner)],
          );
    for (const verb of [
      "get exports -A",
      "get imports -A",
      "get clusters",
      "status",
      "explain shop/web",
      "top",
      "simulate --without east",
    ]) {
      const { out } = await world.ask(...verb.split(" "), "-o", "json");
      for (const field of new Set(fieldsOf(JSON.parse(out)))) {
        expect(formats, `${verb}: ${field}`).toMatch(new RegExp(`[\`.]${field}[\`[.]`));
      }
    }
  });
});
