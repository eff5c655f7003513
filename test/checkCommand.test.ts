// `isthmus check` as a person meets it, on embedded clusters: before anything is installed, when all is well, and when something breaks.

import { writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  CONFIG_MAP,
  CUSTOM_RESOURCE_DEFINITION,
  LEASE,
  SECRET,
  SERVICE,
} from "../src/api/builtin.ts";
import type { CheckReport } from "../src/core/check/checkup.ts";
import { EmbeddedCluster } from "../src/embedded/cluster.ts";
import { serveCluster } from "../src/embedded/server.ts";
import { HUB_SECRET } from "../src/hub/credential.ts";
import type { KubeClient } from "../src/kube/client.ts";
import { systemClock as clock, systemRandom as random } from "../src/kube/clock.ts";
import { runCommand } from "./commandLine.ts";
import { temporaryDirectory } from "./loopback.ts";
import { openAgents, openCentral, type ReadingWorld } from "./readingWorld.ts";
import { eventually } from "./scenarios/poll.ts";

async function report(world: ReadingWorld): Promise<CheckReport> {
  return JSON.parse((await world.ask("check", "-o", "json")).out) as CheckReport;
}

function failures({ checks }: CheckReport): readonly string[] {
  return checks
    .filter(({ state }) => state === "fail")
    .map(({ code, cluster }) => (cluster === undefined ? code : `${code} ${cluster}`));
}

async function settle(world: ReadingWorld): Promise<void> {
  await eventually("nothing fails", async () => {
    expect(failures(await report(world))).toEqual([]);
  });
}

/** A kubeconfig of a server that is none. */
async function openFake(handler: RequestListener) {
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => server.close().closeAllConnections());
  const home = temporaryDirectory();
  const path = join(home, "fake.yaml");
  const { port } = server.address() as AddressInfo;
  const config = {
    "current-context": "fake",
    contexts: [{ name: "fake", context: { cluster: "fake", user: "fake" } }],
    clusters: [{ name: "fake", cluster: { server: `http://127.0.0.1:${port}` } }],
    users: [{ name: "fake", user: { token: "t" } }],
  };
  writeFileSync(path, JSON.stringify(config));
  return { home, path };
}

async function breakSecret(
  client: KubeClient,
  fields: Readonly<Record<string, string>>,
): Promise<void> {
  const secret = (await client.get(SECRET, HUB_SECRET))!;
  const data = Object.entries(fields).map(([key, value]) => [key, btoa(value)]);
  await client.replace(SECRET, {
    ...secret,
    data: { ...secret.data, ...Object.fromEntries(data) },
  });
}

