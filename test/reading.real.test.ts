// The reading commands on two real clusters that joined a hub, which is one of them: what they show beside what kubectl would
// find, what a member's credential may read of the hub, and what a person who may only look is told.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { parse, stringify } from "yaml";
import { NAMESPACE, SERVICE_ACCOUNT } from "../src/api/builtin.ts";
import { CLUSTER_ROLE, CLUSTER_ROLE_BINDING, roleRef } from "../src/api/rbac.ts";
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
import { createLine } from "./scenarios/line.ts";
import { anEndpoint } from "./scenarios/objects.ts";
import { eventually } from "./scenarios/poll.ts";
import { Site } from "./scenarios/site.ts";

const TIMEOUT_MS = 180_000;
const SHOP = "shop";

let world: MembershipWorld;
let east: Site;
let west: Site;
const stops: (() => Promise<void>)[] = [];

function siteOf(id: string, { admin }: Candidate): Site {
  const line = createLine(admin, () => true);
  return new Site({ id, store: admin, serviceCidrs: [] }, line, SHOP);
}

beforeAll(async () => {
  world = await startMembershipWorld("reading");
  const { hub, away } = world;
  const token = await world.aToken("--uses", "2");
  await mustRun(joinArgs(hub, "east", "--token", token));
  await mustRun(joinArgs(away, "west", "--token", token));
  for (const { admin } of [hub, away]) {
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: SHOP } };
    await admin.create(NAMESPACE, namespace);
  }
  stops.push(startAgentCommand(hub.at), startAgentCommand(away.at));
  [east, west] = [siteOf("east", hub), siteOf("west", away)];
  await east.offer("web", ["10.1.0.1", "10.1.0.2"]);
  await west.offer("web", [
    anEndpoint("10.2.0.1", { conditions: { ready: false, serving: false, terminating: false } }),
  ]);
}, TIMEOUT_MS);
afterAll(async () => {
  await Promise.all(stops.map((stop) => stop()));
  await world?.stop();
}, TIMEOUT_MS);

const both = (): readonly string[] => [...world.hub.at, ...world.away.at];

/** Until nothing is behind; that west has no ready endpoint is as it should be here. */
async function settle(): Promise<void> {
  await eventually("imports are in step", async () => {
    const { out } = await runCommand(["get", "imports", "-A", "-o", "json", ...both()]);
    const { imports } = JSON.parse(out) as { imports: Record<string, unknown>[] };
    expect(imports.map(({ cluster, endpoints }) => [cluster, endpoints])).toEqual([
      ["east", 3],
      ["west", 3],
    ]);
    for (const row of imports) expect(row["behind"]).toBeUndefined();
  });
}

test(
  "both clusters are in step, and one of them is enough to see it: the member's credential reads the hub",
  async () => {
    await settle();
    const clusters = await mustRun(["get", "clusters", ...world.away.at]);
    expect(clusters).toMatch(/^east +live +\d+s ago +1 +- .* hub$/m);
    expect(clusters).toMatch(/^west +live +\d+s ago +1 +1 .* cluster$/m);
    const imports = await mustRun(["get", "imports", "-n", SHOP, ...both()]);
    const ip = (await west.serviceImport("web")).spec!.ips![0]!;
    expect(imports).toMatch(
      new RegExp(`^web +west +ClusterSetIP +${ip} +True +east 2, west 0/1 +\\d+s$`, "m"),
    );
    const { code, out } = await runCommand(["explain", "shop/web", ...both()]);
    expect(code).toBe(0);
    expect(out).toContain("shop/web: It can be used in east and west.");
    expect(out).toMatch(/^ +10\.1\.0\.1 +in +In use, port 8080\.$/m);
    expect(out).toMatch(/^ +10\.2\.0\.1 +out +It is not ready in west\.$/m);
  },
  TIMEOUT_MS,
);

test(
  "top measures how long the last change took, by what the API servers wrote down",
  async () => {
    await settle();
    const { services } = JSON.parse(await mustRun(["top", "-o", "json", ...both()])) as {
      services: { name: string; lagSeconds?: number }[];
    };
    const web = services.find(({ name }) => name === "web")!;
    expect(web.lagSeconds).toBeGreaterThanOrEqual(0);
  },
  TIMEOUT_MS,
);

test(
  "without the only cluster with ready endpoints the service would be gone, and nothing is changed by asking",
  async () => {
    await settle();
    const before = (await west.serviceImport("web")).metadata.resourceVersion;
    const { code, out } = await runCommand(["simulate", "--without", "east", ...both()]);
    expect(code).toBe(1);
    expect(out).toMatch(/^shop +web +gone +west 0\/2 /m);
    expect((await west.serviceImport("web")).metadata.resourceVersion).toBe(before);
  },
  TIMEOUT_MS,
);

test(
  "who may only look at services is shown them, and told what was hidden",
  async () => {
    await settle();
    const { admin, cluster } = world.away;
    const metadata = { name: "reading-guest" };
    await admin.create(SERVICE_ACCOUNT, {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: { ...metadata, namespace: SHOP },
    });
    await admin.create(CLUSTER_ROLE, {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata,
      rules: [
        { apiGroups: [""], resources: ["services", "namespaces"], verbs: ["get", "list"] },
        {
          apiGroups: ["multicluster.x-k8s.io"],
          resources: ["serviceexports", "serviceimports"],
          verbs: ["get", "list"],
        },
      ],
    });
    await admin.create(CLUSTER_ROLE_BINDING, {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata,
      roleRef: roleRef("ClusterRole", metadata.name),
      subjects: [{ kind: "ServiceAccount", namespace: SHOP, name: metadata.name }],
    });
    onTestFinished(async () => {
      await admin.delete(CLUSTER_ROLE_BINDING, metadata);
      await admin.delete(CLUSTER_ROLE, metadata);
    });
    const account = { namespace: SHOP, name: metadata.name };
    const token = await requestToken(admin, renderTokenRequest({ account, seconds: 3_600 }), {
      nowMs: systemClock.now(),
    });
    const config = parse(readFileSync(cluster.kubeconfigPath, "utf8"));
    for (const user of config.users) user.user = { token };
    const path = join(temporaryDirectory(), "guest.yaml");
    writeFileSync(path, stringify(config));
    const asked = ["get", "imports", "-n", SHOP, "--kubeconfig", `west=${path}`];
    // An API server reads new roles from a cache.
    await eventually("it shows what the guest may see", async () => {
      const { code, out, err } = await runCommand(asked);
      expect(code).toBe(0);
      expect(out).toMatch(/^web +west +ClusterSetIP /m);
      expect(err).toContain('You may not list endpointslices in namespace "shop".');
    });
  },
  TIMEOUT_MS,
);
