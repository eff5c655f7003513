// Our CRDs on an API server: what the schemas of shares and join tokens take and refuse. Part of suite.ts.

import { beforeAll, describe, expect, test } from "vitest";
import type { CustomResourceDefinition } from "../../src/api/builtin.ts";
import { endpointShareName, serviceShareName } from "../../src/api/digest.ts";
import { ENDPOINT_SHARE_CRD, SERVICE_SHARE_CRD, SHARE_LIMITS } from "../../src/api/hubshare.ts";
import { JOIN_TOKEN_CRD } from "../../src/api/jointoken.ts";
import { serviceKey } from "../../src/api/names.ts";
import type { KubeObject, Resource } from "../../src/api/object.ts";
import type { Store } from "../../src/ports/store.ts";

export interface Thing extends KubeObject {
  readonly spec?: unknown;
  readonly status?: unknown;
}

export function resourceOf(crd: CustomResourceDefinition, version = "v1beta1"): Resource<Thing> {
  const { group, scope, names } = crd.spec;
  return { group, version, ...names, namespaced: scope === "Namespaced" };
}

/** The server that the suite runs on, and what it does there. */
interface CrdBench {
  /** The same CRD under a group of its own. */
  alone(crd: CustomResourceDefinition): CustomResourceDefinition;
  install(...crds: readonly CustomResourceDefinition[]): Promise<unknown>;
  create(crd: CustomResourceDefinition, fields: object, version?: string): Promise<Thing>;
  store(): Store;
}

