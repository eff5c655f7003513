// Policy suite: two real clusters that joined a hub, agents in them with what join gave them and no more, and somebody who may
// do everything with services by RBAC. Takes everything back at the end.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ENDPOINT_SLICE, NAMESPACE, SERVICE } from "../../src/api/builtin.ts";
import { SERVICE_IMPORT } from "../../src/api/mcs.ts";
import { CLUSTER_ROLE, type Role } from "../../src/api/rbac.ts";
import { createClient, type KubeClient } from "../../src/kube/client.ts";
import { systemClock } from "../../src/kube/clock.ts";
import { BREAK_GLASS_GROUP } from "../../src/policy/exempt.ts";
import { mustRun } from "../commandLine.ts";
import {
  type Candidate,
  joinArgs,
  type MembershipWorld,
  startMembershipWorld,
  writeAgentConfig,
} from "../membershipWorld.ts";
import { Access } from "../rbac/access.ts";
import { startAgentCommand } from "../runningAgent.ts";
import { createLine } from "../scenarios/line.ts";
import { anEndpoint, anImport, aSlice } from "../scenarios/objects.ts";
import { expectUsable } from "../scenarios/outcome.ts";
import { eventually } from "../scenarios/poll.ts";
import { Site } from "../scenarios/site.ts";
import { refusalOf, requireRefuser, THERE } from "../trust/refusal.ts";
import { type Act, PROBES, type Scene } from "./acts.ts";

export const SHOP = "shop";
export const EAST = "10.1.0.1";
export const WEST = "10.2.0.1";
export const LEGACY = "192.0.2.1";

/** Everything that has to do with services, everywhere: only policies are left to refuse anything. */
const OWNER: Role = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name: "policy-owner" },
  rules: [
    { apiGroups: [""], resources: ["services", "services/status", "endpoints"], verbs: ["*"] },
    { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["*"] },
    { apiGroups: ["multicluster.x-k8s.io"], resources: ["*"], verbs: ["*"] },
  ],
};

/** As installers set it up, and with who checks policies. */
const MANNER = {
  controllerAccounts: true,
  controllers: ["validatingadmissionpolicy-status-controller"],
} as const;

export class Stage {
  readonly world: MembershipWorld;
  /** Of west. */
  readonly access: Access;
  readonly owner: KubeClient;
  /** What the agents said. */
  readonly logged: string[] = [];
  readonly #stops: (() => Promise<void>)[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), "isthmus-policy-"));

  private constructor(world: MembershipWorld, access: Access, owner: KubeClient) {
    this.world = world;
    this.access = access;
    this.owner = owner;
  }

  /** The policies are in force in both, "web" of both clusters is imported, and "legacy" was written by hand in west. */
  static async open(): Promise<Stage> {
    const world = await startMembershipWorld("policy", MANNER);
    const { hub, away } = world;
    const token = await world.aToken("--uses", "2");
    await mustRun(joinArgs(hub, "east", "--token", token));
    await mustRun(joinArgs(away, "west", "--token", token));
    const access = new Access(away.cluster.kubeconfigPath);
    await access.admin.create(CLUSTER_ROLE, OWNER);
    const owner = await access.become([OWNER.metadata.name!]);
    const stage = new Stage(world, access, owner);
    for (const candidate of [hub, away]) {
      await mustRun(["policy", "install", ...candidate.at]);
      await stage.makeNamespace(candidate, SHOP);
      await stage.#startAgent(candidate);
    }
    await stage.east.offer("web", [EAST]);
    await stage.west.offer("web", [WEST]);
    await stage.#writeByHand();
    for (const site of [stage.east, stage.west]) {
      await eventually(`web can be used in ${site.id}`, () =>
        expectUsable(site, "web", [EAST, WEST]),
      );
    }
    await eventually("legacy can be used", () => expectUsable(stage.west, "legacy", [LEGACY]));
    await stage.untilInForce();
    return stage;
  }

  get east(): Site {
    return siteOf("east", this.world.hub.admin);
  }

  get west(): Site {
    return siteOf("west", this.world.away.admin);
  }

  /** West as the owner sees it. */
  get own(): Site {
    return siteOf("west", this.owner);
  }

  async makeNamespace({ admin }: Candidate, name: string): Promise<void> {
    const metadata = { name };
    await admin.create(NAMESPACE, { apiVersion: "v1", kind: "Namespace", metadata });
  }

  /** As `kubectl --as=… --as-group=…` of an administrator of west. */
  as(user: string, groups: readonly string[] = []): KubeClient {
    const config = {
      ...this.access.admin.config,
      impersonation: { user, groups: ["system:authenticated", ...groups], extra: {} },
    };
    const client = createClient(config, { clock: systemClock });
    this.#stops.push(() => client.close());
    return client;
  }

  breakGlass(): KubeClient {
    return this.as("admin", ["system:masters", BREAK_GLASS_GROUP]);
  }

  async readScene(): Promise<Scene> {
    const { west } = this;
    const [slice] = await west.slices("web", "east");
    return {
      namespace: SHOP,
      serviceImport: await west.serviceImport("web"),
      derived: await west.derived("web"),
      slice: await west.require(ENDPOINT_SLICE, slice!.metadata.name!),
      handmade: await west.serviceImport("legacy"),
      handmadeDerived: await west.require(SERVICE, west.derivedName("legacy")),
    };
  }

  /** Who refused it, and what was said. An agent may have written the object in between: then again. */
  try(act: Act, client: KubeClient = this.owner) {
    return eventually(`nobody is quicker than who tries to ${act.sentence}`, async () => {
      const refusal = await refusalOf(act.attempt(client, await this.readScene()));
      if (refusal.by === THERE) throw new Error(refusal.says);
      return refusal;
    });
  }

  async untilInForce(): Promise<void> {
    for (const probe of PROBES) {
      await eventually(`${probe.policy} is in force`, async () =>
        requireRefuser(probe.attempt(this.owner, await this.readScene()), probe.policy),
      );
    }
  }

  /** By the owner, whom the policies let. */
  async #writeByHand(): Promise<void> {
    const { own } = this;
    await eventually("the owner's role is in force", () =>
      own.create(SERVICE_IMPORT, anImport(SHOP, "legacy")),
    );
    await own.create(
      ENDPOINT_SLICE,
      aSlice(SHOP, "legacy-1", {
        endpoints: [anEndpoint(LEGACY)],
        labels: {
          "multicluster.kubernetes.io/service-name": "legacy",
          "multicluster.kubernetes.io/source-cluster": "datacenter",
        },
      }),
    );
  }

  async #startAgent(candidate: Candidate): Promise<void> {
    const path = await writeAgentConfig(candidate, this.#folder);
    const stop = startAgentCommand(["--kubeconfig", path], (line) => this.logged.push(line));
    this.#stops.push(stop);
  }

  /** Agents and clients: twice does no harm. */
  async stopAll(): Promise<void> {
    await Promise.all(this.#stops.splice(0).map((stop) => stop()));
  }

  async close(): Promise<void> {
    await this.stopAll();
    await this.access.close();
    await this.world.stop();
    rmSync(this.#folder, { recursive: true });
  }
}

function siteOf(id: string, store: KubeClient): Site {
  const line = createLine(store, () => true);
  return new Site({ id, store, serviceCidrs: [] }, line, SHOP);
}
