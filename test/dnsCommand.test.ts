// `isthmus dns` as a whole, in this process: an embedded API server over HTTPS, real sockets, Node's own resolver.

import { writeFileSync } from "node:fs";
import { Resolver } from "node:dns/promises";
import { createSocket } from "node:dgram";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { CLUSTER_PROPERTY } from "../src/api/about.ts";
import { ENDPOINT_SLICE, NAMESPACE, NODE } from "../src/api/builtin.ts";
import { CRDS } from "../src/api/crds.ts";
import { SERVICE_IMPORT } from "../src/api/mcs.ts";
import { CLUSTER_ID_PROPERTY } from "../src/api/names.ts";
import { apiVersionOf } from "../src/api/object.ts";
import type { CliContext } from "../src/cli/context.ts";
import { runCli } from "../src/cli/program.ts";
import { installCrds } from "../src/controllers/crd.ts";
import { EmbeddedCluster } from "../src/embedded/cluster.ts";
import { type EmbeddedServer, serveCluster } from "../src/embedded/server.ts";
import { createClient, type KubeClient } from "../src/kube/client.ts";
import { systemClock, systemRandom } from "../src/kube/clock.ts";
import { loadKubeconfig } from "../src/kube/config.ts";
import { aSlice, anImport, aWebImport, WEB, WEB_IP } from "./dnsServer.ts";
import { temporaryDirectory } from "./loopback.ts";
import { eventually } from "./scenarios/poll.ts";

interface Starts {
  readonly msg: string;
  readonly listen: readonly string[];
  readonly metrics: string;
}

/** A server that runs until the test ends. */
class Run {
  readonly lines: string[] = [];
  readonly exit: Promise<number>;
  readonly #stop = new AbortController();

  constructor(args: readonly string[]) {
    const context: CliContext = {
      out: (line) => this.lines.push(line),
      error: (line) => this.lines.push(line),
      input: () => Promise.resolve(""),
      color: false,
      interactive: false,
      env: {},
      home: "/nowhere",
      clock: systemClock,
      random: systemRandom,
      signal: this.#stop.signal,
    };
    const free = ["--listen", "127.0.0.1:0", "--metrics-address", "127.0.0.1:0"];
    this.exit = runCli(["dns", ...free, ...args], context);
    onTestFinished(async () => void (await this.stop()));
  }

  stop(): Promise<number> {
    this.#stop.abort();
    return this.exit;
  }

  said(message: string): readonly Starts[] {
    const all = this.lines.filter((line) => line.startsWith("{"));
    return all.map((line) => JSON.parse(line) as Starts).filter(({ msg }) => msg === message);
  }

  starts(): Promise<Starts> {
    return eventually("it starts", () => {
      const [line] = this.said("dns server starts");
      if (line === undefined) throw new Error(this.lines.join("\n"));
      return line;
    });
  }

  async resolver(): Promise<Resolver> {
    const { listen } = await this.starts();
    const resolver = new Resolver({ tries: 2 });
    resolver.setServers(listen);
    return resolver;
  }

  async ask(path: string): Promise<{ readonly status: number; readonly body: string }> {
    const { metrics } = await this.starts();
    const answer = await fetch(`http://${metrics}${path}`);
    return { status: answer.status, body: await answer.text() };
  }

  /** Of its data, in seconds. */
  async age(): Promise<number> {
    const { body } = await this.ask("/metrics");
    return Number(/^isthmus_dns_data_age_seconds (.+)$/m.exec(body)?.[1]);
  }

  ready(): Promise<void> {
    return eventually("it is ready", async () => {
      const { status, body } = await this.ask("/readyz");
      if (status !== 200) throw new Error(body);
    });
  }
}

interface World {
  readonly client: KubeClient;
  readonly server: EmbeddedServer;
  readonly cluster: EmbeddedCluster;
  readonly kubeconfig: string;
  readonly start: (...args: readonly string[]) => Run;
}

