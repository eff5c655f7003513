// The role isthmus-dns-server of examples/rbac.yaml on a real API server: enough for `isthmus dns`, and no verb too much. And the
// server on a real API server: what it reads there is what it answers.

import { Resolver } from "node:dns/promises";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { ENDPOINT_SLICE, NODE } from "../src/api/builtin.ts";
import { MEMBER_CRDS } from "../src/api/crds.ts";
import { SERVICE_IMPORT } from "../src/api/mcs.ts";
import { isProblem } from "../src/api/problem.ts";
import type { Settings } from "../src/api/settings.ts";
import { readPlace } from "../src/cli/dnsPlace.ts";
import { installCrds } from "../src/controllers/crd.ts";
import { startFeed } from "../src/dns/feed.ts";
import { formatEndpoint } from "../src/dns/responder.ts";
import { createDnsServer } from "../src/dns/server.ts";
import { systemClock, systemRandom } from "../src/kube/clock.ts";
import { unique } from "./contract/objects.ts";
import { anImport, aSlice, CONFIG, SILENT_LOG, ZONE } from "./dnsServer.ts";
import { Access, permissionsOf, requireRole } from "./rbac/access.ts";
import { createRecorder } from "./rbac/recorder.ts";
import { eventually } from "./scenarios/poll.ts";

const ROLE = "isthmus-dns-server";
const TIMEOUT_MS = 300_000;
let access: Access;

beforeAll(async () => {
  // Not one of those whose roles other tests apply, and take away again.
  const cluster = inject("clusters").find(({ name }) => name === "edge")!;
  access = new Access(cluster.kubeconfigPath);
  await installCrds({ store: access.admin, crds: MEMBER_CRDS, clock: systemClock });
  await access.applyRoles();
}, TIMEOUT_MS);

afterAll(() => access.close());

/** What the server asks about itself when it starts. */
async function locate(
  store: Parameters<typeof readPlace>[2]["store"],
  given: Pick<Settings["dns"], "node" | "clusterId">,
) {
  const context = {
    clock: systemClock,
    random: systemRandom,
    signal: new AbortController().signal,
  } as Parameters<typeof readPlace>[0];
  const flags = { headless: "near", ...given } as Settings["dns"];
  return readPlace(context, flags, { store, log: SILENT_LOG });
}

test("R71: with isthmus-dns-server it reads all it needs, is refused nothing, and leaves no verb of it unused", {
  timeout: TIMEOUT_MS,
}, async () => {
  const { admin } = access;
  const namespace = await access.createNamespace(unique("dns-"));
  const node = unique("node-");
  const labels = { "topology.kubernetes.io/zone": "b" };
  await admin.create(NODE, { apiVersion: "v1", kind: "Node", metadata: { name: node, labels } });
  onTestFinished(async () => void (await admin.delete(NODE, { name: node })));
  const db = anImport("db", { type: "Headless", ports: [{ name: "http", port: 80 }] });
  await admin.create(SERVICE_IMPORT, { ...db, metadata: { namespace, name: "db" } });
  for (const [cluster, zone] of [
    ["east", "a"],
    ["west", "b"],
  ] as const) {
    const slice = aSlice("db", cluster, [{ addresses: [`10.${zone === "a" ? 1 : 2}.0.1`], zone }]);
    const metadata = { ...slice.metadata, namespace };
    await admin.create(ENDPOINT_SLICE, { ...slice, metadata });
  }

  const recorder = createRecorder(await access.become([ROLE]));
  // A role counts a moment after it was bound.
  const here = await eventually("it may read where it is", async () => {
    // The clusters of the tests have no id of their own, but for the while that another test gives them one.
    await locate(recorder.store, { node }).catch((error: unknown) => {
      if (!isProblem(error, "ClusterIdInvalid")) throw error;
    });
    return locate(recorder.store, { node, clusterId: "north" });
  });
  expect(here).toEqual({ cluster: "north", zone: "b" });
  const server = createDnsServer(CONFIG, { clock: systemClock, log: SILENT_LOG });
  const [at] = await server.open();
  onTestFinished(() => server.close());
  const feed = startFeed({
    store: recorder.store,
    zone: { ...ZONE, headless: "near", here },
    serial: 1,
    onChange: (change) => server.replace(change),
    onSynced: () => server.markSynced(),
    clock: systemClock,
    random: systemRandom,
    log: SILENT_LOG,
  });
  onTestFinished(() => feed.stop());
  const resolver = new Resolver();
  resolver.setServers([formatEndpoint(at!)]);
  const name = `db.${namespace}.svc.clusterset.local`;
  await eventually("it answers", async () => {
    expect(await resolver.resolve4(name)).toEqual(["10.2.0.1"]);
  });
  await admin.delete(ENDPOINT_SLICE, { namespace, name: "db-west" });
  await eventually("it follows", async () => {
    expect(await resolver.resolve4(name)).toEqual(["10.1.0.1"]);
  });
  expect(recorder.refusals().filter((refusal) => !refusal.startsWith("get "))).toEqual([]);
  expect(recorder.used()).toEqual(permissionsOf(requireRole(ROLE)));
});
