// The chart as Helm renders it: well-formed for every way to install it, the same objects as the commands write, settings that the commands
// take, and a sentence for what cannot be. Nothing is installed here.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import type { CustomResourceDefinition } from "../src/api/builtin.ts";
import { HUB_CRDS, MEMBER_CRDS } from "../src/api/crds.ts";
import type { KubeObject } from "../src/api/object.ts";
import type { Role } from "../src/api/rbac.ts";
import { VERSION } from "../src/api/version.ts";
import { renderAgentAccess } from "../src/hub/local.ts";
import { renderHub } from "../src/hub/manifest/hub.ts";
import { type ClusterPolicyOptions, renderClusterPolicies } from "../src/policy/cluster.ts";
import { MANIFEST_FOLDER, renderManifests } from "../tools/manifests.ts";
import { ALERT_RULES, readAlerts } from "./alerts/files.ts";
import { CHART, Helm, type Values } from "./chart/helm.ts";
import { EVERYTHING, SETS } from "./chart/values.ts";
import { runCommand } from "./commandLine.ts";
import { temporaryDirectory } from "./loopback.ts";
import { requireRole } from "./rbac/access.ts";

const NO_AGENT = { agent: { enabled: false } };

let helm: Helm;

beforeAll(async () => {
  helm = await Helm.open();
});
afterAll(() => helm?.close());

/** Without what only a release has: its labels, and that it stays. */
function plain(object: KubeObject): KubeObject {
  const { labels, annotations, ...metadata } = object.metadata;
  const ours = Object.entries(labels ?? {}).filter(
    ([key]) => !/^app\.kubernetes\.io\/(name|instance|version)$/u.test(key),
  );
  const others = Object.entries(annotations ?? {}).filter(
    ([key]) => key !== "helm.sh/resource-policy",
  );
  return {
    ...object,
    metadata: {
      ...metadata,
      ...(ours.length > 0 && { labels: Object.fromEntries(ours) }),
      ...(others.length > 0 && { annotations: Object.fromEntries(others) }),
    },
  };
}

function idOf({ kind, metadata }: KubeObject): string {
  return [kind, metadata.namespace, metadata.name].filter(Boolean).join("/");
}

function byId(objects: readonly KubeObject[]): Readonly<Record<string, KubeObject>> {
  const entries = objects.map((object) => [idOf(object), plain(object)] as const);
  expect(new Set(entries.map(([id]) => id)).size).toBe(entries.length);
  return Object.fromEntries(entries);
}

async function find(values: Values, id: string): Promise<KubeObject | undefined> {
  return (await helm.renderObjects(values)).find((object) => idOf(object) === id);
}

describe("for every way to install it", () => {
  test.each(Object.entries(SETS))("%s: helm lint --strict finds nothing", async (_, values) => {
    const said = await helm.run(
      ["lint", CHART, "--strict", "--namespace", "isthmus-system"],
      values,
    );
    expect(said).toContain("1 chart(s) linted, 0 chart(s) failed");
  });

  test.each(Object.entries(SETS))("%s: objects have names of their own", async (_, values) => {
    const objects = await helm.renderObjects(values);
    expect(objects.length).toBeGreaterThan(3);
    byId(objects);
  });
});

test("manifests/ holds what `npm run manifests` writes now, and nothing else", async () => {
  const names = readdirSync(MANIFEST_FOLDER);
  const there = names.map((name) => [name, readFileSync(join(MANIFEST_FOLDER, name), "utf8")]);
  expect(Object.fromEntries(there)).toEqual(Object.fromEntries(await renderManifests(helm)));
});

test("the chart has the version of the package", () => {
  const chart = parse(readFileSync(join(CHART, "Chart.yaml"), "utf8")) as Record<string, string>;
  expect([chart["version"], chart["appVersion"]]).toEqual([VERSION, VERSION]);
});

