// Changing verbs with -o yaml: what would be written or deleted is printed, as kubectl takes it, and nothing changes.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { NAMESPACE } from "../src/api/builtin.ts";
import { CRDS, HUB_CRDS } from "../src/api/crds.ts";
import { JOIN_TOKEN, type JoinToken } from "../src/api/jointoken.ts";
import { HUB_NAMESPACE } from "../src/api/names.ts";
import type { KubeObject } from "../src/api/object.ts";
import { installCrds } from "../src/controllers/crd.ts";
import { renderJoinToken } from "../src/hub/manifest/jointoken.ts";
import { systemClock as clock } from "../src/kube/clock.ts";
import { mustRun } from "./commandLine.ts";
import { serve, temporaryDirectory } from "./loopback.ts";
import { openBare } from "./readingWorld.ts";

function read(text: string): readonly KubeObject[] {
  return parseAllDocuments(text).map((document) => document.toJS() as KubeObject);
}

/** A kubeconfig of a server that has these objects, by path, and no others. */
async function serveObjects(objects: Readonly<Record<string, KubeObject>>): Promise<string> {
  const { url } = await serve(({ url: path = "" }, response) => {
    const missing = { kind: "Status", code: 404, reason: "NotFound", details: { name: "coredns" } };
    response.statusCode = path in objects ? 200 : 404;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(objects[path] ?? missing));
  });
  const path = join(temporaryDirectory(), "fake.yaml");
  const config = {
    "current-context": "fake",
    contexts: [{ name: "fake", context: { cluster: "fake", user: "fake" } }],
    clusters: [{ name: "fake", cluster: { server: url } }],
    users: [{ name: "fake", user: { token: "t" } }],
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}

const named = ({ kind, metadata }: KubeObject): string => `${kind} ${metadata.name}`;

test("crds install prints all definitions, and needs no cluster for it", async () => {
  const printed = read(await mustRun(["crds", "install", "-o", "yaml"]));
  expect(printed.map(({ metadata }) => metadata.name)).toEqual(
    CRDS.map(({ metadata }) => metadata.name),
  );
});

test("dns enable and disable print the Corefile as it would be, and no other key", async () => {
  const metadata = { namespace: "kube-system", name: "coredns" };
  const Corefile = ".:53 {\n    kubernetes cluster.local\n    reload\n}\n";
  const data = { Corefile, other: "stays" };
  const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata, data };
  const path = await serveObjects({
    "/api/v1/namespaces/kube-system/configmaps/coredns": configMap,
  });
  const at = ["--kubeconfig", path, "-o", "yaml"];
  const enabled = await mustRun(["dns", "enable", "--server", "10.96.0.53", ...at]);
  expect(enabled).toContain("# For kubectl apply --server-side --force-conflicts");
  const [printed] = read(enabled) as (KubeObject & { data: typeof data })[];
  expect(printed).toMatchObject({ kind: "ConfigMap", metadata });
  expect(printed!.data.Corefile).toContain("clusterset.local");
  expect(printed!.data).not.toHaveProperty("other");
  const disabled = await mustRun(["dns", "disable", ...at]);
  expect(disabled).toContain("then kubectl delete --ignore-not-found clusterrole/");
  expect(read(disabled)).toMatchObject([{ data: { Corefile } }]);
});

test("hub token delete prints what it would delete; hub token list has all formats", async () => {
  const { client, path } = await openBare("hub");
  const at = ["--kubeconfig", path];
  await installCrds({ store: client, crds: HUB_CRDS, clock });
  await client.create(NAMESPACE, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: HUB_NAMESPACE },
  });
  const expiresAt = "2099-01-01T00:00:00Z";
  // Embedded clusters know no admission policies, which come with it.
  const objects = renderJoinToken({ name: "abc", uses: 2, expiresAt });
  const token = objects.find(({ kind }) => kind === JOIN_TOKEN.kind)!;
  await client.create(JOIN_TOKEN, token as JoinToken);
  const doomed = read(await mustRun(["hub", "token", "delete", "abc", "-o", "yaml", ...at]));
  expect(doomed.map(named)).toContain("JoinToken abc");
  expect(await client.get(JOIN_TOKEN, { name: "abc", namespace: HUB_NAMESPACE })).toBeDefined();
  const list = (format: string) => mustRun(["hub", "token", "list", "-o", format, ...at]);
  expect(await list("name")).toBe("abc");
  const { items } = JSON.parse(await list("json")) as { items: KubeObject[] };
  expect(items.map(named)).toEqual(["JoinToken abc"]);
  expect(await list("wide")).toMatch(/^NAME +USED +EXPIRES +CLUSTERS +CREATED$/m);
});
