// `isthmus check` and `isthmus gather` on two real clusters, from nothing installed to agents at work, and each group broken on purpose:
// what the API servers themselves say of permissions, versions and time, which no embedded cluster can show.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { parse, stringify } from "yaml";
import {
  CONFIG_MAP,
  CUSTOM_RESOURCE_DEFINITION,
  LEASE,
  NODE,
  POD,
  SERVICE,
  SERVICE_ACCOUNT,
} from "../src/api/builtin.ts";
import { CLUSTER_MEMBER } from "../src/api/isthmus.ts";
import { defineResource, type KubeObject } from "../src/api/object.ts";
import { CLUSTER_ROLE, CLUSTER_ROLE_BINDING, roleRef } from "../src/api/rbac.ts";
import type { CheckReport } from "../src/core/check/checkup.ts";
import type { CheckCode, CheckResult } from "../src/core/check/result.ts";
import { renderTokenRequest } from "../src/hub/manifest/tokenrequest.ts";
import { systemClock } from "../src/kube/clock.ts";
import { requestToken } from "../src/kube/tokenrequest.ts";
import { mustRun, runCommand } from "./commandLine.ts";
import { temporaryDirectory } from "./loopback.ts";
import {
  type Candidate,
  joinArgs,
  type MembershipWorld,
  startMembershipWorld,
} from "./membershipWorld.ts";
import { startAgentCommand } from "./runningAgent.ts";
import { eventually } from "./scenarios/poll.ts";

const TIMEOUT_MS = 180_000;

let world: MembershipWorld;
const stops = new Map<string, () => Promise<void>>();

beforeAll(async () => {
  world = await startMembershipWorld("check");
}, TIMEOUT_MS);
afterAll(async () => {
  await Promise.all([...stops.values()].map((stop) => stop()));
  await world?.stop();
}, TIMEOUT_MS);

function startAgent(id: string, { at }: Candidate): void {
  stops.set(id, startAgentCommand(at));
}

const both = (): readonly string[] => [...world.hub.at, ...world.away.at];

async function check(...at: readonly string[]): Promise<CheckReport> {
  const { out } = await runCommand(["check", "-o", "json", ...(at.length > 0 ? at : both())]);
  return JSON.parse(out) as CheckReport;
}

function failures({ checks }: CheckReport): readonly string[] {
  return checks
    .filter(({ state }) => state === "fail")
    .map(({ code, cluster }) => (cluster === undefined ? code : `${code} ${cluster}`));
}

async function resultOf(code: CheckCode, cluster?: string): Promise<CheckResult> {
  const { checks } = await check();
  const found = checks.find((one) => one.code === code && one.cluster === cluster);
  if (found === undefined) throw new Error(`no ${code} of ${cluster} in ${JSON.stringify(checks)}`);
  return found;
}

/** In this order: the first test joins the clusters that the others break. */
test(
  "a cluster where nothing is installed fails by its definitions and its id, and a hub shows its version",
  async () => {
    const { hub, away } = world;
    const bare = await check(...away.at);
    const name = away.cluster.kubeconfigPath;
    expect(failures(bare)).toEqual([`crds/installed ${name}`, `identity/known ${name}`]);
    const access = bare.checks.filter(({ code }) => code.startsWith("rbac/"));
    expect(access.map(({ code, state }) => [code, state])).toEqual([
      ["rbac/reader", "pass"],
      ["rbac/central", "pass"],
    ]);
    expect(bare.checks.find(({ code }) => code === "versions/kubernetes")).toMatchObject({
      state: "pass",
      found: `Its API server is Kubernetes ${away.cluster.version}.`,
    });
    expect(bare.checks.find(({ code }) => code === "clock/skew")?.state).toBe("pass");
    const token = await world.aToken("--uses", "2");
    await mustRun(joinArgs(hub, "east", "--token", token));
    await mustRun(joinArgs(away, "west", "--token", token));
    // An API server reads new roles from a cache.
    await eventually("only the agents are missing", async () => {
      expect(failures(await check())).toEqual(["leases/agent east", "leases/agent west"]);
    });
    startAgent("east", hub);
    startAgent("west", away);
    const { code, out } = await runCommand(["check", "--wait", "--timeout", "150s", ...both()]);
    expect(out).toMatch(/^Nothing fails; /m);
    expect(code).toBe(0);
    expect(out).toContain(
      "both: The ServiceAccount isthmus-system/isthmus-agent may do all that the agent does.",
    );
  },
  TIMEOUT_MS,
);

