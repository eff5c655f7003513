// Fault tests: a hub and three members on real servers of their own, joined and kept in step by the `isthmus` command as real
// processes. `web` is exported from east and west, `solo` from west only; all three import both.
//
//   hub ◀── east, west, edge: one API server, one agent each, with the permissions that `isthmus join` installed

import { NAMESPACE } from "../../src/api/builtin.ts";
import type { ClusterId } from "../../src/api/names.ts";
import { createClient, type KubeClient } from "../../src/kube/client.ts";
import { systemClock } from "../../src/kube/clock.ts";
import { loadKubeconfig } from "../../src/kube/config.ts";
import { bundle } from "../../tools/build.ts";
import { type RealCluster, startCluster } from "../controlplane/cluster.ts";
import { type Daemons, startDaemons } from "../controlplane/daemons.ts";
import { createLine } from "../scenarios/line.ts";
import { expectUsable, readVip } from "../scenarios/outcome.ts";
import { eventually } from "../scenarios/poll.ts";
import { Site } from "../scenarios/site.ts";
import { createCommand, type Isthmus } from "./command.ts";
import { type Change, type History, recordHistory } from "./history.ts";
import { createReplica, type Replica } from "./replica.ts";

export const SHOP = "shop";
const IDS = ["east", "west", "edge"] as const;
export type Id = (typeof IDS)[number];

/** What each service leads to while nothing is wrong, everywhere. */
export const OFFERED: Readonly<Record<string, Readonly<Partial<Record<Id, string>>>>> = {
  web: { east: "10.1.0.1", west: "10.2.0.1" },
  solo: { west: "10.2.0.2" },
};
/** A control plane of several processes on a machine that runs other tests beside it. */
export const CONVERGE_MS = 60_000;

export interface Member {
  readonly id: ClusterId;
  readonly cluster: RealCluster;
  readonly admin: KubeClient;
  /** As its users see it. */
  readonly site: Site;
  readonly history: History;
  readonly agent: Replica;
}

interface Parts {
  readonly hub: RealCluster;
  readonly hubAdmin: KubeClient;
  readonly members: readonly Member[];
  readonly isthmus: Isthmus;
  readonly daemons: Daemons;
  readonly bundlePath: string;
  readonly undo: readonly (() => Promise<unknown>)[];
}

export class Bed {
  readonly hub: RealCluster;
  readonly hubAdmin: KubeClient;
  readonly members: readonly Member[];
  readonly isthmus: Isthmus;
  readonly #parts: Parts;
  /** When the hub's API server was being started, by the wall clock, as in its audit log. */
  readonly hubStarts: { readonly fromMs: number; readonly toMs: number }[] = [];
  /** By cluster and service, as first given. */
  readonly #vips = new Map<string, readonly string[]>();

  private constructor(parts: Parts) {
    this.#parts = parts;
    this.hub = parts.hub;
    this.hubAdmin = parts.hubAdmin;
    this.members = parts.members;
    this.isthmus = parts.isthmus;
  }

  /** Everybody has joined, every agent runs, and both services lead everywhere. */
  static async open(): Promise<Bed> {
    const undo: (() => Promise<unknown>)[] = [];
    try {
      const daemons = await startDaemons();
      undo.push(() => daemons.end());
      const started = await Promise.allSettled([
        startCluster({ name: "hub", audit: true }),
        // Nothing in a member needs controllers: their time is better spent elsewhere.
        ...IDS.map((name) => startCluster({ name, audit: true, controllerManager: false })),
      ]);
      for (const each of started) {
        if (each.status === "fulfilled") undo.push(() => each.value.stop());
      }
      for (const each of started) if (each.status === "rejected") throw each.reason;
      const [hub, ...clusters] = started.flatMap((each) =>
        each.status === "fulfilled" ? each.value : [],
      );
      const bundlePath = await bundle(daemons.folder);
      const isthmus = createCommand(bundlePath, daemons.folder);
      const connect = ({ kubeconfigPath }: RealCluster): KubeClient => {
        const config = loadKubeconfig({ paths: [kubeconfigPath], env: {}, home: "/nonexistent" });
        const client = createClient(config, { clock: systemClock });
        undo.push(() => client.close());
        return client;
      };
      await isthmus("hub", "init", "--no-token", "--kubeconfig", hub!.kubeconfigPath);
      const ticket = await drawTicket(isthmus, hub!, IDS.length);
      const { logsPath } = hub!;
      const members = await Promise.all(
        clusters.map(async (cluster): Promise<Member> => {
          const { name: id, serviceCidrs } = cluster;
          await joinHub(isthmus, cluster, ticket);
          const admin = connect(cluster);
          const metadata = { name: SHOP };
          await admin.create(NAMESPACE, { apiVersion: "v1", kind: "Namespace", metadata });
          const line = createLine(admin, () => true);
          const site = new Site({ id, store: admin, serviceCidrs }, line, SHOP);
          const history = await recordHistory(id, admin);
          undo.push(async () => history.stop());
          const given = { bundlePath, cluster, admin, daemons, logsPath };
          const agent = await createReplica({ name: id, ...given });
          await agent.start();
          return { id: id as ClusterId, cluster, admin, site, history, agent };
        }),
      );
      const hubAdmin = connect(hub!);
      const bed = new Bed({ hub: hub!, hubAdmin, members, isthmus, daemons, bundlePath, undo });
      await bed.#offer();
      return bed;
    } catch (error) {
      await undoAll(undo);
      throw error;
    }
  }

