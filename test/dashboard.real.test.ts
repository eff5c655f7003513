// The dashboard on two real clusters that joined a hub, served by an agent that may do no more than agents may: everything that the
// page asks for is allowed, and it explains as `isthmus explain` does.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { ENDPOINT_SLICE, NAMESPACE } from "../src/api/builtin.ts";
import { SYSTEM_NAMESPACE } from "../src/api/names.ts";
import type { DashboardState } from "../src/dashboard/state.ts";
import { AGENT_NAME } from "../src/hub/local.ts";
import { renderTokenRequest } from "../src/hub/manifest/tokenrequest.ts";
import { systemClock } from "../src/kube/clock.ts";
import { requestToken } from "../src/kube/tokenrequest.ts";
import { mustRun } from "./commandLine.ts";
import { temporaryDirectory } from "./loopback.ts";
import { type Candidate, joinArgs, startMembershipWorld } from "./membershipWorld.ts";
import { ageless, startCommand, untilShown, uses } from "./runningDashboard.ts";
import { createLine } from "./scenarios/line.ts";
import { anEndpoint } from "./scenarios/objects.ts";
import { Site } from "./scenarios/site.ts";

const TIMEOUT_MS = 600_000;
const SHOP = "shop";

/** A kubeconfig with the identity that join made for the agent. */
async function asAgent({ admin, cluster }: Candidate): Promise<string> {
  const account = { namespace: SYSTEM_NAMESPACE, name: AGENT_NAME };
  const order = renderTokenRequest({ account, seconds: 3_600 });
  const token = await requestToken(admin, order, { nowMs: systemClock.now() });
  const config = parse(readFileSync(cluster.kubeconfigPath, "utf8"));
  for (const user of config.users) user.user = { token };
  const path = join(temporaryDirectory(), "agent.yaml");
  writeFileSync(path, stringify(config));
  return path;
}

test(
  "an agent that may do what agents may shows its cluster, the others by the hub, changes as they come, and explains",
  async () => {
    const world = await startMembershipWorld("dashboard");
    const { hub, away } = world;
    try {
      const joinToken = await world.aToken("--uses", "2");
      await mustRun(joinArgs(hub, "east", "--token", joinToken));
      await mustRun(joinArgs(away, "west", "--token", joinToken));
      const [east, west] = [hub, away].map(({ admin }, index) => {
        const line = createLine(admin, () => true);
        return new Site({ id: String(index), store: admin, serviceCidrs: [] }, line, SHOP);
      }) as [Site, Site];
      for (const { admin } of [hub, away]) {
        const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: SHOP } };
        await admin.create(NAMESPACE, namespace);
      }
      const start = async (candidate: Candidate, ...more: readonly string[]) => {
        const at = ["--kubeconfig", await asAgent(candidate), "--metrics-address", "127.0.0.1:0"];
        return startCommand("/", "agent", ...at, ...more);
      };
      const agent = await start(away, "--dashboard-address", "127.0.0.1:0");
      const other = await start(hub);
      const url = await agent.prints(/"url":"(http:[^"]+)"/);
      await east.offer("web", ["10.1.0.1", "10.1.0.2"]);
      await west.offer("web", ["10.2.0.1"]);
      await untilShown(url, uses("west", 3));
      await east.edit(ENDPOINT_SLICE, "web-ipv4", (slice) => ({
        ...slice,
        endpoints: [anEndpoint("10.1.0.1")],
      }));
      const isWell = ({ clusters }: DashboardState): boolean =>
        clusters.every(({ problems }) => problems.length === 0);
      const state = await untilShown(url, (one) => uses("west", 2)(one) && isWell(one));
      expect(state.clusters.map(({ id }) => id)).toEqual(["east", "west"]);
      expect(state.clusters.map(({ imports }) => imports)).toEqual([undefined, 1]);
      const [web] = state.services;
      expect(web?.parts.map(({ cluster, offered }) => [cluster, offered])).toEqual([
        ["east", { ready: 1, total: 1 }],
        ["west", { ready: 1, total: 1 }],
      ]);
      await mustRun(["status", "--wait", ...hub.at, ...away.at]);
      const told = await mustRun(["explain", "shop/web", "-o", "json", ...away.at]);
      const answer = await fetch(new URL("/api/explain/shop/web", url));
      expect(ageless(await answer.text())).toEqual(ageless(told));
      await agent.stop();
      await other.stop();
    } finally {
      await world.stop();
    }
  },
  TIMEOUT_MS,
);
