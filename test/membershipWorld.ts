// Test double: a hub and a cluster far away, real ones, with the command line between them. The hub can be a member of itself,
// too: one cluster fewer to start, and allowed.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { NAMESPACE, SECRET } from "../src/api/builtin.ts";
import { SYSTEM_NAMESPACE } from "../src/api/names.ts";
import { HUB_SECRET, type HubCredential, parseCredential } from "../src/hub/credential.ts";
import { AGENT_NAME } from "../src/hub/local.ts";
import { renderTokenRequest } from "../src/hub/manifest/tokenrequest.ts";
import { createClient, type KubeClient } from "../src/kube/client.ts";
import { systemClock } from "../src/kube/clock.ts";
import { directConfig, loadKubeconfig } from "../src/kube/config.ts";
import { requestToken } from "../src/kube/tokenrequest.ts";
import { mustRun } from "./commandLine.ts";
import { type ClusterOptions, type RealCluster, startCluster } from "./controlplane/cluster.ts";
import { renderTokenConfig } from "./faults/replica.ts";
import { eventually } from "./scenarios/poll.ts";

/** One that may join, and its administrator. */
export interface Candidate {
  readonly cluster: RealCluster;
  readonly admin: KubeClient;
  /** Flags that name it. */
  readonly at: readonly string[];
  readonly podCidr: string;
}

export interface MembershipWorld {
  readonly hub: Candidate;
  readonly away: Candidate;
  aToken(...flags: string[]): Promise<string>;
  /** Nobody is a member any more. */
  reset(): Promise<void>;
  stop(): Promise<void>;
}

export async function startMembershipWorld(
  name: string,
  manner: Omit<ClusterOptions, "name" | "at" | "serviceCidrs"> = {},
): Promise<MembershipWorld> {
  const clusters = await Promise.all([
    startCluster({ ...manner, name: `${name}-hub` }),
    startCluster({ ...manner, name: `${name}-away` }),
  ]);
  const [hub, away] = clusters.map(
    (cluster, index): Candidate => ({
      cluster,
      admin: createClient(loadKubeconfig({ paths: [cluster.kubeconfigPath], env: {}, home: "/" }), {
        clock: systemClock,
      }),
      at: ["--kubeconfig", cluster.kubeconfigPath],
      podCidr: `10.${index + 1}.0.0/16`,
    }),
  ) as [Candidate, Candidate];
  await mustRun(["hub", "init", "--no-token", ...hub.at]);
  return {
    hub,
    away,
    aToken: (...flags) => mustRun(["hub", "token", "-o", "token", ...flags, ...hub.at]),
    async reset() {
      for (const { at } of [hub, away]) await mustRun(["leave", "--local-only", ...at]);
      const list = () => hub.admin.list(NAMESPACE, { labelSelector: "isthmus.dev/cluster" });
      const ids = (await list()).items.map(
        ({ metadata }) => metadata.labels!["isthmus.dev/cluster"]!,
      );
      if (ids.length > 0) await mustRun(["hub", "evict", ...ids, ...hub.at]);
      // The controllers that empty a namespace wait longer each time that something new came into it.
      await eventually(
        "the hub has forgotten them",
        async () => expect((await list()).items).toEqual([]),
        150_000,
      );
    },
    async stop() {
      await Promise.all([hub, away].map(({ admin }) => admin.close()));
      await Promise.all(clusters.map((cluster) => cluster.stop()));
    },
  };
}

export function joinArgs(
  candidate: Candidate,
  id: string,
  ...flags: readonly string[]
): readonly string[] {
  return ["join", "--cluster-id", id, "--pod-cidr", candidate.podCidr, ...flags, ...candidate.at];
}

/** A kubeconfig of the ServiceAccount that join made for the agent, in this folder. */
export async function writeAgentConfig(
  { admin, cluster }: Candidate,
  folder: string,
): Promise<string> {
  const account = { namespace: SYSTEM_NAMESPACE, name: AGENT_NAME };
  const order = renderTokenRequest({ account, seconds: 3_600 });
  const token = await requestToken(admin, order, { nowMs: systemClock.now() });
  const path = join(folder, `${cluster.name}.yaml`);
  writeFileSync(path, renderTokenConfig(cluster, token), { mode: 0o600 });
  return path;
}

export async function credentialOf({ admin }: Candidate): Promise<HubCredential | undefined> {
  const secret = await admin.get(SECRET, HUB_SECRET);
  const parsed = secret === undefined ? undefined : parseCredential(secret);
  return parsed?.ok === true ? parsed.value : undefined;
}

/** The hub, as the member sees it; closed when the test ends. */
export async function asMember(candidate: Candidate): Promise<KubeClient> {
  const { server, ca, token } = (await credentialOf(candidate))!;
  const auth = { kind: "token", token: token! } as const;
  const config = directConfig({ server, tls: { authority: { data: ca! } }, auth });
  const client = createClient(config, { clock: systemClock });
  onTestFinished(() => client.close());
  return client;
}
