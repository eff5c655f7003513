// Contract: from Pods and a Service with a selector to EndpointSlices, which the exporter reads.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  ENDPOINT_SLICE,
  type EndpointSlice,
  NODE,
  POD,
  SERVICE,
  SERVICE_ACCOUNT,
} from "../../src/api/builtin.ts";
import { aService, unique } from "./objects.ts";
import { NO_CONTROLLERS, type Server, SOON } from "./server.ts";
import { at } from "./wire.ts";

type Fields = Readonly<Record<string, unknown>>;

interface PodSketch {
  readonly ip: string;
  /** True when absent. */
  readonly ready?: boolean;
  readonly spec?: Fields;
  readonly ips?: readonly string[];
}

export function podsContract(server: Server): void {
  const NODE_NAME = unique("node-");

  async function createPod(ns: string, name: string, sketch: PodSketch): Promise<void> {
    const { wire } = server();
    const created = await wire.post(at(POD, ns), {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, labels: { app: "web" } },
      spec: {
        nodeName: NODE_NAME,
        serviceAccountName: "runner",
        containers: [
          {
            name: "main",
            image: "example.org/none",
            ports: [{ name: "http", containerPort: 8080 }],
          },
        ],
        ...sketch.spec,
      },
    });
    expect(created.status).toBe(201);
    await setStatus(ns, name, sketch);
  }
  async function setStatus(ns: string, name: string, sketch: PodSketch): Promise<void> {
    const patched = await server().wire.patch(at(POD, ns, name, "status"), "merge", {
      status: {
        phase: "Running",
        podIP: sketch.ip,
        podIPs: (sketch.ips ?? [sketch.ip]).map((ip) => ({ ip })),
        conditions: [{ type: "Ready", status: sketch.ready === false ? "False" : "True" }],
      },
    });
    expect(patched.status).toBe(200);
  }
  /** A namespace with a Service "web" that selects the Pods of `createPod`. */
  async function namespaceWithService(spec: Fields = {}): Promise<string> {
    const ns = await server().namespace();
    const { wire } = server();
    await wire.post(at(SERVICE_ACCOUNT, ns), {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { name: "runner" },
    });
    const ports = [{ name: "http", port: 80, targetPort: 8080 }];
    await wire.post(at(SERVICE, ns), aService("web", { selector: { app: "web" }, ports, ...spec }));
    return ns;
  }
  const slicesOf = async (ns: string) =>
    (await server().wire.get(at(ENDPOINT_SLICE, ns))).list.items as unknown as EndpointSlice[];
  /** Address → "ready", "serving" or "down", over all slices. */
  async function addressesOf(ns: string): Promise<Record<string, string>> {
    const endpoints = (await slicesOf(ns)).flatMap((slice) => slice.endpoints ?? []);
    return Object.fromEntries(
      endpoints.flatMap(({ addresses, conditions }) =>
        addresses.map((address) => [
          address,
          conditions?.ready ? "ready" : conditions?.serving ? "serving" : "down",
        ]),
      ),
    );
  }
  const needControllers = (skip: (condition: boolean, note?: string) => void) =>
    skip(!server().hasControllers, NO_CONTROLLERS);

  beforeAll(async () => {
    const zone = { "topology.kubernetes.io/zone": "zone-a" };
    await server().wire.post(at(NODE, ""), {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: NODE_NAME, labels: zone },
    });
  });
  afterAll(async () => {
    await server().wire.delete(at(NODE, "", NODE_NAME));
  });

  describe("a Pod", () => {
    test("starts Pending, and its status is written through /status only", async () => {
      const ns = await namespaceWithService();
      const { wire } = server();
      await createPod(ns, "a", { ip: "10.9.0.1" });
      const ignored = await wire.patch(at(POD, ns, "a"), "merge", {
        status: { podIP: "10.9.0.9" },
      });
      expect(ignored.object.status?.podIP).toBe("10.9.0.1");
      await wire.delete(at(POD, ns, "a"), { gracePeriodSeconds: 0 });
    });

    test("on a node ends gracefully, and at once when told to", async () => {
      const ns = await namespaceWithService();
      const { wire } = server();
      await createPod(ns, "a", { ip: "10.9.0.1" });
      const deleted = await wire.delete(at(POD, ns, "a"));
      expect(deleted.status).toBe(200);
      expect(deleted.object.metadata).toMatchObject({
        deletionTimestamp: expect.stringMatching(/Z$/),
        deletionGracePeriodSeconds: 30,
      });
      expect((await wire.get(at(POD, ns, "a"))).status).toBe(200);
      await wire.delete(at(POD, ns, "a"), { gracePeriodSeconds: 0 });
      expect((await wire.get(at(POD, ns, "a"))).status).toBe(404);
    });

    test("is found by node and phase", async () => {
      const ns = await namespaceWithService();
      await createPod(ns, "a", { ip: "10.9.0.1" });
      const { list } = await server().wire.get(at(POD, ns), {
        fieldSelector: `spec.nodeName=${NODE_NAME},status.phase=Running`,
      });
      expect(list.items.map((item) => item.metadata.name)).toEqual(["a"]);
      await server().wire.delete(at(POD, ns, "a"), { gracePeriodSeconds: 0 });
    });
  });

  describe("EndpointSlices from Pods", () => {
    test("carry address, conditions, node, zone and a reference to the Pod", async ({ skip }) => {
      needControllers(skip);
      const ns = await namespaceWithService();
      await createPod(ns, "a", { ip: "10.9.0.1" });
      await expect.poll(() => addressesOf(ns), SOON).toEqual({ "10.9.0.1": "ready" });
      const [slice] = await slicesOf(ns);
      expect(slice).toMatchObject({
        addressType: "IPv4",
        ports: [{ name: "http", port: 8080, protocol: "TCP" }],
        endpoints: [
          {
            addresses: ["10.9.0.1"],
            conditions: { ready: true, serving: true, terminating: false },
            nodeName: NODE_NAME,
            zone: "zone-a",
            targetRef: { kind: "Pod", name: "a", namespace: ns, uid: expect.any(String) },
          },
        ],
      });
    });

    test("are labelled with the Service and their manager, and owned by the Service", async ({
      skip,
    }) => {
      needControllers(skip);
      const ns = await namespaceWithService();
      await expect.poll(async () => (await slicesOf(ns)).length, SOON).toBe(1);
      const { object: service } = await server().wire.get(at(SERVICE, ns, "web"));
      const [slice] = await slicesOf(ns);
      expect(slice?.metadata.name).toMatch(/^web-[a-z0-9]{5}$/);
      expect(slice?.metadata.generateName).toBe("web-");
      expect(slice?.metadata.labels).toMatchObject({
        "kubernetes.io/service-name": "web",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
      });
      expect(slice?.metadata.ownerReferences).toEqual([
        {
          apiVersion: "v1",
          kind: "Service",
          name: "web",
          uid: service.metadata.uid,
          controller: true,
          blockOwnerDeletion: true,
        },
      ]);
    });

    test("copy the labels of the Service", async ({ skip }) => {
      needControllers(skip);
      const ns = await namespaceWithService();
      await server().wire.patch(at(SERVICE, ns, "web"), "merge", {
        metadata: { labels: { team: "red" } },
      });
      await expect
        .poll(async () => (await slicesOf(ns))[0]?.metadata.labels?.["team"], SOON)
        .toBe("red");
    });

    test("exist, empty, for a Service without Pods", async ({ skip }) => {
      needControllers(skip);
      const ns = await namespaceWithService();
      await expect
        .poll(async () => (await slicesOf(ns)).map((slice) => slice.addressType), SOON)
        .toEqual(["IPv4"]);
      const [slice] = await slicesOf(ns);
      expect(slice?.endpoints ?? []).toEqual([]);
    });

    test("follow readiness both ways", async ({ skip }) => {
      needControllers(skip);
      const ns = await namespaceWithService();
      await createPod(ns, "a", { ip: "10.9.0.1", ready: false });
      await expect.poll(() => addressesOf(ns), SOON).toEqual({ "10.9.0.1": "down" });
      await setStatus(ns, "a", { ip: "10.9.0.1", ready: true });
      await expect.poll(() => addressesOf(ns), SOON).toEqual({ "10.9.0.1": "ready" });
      await setStatus(ns, "a", { ip: "10.9.0.1", ready: false });
      await expect.poll(() => addressesOf(ns), SOON).toEqual({ "10.9.0.1": "down" });
    });

    test("show Pods that are not ready as ready with publishNotReadyAddresses", async ({
      skip,
    }) => {
      needControllers(skip);
      const ns = await namespaceWithService({ publishNotReadyAddresses: true });
      await createPod(ns, "a", { ip: "10.9.0.1", ready: false });
      await expect.poll(() => addressesOf(ns), SOON).toEqual({ "10.9.0.1": "ready" });
    });

    test("show a Pod that ends as serving and terminating, not ready, until it is gone", async ({
      skip,
    }) => {
      needControllers(skip);
      const ns = await namespaceWithService();
      await createPod(ns, "a", { ip: "10.9.0.1" });
      await expect.poll(() => addressesOf(ns), SOON).toEqual({ "10.9.0.1": "ready" });
      await server().wire.delete(at(POD, ns, "a"));
      await expect.poll(() => addressesOf(ns), SOON).toEqual({ "10.9.0.1": "serving" });
      const [slice] = await slicesOf(ns);
      expect(slice?.endpoints[0]?.conditions).toEqual({
        ready: false,
        serving: true,
        terminating: true,
      });
      await server().wire.delete(at(POD, ns, "a"), { gracePeriodSeconds: 0 });
      await expect.poll(() => addressesOf(ns), SOON).toEqual({});
    });

    test("leave out Pods without an address and Pods that have finished", async ({ skip }) => {
      needControllers(skip);
      const ns = await namespaceWithService();
      await createPod(ns, "done", { ip: "10.9.0.1" });
      await server().wire.patch(at(POD, ns, "done", "status"), "merge", {
        status: { phase: "Succeeded" },
      });
      await server().wire.post(at(POD, ns), {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name: "pending", labels: { app: "web" } },
        spec: { serviceAccountName: "runner", containers: [{ name: "main", image: "none" }] },
      });
      await createPod(ns, "up", { ip: "10.9.0.3" });
      await expect.poll(() => addressesOf(ns), SOON).toEqual({ "10.9.0.3": "ready" });
    });

    test("carry the host name of a Pod whose subdomain is the Service", async ({ skip }) => {
      needControllers(skip);
      const ns = await namespaceWithService({ clusterIP: "None" });
      await createPod(ns, "a", { ip: "10.9.0.1", spec: { hostname: "db-0", subdomain: "web" } });
      await createPod(ns, "b", { ip: "10.9.0.2", spec: { hostname: "db-1", subdomain: "other" } });
      await expect
        .poll(() => addressesOf(ns), SOON)
        .toEqual({ "10.9.0.1": "ready", "10.9.0.2": "ready" });
      const [slice] = await slicesOf(ns);
      const names = slice?.endpoints.map((endpoint) => endpoint.hostname);
      expect(names?.toSorted()).toEqual(["db-0", undefined]);
    });

    test("of a headless Service carry the headless label", async ({ skip }) => {
      needControllers(skip);
      const ns = await namespaceWithService({ clusterIP: "None" });
      await createPod(ns, "a", { ip: "10.9.0.1" });
      await expect.poll(() => addressesOf(ns), SOON).toEqual({ "10.9.0.1": "ready" });
      const [slice] = await slicesOf(ns);
      expect(slice?.metadata.labels).toMatchObject({ "service.kubernetes.io/headless": "" });
    });

    test("of a headless Service without ports have no ports", async ({ skip }) => {
      needControllers(skip);
      const ns = await namespaceWithService({ clusterIP: "None", ports: [] });
      await createPod(ns, "a", { ip: "10.9.0.1" });
      await expect.poll(() => addressesOf(ns), SOON).toEqual({ "10.9.0.1": "ready" });
      const [slice] = await slicesOf(ns);
      expect(slice?.ports ?? []).toEqual([]);
    });

    test("resolve a named target port on each Pod, in one slice per number", async ({ skip }) => {
      needControllers(skip);
      const ports = [{ name: "web", port: 80, targetPort: "http" }];
      const ns = await namespaceWithService({ ports });
      const containers = [
        { name: "main", image: "none", ports: [{ name: "http", containerPort: 9090 }] },
      ];
      await createPod(ns, "a", { ip: "10.9.0.1" });
      await createPod(ns, "b", { ip: "10.9.0.2", spec: { containers } });
      await expect
        .poll(() => addressesOf(ns), SOON)
        .toEqual({ "10.9.0.1": "ready", "10.9.0.2": "ready" });
      const byPort = (await slicesOf(ns)).map((slice) => [
        slice.ports?.[0]?.name,
        slice.ports?.[0]?.port,
        slice.endpoints.map((endpoint) => endpoint.addresses[0]),
      ]);
      expect(byPort.toSorted((left, right) => Number(left[1]) - Number(right[1]))).toEqual([
        ["web", 8080, ["10.9.0.1"]],
        ["web", 9090, ["10.9.0.2"]],
      ]);
    });

    test("carry the application protocol of the Service's port", async ({ skip }) => {
      needControllers(skip);
      const ports = [{ name: "web", port: 80, appProtocol: "kubernetes.io/h2c" }];
      const ns = await namespaceWithService({ ports });
      await createPod(ns, "a", { ip: "10.9.0.1" });
      await expect.poll(() => addressesOf(ns), SOON).toEqual({ "10.9.0.1": "ready" });
      expect((await slicesOf(ns))[0]?.ports).toEqual([
        { name: "web", port: 80, protocol: "TCP", appProtocol: "kubernetes.io/h2c" },
      ]);
    });

    test("of a dual-stack Service are one per family", async ({ skip }) => {
      needControllers(skip);
      const ns = await namespaceWithService({ ipFamilyPolicy: "RequireDualStack" });
      await createPod(ns, "a", { ip: "10.9.0.1", ips: ["10.9.0.1", "fd00:9::1"] });
      await expect
        .poll(() => addressesOf(ns), SOON)
        .toEqual({ "10.9.0.1": "ready", "fd00:9::1": "ready" });
      const families = (await slicesOf(ns)).map((slice) => [
        slice.addressType,
        slice.endpoints[0]?.addresses[0],
      ]);
      expect(Object.fromEntries(families)).toEqual({ IPv4: "10.9.0.1", IPv6: "fd00:9::1" });
    });

    test("follow the selector of the Service", async ({ skip }) => {
      needControllers(skip);
      const ns = await namespaceWithService();
      await createPod(ns, "a", { ip: "10.9.0.1" });
      await expect.poll(() => addressesOf(ns), SOON).toEqual({ "10.9.0.1": "ready" });
      await server().wire.patch(at(SERVICE, ns, "web"), "merge", {
        spec: { selector: { app: "other" } },
      });
      await expect.poll(() => addressesOf(ns), SOON).toEqual({});
      await server().wire.patch(at(POD, ns, "a"), "merge", {
        metadata: { labels: { app: "other" } },
      });
      await expect.poll(() => addressesOf(ns), SOON).toEqual({ "10.9.0.1": "ready" });
    });

    test("go when the Service goes", async ({ skip }) => {
      needControllers(skip);
      const ns = await namespaceWithService();
      await createPod(ns, "a", { ip: "10.9.0.1" });
      await expect.poll(() => addressesOf(ns), SOON).toEqual({ "10.9.0.1": "ready" });
      await server().wire.delete(at(SERVICE, ns, "web"));
      await expect.poll(async () => (await slicesOf(ns)).length, SOON).toBe(0);
    });

    test("are not made for a Service without a selector", async ({ skip }) => {
      needControllers(skip);
      const ns = await namespaceWithService();
      await server().wire.post(at(SERVICE, ns), aService("manual"));
      // "after" is made later than "manual": once it is there, "manual" has been passed over.
      await server().wire.post(at(SERVICE, ns), aService("after", { selector: { app: "web" } }));
      const services = async () =>
        new Set(
          (await slicesOf(ns)).map(
            (slice) => slice.metadata.labels?.["kubernetes.io/service-name"],
          ),
        );
      await expect.poll(services, SOON).toEqual(new Set(["after", "web"]));
    });

    test("are restored when someone deletes one", async ({ skip }) => {
      needControllers(skip);
      const ns = await namespaceWithService();
      await createPod(ns, "a", { ip: "10.9.0.1" });
      await expect.poll(() => addressesOf(ns), SOON).toEqual({ "10.9.0.1": "ready" });
      const [slice] = await slicesOf(ns);
      await server().wire.delete(at(ENDPOINT_SLICE, ns, slice!.metadata.name!));
      await expect.poll(() => addressesOf(ns), SOON).toEqual({ "10.9.0.1": "ready" });
      expect((await slicesOf(ns))[0]?.metadata.uid).not.toBe(slice?.metadata.uid);
    });
  });
}
