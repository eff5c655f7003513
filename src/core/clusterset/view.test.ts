// Corners of the view that no world at work shows: built by hand.

import { expect, test } from "vitest";
import { aSlice } from "../../../test/kubeObjects.ts";
import { ENDPOINT_SLICE } from "../../api/builtin.ts";
import { SERVICE_IMPORT } from "../../api/mcs.ts";
import {
  type ClusterId,
  memberNamespace,
  SERVICE_NAME_LABEL,
  SOURCE_CLUSTER_LABEL,
} from "../../api/names.ts";
import { apiVersionOf, type KubeObject, type Resource } from "../../api/object.ts";
import { viewStatus } from "./health.ts";
import { type HubSighting, NOTHING_SEEN, type Sighting } from "./sighting.ts";
import { parseTimeMs } from "./time.ts";
import { viewClusterset } from "./view.ts";
import { viewWithout } from "./without.ts";

const NOW = "2026-11-16T08:00:00Z";
const nowMs = parseTimeMs(NOW)!;
const id = (name: string) => name as ClusterId;

function aSighting(fields: Partial<Sighting> = {}): Sighting {
  return {
    name: "east.yaml",
    cluster: id("east"),
    problems: [],
    unread: [],
    ...NOTHING_SEEN,
    ...fields,
  };
}

function anObject(resource: Resource, metadata: KubeObject["metadata"]): KubeObject {
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata };
}

function aHub(fields: Partial<HubSighting> = {}): HubSighting {
  const namespace = memberNamespace(id("east"));
  return {
    server: "https://hub",
    reader: id("east"),
    members: [{ apiVersion: "", kind: "", metadata: { namespace, name: "east" }, spec: {} }],
    leases: [],
    hasShares: true,
    serviceShares: [],
    endpointShares: [],
    ...fields,
  };
}

test("two clusters of one id are told, and the second takes part in nothing", () => {
  const sightings = [aSighting(), aSighting({ name: "other.yaml" })];
  const { clusters } = viewClusterset({ sightings, nowMs });
  expect(clusters.map((cluster) => cluster.id)).toEqual(["east", "other.yaml"]);
  expect(clusters[1]!.problems[0]).toContain('goes by the id "east"');
  const { well, clusters: counted } = viewStatus({ sightings, nowMs });
  expect(well).toBe(false);
  expect(counted).toEqual({ total: 2, well: 1 });
});

test("a Lease from the future says that clocks differ, not that somebody lives", () => {
  const lease = {
    ...anObject(ENDPOINT_SLICE, { namespace: "isthmus-hub", name: "east" }),
    spec: { renewTime: "2026-11-16T08:10:00.000000Z" },
  };
  const observation = { sightings: [], hub: aHub({ leases: [lease] }), nowMs };
  const [east] = viewClusterset(observation).clusters;
  expect(east).toMatchObject({ liveness: "unknown", lease: { ageSeconds: -600 } });
  expect(east!.livenessWhy).toBe(
    "Its lease says that it was renewed 10m from now: its clock and the one here differ.",
  );
});

test("of a hub that holds everything only the namespace that was asked for is shown", () => {
  const namespace = memberNamespace(id("east"));
  const spec = {
    exportedAt: NOW,
    type: "ClusterSetIP",
    ports: [{ port: 80 }],
    ipFamilies: ["IPv4"],
  };
  const share = (name: string) => ({
    apiVersion: "",
    kind: "",
    metadata: { namespace, name },
    spec,
  });
  const hub = aHub({ serviceShares: [share("shop.web"), share("pay.db")] });
  const all = viewClusterset({ sightings: [], hub, nowMs });
  expect(all.services.map(({ service }) => service)).toEqual(["pay/db", "shop/web"]);
  const some = viewClusterset({ sightings: [], hub, namespace: "shop", nowMs });
  expect(some.services.map(({ service }) => service)).toEqual(["shop/web"]);
});

test("a port that only one cluster serves is a loss, though the service has endpoints left", () => {
  const copy = (source: string, ports: readonly string[]) =>
    aSlice([{ addresses: ["10.0.0.1"] }], {
      metadata: {
        namespace: "shop",
        name: `web-${source}`,
        labels: { [SERVICE_NAME_LABEL]: "web", [SOURCE_CLUSTER_LABEL]: source },
      },
      ports: ports.map((name) => ({ name, protocol: "TCP", port: 1 })),
    });
  const serviceImport = anObject(SERVICE_IMPORT, { namespace: "shop", name: "web" });
  const edge = aSighting({
    name: "edge",
    cluster: id("edge"),
    serviceImports: [serviceImport],
    slices: [copy("east", ["http", "admin"]), copy("west", ["http"])],
  });
  const [loss] = viewWithout({ sightings: [edge, aSighting()], nowMs }, id("east"))!;
  expect(loss).toMatchObject({ loss: "partly", routes: ["IPv4 admin"] });
  expect(loss!.why).toBe("Nobody else serves IPv4 admin; the rest goes on.");
});

test("a cluster without an id is shown under the name it was asked by, and nothing is judged by it", () => {
  const unnamed = aSighting({
    cluster: undefined,
    serviceImports: [
      {
        ...anObject(SERVICE_IMPORT, { namespace: "shop", name: "web" }),
        status: { clusters: [{ cluster: "east" }] },
      },
    ],
  });
  const { clusters, services } = viewClusterset({ sightings: [unnamed], nowMs });
  expect(clusters[0]!.id).toBe("east.yaml");
  expect(services[0]!.imports[0]).toMatchObject({ unknown: ["east", "east.yaml"] });
  expect(services[0]!.imports[0]!.behind).toBeUndefined();
});
