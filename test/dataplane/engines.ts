// Data plane: what keeps the services of a bed in step, by the real commands as real processes: a bed in, the engine out.
//
//   central:  one `isthmus central` in the fabric           the hub is its memory
//   agents:   one `isthmus agent` on the node of each member  the hub is a cluster of its own

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { SYSTEM_NAMESPACE } from "../../src/api/names.ts";
import { AGENT_NAME } from "../../src/hub/local.ts";
import { renderTokenRequest } from "../../src/hub/manifest/tokenrequest.ts";
import { systemClock } from "../../src/kube/clock.ts";
import { requestToken } from "../../src/kube/tokenrequest.ts";
import { renderTokenConfig } from "../faults/replica.ts";
import type { Bed, BedControl } from "./bed.ts";
import type { NodeProgram } from "./node.ts";
import { MEMBERS, type MemberName } from "./plan.ts";

export const MODES = ["central", "agents"] as const;
export type Mode = (typeof MODES)[number];

export interface Engine {
  readonly mode: Mode;
  /** On the spot, with all that was going on. */
  killHub(): Promise<void>;
  reviveHub(): Promise<void>;
  /** Killed and started anew. Only where there are agents. */
  readonly restartAgent?: (id: MemberName) => Promise<void>;
  /** What died with that member is started again. */
  reviveWith(id: MemberName): Promise<void>;
}

/** Everybody is a member, and exports can be written everywhere. The processes end with the bed. */
export function startEngine(mode: Mode, bed: Bed): Promise<Engine> {
  return mode === "central" ? startCentral(bed) : startAgents(bed);
}

async function startCentral(bed: Bed): Promise<Engine> {
  const members = MEMBERS.flatMap((id) => [
    "--kubeconfig",
    `${id}=${bed.clusters[id].kubeconfigPath}`,
  ]);
  const args = [bed.isthmusPath, "central", ...members, "--metrics-address", "127.0.0.1:0"];
  const start = (): Promise<NodeProgram> =>
    bed.runInFabric({ name: "central", file: process.execPath, args });
  let central = await start();
  return {
    mode: "central",
    killHub: () => central.stop("SIGKILL"),
    async reviveHub() {
      central = await start();
    },
    reviveWith: async () => {},
  };
}

async function startAgents(bed: Bed): Promise<Engine> {
  const { hub, isthmus } = bed;
  if (hub === undefined) throw new Error("Agents need a bed with a hub: give isHubNeeded.");
  await isthmus("hub", "init", "--no-token", "--kubeconfig", hub.kubeconfigPath);
  const order = ["-o", "token", "--uses", String(MEMBERS.length)];
  const ticket = await isthmus("hub", "token", ...order, "--kubeconfig", hub.kubeconfigPath);
  const agents = new Map<MemberName, NodeProgram>();

  async function start(id: MemberName): Promise<void> {
    const kubeconfigPath = join(bed.folder, `agent-${id}.kubeconfig`);
    const flags = ["--kubeconfig", kubeconfigPath, "--metrics-address", "127.0.0.1:0"];
    const args = [bed.isthmusPath, "agent", ...flags];
    const program = { name: "agent", file: process.execPath, args };
    agents.set(id, await bed.clusters[id].runInNode(program));
  }

  await Promise.all(
    MEMBERS.map(async (id) => {
      const cluster = bed.clusters[id];
      const where = ["--kubeconfig", cluster.kubeconfigPath, "--cluster-id", id];
      await isthmus("join", ...where, "--token", ticket.trim());
      await writeAgentConfig(bed, cluster);
      await start(id);
    }),
  );
  return {
    mode: "agents",
    killHub: () => hub.kill(),
    reviveHub: () => hub.revive(),
    async restartAgent(id) {
      await agents.get(id)?.stop("SIGKILL");
      await start(id);
    },
    reviveWith: start,
  };
}

/** With no more than the permissions that `isthmus join` gave it. */
async function writeAgentConfig(bed: Bed, { plan, control, store }: BedControl): Promise<void> {
  const account = { namespace: SYSTEM_NAMESPACE, name: AGENT_NAME };
  const order = renderTokenRequest({ account, seconds: 7_200 });
  const token = await requestToken(store, order, { nowMs: systemClock.now() });
  const path = join(bed.folder, `agent-${plan.name}.kubeconfig`);
  writeFileSync(path, renderTokenConfig(control, token), { mode: 0o600 });
}
