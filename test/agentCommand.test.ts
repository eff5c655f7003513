// `isthmus agent` as a whole, on real time and over HTTPS: embedded servers, credentials from the Secret, election, metrics.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { CUSTOM_RESOURCE_DEFINITION, LEASE, NAMESPACE, SECRET } from "../src/api/builtin.ts";
import { HUB_CRDS, MEMBER_CRDS } from "../src/api/crds.ts";
import { type ClusterId, SYSTEM_NAMESPACE } from "../src/api/names.ts";
import type { CliContext } from "../src/cli/context.ts";
import { runCli } from "../src/cli/program.ts";
import { installCrds } from "../src/controllers/crd.ts";
import { EmbeddedCluster } from "../src/embedded/cluster.ts";
import { type EmbeddedServer, serveCluster } from "../src/embedded/server.ts";
import { HUB_SECRET, renderCredential } from "../src/hub/credential.ts";
import { AGENT_LEASE } from "../src/hub/local.ts";
import { createClient, type KubeClient } from "../src/kube/client.ts";
import { systemClock, systemRandom } from "../src/kube/clock.ts";
import { loadKubeconfig } from "../src/kube/config.ts";
import { registerMember } from "./hubMember.ts";
import { temporaryDirectory } from "./loopback.ts";
import { createLine } from "./scenarios/line.ts";
import { expectUsable } from "./scenarios/outcome.ts";
import { eventually } from "./scenarios/poll.ts";
import { Site } from "./scenarios/site.ts";

const SHOP = "shop";

interface LogLine {
  readonly msg: string;
  readonly metrics?: string;
  readonly error?: string;
}

/** A command that runs until it is stopped. */
class Run {
  readonly lines: string[] = [];
  readonly exit: Promise<number>;
  readonly #stop = new AbortController();

  constructor(args: readonly string[], home: string, env: CliContext["env"] = {}) {
    const context: CliContext = {
      out: (line) => this.lines.push(line),
      error: (line) => this.lines.push(line),
      input: () => Promise.resolve(""),
      color: false,
      interactive: false,
      env,
      home,
      clock: systemClock,
      random: systemRandom,
      signal: this.#stop.signal,
    };
    this.exit = runCli([...args, "--metrics-address", "127.0.0.1:0"], context);
  }

  stop(): Promise<number> {
    this.#stop.abort();
    return this.exit;
  }

  said(message: string): readonly LogLine[] {
    const all = this.lines.filter((line) => line.startsWith("{"));
    return all.map((line) => JSON.parse(line) as LogLine).filter(({ msg }) => msg === message);
  }

  async ask(path: string): Promise<string> {
    const address = this.said("agent starts")[0]?.metrics;
    return (await fetch(`http://${address}${path}`)).text();
  }
}

interface RunningCluster {
  readonly name: string;
  readonly kubeconfigPath: string;
  readonly server: EmbeddedServer;
  readonly client: KubeClient;
}

async function aServer(home: string, name: string): Promise<RunningCluster> {
  const cluster = new EmbeddedCluster({ name, clock: systemClock, random: systemRandom });
  onTestFinished(() => cluster.stop());
  const server = await serveCluster(cluster, { clock: systemClock });
  onTestFinished(() => server.close());
  const kubeconfigPath = join(home, `${name}.yaml`);
  writeFileSync(kubeconfigPath, server.kubeconfig());
  const config = loadKubeconfig({ paths: [kubeconfigPath], env: {}, home });
  const client = createClient(config, { clock: systemClock });
  onTestFinished(() => client.close());
  return { name, kubeconfigPath, server, client };
}