  async #offer(): Promise<void> {
    for (const [service, sources] of Object.entries(OFFERED)) {
      for (const { id, site } of this.members) {
        const address = sources[id as Id];
        if (address !== undefined) await site.offer(service, [address]);
      }
    }
    for (const service of Object.keys(OFFERED)) {
      await this.leadsEverywhere(service);
      for (const { id, site } of this.members) {
        this.#vips.set(`${id} ${service}`, await readVip(site, service));
      }
    }
  }

  member(id: Id): Member {
    return this.members.find((each) => each.id === id)!;
  }

  others(id: Id): readonly Member[] {
    return this.members.filter((each) => each.id !== id);
  }

  /** One more process for a member, not started yet. */
  createReplica(id: Id, name: string): Promise<Replica> {
    const { cluster, admin } = this.member(id);
    const { bundlePath, daemons, hub } = this.#parts;
    return createReplica({ name, bundlePath, cluster, admin, daemons, logsPath: hub.logsPath });
  }

  /** Once more, with a new token: as soon as the hub has removed what it had of it. */
  async join(id: Id): Promise<void> {
    await eventually(
      `${id} joins`,
      async () => {
        const ticket = await drawTicket(this.isthmus, this.hub, 1);
        await joinHub(this.isthmus, this.member(id).cluster, ticket);
      },
      CONVERGE_MS,
    );
  }

  async startHubServer(): Promise<void> {
    const fromMs = Date.now();
    await this.hub.startApiserver();
    this.hubStarts.push({ fromMs, toMs: Date.now() });
  }

  async leadsEverywhere(
    service: string,
    addresses: readonly string[] = Object.values(OFFERED[service] ?? {}),
  ): Promise<void> {
    for (const { id, site } of this.members) {
      await eventually(
        `${service} leads to ${addresses.join(", ")} in ${id}`,
        () => expectUsable(site, service, addresses),
        CONVERGE_MS,
      );
    }
  }

  /** Of the two services; in the order in which they were seen. */
  changesSince(sinceMs: number): readonly Change[] {
    return this.members
      .flatMap(({ history }) => history.changes)
      .filter(({ atMs, service }) => atMs >= sinceMs && service in OFFERED)
      .toSorted((a, b) => a.atMs - b.atMs);
  }

  /** Name and version of everything that is imported anywhere, as the servers have it. */
  async versions(): Promise<readonly string[]> {
    const all = await Promise.all(this.members.map(({ history }) => history.versions()));
    return all.flatMap((each, index) => each.map((text) => `${IDS[index]} ${text}`));
  }

  /** The virtual IP that the service was first given in that cluster. */
  firstVip(id: string, service: string): readonly string[] | undefined {
    return this.#vips.get(`${id} ${service}`);
  }

  async close(): Promise<void> {
    await undoAll(this.#parts.undo);
  }
}

async function drawTicket(isthmus: Isthmus, hub: RealCluster, uses: number): Promise<string> {
  const flags = ["-o", "token", "--uses", String(uses), "--kubeconfig", hub.kubeconfigPath];
  return (await isthmus("hub", "token", ...flags)).trim();
}

async function joinHub(isthmus: Isthmus, cluster: RealCluster, ticket: string): Promise<void> {
  const { name, kubeconfigPath } = cluster;
  const range = `10.${IDS.indexOf(name as Id) + 1}.0.0/16`;
  const flags = ["--token", ticket, "--cluster-id", name, "--pod-cidr", range];
  await isthmus("join", "--kubeconfig", kubeconfigPath, ...flags);
}

/** The last first, whatever fails. */
async function undoAll(undo: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const step of undo.toReversed()) {
    await step().catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw new AggregateError(failures, "something was left behind");
}
