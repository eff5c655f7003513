// The chart on a real API server, from one release to the next: installed, joined, brought up to date, removed, installed again. It and the
// commands write the same, and nothing that is stored is ever lost. The tests are one story, told in order.

import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import {
  CUSTOM_RESOURCE_DEFINITION,
  NAMESPACE,
  SECRET,
  SERVICE_ACCOUNT,
} from "../src/api/builtin.ts";
import { CRDS } from "../src/api/crds.ts";
import { CLUSTER_MEMBER } from "../src/api/isthmus.ts";
import { SERVICE_EXPORT } from "../src/api/mcs.ts";
import { SYSTEM_NAMESPACE } from "../src/api/names.ts";
import type { KubeObject, Resource } from "../src/api/object.ts";
import {
  CLUSTER_ROLE,
  CLUSTER_ROLE_BINDING,
  ROLE,
  ROLE_BINDING,
  type Role,
} from "../src/api/rbac.ts";
import { HUB_SECRET } from "../src/hub/credential.ts";
import { renderAgentAccess } from "../src/hub/local.ts";
import { renderTokenRequest } from "../src/hub/manifest/tokenrequest.ts";
import { createClient, type KubeClient } from "../src/kube/client.ts";
import { systemClock } from "../src/kube/clock.ts";
import { loadKubeconfig } from "../src/kube/config.ts";
import { requestToken } from "../src/kube/tokenrequest.ts";
import { MANIFEST_FOLDER } from "../tools/manifests.ts";
import { CHART, Helm, parseObjects } from "./chart/helm.ts";
import { EVERYTHING } from "./chart/values.ts";
import { mustRun } from "./commandLine.ts";
import { requireKubectl } from "./controlplane/binaries.ts";
import { type RealCluster, startCluster } from "./controlplane/cluster.ts";
import { readAudit } from "./faults/audit.ts";
import { renderTokenConfig } from "./faults/replica.ts";
import { Kubectl } from "./kubectl.ts";
import { temporaryDirectory } from "./loopback.ts";
import { permissionsOf } from "./rbac/access.ts";
import { startCommand, untilShown, URL_PRINTED } from "./runningDashboard.ts";
import { eventually } from "./scenarios/poll.ts";
import { anExport } from "./scenarios/objects.ts";

const TIMEOUT_MS = 300_000;
const MEMBER = { namespace: "isthmus-member-east", name: "east" };
const EXPORT = { namespace: "shop", name: "web" };
const IN_SYSTEM = ["--namespace", SYSTEM_NAMESPACE];
const OLD_REVISION = '"2"';

let cluster: RealCluster;
let admin: KubeClient;
let helm: Helm;
let at: readonly string[];

beforeAll(async () => {
  cluster = await startCluster({ name: "chart", audit: true });
  at = ["--kubeconfig", cluster.kubeconfigPath];
  const config = loadKubeconfig({ paths: [cluster.kubeconfigPath], env: {}, home: "/" });
  admin = createClient(config, { clock: systemClock });
  helm = await Helm.open(cluster.kubeconfigPath);
}, TIMEOUT_MS);

afterAll(async () => {
  await helm?.close();
  await admin?.close();
  await cluster?.stop();
}, TIMEOUT_MS);

function copyChart(): string {
  const chart = join(temporaryDirectory(), "isthmus");
  cpSync(CHART, chart, { recursive: true });
  return chart;
}

/** A chart of a release before this one: its definitions have a number less, and one column less. */
function anOlderChart(): string {
  const chart = copyChart();
  const file = join(chart, "templates/generated/crd-isthmus.dev_clustermembers.yaml");
  const text = readFileSync(file, "utf8");
  const older = text
    .replaceAll('crd-schema-revision: "3"', `crd-schema-revision: ${OLD_REVISION}`)
    .replace(/ {8}- name: Region\n(?: {10}.*\n)+/u, "");
  expect(older.length).toBeLessThan(text.length);
  writeFileSync(file, older);
  return chart;
}

function release(verb: string, chart: string, ...flags: readonly string[]): Promise<string> {
  return helm.run([verb, "isthmus", chart, ...IN_SYSTEM, ...flags], EVERYTHING);
}

/** The cluster is its own hub: one fewer to start. */
function joinLine(): readonly string[] {
  const hub = ["--hub-kubeconfig", cluster.kubeconfigPath];
  return ["join", "--cluster-id", "east", "--pod-cidr", "10.1.0.0/16", ...hub, ...at];
}

async function columnsOf(name: string): Promise<string> {
  const crd = await admin.get(CUSTOM_RESOURCE_DEFINITION, { name });
  return JSON.stringify(crd?.spec.versions[0]);
}

/** What is told of an object, but for how it came to be. */
async function storedObjects(): Promise<readonly unknown[]> {
  const stored = [
    await admin.get(SERVICE_EXPORT, EXPORT),
    await admin.get(CLUSTER_MEMBER, MEMBER),
  ] as readonly (KubeObject & { readonly spec?: unknown })[];
  return stored.map((object) => [object?.metadata.uid, object?.spec, object?.metadata.finalizers]);
}