describe("what is the same as the commands write", () => {
  test("definitions and the agent's roles are those of isthmus join", async () => {
    const rendered = byId(await helm.renderObjects({ namespace: { create: true } }));
    const written = [...MEMBER_CRDS, ...renderAgentAccess().map(({ object }) => object)];
    expect(rendered).toMatchObject(byId(written));
    const more = Object.keys(rendered).filter((id) => !(id in byId(written)));
    expect(more.toSorted()).toEqual([
      "ConfigMap/isthmus-system/isthmus-agent",
      "Deployment/isthmus-system/isthmus-agent",
      "PodDisruptionBudget/isthmus-system/isthmus-agent",
    ]);
    for (const object of written) expect(rendered[idOf(object)]).toEqual(plain(object));
  });

  test("the hub is that of isthmus hub init", async () => {
    const objects = await helm.renderObjects(SETS["hub"] as Values);
    expect(byId(objects)).toEqual(byId([...HUB_CRDS, ...renderHub()]));
  });

  test.each<[string, Values, ClusterPolicyOptions]>([
    ["as they are by default", {}, {}],
    [
      "with the agent's namespaces, and no imports by hand",
      {
        agent: { config: { allowNamespace: ["default"], denyNamespace: ["payments", "default"] } },
        policies: { handmadeImports: "deny" },
      },
      {
        namespaces: { allowed: ["default"], denied: ["payments", "default"] },
        handmadeImports: "deny",
      },
    ],
    [
      "with other controllers",
      { policies: { controllerUsers: ["system:serviceaccount:a:b", "c"] } },
      { controllers: { users: ["system:serviceaccount:a:b", "c"] } },
    ],
  ])("policies are those of isthmus policy install, %s", async (_, values, options) => {
    const { policies, ...rest } = values as { readonly policies?: object };
    const objects = await helm.renderObjects({ ...rest, policies: { ...policies, enabled: true } });
    const ours = objects.filter(({ kind }) => kind.startsWith("ValidatingAdmission"));
    expect(byId(ours)).toEqual(byId(renderClusterPolicies(options)));
  });

  test("roles are those that examples/rbac.yaml tells of, with no more than is used", async () => {
    const rendered = byId(await helm.renderObjects(EVERYTHING));
    for (const name of ["isthmus-export", "isthmus-view"]) {
      expect(rendered[`ClusterRole/${name}`]).toEqual(requireRole(name));
    }
    const rulesOf = (name: string): Role["rules"] =>
      (rendered[`ClusterRole/${name}`] as Role).rules;
    expect(rulesOf("isthmus-agent-namespaces")).toEqual(
      requireRole("isthmus-central-namespaces").rules,
    );
    const dns = requireRole("isthmus-dns-server").rules;
    // Pods behind a Service have clients on all nodes: no Node is ever asked for.
    const near = dns.filter(({ resources }) => !resources.includes("nodes"));
    expect(rulesOf("isthmus-dns-server")).toEqual(near);
    const all = await find({ dns: { enabled: true } }, "ClusterRole/isthmus-dns-server");
    expect((all as Role).rules).toEqual(
      near.filter(({ resources }) => !resources.includes("clusterproperties")),
    );
  });

  test("the dashboard sees the Secret for the hub only if it asks the hub", async () => {
    const enabled = { enabled: true, tokenSecret: { name: "token" } };
    const role = "Role/isthmus-system/isthmus-dashboard";
    expect(await find({ dashboard: enabled }, role)).toMatchObject({
      rules: [{ resources: ["secrets"], resourceNames: ["isthmus-hub"], verbs: ["get"] }],
    });
    expect(await find({ dashboard: { ...enabled, config: { hub: false } } }, role)).toBeUndefined();
  });
});

test("nothing that is stored goes with the release: definitions, the hub's namespace and its policies stay", async () => {
  const objects = await helm.renderObjects(EVERYTHING);
  const kept = objects.filter(
    ({ metadata }) => metadata.annotations?.["helm.sh/resource-policy"] === "keep",
  );
  const hub = renderHub().filter(({ kind }) => kind !== "ClusterRole");
  expect(kept.map(idOf).toSorted()).toEqual(
    [...MEMBER_CRDS, ...HUB_CRDS, ...hub].map(idOf).toSorted(),
  );
  const isCrd = (object: KubeObject): object is CustomResourceDefinition =>
    object.kind === "CustomResourceDefinition";
  expect(
    (await helm.renderObjects({ ...EVERYTHING, crds: { install: false } })).filter(isCrd),
  ).toEqual([]);
});

