// The support bundle: what is planted into a cluster where secrets end up by mistake is not in it, what is needed to understand a
// problem is; and it is written where, how and as large as it may be.

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { CONFIG_MAP, POD, SERVICE } from "../src/api/builtin.ts";
import { createBundle } from "../src/cli/gatherBundle.ts";
import { packTar } from "../src/cli/gatherTar.ts";
import type { KubeClient } from "../src/kube/client.ts";
import { runCommand } from "./commandLine.ts";
import { temporaryDirectory } from "./loopback.ts";
import { openAgents, openCentral } from "./readingWorld.ts";
import { eventually } from "./scenarios/poll.ts";

const JWT = "eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ.eyJzdWIiOiJwbGFudGVkIn0.c2lnbmF0dXJlLXBsYW50ZWQ";

/** Every file below a folder as one text. */
function readAll(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), "utf8"))
    .join("\n");
}

describe("with clusters that hold secrets in wrong places", () => {
  test("none of them is in the bundle, and what explains the clusterset is", async () => {
    const world = await openAgents("east", "west");
    const [east, west] = world.sites;
    await east!.site.offer("web", ["10.1.0.1"]);
    await eventually("all is well", async () => {
      expect((await world.ask("status")).code).toBe(0);
    });
    const service = (await east!.client.get(SERVICE, { namespace: "shop", name: "web" }))!;
    await east!.client.replace(SERVICE, {
      ...service,
      metadata: {
        ...service.metadata,
        annotations: {
          "kubectl.kubernetes.io/last-applied-configuration": '{"x":"planted-last-applied"}',
          "example.org/note": "planted-annotation",
          "isthmus.dev/api-key": "planted-own-annotation",
        },
        labels: { ...service.metadata.labels, "db-password": "planted-label", team: "payments" },
      },
    });
    await east!.client.create(POD, {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { namespace: "isthmus-system", name: "agent-0" },
      spec: {
        containers: [
          {
            name: "agent",
            image: "isthmus:1",
            env: [{ name: "SETTING", value: "planted-env" }],
            args: ["--token=planted-arg", `--header=Bearer ${JWT}`],
          } as never,
        ],
      },
    });
    await createCorefile(east!.client, "planted-tsig");
    const folder = join(temporaryDirectory(), "bundle");
    const run = await world.ask("gather", "--folder", folder);
    expect(run).toMatchObject({ code: 0 });
    const text = readAll(folder);
    expect(text).not.toContain("planted");
    expect(text).not.toContain(JWT);
    expect(text).not.toContain(world.hub.server.token);
    expect(text).not.toMatch(/BEGIN CERTIFICATE/);
    // Still there: names, addresses, labels, and that something was taken out.
    for (const kept of ["payments", "10.1.0.1", "multicluster clusterset.local", "(redacted)"]) {
      expect(text).toContain(kept);
    }
    const read = (path: string) => JSON.parse(readFileSync(join(folder, path), "utf8"));
    expect(read("check.json").checks.length).toBeGreaterThan(20);
    expect(read("status.json")).toMatchObject({ services: { total: 1 } });
    expect(read("get-imports.json").imports).toHaveLength(2);
    expect(read("hub/clustermembers.json")).toHaveLength(2);
    expect(read("clusters/west/serviceimports.json")[0].metadata.name).toBe("web");
    expect(existsSync(join(folder, "clusters/east/secrets.json"))).toBe(false);
    expect(west!.id).toBe("west");
    expect(run.err).toContain("not in it: clusters/east/logs/agent-0.agent.log");
  });
});

const ETCD = "etcd example.org {\n        credentials root planted-etcd\n    }";

async function createCorefile(client: KubeClient, secret: string): Promise<void> {
  const text = `.:53 {\n    tsig {\n        secret key.example. ${secret}\n    }\n    ${ETCD}\n    kubernetes cluster.local clusterset.local {\n        multicluster clusterset.local\n    }\n}\n`;
  await client.create(CONFIG_MAP, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace: "kube-system", name: "coredns" },
    data: { Corefile: text },
  });
}

describe("the archive", () => {
  test("is one that tar unpacks, for the owner only, and is never overwritten", async () => {
    const world = await openCentral("east");
    const home = temporaryDirectory();
    const file = join(home, "a.tar.gz");
    const run = await world.ask("gather", "--no-logs", "-f", file);
    expect(run).toMatchObject({ code: 0 });
    expect(run.out).toContain(`${file}: `);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    mkdirSync(join(home, "unpacked"));
    execFileSync("tar", ["xzf", file, "-C", join(home, "unpacked")]);
    const unpacked = join(home, "unpacked", "clusters/east/clusterproperties.json");
    expect(JSON.parse(readFileSync(unpacked, "utf8"))[0].spec.value).toBe("east");
    const before = readFileSync(file);
    const again = await world.ask("gather", "-f", file);
    expect(again.code).toBe(1);
    expect(again.err).toContain(`there is a file at ${file} already`);
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test("goes nowhere but into one place that can be written", async () => {
    const both = await runCommand(["gather", "-f", "a", "--folder", "b"]);
    expect(both.code).toBe(2);
    const nowhere = await runCommand(["gather", "-f", "/nonexistent/a.tar.gz"]);
    expect(nowhere.code).toBe(1);
    expect(nowhere.err).toContain("there is no folder /nonexistent");
  });

  test("holds what a cluster that does not answer said, and the others", async () => {
    const world = await openCentral("east", "west");
    await world.halt();
    await world.sites[1]!.server.close();
    const folder = join(temporaryDirectory(), "bundle");
    const run = await world.ask("gather", "--no-logs", "--folder", folder);
    expect(run).toMatchObject({ code: 0 });
    expect(existsSync(join(folder, "clusters/east/services.json"))).toBe(true);
    expect(readFileSync(join(folder, "README.txt"), "utf8")).toMatch(
      /Not in it:\n- clusters\/\S+: /,
    );
    expect(run.err).toMatch(/not in it: clusters\/\S+/);
  });

  test("has paths of any length in the two fields that tar has for them", () => {
    const path = `${"a".repeat(60)}/${"b".repeat(60)}/${"c".repeat(60)}.json`;
    const home = temporaryDirectory();
    const archive = packTar([{ path, body: Buffer.from("hello\n") }], 0);
    expect(archive.length % 512).toBe(0);
    execFileSync("tar", ["xf", "-", "-C", home], { input: archive });
    expect(readFileSync(join(home, path), "utf8")).toBe("hello\n");
    const long = [{ path: "d".repeat(300), body: Buffer.alloc(0) }];
    expect(() => packTar(long, 0)).toThrow("too long");
  });

  test("is bounded in each file and in all, and says what is missing", () => {
    const bundle = createBundle({ fileBytes: 10, totalBytes: 25 });
    bundle.addText("long.txt", "0123456789abcdef");
    bundle.addText("fits.txt", "012345678");
    bundle.addText("over.txt", "012345678");
    expect(bundle.files.map(({ path, body }) => [path, body.length])).toEqual([
      ["long.txt", 10],
      ["fits.txt", 10],
    ]);
    expect(bundle.leftOut).toEqual([
      "long.txt has 17 bytes; only the first 10 are there.",
      "over.txt is not there: the bundle would have more than 25 bytes.",
    ]);
  });
});
