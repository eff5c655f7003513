// Demo: the story, step by step: what an owner does, what every cluster has a moment later, who answers. Each step waits until it is
// true, and counts real answers.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { stringify } from "yaml";
import { ENDPOINT_SLICE, POD } from "../../api/builtin.ts";
import { SERVICE_IMPORT } from "../../api/mcs.ts";
import { DEFAULT_LIVENESS } from "../../core/liveness.ts";
import type { Stage } from "../stage.ts";
import type { DemoCluster } from "./cluster.ts";
import type { Place } from "./network.ts";
import {
  changePort,
  CHECKOUT,
  CHECKOUT_NAME,
  countUsable,
  createCheckout,
  createPods,
  exportCheckout,
  findConflict,
  findVirtualIp,
  IMPORTED,
  renderExport,
  renderPod,
  SHOP,
  unexportCheckout,
} from "./shop.ts";
import {
  addAnswer,
  clusterOf,
  createVisitor,
  FAILED,
  type Tally,
  type Visitor,
} from "./visitor.ts";
import { CLUSTERS, HASTE, type World } from "./world.ts";

const REQUESTS = 30;
const ASK_EVERY_MS = 50;
const SECOND_MS = 1_000;

export interface StoryOptions {
  readonly stage: Stage;
  readonly world: World;
  readonly signal: AbortSignal;
  /** How `isthmus explain` is called; undefined when this version has no such command. */
  readonly explain: string | undefined;
}

export async function tellStory(options: StoryOptions): Promise<void> {
  const { stage, world } = options;
  const story = createTeller(options);
  await story.introduce();
  await stage.pause();
  const steps = [
    story.exportFromEast,
    story.exportFromWest,
    story.changePortInWest,
    story.loseWest,
    story.regainWest,
    story.unexportFromEast,
  ];
  for (const [at, step] of steps.entries()) {
    await step();
    // The last one is followed by what to do next.
    if (at < steps.length - 1) await stage.pause();
  }
  await writeManifests(world);
}