describe("settings", () => {
  test.each([
    ["agent", {}],
    ["agent", EVERYTHING],
    ["central", SETS["central"] as Values],
    ["dns", { dns: { enabled: true } }],
    ["dns", EVERYTHING],
    ["dashboard", EVERYTHING],
    ["dashboard", SETS["dns and dashboard"] as Values],
  ])("of %s are taken by the command (%#)", async (command, values) => {
    const map = await find(values, `ConfigMap/isthmus-system/isthmus-${command}`);
    const { data } = map as KubeObject & { readonly data: Readonly<Record<string, string>> };
    const file = join(temporaryDirectory(), "isthmus.yaml");
    writeFileSync(file, data["isthmus.yaml"] ?? "");
    const run = await runCommand(["config", command, "--config", file]);
    expect([run.code, run.err]).toEqual([0, ""]);
  });

  test("replace pods when they change, but for the level of the log", async () => {
    const checksum = async (config: object): Promise<string | undefined> => {
      const deployment = await find(
        { agent: { config } },
        "Deployment/isthmus-system/isthmus-agent",
      );
      const { spec } = deployment as KubeObject & {
        readonly spec: { readonly template: KubeObject };
      };
      return spec.template.metadata.annotations?.["isthmus.dev/config"];
    };
    const before = await checksum({});
    expect(before).toMatch(/^[0-9a-f]{64}$/u);
    expect(await checksum({ logLevel: "debug" })).toBe(before);
    expect(await checksum({ namespaces: "never" })).not.toBe(before);
  });
});

test("alerts are those of the file, and lead to where the runbook is", async () => {
  const monitoring = { rules: { enabled: true, runbookUrl: "https://example.com/runbook.md" } };
  const rule = await find({ ...NO_AGENT, monitoring }, "PrometheusRule/isthmus-system/isthmus");
  const links = readAlerts().map(({ annotations }) => annotations["runbook_url"] ?? "");
  const text = readFileSync(ALERT_RULES, "utf8").replaceAll(
    "docs/runbook.md#",
    "https://example.com/runbook.md#",
  );
  expect(links.every((link) => link.startsWith("docs/runbook.md#"))).toBe(true);
  expect((rule as KubeObject & { readonly spec: unknown }).spec).toEqual(parse(text));
});

describe("what cannot be is refused", () => {
  test.each<[string, Values, RegExp]>([
    ["a wrong type", { agent: { replicas: "two" } }, /agent.*replicas/su],
    ["an unknown key", { agent: { replica: 2 } }, /agent.*replica'/su],
    ["an unknown part", { agents: { enabled: true } }, /agents'/u],
    ["an unknown setting", { agent: { config: { denyNamespaces: [] } } }, /denyNamespaces'/u],
    [
      "a setting that the chart decides",
      { agent: { config: { kubeconfig: "x" } } },
      /kubeconfig'/u,
    ],
    ["a wrong setting", { agent: { config: { logLevel: "loud" } } }, /logLevel/u],
    ["agent and central", { central: { enabled: true } }, /Set agent\.enabled to false/u],
    [
      "central without kubeconfigs",
      { ...NO_AGENT, central: { enabled: true } },
      /central\.kubeconfigSecret/u,
    ],
    [
      "central without clusters",
      { ...NO_AGENT, central: { enabled: true, kubeconfigSecret: "x" } },
      /central\.kubeconfigs/u,
    ],
    [
      "a dashboard without a token",
      { dashboard: { enabled: true } },
      /dashboard\.tokenSecret\.name/u,
    ],
    [
      "a dashboard of the agent that others reach",
      { agent: { config: { dashboardAddress: ":8181" } } },
      /dashboard\.enabled/u,
    ],
    [
      "policies that refuse central its work",
      { ...(SETS["central"] as object), policies: { enabled: true } },
      /policies\.controllerUsers/u,
    ],
    [
      "what is no namespace in a policy",
      { agent: { config: { denyNamespace: ["a'b"] } }, policies: { enabled: true } },
      /denyNamespace is no name of a namespace/u,
    ],
  ])("%s", async (_, values, says) => {
    expect(
      await helm.refuse(["template", "isthmus", CHART, "-n", "isthmus-system"], values),
    ).toMatch(says);
  });

  test("another namespace", async () => {
    const said = await helm.refuse(["template", "isthmus", CHART, "-n", "default"]);
    expect(said).toContain(
      "would go to default. Add: --namespace isthmus-system --create-namespace",
    );
  });

  test("a hub on an API server without policies", async () => {
    const args = ["template", "isthmus", CHART, "-n", "isthmus-system", "--kube-version", "1.29.0"];
    expect(await helm.refuse(args, { hub: { enabled: true } })).toContain(
      "Kubernetes 1.30 or newer",
    );
    expect(await helm.run(args)).toContain("kind: Deployment");
  });
});