test(
  "an agent whose role lost a verb is told by the verb",
  async () => {
    const { admin } = world.away;
    const role = (await admin.get(CLUSTER_ROLE, { name: "isthmus-agent" }))!;
    onTestFinished(async () => {
      const now = (await admin.get(CLUSTER_ROLE, { name: "isthmus-agent" }))!;
      await admin.replace(CLUSTER_ROLE, { ...now, rules: role.rules });
    });
    const rules = role.rules.map((rule) =>
      rule.resources.includes("endpointslices")
        ? { ...rule, verbs: rule.verbs.filter((verb) => verb !== "delete") }
        : rule,
    );
    await admin.replace(CLUSTER_ROLE, { ...role, rules });
    await eventually("the API server has noticed", async () => {
      expect(await resultOf("rbac/agent", "west")).toMatchObject({
        state: "fail",
        found: "The ServiceAccount isthmus-system/isthmus-agent may not delete endpointslices.",
      });
    });
  },
  TIMEOUT_MS,
);

test(
  "pods outside of what was declared, and ranges that overlap, are found",
  async () => {
    const { hub, away } = world;
    await away.admin.create(NODE, {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name: "n1" },
      spec: { podCIDRs: ["10.2.0.0/24"] },
    });
    const pod = {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { namespace: "default", name: "stray" },
      spec: { nodeName: "n1", containers: [{ name: "a", image: "a" }] },
    };
    const made = await away.admin.create(POD, pod);
    onTestFinished(async () => {
      await away.admin.delete(POD, { namespace: "default", name: "stray" });
      await away.admin.delete(NODE, { name: "n1" });
    });
    const status = { phase: "Running", podIP: "192.168.7.7", podIPs: [{ ip: "192.168.7.7" }] };
    await away.admin.replace(POD, { ...made, status }, { subresource: "status" });
    const stray = await resultOf("cidrs/declared", "west");
    expect(stray.state).toBe("fail");
    expect(stray.found).toContain("outside of 10.2.0.0/16, such as 192.168.7.7");
    const ref = { namespace: "isthmus-member-west", name: "west" };
    const member = (await hub.admin.get(CLUSTER_MEMBER, ref))!;
    onTestFinished(async () => {
      const now = (await hub.admin.get(CLUSTER_MEMBER, ref))!;
      await hub.admin.replace(CLUSTER_MEMBER, { ...now, spec: member.spec });
    });
    const spec = { ...member.spec, podCIDRs: ["10.1.128.0/17", "10.2.0.0/16"] };
    await hub.admin.replace(CLUSTER_MEMBER, { ...member, spec });
    expect(await resultOf("cidrs/overlap")).toMatchObject({
      state: "fail",
      found: "east: The pod range 10.1.0.0/16 overlaps the pod range 10.1.128.0/17 of west.",
    });
  },
  TIMEOUT_MS,
);

interface Workload extends KubeObject {
  readonly spec: unknown;
  readonly status?: unknown;
}
const workload = (kind: string, plural: string) =>
  defineResource<Workload>({ apiVersion: "apps/v1", kind, plural, namespaced: true });
const DEPLOYMENT = workload("Deployment", "deployments");
const DAEMON_SET = workload("DaemonSet", "daemonsets");

function aWorkload(kind: string, name: string, image: string): Workload {
  const labels = { "k8s-app": name };
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: { namespace: "kube-system", name },
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { serviceAccountName: name, containers: [{ name, image }] },
      },
    },
  };
}

test(
  "DNS is followed from a Corefile without the zone to a CoreDNS that may answer it",
  async () => {
    const { admin, at } = world.away;
    const text = ".:53 {\n    kubernetes cluster.local\n    reload\n}\n";
    await admin.create(CONFIG_MAP, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { namespace: "kube-system", name: "coredns" },
      data: { Corefile: text },
    });
    await admin.create(DEPLOYMENT, aWorkload("Deployment", "coredns", "coredns/coredns:1.12.4"));
    await admin.create(SERVICE, {
      apiVersion: "v1",
      kind: "Service",
      metadata: { namespace: "kube-system", name: "kube-dns" },
      spec: { selector: { "k8s-app": "coredns" }, ports: [{ port: 53, protocol: "UDP" }] },
    });
    onTestFinished(async () => {
      await admin.delete(SERVICE, { namespace: "kube-system", name: "kube-dns" });
      await admin.delete(DEPLOYMENT, { namespace: "kube-system", name: "coredns" });
      await admin.delete(CONFIG_MAP, { namespace: "kube-system", name: "coredns" });
    });
    expect(failures(await check())).toEqual(["dns/zone west", "dns/service west"]);
    await mustRun(["dns", "enable", ...at]);
    await eventually("CoreDNS may list imports", async () => {
      const found = await check();
      expect(failures(found)).toEqual(["dns/service west"]);
      const coredns = found.checks.find(({ code }) => code === "dns/coredns");
      expect(coredns?.found).toBe("coredns/coredns:1.12.4 may list and watch ServiceImports.");
    });
    await admin.delete(CLUSTER_ROLE_BINDING, { name: "isthmus-coredns" });
    await eventually("it may not any more", async () => {
      const found = await resultOf("dns/coredns", "west");
      expect(found.found).toContain("CoreDNS may not list serviceimports, watch serviceimports");
    });
    await mustRun(["dns", "disable", ...at]);
  },
  TIMEOUT_MS,
);