describe("check", () => {
  test("runs before anything is installed, and says what is missing and how to install it", async () => {
    const home = temporaryDirectory();
    const cluster = new EmbeddedCluster({ name: "bare", clock, random });
    onTestFinished(() => cluster.stop());
    const server = await serveCluster(cluster, { clock });
    onTestFinished(() => server.close());
    const path = join(home, "bare.yaml");
    writeFileSync(path, server.kubeconfig());
    const { code, out, err } = await runCommand(["check", "--kubeconfig", path], { home });
    expect(code).toBe(1);
    expect(out).toMatch(/^API servers\n {2}ok {4}api\/answers +\S+: Its API server answers\.$/m);
    expect(out).toMatch(/^ {2}FAIL {2}crds\/installed +\S+: ServiceExport, .* are missing\.$/m);
    expect(out).toMatch(
      /^ {8}→ Run "isthmus join" or start "isthmus central".*\n {10}See docs\/check\.md#crds-installed$/m,
    );
    expect(out).toMatch(/^ {2}FAIL {2}identity\/known +\S+: It does not say who it is/m);
    expect(out).toMatch(/^2 checks failed; \d+ warnings?, \d+ ok\.$/m);
    expect(err).toContain("2 checks failed: crds/installed, identity/known");
    expect(err).toContain("See NotWell in docs/errors.md.");
  });

  test("of a cluster that does not answer fails once, and goes on with the others", async () => {
    const world = await openCentral("east", "west");
    await world.halt();
    await world.sites[1]!.server.close();
    const found = await report(world);
    expect(failures(found)).toEqual([`api/answers ${world.sites[1]!.path}`]);
    expect(found.checks.filter(({ cluster }) => cluster === "east").length).toBeGreaterThan(10);
  });

  test("of a cluster that refuses everything fails nowhere, and advises no flag that it does not have", async () => {
    const status = { apiVersion: "v1", kind: "Status", status: "Failure", reason: "Forbidden" };
    const { home, path } = await openFake((_, response) => {
      const head = { "content-type": "application/json" };
      response.writeHead(403, head).end(JSON.stringify({ ...status, code: 403, message: "no" }));
    });
    const run = await runCommand(["check", "--kubeconfig", `east=${path}`], { home });
    expect(run.out).toMatch(/ok {4}api\/answers +east: Its API server answers\./);
    expect(run.out).toMatch(/warn {2}orphans\/imports +east: It cannot be told: You may not list /);
    expect(run.out).not.toContain("-n,");
    expect(run.code).toBe(0);
  });

  test.each(["check", "gather"])(
    "of a cluster that hangs ends with Ctrl-C, in a sentence: %s",
    async (command) => {
      const failures: unknown[] = [];
      const keep = (reason: unknown): void => void failures.push(reason);
      process.on("unhandledRejection", keep);
      onTestFinished(() => void process.off("unhandledRejection", keep));
      const stopping = new AbortController();
      const { home, path } = await openFake(() => stopping.abort());
      const { signal } = stopping;
      const run = await runCommand([command, "--kubeconfig", path], { home, signal });
      // Rejections that nobody takes are told when the turn ends.
      await new Promise((resolve) => setImmediate(resolve));
      expect(failures).toEqual([]);
      expect(run).toMatchObject({ code: 1, out: "" });
      expect(run.err).toContain("stopped before it was done");
    },
  );

  test("in central mode passes, in words that name both clusters at once", async () => {
    const world = await openCentral("east", "west");
    await settle(world);
    const { code, out } = await world.ask("check");
    expect(code).toBe(0);
    expect(out).toContain("both: ServiceExport, ServiceImport and ClusterProperty are installed.");
    expect(out).toMatch(/^Nothing fails; \d+ warnings, \d+ ok\.$/m);
    expect(out).not.toContain("leases/agent");
  });

  test("shows only what is not well with -o short, and takes no other format", async () => {
    const world = await openCentral("east");
    await world.sites[0]!.client.delete(CUSTOM_RESOURCE_DEFINITION, {
      name: "serviceexports.multicluster.x-k8s.io",
    });
    await world.halt();
    const short = await world.ask("check", "-o", "short");
    expect(short.code).toBe(1);
    expect(short.out).toMatch(/^FAIL {2}crds\/installed east: ServiceExport is missing\. → Run /m);
    expect(short.out).toMatch(/^FAIL {2}crds\/installed .* See docs\/check\.md#crds-installed$/m);
    expect(short.out).not.toMatch(/^ *ok /m);
    expect((await world.ask("check", "-o", "yaml")).code).toBe(2);
    expect((await world.ask("check", "--timeout", "soon")).code).toBe(2);
  });

  test("waits until nothing fails, says for what, and gives up in time", async () => {
    const world = await openCentral("east");
    const { client } = world.sites[0]!;
    const corefile = (text: string) => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { namespace: "kube-system", name: "coredns" },
      data: { Corefile: text },
    });
    await client.create(CONFIG_MAP, corefile(".:53 {\n    kubernetes cluster.local\n}\n"));
    const late = await world.ask("check", "--wait", "--timeout", "1s");
    expect(late.code).toBe(1);
    expect(late.err).toContain("1 check failed after 1s: dns/zone");
    let mended: Promise<unknown> | undefined;
    const errors: string[] = [];
    const args = ["check", "--wait", "--kubeconfig", world.sites[0]!.path];
    const run = await runCommand(args, {
      home: world.home,
      error: (line) => {
        errors.push(line);
        const text =
          ".:53 {\n    kubernetes cluster.local clusterset.local {\n        multicluster clusterset.local\n    }\n}\n";
        mended ??= client.replace(CONFIG_MAP, corefile(text));
      },
    });
    await mended;
    expect(run.code).toBe(0);
    expect(errors[0]).toMatch(/^waiting: dns\/zone east: Names of clusterset.local do not resolve/);
    expect(run.out).toContain("CoreDNS answers clusterset.local (kube-system/coredns).");
  });

  test("with agents looks at the hub and its Leases, and sees an agent that stopped", async () => {
    const world = await openAgents("east", "west");
    await settle(world);
    const { out } = await world.ask("check");
    expect(out).toMatch(/ok {4}api\/hub +The hub https:\S+ answers\./);
    expect(out).toContain("ok    leases/agent         east: The agent ");
    await world.halt();
    const found = await report(world);
    // Who stops in good order gives the lead away; how long the others have not heard of it is another matter.
    expect(failures(found)).toEqual(
      expect.arrayContaining(["leases/agent east", "leases/agent west"]),
    );
    const { client } = world.sites[0]!;
    await client.delete(LEASE, { namespace: "isthmus-system", name: "isthmus-agent" });
    expect((await world.ask("check", "-o", "short", "--no-hub")).out).toContain(
      "no agent ever ran",
    );
    await breakSecret(client, { server: "https://127.0.0.1:1" });
    const named = await world.ask("get", "clusters");
    expect(named.err).toContain("hub https://127.0.0.1:1, which was not asked");
    await breakSecret(client, { server: "" });
    expect((await world.ask("check", "-o", "short", "--no-hub")).out).toMatch(
      /^FAIL {2}api\/hub \S+: The Secret isthmus-system\/isthmus-hub has no address of a hub/m,
    );
  });

  test("finds what kube-proxy would pass over", async () => {
    const world = await openCentral("east", "west");
    const [east, west] = world.sites;
    await east!.site.offer("web", ["10.1.0.1"]);
    await eventually("west imports it", async () => {
      expect((await world.ask("status")).code).toBe(0);
      expect((await west!.site.serviceImport("web")).spec?.ips).toHaveLength(1);
    });
    await world.halt();
    const { items } = await west!.client.list(SERVICE, { namespace: "shop" });
    const derived = items.find(({ metadata }) => metadata.name?.startsWith("derived-"))!;
    const labels = {
      ...derived.metadata.labels,
      "service.kubernetes.io/service-proxy-name": "mesh",
    };
    await west!.client.replace(SERVICE, { ...derived, metadata: { ...derived.metadata, labels } });
    expect(failures(await report(world))).toEqual(["proxy/services west"]);
  });
});
