// Bench: a process of its own that serves EndpointSlices in pages over loopback, rendered before the first request, so that
// serving costs next to nothing. Arguments: how many slices, how many endpoints each. It ends with the bench.

import { createServer } from "node:http";

const PAGE = 500;
const PATH = "/apis/discovery.k8s.io/v1/endpointslices";
const [sliceCount = 1_000, endpointCount = 100] = process.argv.slice(2).map(Number);
const pages = Array.from({ length: Math.ceil(sliceCount / PAGE) }, (_, page) => renderPage(page));

const server = createServer((request, response) => {
  const url = new URL(request.url ?? "/", "http://loopback");
  if (url.pathname !== PATH) {
    response.writeHead(404).end();
    return;
  }
  response.setHeader("content-type", "application/json");
  if (url.searchParams.has("watch")) {
    // A quiet watch: accepted, and nothing happens.
    response.flushHeaders();
    return;
  }
  const page = pages[Number(url.searchParams.get("continue") ?? 0)];
  if (page === undefined || url.searchParams.get("limit") !== String(PAGE)) {
    response.writeHead(400).end();
    return;
  }
  response.setHeader("content-length", page.length).end(page);
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  process.send?.({ port: address.port });
});
process.on("disconnect", () => process.exit());

function renderPage(page: number): Buffer {
  const first = page * PAGE;
  const count = Math.min(PAGE, sliceCount - first);
  return Buffer.from(
    JSON.stringify({
      kind: "EndpointSliceList",
      apiVersion: "discovery.k8s.io/v1",
      metadata: {
        resourceVersion: "1000000",
        ...(first + count < sliceCount && { continue: String(page + 1) }),
      },
      items: Array.from({ length: count }, (_, i) => renderSlice(first + i)),
    }),
  );
}

/** The size and shape that the endpoint slice controller gives them. */
function renderSlice(slice: number) {
  const namespace = `team-${slice % 100}`;
  const service = `service-${Math.floor(slice / 100)}`;
  const time = "2026-01-01T00:00:00Z";
  const manager = "kube-controller-manager";
  return {
    metadata: {
      name: `${service}-${slice.toString(36).padStart(5, "0")}`,
      generateName: `${service}-`,
      namespace,
      uid: uidOf(slice, 0),
      resourceVersion: String(500_000 + slice),
      generation: 3,
      creationTimestamp: time,
      labels: {
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
        "kubernetes.io/service-name": service,
      },
      annotations: { "endpoints.kubernetes.io/last-change-trigger-time": time },
      ownerReferences: [
        {
          apiVersion: "v1",
          kind: "Service",
          name: service,
          uid: uidOf(slice, 999),
          controller: true,
        },
      ],
      managedFields: [
        {
          manager,
          operation: "Update",
          apiVersion: "discovery.k8s.io/v1",
          time,
          fieldsType: "FieldsV1",
        },
      ],
    },
    addressType: "IPv4",
    endpoints: Array.from({ length: endpointCount }, (_, endpoint) => ({
      addresses: [`10.${slice % 250}.${Math.floor(slice / 250) % 250}.${endpoint % 250}`],
      conditions: { ready: true, serving: true, terminating: false },
      targetRef: {
        kind: "Pod",
        namespace,
        name: `${service}-7d9c8b6f5-${(slice * 1_000 + endpoint).toString(36)}`,
        uid: uidOf(slice, endpoint),
      },
      nodeName: `node-${endpoint}.example.internal`,
      zone: `zone-${endpoint % 3}`,
    })),
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
  };
}

function uidOf(slice: number, endpoint: number): string {
  const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, "0");
  return `${hex(slice, 8)}-${hex(endpoint, 4)}-4000-8000-${hex(slice * 1_000 + endpoint, 12)}`;
}