test(
  "kube-proxy is seen by its DaemonSet, with its mode and where it is not ready",
  async () => {
    const { admin } = world.away;
    const ref = { namespace: "kube-system", name: "kube-proxy" };
    const made = await admin.create(
      DAEMON_SET,
      aWorkload("DaemonSet", "kube-proxy", "registry.k8s.io/kube-proxy:v1.36.3"),
    );
    await admin.create(CONFIG_MAP, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: ref,
      data: { "config.conf": 'kind: KubeProxyConfiguration\nmode: "nftables"\n' },
    });
    onTestFinished(async () => {
      await admin.delete(DAEMON_SET, ref);
      await admin.delete(CONFIG_MAP, ref);
    });
    const report = async (ready: number): Promise<CheckResult> => {
      const now = (await admin.get(DAEMON_SET, ref))!;
      const status = {
        currentNumberScheduled: 3,
        numberMisscheduled: 0,
        desiredNumberScheduled: 3,
        numberReady: ready,
      };
      await admin.replace(DAEMON_SET, { ...now, status }, { subresource: "status" });
      return resultOf("proxy/running", "west");
    };
    expect(made.kind).toBe("DaemonSet");
    expect(await report(3)).toMatchObject({
      state: "pass",
      found: "kube-proxy is ready on 3 nodes, in mode nftables.",
    });
    expect(await report(2)).toMatchObject({ state: "fail" });
  },
  TIMEOUT_MS,
);

test(
  "what a cluster that left has left behind on the hub is an orphan",
  async () => {
    const { admin } = world.hub;
    const ref = { namespace: "isthmus-hub", name: "gone" };
    await admin.create(LEASE, {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: ref,
    });
    onTestFinished(async () => void (await admin.delete(LEASE, ref)));
    expect(await resultOf("orphans/hub")).toMatchObject({ state: "warn" });
  },
  TIMEOUT_MS,
);

test(
  "who may only look is told what is hidden, as a warning, and nothing fails for it",
  async () => {
    const { admin, cluster } = world.away;
    const account = { namespace: "default", name: "check-guest" };
    await admin.create(SERVICE_ACCOUNT, {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: account,
    });
    await admin.create(CLUSTER_ROLE_BINDING, {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: account.name },
      roleRef: roleRef("ClusterRole", "view"),
      subjects: [{ kind: "ServiceAccount", ...account }],
    });
    onTestFinished(async () => {
      await admin.delete(CLUSTER_ROLE_BINDING, { name: account.name });
      await admin.delete(SERVICE_ACCOUNT, account);
    });
    const order = renderTokenRequest({ account, seconds: 3_600 });
    const token = await requestToken(admin, order, { nowMs: systemClock.now() });
    const config = parse(readFileSync(cluster.kubeconfigPath, "utf8"));
    for (const user of config.users) user.user = { token };
    const home = temporaryDirectory();
    const path = join(home, "guest.yaml");
    writeFileSync(path, stringify(config));
    const at = ["--kubeconfig", `west=${path}`];
    const found = await check(...at);
    expect(failures(found)).toEqual([]);
    const reader = found.checks.find(({ code }) => code === "rbac/reader");
    expect(reader?.state).toBe("warn");
    expect(reader?.found).toContain("list serviceexports");
    const bundle = join(home, "bundle");
    const gathered = await runCommand(["gather", "--folder", bundle, ...at]);
    expect(gathered.code).toBe(0);
    expect(gathered.err).toContain("clusterroles: you may not read them.");
    const text = readFileSync(join(bundle, "check.json"), "utf8");
    expect(text).not.toContain(token);
  },
  TIMEOUT_MS,
);

test(
  "the same cluster under two names, a definition that goes, an agent that dies: each turns its own group",
  async () => {
    const { away } = world;
    const twice = await check(...away.at, ...away.at);
    expect(failures(twice)).toEqual(["identity/unique"]);
    await stops.get("west")!();
    stops.delete("west");
    await eventually("its lead is free", async () => {
      expect((await resultOf("leases/agent", "west")).state).toBe("fail");
    });
    await away.admin.delete(CUSTOM_RESOURCE_DEFINITION, {
      name: "serviceimports.multicluster.x-k8s.io",
    });
    await eventually("the definition is gone", async () => {
      const found = await resultOf("crds/installed", "west");
      expect(found).toMatchObject({ state: "fail", found: "ServiceImport is missing." });
    });
  },
  TIMEOUT_MS,
);