async function createNamespace({ client }: RunningCluster, name: string): Promise<void> {
  await client.create(NAMESPACE, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
}

async function openFleet(...ids: readonly string[]) {
  const home = temporaryDirectory();
  const hub = await aServer(home, "hub");
  await installCrds({ store: hub.client, crds: HUB_CRDS, clock: systemClock });
  const members = [];
  for (const [index, id] of ids.entries()) {
    const cluster = await aServer(home, id);
    const spec = { podCIDRs: [`10.${index + 1}.0.0/16`], serviceCIDRs: ["10.96.0.0/16"] };
    await registerMember(hub.client, id as ClusterId, spec);
    await createNamespace(cluster, SYSTEM_NAMESPACE);
    await createNamespace(cluster, SHOP);
    const line = createLine(cluster.client, () => true);
    const site = new Site({ id, store: cluster.client, serviceCidrs: [] }, line, SHOP);
    members.push({ cluster, site });
  }
  const start = (cluster: RunningCluster, env: CliContext["env"] = {}): Run => {
    const run = new Run(["agent", "--kubeconfig", cluster.kubeconfigPath], home, env);
    onTestFinished(async () => void (await run.stop()));
    return run;
  };
  /** What `isthmus join` leaves behind. */
  const enlist = async (cluster: RunningCluster, token?: string): Promise<void> => {
    const { url, caPem, token: good } = hub.server;
    const id = cluster.name as ClusterId;
    const secret = renderCredential({
      cluster: id,
      server: url,
      ca: caPem,
      claim: "",
      token: token ?? good,
    });
    await cluster.client.delete(SECRET, HUB_SECRET);
    await cluster.client.create(SECRET, secret);
    await installCrds({ store: cluster.client, crds: MEMBER_CRDS, clock: systemClock });
  };
  return { hub, members, start, enlist };
}

describe("isthmus agent", () => {
  test("keeps two clusters in step, says so in its metrics, and leaves its Lease free when it is stopped", async () => {
    const { members, start, enlist } = await openFleet("east", "west");
    const [east, west] = members;
    for (const { cluster } of members) await enlist(cluster);
    const [eastern] = members.map(({ cluster }) => start(cluster));
    await east!.site.offer("web", ["10.1.0.1"]);
    await eventually("west imports it", () => expectUsable(west!.site, "web", ["10.1.0.1"]));
    await eventually("east is measured", async () => {
      const metrics = await eastern!.ask("/metrics");
      expect(metrics).toContain("isthmus_leader 1\n");
      expect(metrics).toContain("isthmus_exports 1\n");
      expect(metrics).toContain('isthmus_member_silent_seconds{cluster="west"}');
    });
    expect(await eastern!.ask("/readyz")).toBe("ok\n");
    expect(await eastern!.stop()).toBe(0);
    const lease = await east!.cluster.client.get(LEASE, AGENT_LEASE);
    expect(lease?.spec?.holderIdentity ?? "").toBe("");
  });

  test("says in its metrics whose endpoints it does not take in, and why", async () => {
    const { members, start, enlist } = await openFleet("east", "west");
    const [east, west] = members;
    for (const { cluster } of members) await enlist(cluster);
    await west!.site.offer("web", ["10.2.0.1", "192.0.2.1"]);
    const [eastern] = members.map(({ cluster }) => start(cluster));
    await eventually("east imports the one", () => expectUsable(east!.site, "web", ["10.2.0.1"]));
    await eventually("and counts the other", async () => {
      expect((await eastern!.ask("/metrics")).split("\n")).toContain(
        'isthmus_rejected_endpoints{cluster="west",reason="AddressNotDeclared"} 1',
      );
    });
  });

  test("in a cluster that has not joined ends with a sentence", async () => {
    const { members, start } = await openFleet("east");
    const run = start(members[0]!.cluster);
    expect(await run.exit).toBe(1);
    expect(run.lines.join("\n")).toContain("has not joined a hub");
    expect(run.lines.join("\n")).toContain("isthmus join");
    expect(run.lines.join("\n")).toContain("NotMember");
  });

  test("in a cluster whose definitions were deleted says what to do, and goes on once it is done", async () => {
    const { members, start, enlist } = await openFleet("east");
    const { cluster, site } = members[0]!;
    await enlist(cluster);
    for (const { metadata } of MEMBER_CRDS) {
      await cluster.client.delete(CUSTOM_RESOURCE_DEFINITION, { name: metadata.name! });
    }
    const run = start(cluster);
    await eventually("it says so", () => {
      const [line] = run.said("cluster cannot be worked on yet");
      expect(line?.error).toBe(
        'the cluster does not know ServiceExports: "isthmus crds install" adds what is missing',
      );
    });
    await installCrds({ store: cluster.client, crds: MEMBER_CRDS, clock: systemClock });
    await site.offer("web", ["10.1.0.1"]);
    await eventually("it works", () => expectUsable(site, "web", ["10.1.0.1"]));
  });

  test("in a pod of a cluster that has not joined waits, says so once and in its readiness, and works when it has", async () => {
    const { members, start, enlist } = await openFleet("east");
    const { cluster } = members[0]!;
    const run = start(cluster, { KUBERNETES_SERVICE_HOST: "10.96.0.1" });
    await eventually("it says what it waits for", async () => {
      expect(await run.ask("/readyz")).toMatch(
        /^The agent waits: this cluster has not joined a hub: .*"isthmus join"/u,
      );
    });
    expect(await run.ask("/healthz")).toBe("ok\n");
    await enlist(cluster, "");
    await eventually("it sees a join that was not finished", async () => {
      expect(await run.ask("/readyz")).toContain("has not finished joining");
    });
    expect(run.said("agent waits").length).toBe(2);
    await enlist(cluster);
    await eventually("it leads", async () => {
      expect(await run.ask("/metrics")).toContain("isthmus_leader 1\n");
    });
    await eventually("it is ready", async () => expect(await run.ask("/readyz")).toBe("ok\n"));
    expect(await run.stop()).toBe(0);
  });

  test("in a pod of a cluster that has not joined ends at once when it is told to", async () => {
    const { members, start } = await openFleet("east");
    const run = start(members[0]!.cluster, { KUBERNETES_SERVICE_HOST: "10.96.0.1" });
    await eventually("it waits", () => expect(run.said("agent waits").length).toBe(1));
    expect(await run.stop()).toBe(0);
  });

  test("waits for its own API server, and ends at once when it is told to", async () => {
    const { members, start, enlist } = await openFleet("east");
    const { cluster } = members[0]!;
    await enlist(cluster);
    await cluster.server.close();
    const run = start(cluster);
    await eventually("it has tried more than once", () => {
      expect(run.said("cluster does not answer yet").length).toBeGreaterThan(1);
    });
    expect(await run.ask("/healthz")).toBe("ok\n");
    expect(await run.ask("/readyz")).toBe("The agent has not started yet.\n");
    expect(await run.stop()).toBe(0);
  });

  test("with a token that the hub refuses goes on by itself once somebody has joined again", async () => {
    const { members, start, enlist } = await openFleet("east", "west");
    const [east, west] = members;
    await enlist(east!.cluster);
    await enlist(west!.cluster, "revoked");
    await east!.site.offer("web", ["10.1.0.1"]);
    const runs = members.map(({ cluster }) => start(cluster));
    await eventually("west is refused", () => {
      expect(runs[1]!.said("hub informer failed").length).toBeGreaterThan(0);
    });
    await enlist(west!.cluster);
    await eventually("west imports it", () => expectUsable(west!.site, "web", ["10.1.0.1"]));
  });
});