/** One service with a virtual IP; one without, with an endpoint in each of two clusters. */
async function aWorld(): Promise<World> {
  const home = temporaryDirectory();
  const cluster = new EmbeddedCluster({ name: "east", clock: systemClock, random: systemRandom });
  onTestFinished(() => cluster.stop());
  const server = await serveCluster(cluster, { clock: systemClock });
  onTestFinished(() => server.close());
  const kubeconfig = join(home, "east.yaml");
  writeFileSync(kubeconfig, server.kubeconfig());
  const config = loadKubeconfig({ paths: [kubeconfig], env: {}, home });
  const client = createClient(config, { clock: systemClock });
  onTestFinished(() => client.close());
  await installCrds({ store: client, crds: CRDS, clock: systemClock });
  const metadata = { name: "shop" };
  await client.create(NAMESPACE, { apiVersion: "v1", kind: "Namespace", metadata });
  await client.create(SERVICE_IMPORT, aWebImport());
  const ports = [{ name: "http", port: 80 }];
  await client.create(SERVICE_IMPORT, anImport("db", { type: "Headless", ports }));
  const at = (address: string, zone: string) => [{ addresses: [address], zone }];
  await client.create(ENDPOINT_SLICE, aSlice("db", "east", at("10.1.0.1", "a")));
  await client.create(ENDPOINT_SLICE, aSlice("db", "west", at("10.2.0.1", "b")));
  const start = (...args: readonly string[]): Run => new Run(["--kubeconfig", kubeconfig, ...args]);
  return { client, server, cluster, kubeconfig, start };
}

const DB = "db.shop.svc.clusterset.local";