export function describeHubSchemas(bench: CrdBench): void {
  describe("schemas of shares", () => {
    const services = bench.alone(SERVICE_SHARE_CRD);
    const slices = bench.alone(ENDPOINT_SHARE_CRD);
    const web = serviceKey({ namespace: "shop", name: "web" });
    const share = {
      exportedAt: "2026-01-02T03:04:05Z",
      type: "ClusterSetIP",
      ports: [{ name: "http", protocol: "TCP", port: 80, appProtocol: "kubernetes.io/h2c" }],
      ipFamilies: ["IPv6", "IPv4"],
      sessionAffinity: "ClientIP",
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
      internalTrafficPolicy: "Cluster",
      trafficDistribution: "PreferClose",
      labels: { team: "a" },
      annotations: { "example.com/note": "b" },
      whenLost: "keep",
    };
    const endpoint = {
      addresses: ["10.1.0.7"],
      conditions: { ready: true, serving: true, terminating: false },
      hostname: "web-0",
      zone: "eu-west-1a",
    };
    const slice = {
      slice: "web-abc",
      addressType: "IPv4",
      ports: [{ name: "", protocol: "TCP", port: 8080 }],
      endpoints: [endpoint],
    };
    let shares = 0;

    function some<T>(length: number, make: (at: number) => T): T[] {
      return Array.from({ length }, (_, at) => make(at));
    }

    function entries(length: number, value: string): Record<string, string> {
      return Object.fromEntries(some(length, (at) => [`key-${at}`, value]));
    }

    function createShare(spec: object, name?: string) {
      shares += 1;
      const metadata = { name: name ?? `shop.web-${shares}` };
      return bench.create(services, { metadata, spec }, "v1alpha1");
    }

    function createSlice(spec: object, name?: string) {
      shares += 1;
      const service = serviceKey({ namespace: "shop", name: `web-${shares}` });
      const metadata = { name: name ?? endpointShareName(service, "web-abc") };
      return bench.create(slices, { metadata, spec }, "v1alpha1");
    }

    beforeAll(async () => {
      await bench.install(services, slices);
    });

    test("a share is kept whole, under the name that we give it", async () => {
      expect((await createShare(share, serviceShareName(web))).spec).toEqual(share);
      expect((await createSlice(slice, endpointShareName(web, "web-abc"))).spec).toEqual(slice);
    });

    test("words of a later release are kept for those who know them, its fields are not", async () => {
      const later = { ...share, type: "Anycast", whenLost: "drain", ipFamilies: ["IPv8"] };
      expect((await createShare({ ...later, weight: 5 })).spec).toEqual(later);
      const ports = [{ protocol: "QUIC", port: 443 }];
      expect((await createSlice({ ...slice, ports, gateway: "g" })).spec).toEqual({
        ...slice,
        ports,
      });
    });

    test("a replacement with fields that are not known is taken without them, as an agent of a later release writes it", async () => {
      const made = await createShare(share);
      const spec = { ...share, whenLost: "unready", weight: 5 };
      const { weight: _, ...known } = spec;
      const replaced = await bench
        .store()
        .replace(resourceOf(services, "v1alpha1"), { ...made, spec });
      expect(replaced.spec).toEqual(known);
    });

    test("the largest share that is allowed fits", async () => {
      const { ports, labels, annotations, labelValueLength, annotationValueLength } = SHARE_LIMITS;
      const most = {
        ...share,
        ports: some(ports, (at) => ({ name: `p${at}`, port: at + 1 })),
        labels: entries(labels, "x".repeat(labelValueLength)),
        annotations: entries(annotations, "x".repeat(annotationValueLength)),
      };
      expect((await createShare(most)).spec).toEqual(most);
      const all = { ...slice, endpoints: some(SHARE_LIMITS.endpoints, () => endpoint) };
      expect((await createSlice(all)).spec).toEqual(all);
    });

    test.each<[string, object]>([
      ["no time of export", { ...share, exportedAt: undefined }],
      ["a time that is none", { ...share, exportedAt: "noon" }],
      ["no type", { ...share, type: undefined }],
      ["a word that is too long", { ...share, type: "x".repeat(64) }],
      ["a word that is not ASCII", { ...share, type: "é" }],
      ["no ports", { ...share, ports: undefined }],
      ["a port without a number", { ...share, ports: [{ name: "http" }] }],
      ["a port of number 0", { ...share, ports: [{ port: 0 }] }],
      ["a port that is too large", { ...share, ports: [{ port: 65_536 }] }],
      ["too many ports", { ...share, ports: some(101, (at) => ({ port: at + 1 })) }],
      ["three families", { ...share, ipFamilies: ["IPv4", "IPv6", "IPv4"] }],
      [
        "an affinity of no time",
        { ...share, sessionAffinityConfig: { clientIP: { timeoutSeconds: 0 } } },
      ],
      ["too many labels", { ...share, labels: entries(65, "") }],
      ["a label that is too long", { ...share, labels: { a: "x".repeat(64) } }],
      ["too many annotations", { ...share, annotations: entries(65, "") }],
      ["an annotation that is too long", { ...share, annotations: { a: "x".repeat(4_097) } }],
    ])("a share with %s is refused", async (_, bad) => {
      await expect(createShare(bad)).rejects.toMatchObject({ code: "Invalid" });
    });

    test.each<[string, object]>([
      ["no slice", { ...slice, slice: undefined }],
      ["an empty slice name", { ...slice, slice: "" }],
      ["an endpoint without an address", { ...slice, endpoints: [{ addresses: [] }] }],
      ["two addresses", { ...slice, endpoints: [{ addresses: ["10.1.0.7", "10.1.0.8"] }] }],
      ["an address that is too long", { ...slice, endpoints: [{ addresses: ["1".repeat(46)] }] }],
      ["a zone that is too long", { ...slice, endpoints: [{ ...endpoint, zone: "x".repeat(64) }] }],
      ["a zone that is not ASCII", { ...slice, endpoints: [{ ...endpoint, zone: "zürich" }] }],
      ["a host name that is not ASCII", { ...slice, endpoints: [{ ...endpoint, hostname: "ü" }] }],
      ["an address that is not ASCII", { ...slice, endpoints: [{ addresses: ["1０"] }] }],
      [
        "a readiness in words",
        { ...slice, endpoints: [{ ...endpoint, conditions: { ready: "yes" } }] },
      ],
      ["too many ports", { ...slice, ports: some(101, (at) => ({ port: at + 1 })) }],
      ["too many endpoints", { ...slice, endpoints: some(1_001, () => endpoint) }],
    ])("endpoints with %s are refused", async (_, bad) => {
      await expect(createSlice(bad)).rejects.toMatchObject({ code: "Invalid" });
    });

    test.each(["web", "shop.web.x", `${"x".repeat(64)}.web`, endpointShareName(web, "web-abc")])(
      "a ServiceShare named %j is refused",
      async (name) => {
        await expect(createShare(share, name)).rejects.toMatchObject({ code: "Invalid" });
      },
    );

    test.each(["web", "shop.web", "shop.web.x", "shop.web.0123456789.x"])(
      "an EndpointShare named %j is refused",
      async (name) => {
        await expect(createSlice(slice, name)).rejects.toMatchObject({ code: "Invalid" });
      },
    );
  });

  describe("schema of join tokens", () => {
    const tokens = bench.alone(JOIN_TOKEN_CRD);
    const spec = { uses: 2, expiresAt: "2026-01-02T03:04:05Z" };

    beforeAll(async () => {
      await bench.install(tokens);
    });

    function use(made: Thing, clusters: readonly string[]) {
      return bench
        .store()
        .replace(
          resourceOf(tokens, "v1alpha1"),
          { ...made, status: { clusters } },
          { subresource: "status" },
        );
    }

    test("what was used is written apart from what is allowed", async () => {
      const made = await bench.create(tokens, { spec, status: { clusters: ["east"] } }, "v1alpha1");
      expect(made.status).toBeUndefined();
      const changed = { ...made, spec: { ...spec, uses: 250 } };
      expect(await use(changed, ["east", "west"])).toMatchObject({
        spec,
        status: { clusters: ["east", "west"] },
      });
    });

    test.each<[string, object]>([
      ["no end", { spec: { uses: 1 } }],
      ["an end that is no time", { spec: { ...spec, expiresAt: "1h" } }],
      ["no use", { spec: { ...spec, uses: 0 } }],
      ["more uses than a clusterset has members", { spec: { ...spec, uses: 251 } }],
      ["a name that is too long", { metadata: { name: "x".repeat(51) }, spec }],
    ])("one with %s is refused", async (_, bad) => {
      await expect(bench.create(tokens, bad, "v1alpha1")).rejects.toMatchObject({
        code: "Invalid",
      });
    });

    test.each<[string, readonly string[]]>([
      ["an id twice", ["east", "east"]],
      ["an id that is too long for a member's namespace", ["x".repeat(49)]],
      ["an id that is no DNS label", ["East"]],
      ["an empty id", [""]],
    ])("a use by %s is refused", async (_, clusters) => {
      const made = await bench.create(tokens, { spec }, "v1alpha1");
      await expect(use(made, clusters)).rejects.toMatchObject({ code: "Invalid" });
    });
  });
}
