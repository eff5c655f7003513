// The played kubelet and kube-proxy do what the real ones do, as far as the story tells of it: real sockets, an embedded cluster.

import { get } from "node:http";
import { expect, onTestFinished, test, vi } from "vitest";
import {
  ENDPOINT_SLICE,
  type EndpointSlice,
  NAMESPACE,
  POD,
  SERVICE,
  type Service,
} from "../../api/builtin.ts";
import { KUBE_SERVICE_NAME_LABEL, MANAGED_LABEL } from "../../api/names.ts";
import { EmbeddedCluster } from "../../embedded/cluster.ts";
import { systemClock, systemRandom } from "../../kube/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Store } from "../../ports/store.ts";
import { startKubelet } from "./kubelet.ts";
import { startKubeProxy } from "./kubeproxy.ts";
import { type Network, openNetwork, type Place } from "./network.ts";
import { renderPod, SHOP } from "./shop.ts";

const SILENT: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  with: () => SILENT,
};

async function openCluster(): Promise<{ readonly store: Store; readonly network: Network }> {
  const network = await openNetwork();
  onTestFinished(() => network.close());
  const cluster = new EmbeddedCluster({
    name: "east",
    clock: systemClock,
    random: systemRandom,
    serviceCidrs: [network.rangesOf(0).services],
    takesLoopback: true,
  });
  onTestFinished(() => cluster.stop());
  const store = cluster.store();
  await store.create(NAMESPACE, { apiVersion: "v1", kind: "Namespace", metadata: { name: SHOP } });
  return { store, network };
}

function runPods(store: Store, network: Network): ReturnType<typeof startKubelet> {
  const kubelet = startKubelet({
    cluster: "east",
    store,
    network,
    ranges: network.rangesOf(0),
    clock: systemClock,
    random: systemRandom,
    log: SILENT,
  });
  onTestFinished(() => kubelet.stop());
  return kubelet;
}

/** For what comes by itself, however busy the machine is. */
const PATIENTLY = { timeout: 60_000, interval: 20 };

/** Undefined when nobody answers. */
function ask({ host, port }: Place): Promise<string | undefined> {
  return new Promise((resolve) => {
    const request = get({ host, port, agent: false }, (response) => {
      response.setEncoding("utf8");
      response.on("data", (text: string) => resolve(text));
    });
    request.on("error", () => resolve(undefined));
  });
}

async function untilRunning(store: Store, name: string): Promise<string> {
  return vi.waitUntil(async () => {
    const pod = await store.get(POD, { namespace: SHOP, name });
    return pod?.status?.phase === "Running" ? pod.status.podIP : undefined;
  }, PATIENTLY);
}

test("a pod answers at an address of its own once it is Running, and nobody does once it is deleted", async () => {
  const { store, network } = await openCluster();
  runPods(store, network);
  for (const name of ["one", "two"]) await store.create(POD, renderPod(name));
  const places = await Promise.all(
    ["one", "two"].map(async (name) => {
      const at = { host: await untilRunning(store, name), port: network.port };
      expect(await ask(network.locate(at))).toBe(`${name} in east\n`);
      return at;
    }),
  );
  expect(places[0]).not.toEqual(places[1]);
  await store.delete(POD, { namespace: SHOP, name: "one" });
  await vi.waitUntil(async () => (await ask(network.locate(places[0]!))) === undefined, PATIENTLY);
  expect(await ask(network.locate(places[1]!))).toBe("two in east\n");
});

test("a pod that comes back after its cluster had no power has the address that is written", async () => {
  const { store, network } = await openCluster();
  const before = runPods(store, network);
  await store.create(POD, renderPod("zero"));
  await untilRunning(store, "zero");
  await store.create(POD, renderPod("one"));
  const host = await untilRunning(store, "one");
  await store.delete(POD, { namespace: SHOP, name: "zero" });
  await before.stop();
  expect(await ask(network.locate({ host, port: network.port }))).toBeUndefined();
  const after = runPods(store, network);
  await vi.waitUntil(() => after.isSettled(), PATIENTLY);
  expect(await ask(network.locate({ host, port: network.port }))).toBe("one in east\n");
});

test("a virtual IP leads to ready endpoints with its port alone, follows them, and resets when there are none", async () => {
  const { store, network } = await openCluster();
  runPods(store, network);
  const proxy = startKubeProxy({
    store,
    network,
    clock: systemClock,
    random: systemRandom,
    log: SILENT,
  });
  onTestFinished(() => proxy.stop());
  await store.create(POD, renderPod("one"));
  const ready = await untilRunning(store, "one");
  const service = await store.create<Service>(SERVICE, {
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace: SHOP, name: "derived", labels: { [MANAGED_LABEL]: "true" } },
    spec: { ports: [{ name: "http", port: network.port }] },
  });
  const vip = { host: service.spec?.clusterIP ?? "", port: network.port };
  const podAddress = network.rangesOf(0).podAddress;
  await store.create(
    ENDPOINT_SLICE,
    aSlice("others", { address: podAddress(98), port: "metrics", ready: true }),
  );
  await store.create(
    ENDPOINT_SLICE,
    aSlice("unready", { address: podAddress(99), port: "http", ready: false }),
  );
  await vi.waitUntil(() => proxy.backendsOf(vip)?.length === 0, PATIENTLY);
  expect(await ask(network.locate(vip))).toBeUndefined();

  await store.create(
    ENDPOINT_SLICE,
    aSlice("ready", { address: ready, port: "http", ready: true }),
  );
  await vi.waitUntil(() => proxy.backendsOf(vip)?.length === 1, PATIENTLY);
  expect(proxy.backendsOf(vip)).toEqual([{ host: ready, port: network.port }]);
  expect(await ask(network.locate(vip))).toBe("one in east\n");

  await store.delete(SERVICE, { namespace: SHOP, name: "derived" });
  await vi.waitUntil(() => proxy.backendsOf(vip) === undefined, PATIENTLY);
  expect(await ask(network.locate(vip))).toBeUndefined();

  function aSlice(
    name: string,
    of: { readonly address: string; readonly port: string; readonly ready: boolean },
  ): EndpointSlice {
    return {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { namespace: SHOP, name, labels: { [KUBE_SERVICE_NAME_LABEL]: "derived" } },
      addressType: "IPv4",
      endpoints: [{ addresses: [of.address], conditions: { ready: of.ready } }],
      ports: [{ name: of.port, port: network.port, protocol: "TCP" }],
    };
  }
});