async function rolesOfAgent(): Promise<readonly unknown[]> {
  const roles: unknown[] = [];
  for (const { resource, object } of renderAgentAccess().filter(
    (one) => one.resource !== NAMESPACE,
  )) {
    const { namespace, name = "" } = object.metadata;
    const ref = namespace === undefined ? { name } : { namespace, name };
    const { metadata, ...rest } = (await admin.get(resource, ref)) as KubeObject;
    roles.push({ ...rest, name: metadata.name, labels: metadata.labels });
  }
  return roles;
}

test("a release is installed whole: the API server takes every object", {
  timeout: TIMEOUT_MS,
}, async () => {
  const said = await release("install", anOlderChart(), "--create-namespace");
  expect(said).toContain("isthmus join --token");
  expect(said).toContain("isthmus leave");
  await admin.create(NAMESPACE, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "shop" },
  });
  await eventually("definitions are served", () =>
    admin.create(SERVICE_EXPORT, { ...anExport(EXPORT.namespace, EXPORT.name) }),
  );
  const older = await columnsOf("clustermembers.isthmus.dev");
  expect(older).not.toContain('"Region"');
});

test("kubectl applies the plain manifests as they are", { timeout: TIMEOUT_MS }, async () => {
  const kubectl = await Kubectl.create({
    binary: process.env["KUBECTL"] || (await requireKubectl()),
    kubeconfig: readFileSync(cluster.kubeconfigPath, "utf8"),
    namespace: SYSTEM_NAMESPACE,
  });
  onTestFinished(() => kubectl.remove());
  // A bare API server does not know the kinds of the Prometheus operator.
  const names = readdirSync(MANIFEST_FOLDER).filter((name) => name !== "monitoring.yaml");
  expect(names).toContain("agent.yaml");
  for (const name of names) {
    const text = readFileSync(join(MANIFEST_FOLDER, name), "utf8");
    const flags = ["--server-side", "--force-conflicts", "--dry-run=server", "-f", "-"];
    const said = await kubectl.run(["apply", ...flags], text);
    expect(said.trim().split("\n").length).toBe(parseObjects(text).length);
  }
});

test("isthmus join afterwards finds its roles as it would have written them", {
  timeout: TIMEOUT_MS,
}, async () => {
  const before = await rolesOfAgent();
  await mustRun(joinLine());
  expect(await rolesOfAgent()).toEqual(before);
  expect(await admin.get(CLUSTER_MEMBER, MEMBER)).toBeDefined();
});

test("the dashboard shows and explains with its own role, is refused nothing, and uses all of it", {
  timeout: TIMEOUT_MS,
}, async () => {
  const account = { namespace: SYSTEM_NAMESPACE, name: "isthmus-dashboard" };
  const order = renderTokenRequest({ account, seconds: 3_600 });
  const token = await requestToken(admin, order, { nowMs: systemClock.now() });
  const kubeconfig = join(temporaryDirectory(), "dashboard.yaml");
  writeFileSync(kubeconfig, renderTokenConfig(cluster, token), { mode: 0o600 });
  const place = ["--kubeconfig", kubeconfig, "--address", "127.0.0.1:0"];
  const dashboard = startCommand("/", "dashboard", ...place);
  const url = await dashboard.prints(URL_PRINTED);
  const state = await untilShown(url, ({ clusters, services }) => {
    return clusters.some(({ id }) => id === "east") && services.length > 0;
  });
  expect(state.clusters.flatMap(({ problems }) => problems)).toEqual([]);
  expect((await fetch(new URL("/api/explain/shop/web", url))).status).toBe(200);
  const roles = [
    await admin.get(CLUSTER_ROLE, { name: account.name }),
    await admin.get(ROLE, account),
  ];
  const granted = roles.flatMap((role) => permissionsOf(role as Role));
  const user = `system:serviceaccount:${account.namespace}:${account.name}`;
  const listAsked = () => readAudit(cluster.auditPath).filter((asked) => asked.user === user);
  await eventually("it has used all that it may", () => {
    const used = listAsked().map(({ verb, resource }) => `${verb} ${resource}`);
    expect([...new Set(used)].toSorted()).toEqual(granted.toSorted());
  });
  await dashboard.stop();
  expect(listAsked().filter(({ code }) => code === 403)).toEqual([]);
});

test("helm upgrade brings definitions up to date, and every stored object stays", {
  timeout: TIMEOUT_MS,
}, async () => {
  const before = await storedObjects();
  expect(before.every((object) => (object as unknown[])[0] !== undefined)).toBe(true);
  const roles = await rolesOfAgent();
  await release("upgrade", CHART);
  expect(await columnsOf("clustermembers.isthmus.dev")).toContain('"Region"');
  expect(await storedObjects()).toEqual(before);
  expect(await rolesOfAgent()).toEqual(roles);
});

