// Whatever stands on the hub, what is read of it is something that API servers take: one hostile or newer member must not
// stop an import.

import * as fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";

import { ENDPOINT_SLICE, NAMESPACE, SERVICE } from "../src/api/builtin.ts";
import { CRDS } from "../src/api/crds.ts";
import { derivedServiceName, endpointShareName, serviceShareName } from "../src/api/digest.ts";
import { ENDPOINT_SHARE, SERVICE_SHARE } from "../src/api/hubshare.ts";
import { SERVICE_IMPORT } from "../src/api/mcs.ts";
import { SERVICE_NAME_LABEL, type ServiceKey, serviceKey } from "../src/api/names.ts";
import { apiVersionOf, type Resource } from "../src/api/object.ts";
import type { Contribution } from "../src/api/share.ts";
import { planImport } from "../src/core/plan.ts";
import {
  decodeEndpointShare,
  decodeServiceShare,
  encodeEndpointShare,
  encodeServiceShare,
} from "../src/core/wire.ts";
import { installCrds } from "../src/controllers/crd.ts";
import { EmbeddedCluster } from "../src/embedded/cluster.ts";
import { systemClock, systemRandom } from "../src/kube/clock.ts";
import { id } from "./shares.ts";
import { plannedEndpoints, plannedShare, tampered } from "./storedShares.ts";

const cluster = new EmbeddedCluster({ name: "wire", clock: systemClock, random: systemRandom });
const store = cluster.store();
const EAST = id("east");
const SLICE = "web-abc";
const MAX_ROUNDS = 6;
let services = 0;

beforeAll(async () => {
  await installCrds({ store, crds: CRDS, clock: systemClock });
  const metadata = { name: "shop" };
  await store.create(NAMESPACE, { apiVersion: "v1", kind: "Namespace", metadata });
});

afterAll(() => cluster.stop());

function nextService(): ServiceKey {
  services += 1;
  return serviceKey({ namespace: "shop", name: `web-${services}` });
}

function write(resource: Resource, name: string, spec: object) {
  const { kind } = resource;
  const object = {
    apiVersion: apiVersionOf(resource),
    kind,
    metadata: { namespace: "shop", name },
    spec,
  };
  return store.create(resource, object);
}

/** Plans and writes as the importer does; what the API server refuses is an error. Returns how much was left to write. */
async function importAll(contribution: Contribution): Promise<number> {
  const { service } = contribution.share;
  const name = service.slice("shop/".length);
  let due = 0;
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const slices = await store.list(ENDPOINT_SLICE, {
      namespace: "shop",
      labelSelector: `${SERVICE_NAME_LABEL}=${name}`,
    });
    const derivedName = derivedServiceName(service);
    const writes = planImport({
      cluster: id("west"),
      service,
      families: ["IPv4", "IPv6"],
      namespace: "present",
      makesNamespace: false,
      contributions: [contribution],
      rejections: [],
      livenessOf: () => "live",
      isAwaited: () => false,
      isComplete: true,
      observed: {
        serviceImport: await store.get(SERVICE_IMPORT, { namespace: "shop", name }),
        derived: await store.get(SERVICE, { namespace: "shop", name: derivedName }),
        slices: slices.items,
      },
      now: "2026-01-01T00:00:00Z",
    });
    due = writes.length;
    if (due === 0) return 0;
    for (const each of writes) {
      if (each.verb === "delete") throw new Error(`a new import deletes a ${each.resource.kind}`);
      const { resource, object, verb, ...options } = each;
      if (verb === "replace") await store.replace(resource, object, options);
      else
        await store.apply(resource, object, { ...options, fieldManager: "isthmus", force: true });
    }
  }
  return due;
}

const serviceSpec = plannedShare.map(encodeServiceShare);
const endpointSpec = plannedEndpoints
  .filter((shares) => shares.length > 0)
  .map(([share]) => encodeEndpointShare({ ...share!, slice: SLICE }));

test("what a member writes is what the hub's schema takes", async () => {
  await fc.assert(
    fc.asyncProperty(serviceSpec, endpointSpec, async (share, endpoints) => {
      const service = nextService();
      const made = await write(SERVICE_SHARE, serviceShareName(service), share);
      expect(made).toMatchObject({ spec: share });
      const slice = await write(ENDPOINT_SHARE, endpointShareName(service, SLICE), endpoints);
      expect(slice).toMatchObject({ spec: endpoints });
    }),
    { numRuns: 100 },
  );
});

test("a share that was tampered with is imported as far as it is sound, and never refused or written for ever", async () => {
  let taken = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(serviceSpec, tampered(serviceSpec)),
      fc.oneof(endpointSpec, tampered(endpointSpec)),
      async (shareSpec, endpointsSpec) => {
        const service = nextService();
        const share = decodeServiceShare({
          cluster: EAST,
          name: serviceShareName(service),
          spec: shareSpec,
        });
        const endpoints = decodeEndpointShare({
          cluster: EAST,
          name: endpointShareName(service, SLICE),
          spec: endpointsSpec,
        });
        if (!share.ok) return;
        taken += 1;
        // Which addresses may be used is not the wire's business.
        const slices = endpoints.ok ? [endpoints.value] : [];
        const reachable = slices.map((slice) => ({
          ...slice,
          endpoints: slice.endpoints.map((endpoint) => ({
            ...endpoint,
            addresses: [slice.addressType === "IPv4" ? "10.0.0.1" : "fd00::1"],
          })),
        }));
        expect(await importAll({ share: share.value, endpoints: reachable })).toBe(0);
        // What was read is within the hub's limits too.
        await write(SERVICE_SHARE, serviceShareName(service), encodeServiceShare(share.value));
        for (const slice of slices) {
          const spec = encodeEndpointShare(slice);
          await write(ENDPOINT_SHARE, endpointShareName(service, SLICE), spec);
        }
      },
    ),
    { numRuns: 200 },
  );
  expect(taken).toBeGreaterThan(50);
});
