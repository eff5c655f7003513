// The bed itself, before stories rely on it: service addresses lead to pods, names to addresses, over both families and by both
// kinds of rules; and a cluster that loses its power comes back as it was.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NAMESPACE, SERVICE } from "../../src/api/builtin.ts";
import { createWeb } from "../dns/kubeadm.ts";
import { eventually } from "../scenarios/poll.ts";
import { type Bed, type BedCluster, startBed } from "./bed.ts";
import { runProgram } from "./node.ts";
import { aDeployment, aNamespace, aService, DEPLOYMENT } from "./workload.ts";

const TRIAL = "trial";
const ECHO = "echo";
const BOUND_MS = 60_000;
const LOCAL = `${ECHO}.${TRIAL}.svc.cluster.local`;
/** What `createWeb` imports. */
const CLUSTERSET = "web.shop.svc.clusterset.local";
const IMPORTED = "10.201.0.7";

/** Prints what a program on a cluster's node is answered. */
function run(cluster: BedCluster, script: string, args: readonly string[]): Promise<string> {
  const program = { file: process.execPath, args: ["-e", script, ...args] };
  return runProgram(cluster.plan.name, program);
}

async function get(cluster: BedCluster, address: string): Promise<unknown> {
  const script = `fetch(process.argv[1], { signal: AbortSignal.timeout(10_000) })
    .then((answer) => answer.text()).then(console.log)`;
  const host = address.includes(":") ? `[${address}]` : address;
  return JSON.parse(await run(cluster, script, [`http://${host}/`]));
}

async function resolve(cluster: BedCluster, server: string, name: string): Promise<unknown> {
  const script = `const { Resolver } = require("node:dns").promises;
    const resolver = new Resolver({ timeout: 2000, tries: 3 });
    resolver.setServers([process.argv[1]]);
    resolver.resolve4(process.argv[2]).then((found) => console.log(JSON.stringify(found)))`;
  const where = server.includes(":") ? `[${server}]:53` : server;
  return JSON.parse(await run(cluster, script, [where, name]));
}

async function offerEcho({ store, plan }: BedCluster): Promise<readonly string[]> {
  const container = { name: "backend", image: "backend" };
  const echo = { namespace: TRIAL, name: ECHO };
  await store.create(NAMESPACE, aNamespace(TRIAL));
  await store.create(DEPLOYMENT, aDeployment({ ...echo, node: plan.name, container }));
  const ports = [{ name: "http", port: 80, targetPort: 8080 }];
  const service = await store.create(SERVICE, aService(TRIAL, ECHO, { ports }));
  return service.spec?.clusterIPs ?? [];
}

describe.each(["iptables", "nftables"] as const)("with kube-proxy in mode %s", (proxy) => {
  let bed: Bed;
  let east: BedCluster;
  let addresses: readonly string[];
  beforeAll(async () => {
    bed = await startBed({ proxy, isHubNeeded: true });
    ({ east } = bed.clusters);
    addresses = await offerEcho(east);
    await createWeb(east.store);
  });
  afterAll(() => bed?.stop());

  /** Who answers at each of the Service's addresses. */
  async function callService(): Promise<readonly unknown[]> {
    const answers = addresses.map((address) =>
      eventually(`${address} answers`, () => get(east, address), BOUND_MS),
    );
    return Promise.all(answers);
  }

  /** What is answered for both names at each of the name server's addresses. */
  async function askNames(): Promise<readonly unknown[]> {
    const answers = [east.plan.dns4, east.plan.dns6].flatMap((server) =>
      [LOCAL, CLUSTERSET].map((name) =>
        eventually(`${server} answers ${name}`, () => resolve(east, server, name), BOUND_MS),
      ),
    );
    return Promise.all(answers);
  }

  const fromEast = expect.objectContaining({ cluster: "east" });

  test("a service address leads to a pod over both families", async () => {
    expect(addresses).toHaveLength(2);
    expect(await callService()).toEqual([fromEast, fromEast]);
  });

  test("service addresses mean nothing in another cluster", async () => {
    for (const address of addresses) {
      await expect(get(bed.clusters.west, address)).rejects.toThrow(/EHOSTUNREACH|ENETUNREACH/u);
    }
  });

  test("CoreDNS answers for the cluster and for the clusterset, asked over both families", async () => {
    const both = [[addresses[0]], [IMPORTED]];
    expect(await askNames()).toEqual([...both, ...both]);
  });

  test("a cluster that loses its power answers nothing; with power it is as it was", async () => {
    const atFirst = [await callService(), await askNames()];
    await east.kill();
    const signal = AbortSignal.timeout(2_000);
    const asked = east.store.get(NAMESPACE, { name: TRIAL }, { signal });
    await expect(asked).rejects.toThrow(Error);
    await expect(get(east, addresses[0] ?? "")).rejects.toThrow(Error);
    await east.revive();
    expect(await east.store.get(NAMESPACE, { name: TRIAL })).toBeDefined();
    expect([await callService(), await askNames()]).toEqual(atFirst);
  });
});