test("helm upgrade changes roles although isthmus join has been there, and join leaves them to it", {
  timeout: TIMEOUT_MS,
}, async () => {
  const chart = copyChart();
  const file = join(chart, "templates/generated/agent.yaml");
  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.replace("      - clusterproperties\n    verbs:\n", "$&      - watch\n"));
  const rulesOf = async () => (await admin.get(CLUSTER_ROLE, { name: "isthmus-agent" }))?.rules;
  const before = await rulesOf();
  await release("upgrade", chart);
  const changed = await rulesOf();
  expect(changed).not.toEqual(before);
  await mustRun(joinLine());
  expect(await rulesOf()).toEqual(changed);
  await release("upgrade", CHART);
  expect(await rulesOf()).toEqual(before);
});

test("helm upgrade leaves a newer definition alone", { timeout: TIMEOUT_MS }, async () => {
  const name = "serviceexports.multicluster.x-k8s.io";
  const label = "multicluster.x-k8s.io/release-version";
  const read = async () => (await admin.get(CUSTOM_RESOURCE_DEFINITION, { name }))!;
  const was = await read();
  const mark = async (release = "") => {
    const crd = await read();
    const labels = { ...crd.metadata.labels, [label]: release };
    await admin.replace(CUSTOM_RESOURCE_DEFINITION, {
      ...crd,
      metadata: { ...crd.metadata, labels },
    });
  };
  await mark("v9.0.0");
  await release("upgrade", CHART);
  const { metadata } = await read();
  expect(metadata.labels?.[label]).toBe("v9.0.0");
  expect(metadata.uid).toBe(was.metadata.uid);
  expect(await admin.get(SERVICE_EXPORT, EXPORT)).toBeDefined();
  await mark(was.metadata.labels?.[label]);
  // It is part of the release again.
  await release("upgrade", CHART);
  expect(await helm.run(["get", "manifest", "isthmus", ...IN_SYSTEM])).toContain(`name: ${name}`);
});

test("helm uninstall keeps what is stored, says what it keeps, and leaves no finalizer behind", {
  timeout: TIMEOUT_MS,
}, async () => {
  const before = await storedObjects();
  const said = await helm.run(["uninstall", "isthmus", ...IN_SYSTEM]);
  for (const { metadata } of CRDS) expect(said).toContain(metadata.name);
  expect(said).toContain("isthmus-hub");
  expect(await storedObjects()).toEqual(before);
  await eventually("what was not kept is gone", async () => {
    for (const resource of [
      CLUSTER_ROLE,
      CLUSTER_ROLE_BINDING,
      ROLE,
      ROLE_BINDING,
      SERVICE_ACCOUNT,
    ]) {
      expect(await ofTheRelease(resource)).toEqual([]);
    }
  });
  const kinds: readonly Resource[] = [
    CUSTOM_RESOURCE_DEFINITION,
    NAMESPACE,
    SERVICE_EXPORT,
    CLUSTER_MEMBER,
  ];
  for (const kind of kinds) {
    const { items } = await admin.list(kind);
    const held = items.filter(({ metadata }) => (metadata.finalizers ?? []).length > 0);
    expect(held.map(({ metadata }) => metadata.name)).toEqual([]);
  }
});

async function ofTheRelease(resource: Resource): Promise<readonly (string | undefined)[]> {
  const labelSelector = "app.kubernetes.io/name=isthmus";
  return (await admin.list(resource, { labelSelector })).items.map(({ metadata }) => metadata.name);
}

test("what isthmus hub init and join wrote first is taken over by helm install --take-ownership", {
  timeout: TIMEOUT_MS,
}, async () => {
  const before = await storedObjects();
  await mustRun(["hub", "init", "--no-token", ...at]);
  await mustRun(joinLine());
  expect(await ofTheRelease(CLUSTER_ROLE)).toEqual([]);
  await release("install", CHART, "--take-ownership");
  expect(await ofTheRelease(CLUSTER_ROLE)).toContain("isthmus-agent");
  await release("upgrade", CHART);
  expect(await storedObjects()).toEqual(before);
});

test("isthmus leave, then helm uninstall: the member is gone, and its export is still there", {
  timeout: TIMEOUT_MS,
}, async () => {
  await mustRun(["leave", "--hub-kubeconfig", cluster.kubeconfigPath, ...at]);
  await helm.run(["uninstall", "isthmus", ...IN_SYSTEM]);
  expect(await admin.get(SECRET, HUB_SECRET)).toBeUndefined();
  expect(await admin.get(CLUSTER_MEMBER, MEMBER)).toBeUndefined();
  expect(await admin.get(SERVICE_EXPORT, EXPORT)).toBeDefined();
  await eventually("nothing of the release is left", async () => {
    for (const resource of [CLUSTER_ROLE, CLUSTER_ROLE_BINDING, SERVICE_ACCOUNT]) {
      expect(await ofTheRelease(resource)).toEqual([]);
    }
  });
});
