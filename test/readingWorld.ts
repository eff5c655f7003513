// Test double: embedded clusters behind HTTPS with kubeconfigs on disk, kept in step by central or by agents on real time,
// and the reading commands run against them in this process.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { CLUSTER_PROPERTY } from "../src/api/about.ts";
import { NAMESPACE, SECRET } from "../src/api/builtin.ts";
import { HUB_CRDS, MEMBER_CRDS } from "../src/api/crds.ts";
import { CLUSTER_ID_PROPERTY, type ClusterId, SYSTEM_NAMESPACE } from "../src/api/names.ts";
import { runCli } from "../src/cli/program.ts";
import { startCentral } from "../src/controllers/central.ts";
import { installCrds } from "../src/controllers/crd.ts";
import { createPolicy } from "../src/core/policy.ts";
import { EmbeddedCluster } from "../src/embedded/cluster.ts";
import { type EmbeddedServer, serveCluster } from "../src/embedded/server.ts";
import { renderCredential } from "../src/hub/credential.ts";
import { createClient, type KubeClient } from "../src/kube/client.ts";
import { systemClock, systemRandom } from "../src/kube/clock.ts";
import { loadKubeconfig } from "../src/kube/config.ts";
import type { Log } from "../src/ports/log.ts";
import { type CommandRun, runCommand } from "./commandLine.ts";
import { registerMember } from "./hubMember.ts";
import { temporaryDirectory } from "./loopback.ts";
import { createLine } from "./scenarios/line.ts";
import { Site } from "./scenarios/site.ts";

export const SHOP = "shop";

export interface ReadingSite {
  readonly id: string;
  readonly path: string;
  readonly client: KubeClient;
  readonly server: EmbeddedServer;
  readonly site: Site;
}

const ignore = (): void => undefined;
const SILENT: Log = {
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
  with: () => SILENT,
};
const clock = systemClock;

async function openSite(home: string, id: string): Promise<ReadingSite> {
  const cluster = new EmbeddedCluster({ name: id, clock, random: systemRandom });
  onTestFinished(() => cluster.stop());
  const server = await serveCluster(cluster, { clock });
  onTestFinished(() => server.close());
  const path = join(home, `${id}.yaml`);
  writeFileSync(path, server.kubeconfig());
  const client = createClient(loadKubeconfig({ paths: [path], env: {}, home }), { clock });
  onTestFinished(() => client.close());
  const line = createLine(client, () => true);
  const site = new Site({ id, store: client, serviceCidrs: [] }, line, SHOP);
  return { id, path, client, server, site };
}

async function createNamespace({ client }: ReadingSite, name: string): Promise<void> {
  await client.create(NAMESPACE, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
}

/** A cluster that nobody has prepared: it knows none of our kinds. */
export function openBare(id: string): Promise<ReadingSite> {
  return openSite(temporaryDirectory(), id);
}

export interface ReadingWorld {
  readonly home: string;
  readonly sites: readonly ReadingSite[];
  /** Asks all of them. */
  ask(...args: readonly string[]): Promise<CommandRun>;
  /** What keeps them in step stops. */
  halt(): Promise<void>;
}

/** Members say who they are by a ClusterProperty. */
export async function openCentral(...ids: readonly string[]): Promise<ReadingWorld> {
  const home = temporaryDirectory();
  const sites = await Promise.all(ids.map((id) => openSite(home, id)));
  for (const site of sites) {
    await installCrds({ store: site.client, crds: MEMBER_CRDS, clock });
    await createNamespace(site, SHOP);
    await site.client.create(CLUSTER_PROPERTY, {
      apiVersion: "about.k8s.io/v1beta1",
      kind: "ClusterProperty",
      metadata: { name: CLUSTER_ID_PROPERTY },
      spec: { value: site.id },
    });
  }
  const members = sites.map(({ id, client }) => ({ name: id, store: client }));
  const policy = createPolicy({});
  const central = startCentral({ members, policy, clock, random: systemRandom, log: SILENT });
  onTestFinished(() => central.stop());
  const at = sites.flatMap(({ path }) => ["--kubeconfig", path]);
  const ask = (...args: readonly string[]) => runCommand([...args, ...at], { home });
  return { home, sites, ask, halt: () => central.stop() };
}

/** With a hub, and an agent for each. Pods of the n-th cluster have addresses in 10.n.0.0/16, from 1. */
export async function openAgents(
  ...ids: readonly string[]
): Promise<ReadingWorld & { readonly hub: ReadingSite }> {
  const home = temporaryDirectory();
  const hub = await openSite(home, "hub");
  await installCrds({ store: hub.client, crds: HUB_CRDS, clock });
  const sites = await Promise.all(ids.map((id) => openSite(home, id)));
  const stops: (() => Promise<void>)[] = [];
  for (const [index, site] of sites.entries()) {
    await createNamespace(site, SYSTEM_NAMESPACE);
    await createNamespace(site, SHOP);
    await installCrds({ store: site.client, crds: MEMBER_CRDS, clock });
    const cluster = site.id as ClusterId;
    const spec = { podCIDRs: [`10.${index + 1}.0.0/16`], serviceCIDRs: ["10.96.0.0/16"] };
    await registerMember(hub.client, cluster, spec);
    const { url: server, caPem: ca, token } = hub.server;
    await site.client.create(SECRET, renderCredential({ cluster, server, ca, claim: "", token }));
    stops.push(startAgent(site, home));
  }
  const halt = async (): Promise<void> => {
    await Promise.all(stops.map((stop) => stop()));
  };
  onTestFinished(halt);
  const at = sites.flatMap(({ path }) => ["--kubeconfig", path]);
  const ask = (...args: readonly string[]) => runCommand([...args, ...at], { home });
  return { home, sites, hub, ask, halt };
}

function startAgent({ path }: ReadingSite, home: string): () => Promise<void> {
  const stopping = new AbortController();
  const args = ["agent", "--kubeconfig", path, "--metrics-address", "127.0.0.1:0"];
  const exit = runCli(args, {
    out: ignore,
    error: ignore,
    input: () => Promise.resolve(""),
    color: false,
    interactive: false,
    env: {},
    home,
    clock,
    random: systemRandom,
    signal: stopping.signal,
  });
  return async () => {
    stopping.abort();
    await exit;
  };
}