function createTeller({ stage, world, signal, explain }: StoryOptions) {
  const { clusters, network } = world;
  const { east, west, edge } = clusters;
  const { port } = network;
  const visitors = Object.fromEntries(
    CLUSTERS.map((name) => [name, createVisitor(clusters[name], { network, signal })]),
  ) as Record<(typeof CLUSTERS)[number], Visitor>;
  let vip = "";

  const kubectl = (cluster: DemoCluster, rest: string): string =>
    `kubectl --kubeconfig ${cluster.kubeconfigPath} ${rest}`;
  const curl = `curl `;
  const urlOf = (host: string): string => {
    const at: Place = network.locate({ host, port });
    return `http://${at.host}:${at.port}`;
  };

  /** The API server of edge says so, and its virtual IP follows. */
  async function untilEdgeUses(expected: Readonly<Record<string, number>>): Promise<void> {
    const total = Object.values(expected).reduce((sum, count) => sum + count, 0);
    const wanted = Object.entries(expected);
    await stage.until(`edge uses ${JSON.stringify(expected)}`, async () => {
      const usable = await countUsable(edge);
      if (usable.size !== wanted.length) return false;
      if (wanted.some(([cluster, count]) => usable.get(cluster) !== count)) return false;
      const host = await findVirtualIp(edge);
      return host !== undefined && edge.backendsOf({ host, port })?.length === total;
    });
  }

  async function sayCounts(): Promise<void> {
    const tally = await visitors.edge.count(REQUESTS);
    stage.say(`${REQUESTS} requests in edge, each a new connection: ${renderTally(tally)}`);
  }

  return {
    async introduce(): Promise<void> {
      stage.title("Three clusters, each with an API server of its own");
      for (const { name, url, ranges } of Object.values(clusters)) {
        stage.say(`${name}  ${url}  pods ${ranges.pods}, virtual IPs ${ranges.services}`);
      }
      stage.say(
        "",
        "Real: the Isthmus controllers and DNS servers, every object, every connection.",
        "Played, in this process and on loopback: the API servers, kubelet, kube-proxy.",
      );
      if (!network.isWhole) {
        stage.say(
          "This machine has no address but 127.0.0.1: each address above is played by a port of it.",
        );
      }
      await stage.until("all clusters are joined", async () => world.isJoined());
      stage.suggest(kubectl(edge, "get namespaces"));
    },

    async exportFromEast(): Promise<void> {
      stage.title('east has a Service "checkout" and exports it: one object');
      await createCheckout(east, port);
      await createPods(east, ["checkout-1", "checkout-2"]);
      await stage.until("the pods of east run", async () => {
        const pods = await east.client.list(POD, { namespace: SHOP });
        return pods.items.every(({ status }) => status?.phase === "Running");
      });
      await stage.show(east, { resource: POD, namespace: SHOP });
      stage.say("");
      stage.say(
        ...stringify(renderExport())
          .trimEnd()
          .split("\n")
          .map((line) => `  ${line}`),
      );
      await exportCheckout(east);
      await untilEdgeUses({ east: 2 });
      stage.say("", "Every cluster now has it under one name, with a virtual IP of its own:");
      for (const cluster of [west, edge]) {
        await stage.until(`${cluster.name} has an import`, async () => {
          return (await findVirtualIp(cluster)) !== undefined;
        });
        await stage.show(cluster, { resource: SERVICE_IMPORT, namespace: SHOP });
      }
      await stage.until("the name resolves in edge", async () => {
        return (await visitors.edge.resolve()).length > 0;
      });
      vip = (await findVirtualIp(edge)) ?? "";
      const resolved = await visitors.edge.resolve();
      const answer = await visitors.edge.ask();
      if (answer === undefined || clusterOf(answer) !== east.name) {
        throw new Error(`edge asked ${resolved.join()} and was answered ${answer ?? "by nobody"}`);
      }
      const seconds = (stage.elapsedMs() / SECOND_MS).toFixed(1);
      stage.say(
        "",
        `In edge, ${CHECKOUT_NAME} is ${resolved.join(", ")}, and there answers: ${answer}`,
        `First "answered from another cluster": ${seconds} s after the demo started.`,
      );
      stage.suggest(
        kubectl(edge, "get serviceimports,endpointslices -A"),
        `dig +short @${edge.dns.host} -p ${edge.dns.port} ${CHECKOUT_NAME}`,
        `curl ${urlOf(vip)}`,
        ...(explain === undefined ? [] : [explain]),
      );
    },

    async exportFromWest(): Promise<void> {
      stage.title("west exports a Service of the same name: the two are one");
      await createCheckout(west, port);
      await createPods(west, ["checkout-1", "checkout-2"]);
      await exportCheckout(west);
      await untilEdgeUses({ east: 2, west: 2 });
      stage.say("Same name, same virtual IP, endpoints of both clusters:");
      await stage.show(edge, {
        resource: ENDPOINT_SLICE,
        namespace: SHOP,
        selector: IMPORTED,
      });
      await sayCounts();
      stage.suggest(`for i in 1 2 3 4 5 6; do ${curl}${urlOf(vip)}; done`);
    },

    async changePortInWest(): Promise<void> {
      const other = port + 1;
      stage.title(`west moves its Service to port ${other}: a conflict, and it is told`);
      await changePort(west, { to: other, podPort: port });
      await stage.until("both owners are told", async () => {
        const conflicts = await Promise.all([findConflict(east), findConflict(west)]);
        return conflicts.every((conflict) => conflict?.status === "True");
      });
      await untilEdgeUses({ east: 2 });
      const conflict = await findConflict(west);
      stage.say(
        "The older export wins. Both ServiceExports say so:",
        `  Conflict=${conflict?.status} ${conflict?.reason}`,
        ...(conflict?.message ?? "").split("\n").map((line) => `  ${line}`),
        "Nobody is sent to a port that means something else:",
      );
      await sayCounts();
      stage.suggest(kubectl(west, `describe serviceexport ${CHECKOUT.name} -n ${SHOP}`));
      await stage.pause();
      stage.say("", "west's owner puts it right:");
      await changePort(west, { to: port, podPort: port });
      await untilEdgeUses({ east: 2, west: 2 });
      await stage.until("the conflict is over", async () => {
        const conflicts = await Promise.all([findConflict(east), findConflict(west)]);
        return conflicts.every((conflict) => conflict?.status === "False");
      });
      stage.say(`  Conflict=${(await findConflict(west))?.status}`);
      await sayCounts();
    },

    async loseWest(): Promise<void> {
      stage.title("west loses its power: API server, pods and all");
      stage.say(
        `Isthmus waits ${DEFAULT_LIVENESS.unreadyAfterMs / SECOND_MS} s before it calls a silent cluster lost; in this demo ${HASTE} times less.`,
        "Meanwhile a caller in edge goes on asking, without a second try:",
      );
      const from = stage.elapsedMs();
      await west.cutPower();
      const total = await askUntil(visitors.edge, async () => {
        const usable = await countUsable(edge);
        return !usable.has("west") && edge.backendsOf({ host: vip, port })?.length === 2;
      });
      const seconds = ((stage.elapsedMs() - from) / SECOND_MS).toFixed(1);
      stage.say(
        `After ${seconds} s edge sends nobody to west any more. ${total.get(FAILED) ?? 0} requests failed until then, and now:`,
      );
      await sayCounts();
      stage.suggest(
        kubectl(edge, `get endpointslices -n ${SHOP}`),
        kubectl(west, "get pods -A    # nobody answers"),
        ...(explain === undefined ? [] : [explain]),
      );
    },

    async regainWest(): Promise<void> {
      stage.title("west is back");
      const from = stage.elapsedMs();
      await west.restorePower();
      await untilEdgeUses({ east: 2, west: 2 });
      const seconds = ((stage.elapsedMs() - from) / SECOND_MS).toFixed(1);
      stage.say(`After ${seconds} s edge uses both again. Nobody did anything about it:`);
      await sayCounts();
    },

    async unexportFromEast(): Promise<void> {
      stage.title("east takes its export back: the service lives on in west");
      await unexportCheckout(east);
      await untilEdgeUses({ west: 2 });
      await sayCounts();
      const after = await findVirtualIp(edge);
      if (after !== vip) throw new Error(`the virtual IP of edge changed from ${vip} to ${after}`);
      stage.say(`The virtual IP of edge is what it was from the beginning: ${after}`);
    },
  };

  /** Asks until it is true, and says every second who answered. */
  async function askUntil(visitor: Visitor, isTrue: () => Promise<boolean>): Promise<Tally> {
    const total = new Map<string, number>();
    let second = 1;
    let tally = new Map<string, number>();
    let from = stage.elapsedMs();
    const deadline = from + 30 * SECOND_MS;
    const tell = (): void => {
      stage.say(`  second ${second}: ${renderTally(tally)}`);
      second += 1;
      tally = new Map();
      from += SECOND_MS;
    };
    while (!(await isTrue())) {
      if (stage.elapsedMs() > deadline) throw new Error("edge still sends requests to west");
      const answer = await visitor.ask();
      addAnswer(tally, answer);
      addAnswer(total, answer);
      if (stage.elapsedMs() - from >= SECOND_MS) tell();
      await stage.wait(ASK_EVERY_MS);
    }
    if (tally.size > 0) tell();
    return total;
  }
}

function renderTally(tally: Tally): string {
  const known = [...CLUSTERS, FAILED].filter((name) => tally.has(name));
  return known.map((name) => `${name} ${tally.get(name)}`).join(", ");
}

async function writeManifests({ folder }: World): Promise<void> {
  await writeFile(join(folder, "export.yaml"), stringify(renderExport()));
  await writeFile(join(folder, "pod.yaml"), stringify(renderPod("checkout-3")));
}
