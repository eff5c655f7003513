// `isthmus leave -o yaml` over HTTPS: what it prints of objects that are not its own to delete.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { NAMESPACE } from "../src/api/builtin.ts";
import { MEMBER_CRDS } from "../src/api/crds.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT } from "../src/api/mcs.ts";
import { apiVersionOf } from "../src/api/object.ts";
import { installCrds } from "../src/controllers/crd.ts";
import { EmbeddedCluster } from "../src/embedded/cluster.ts";
import { serveCluster } from "../src/embedded/server.ts";
import { systemClock, systemRandom } from "../src/kube/clock.ts";
import { mustRun } from "./commandLine.ts";
import { temporaryDirectory } from "./loopback.ts";

const CONDITION = {
  type: "Valid",
  status: "True",
  reason: "Valid",
  message: "",
  lastTransitionTime: "2026-01-02T03:04:05Z",
} as const;

test("-o yaml names in comments what it would give back, and never as something to delete", async () => {
  const cluster = new EmbeddedCluster({ name: "east", clock: systemClock, random: systemRandom });
  onTestFinished(() => cluster.stop());
  const server = await serveCluster(cluster, { clock: systemClock });
  onTestFinished(() => server.close());
  const path = join(temporaryDirectory(), "east.yaml");
  writeFileSync(path, server.kubeconfig());
  const store = cluster.store({});
  await installCrds({ store, crds: MEMBER_CRDS, clock: systemClock });
  const metadata = { name: "shop" };
  await store.create(NAMESPACE, { apiVersion: "v1", kind: "Namespace", metadata });
  const exported = await store.create(SERVICE_EXPORT, {
    apiVersion: apiVersionOf(SERVICE_EXPORT),
    kind: SERVICE_EXPORT.kind,
    metadata: { namespace: "shop", name: "web" },
  });
  await store.replace(
    SERVICE_EXPORT,
    { ...exported, status: { conditions: [CONDITION] } },
    { subresource: "status" },
  );
  await store.create(SERVICE_IMPORT, {
    apiVersion: apiVersionOf(SERVICE_IMPORT),
    kind: SERVICE_IMPORT.kind,
    metadata: { namespace: "shop", name: "by-hand" },
    spec: { type: "ClusterSetIP", ports: [{ port: 80 }] },
  });
  const printed = await mustRun(["leave", "--local-only", "-o", "yaml", "--kubeconfig", path]);
  expect(printed.split("\n").slice(-4)).toEqual([
    "# Not deleted: isthmus leave takes back only what it added, if anything, to",
    "#   ServiceExport shop/web, its status",
    "#   ServiceImport shop/by-hand, its status",
    "#   ServiceImport shop/by-hand",
  ]);
  const documents = parseAllDocuments(printed).map(
    (document) => document.toJS() as { kind: string },
  );
  expect(documents.map(({ kind }) => kind)).not.toContain("ServiceExport");
  expect(documents.map(({ kind }) => kind)).not.toContain("ServiceImport");
});