describe("isthmus dns", () => {
  test("answers for what the cluster imports, follows it, and ends when it is told to", async () => {
    const { client, start } = await aWorld();
    const run = start();
    const resolver = await run.resolver();
    await run.ready();
    expect(await resolver.resolve4(WEB)).toEqual([WEB_IP]);
    expect((await resolver.resolve4(DB)).toSorted()).toEqual(["10.1.0.1", "10.2.0.1"]);
    await client.delete(ENDPOINT_SLICE, { namespace: "shop", name: "db-west" });
    await eventually("the endpoint is gone", async () => {
      expect(await resolver.resolve4(DB)).toEqual(["10.1.0.1"]);
    });
    const { body } = await run.ask("/metrics");
    expect(body).toContain("isthmus_dns_synced 1\n");
    expect(body).toMatch(/queries_total\{zone="clusterset.local",type="A",rcode="NOERROR"\} \d+/);
    expect(await run.stop()).toBe(0);
    expect(run.said("dns server stops")).toHaveLength(1);
  });

  test("serves other zones with the same content when it is asked to", async () => {
    const { start } = await aWorld();
    const run = start("--zone", "clusterset.local", "--zone", "sets.example");
    const resolver = await run.resolver();
    await run.ready();
    expect(await resolver.resolve4("web.shop.svc.sets.example")).toEqual([WEB_IP]);
    expect(await resolver.resolveTxt("dns-version.sets.example")).toEqual([["1.0.0"]]);
  });

  test("goes on answering while the API server is away, stays ready, and says how old its data is", async () => {
    const { server, start } = await aWorld();
    const run = start();
    const resolver = await run.resolver();
    await run.ready();
    await server.close();
    await eventually("it notices", () => {
      expect(run.said("objects cannot be read").length).toBeGreaterThan(0);
    });
    expect(await resolver.resolve4(WEB)).toEqual([WEB_IP]);
    expect((await run.ask("/readyz")).status).toBe(200);
    const before = await run.age();
    await eventually("its data grows older", async () => {
      expect(await run.age()).toBeGreaterThan(before);
    });
  });

  test("that starts while the API server is away says SERVFAIL and why it is not ready", async () => {
    const { server, start } = await aWorld();
    await server.close();
    const run = start();
    const resolver = await run.resolver();
    await eventually("it has tried", async () => {
      const { status, body } = await run.ask("/readyz");
      expect(status).toBe(503);
      expect(body).toMatch(/^Not all objects have been read yet: serviceimports \(.+/);
    });
    await expect(resolver.resolve4(WEB)).rejects.toMatchObject({ code: "ESERVFAIL" });
    expect((await run.ask("/healthz")).status).toBe(200);
    expect(await run.stop()).toBe(0);
  });
});

describe("isthmus dns --headless near", () => {
  const identify = (client: KubeClient, value: string) =>
    client.create(CLUSTER_PROPERTY, {
      apiVersion: apiVersionOf(CLUSTER_PROPERTY),
      kind: "ClusterProperty",
      metadata: { name: CLUSTER_ID_PROPERTY },
      spec: { value },
    });

  test("knows its cluster by the ClusterProperty", async () => {
    const { client, start } = await aWorld();
    await identify(client, "west");
    const run = start("--headless", "near");
    await run.ready();
    expect(await (await run.resolver()).resolve4(DB)).toEqual(["10.2.0.1"]);
  });

  test("takes the word of the command line, and the zone of its Node", async () => {
    const { client, start } = await aWorld();
    const labels = { "topology.kubernetes.io/zone": "a" };
    const metadata = { name: "worker-1", labels };
    await client.create(NODE, { apiVersion: "v1", kind: "Node", metadata });
    const run = start("--headless", "near", "--cluster-id", "north", "--node", "worker-1");
    await run.ready();
    expect(await (await run.resolver()).resolve4(DB)).toEqual(["10.1.0.1"]);
  });

  test("waits for an API server that is away", async () => {
    const { server, start } = await aWorld();
    await server.close();
    const run = start("--headless", "near");
    await eventually("it has tried more than once", () => {
      expect(run.said("cluster does not answer yet").length).toBeGreaterThan(1);
    });
    expect((await run.ask("/readyz")).body).toBe("It is not known yet where the server is.\n");
    // Whoever watches the age alone learns of it too.
    expect(await run.age()).toBeGreaterThan(0);
    expect(await run.stop()).toBe(0);
  });

  test("in a cluster without an id ends with a sentence", async () => {
    const { start } = await aWorld();
    const run = start("--headless", "near");
    expect(await run.exit).toBe(1);
    expect(run.lines.join("\n")).toContain("this cluster has no id");
    expect(run.lines.join("\n")).toContain("--cluster-id");
  });

  test("on a Node that the cluster does not have ends with a sentence", async () => {
    const { start } = await aWorld();
    const run = start("--headless", "near", "--cluster-id", "east", "--node", "nowhere");
    expect(await run.exit).toBe(1);
    expect(run.lines.join("\n")).toContain('the cluster has no Node "nowhere"');
  });
});

describe("isthmus dns ends with one sentence", () => {
  const failure = async (run: Run, code: number): Promise<string> => {
    expect(await run.exit).toBe(code);
    const text = run.lines.filter((line) => !line.startsWith("{")).join("\n");
    expect(text).not.toMatch(/^\s+at /m);
    return text;
  };

  test("for a port that another has", async () => {
    const { start } = await aWorld();
    const socket = createSocket("udp4");
    await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
    onTestFinished(() => void socket.close());
    const { port } = socket.address();
    const text = await failure(start("--listen", `127.0.0.1:${port}`), 1);
    expect(text).toContain(`UDP port ${port} of 127.0.0.1 is taken`);
    expect(text).toContain("PortInUse");
  });

  test("for a metrics port that another has, and leaves no socket behind", async () => {
    const { start } = await aWorld();
    const first = start();
    const { metrics } = await first.starts();
    expect(await failure(start("--metrics-address", metrics), 1)).toContain("PortInUse");
  });

  test("for a value that a flag does not take", async () => {
    expect(await failure(new Run(["--ttl", "soon"]), 2)).toContain("from 0 to 86400");
    expect(await failure(new Run(["--headless", "far"]), 2)).toContain("all, near");
    expect(await failure(new Run(["--no-such-flag"]), 2)).toContain("--no-such-flag");
  });

  test("for a kubeconfig that is not there", async () => {
    expect(await failure(new Run([]), 1)).toContain("KubeconfigMissing");
  });
});
