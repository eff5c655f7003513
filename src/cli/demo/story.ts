// Demo: the story, step by step: what an owner does, what every cluster has a moment later, who answers. Each step waits until it is
// true, and counts real answers.

import { stringify } from "yaml";
import { ENDPOINT_SLICE, POD } from "../../api/builtin.ts";
import { SERVICE_IMPORT } from "../../api/mcs.ts";
import { DEFAULT_LIVENESS } from "../../core/liveness.ts";
import { type Scene, SECOND_MS } from "./scene.ts";
import {
  changePort,
  CHECKOUT,
  CHECKOUT_NAME,
  createCheckout,
  createPods,
  exportCheckout,
  findConflict,
  findVirtualIp,
  IMPORTED,
  renderExport,
  SHOP,
  unexportCheckout,
} from "./shop.ts";
import { clusterOf, FAILED } from "./visitor.ts";
import { HASTE } from "./world.ts";

export async function tellStory(scene: Scene): Promise<void> {
  const { stage } = scene;
  await introduce(scene);
  await stage.pause();
  const virtualIp = await exportFromEast(scene);
  await stage.pause();
  await exportFromWest(scene);
  await stage.pause();
  await movePortInWest(scene);
  await stage.pause();
  await movePortBack(scene);
  await stage.pause();
  await loseWest(scene);
  await stage.pause();
  await regainWest(scene);
  await stage.pause();
  await unexportFromEast(scene, virtualIp);
}

async function introduce({ stage, world, kubectl }: Scene): Promise<void> {
  const { clusters, network } = world;
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
      "This machine has no loopback address but 127.0.0.1: ports of it stand for the addresses above.",
    );
  }
  await stage.until("all clusters are joined", async () => world.isJoined());
  stage.suggest(kubectl(clusters.edge, "get namespaces"));
}

/** Answers edge's virtual IP. */
async function exportFromEast(scene: Scene): Promise<string> {
  const { stage, world, inEdge, kubectl, curl, explain } = scene;
  const { east, west, edge } = world.clusters;
  stage.title('east has a Service "checkout", and exports it: one object');
  await createCheckout(east, world.network.port);
  await createPods(east, ["checkout-1", "checkout-2"]);
  await stage.until("the pods of east run", async () => {
    const pods = await east.client.list(POD, { namespace: SHOP });
    return pods.items.every(({ status }) => status?.phase === "Running");
  });
  await stage.show(east, { resource: POD, namespace: SHOP });
  const manifest = stringify(renderExport()).trimEnd().split("\n");
  stage.say("", "This is the object:", ...manifest.map((line) => `  ${line}`));
  await exportCheckout(east);

  await scene.untilUsedInEdge({ east: 2 });
  stage.say("", "Every cluster now has it, under one name and with a virtual IP of its own:");
  for (const cluster of [east, west, edge]) {
    await stage.until(`${cluster.name} has a virtual IP`, async () => {
      return (await findVirtualIp(cluster)) !== undefined;
    });
    await stage.show(cluster, { resource: SERVICE_IMPORT, namespace: SHOP });
  }
  await stage.until("the name resolves in edge", async () => (await inEdge.resolve()).length > 0);
  const addresses = await inEdge.resolve();
  const answer = await inEdge.ask();
  if (answer === undefined || clusterOf(answer) !== east.name) {
    throw new Error(`edge asked ${addresses.join()} and was answered ${answer ?? "by nobody"}`);
  }
  stage.say(
    "",
    `In edge ${CHECKOUT_NAME} is ${addresses.join(", ")}, and who answers there is ${answer}.`,
    `First "answered from another cluster": ${seconds(stage.elapsedMs())} after the demo started.`,
  );
  const virtualIp = await scene.virtualIp();
  await scene.untilNoticed("exported");
  stage.suggest(
    kubectl(edge, "get serviceimports,endpointslices -A"),
    `dig +short @${edge.dns.host} -p ${edge.dns.port} ${CHECKOUT_NAME}`,
    curl(virtualIp),
    ...(explain === undefined ? [] : [explain]),
  );
  return virtualIp;
}

async function exportFromWest(scene: Scene): Promise<void> {
  const { stage, world } = scene;
  const { west, edge } = world.clusters;
  stage.title("west exports a Service of the same name: the two are one");
  await createCheckout(west, world.network.port);
  await createPods(west, ["checkout-1", "checkout-2"]);
  await exportCheckout(west);
  await scene.untilUsedInEdge({ east: 2, west: 2 });
  stage.say("The same name, the same virtual IP, endpoints of both clusters:");
  await stage.show(edge, { resource: ENDPOINT_SLICE, namespace: SHOP, selector: IMPORTED });
  await scene.sayCounts();
  const curl = scene.curl(await scene.virtualIp());
  stage.suggest(`for i in 1 2 3 4 5 6; do ${curl}; done`);
}

async function movePortInWest(scene: Scene): Promise<void> {
  const { stage, world, explain } = scene;
  const { east, west } = world.clusters;
  const { port } = world.network;
  stage.title(`west moves its Service to port ${port + 1}: a conflict, in words`);
  await changePort(west, { to: port + 1, podPort: port });
  await untilConflict(scene, "True");
  await scene.untilUsedInEdge({ east: 2 });
  await scene.untilNoticed("conflict");
  stage.say("The older export wins, and both ServiceExports say so. In west:");
  const conflict = await findConflict(west);
  stage.say(`  Conflict=${conflict?.status} ${conflict?.reason}`);
  for (const line of (conflict?.message ?? "").split("\n")) stage.say(`  ${line}`);
  stage.say("Nobody is sent to a port that means something else:");
  await scene.sayCounts();
  const describe = `describe serviceexport ${CHECKOUT.name} -n ${SHOP}`;
  stage.suggest(
    scene.kubectl(east, describe),
    scene.kubectl(west, describe),
    ...(explain === undefined ? [] : [explain]),
  );
}

async function movePortBack(scene: Scene): Promise<void> {
  const { stage, world } = scene;
  const { west } = world.clusters;
  const { port } = world.network;
  stage.title("west moves it back: the conflict is over");
  await changePort(west, { to: port, podPort: port });
  await untilConflict(scene, "False");
  await scene.untilUsedInEdge({ east: 2, west: 2 });
  await scene.untilNoticed("resolved");
  const conflict = await findConflict(west);
  stage.say(`Conflict=${conflict?.status} ${conflict?.reason}`);
  await scene.sayCounts();
}

async function loseWest(scene: Scene): Promise<void> {
  const { stage, world, kubectl, explain } = scene;
  const { west, edge } = world.clusters;
  const usualMs = DEFAULT_LIVENESS.unreadyAfterMs;
  stage.title("west loses its power: API server, pods and all");
  stage.say(
    `A cluster that is silent for ${usualMs / SECOND_MS} s is taken out; in this demo after ${usualMs / HASTE / SECOND_MS} s, so that you need not wait.`,
    "Until then somebody in edge goes on asking, and never asks twice:",
  );
  const startedMs = stage.elapsedMs();
  await west.cutPower();
  const total = await scene.askUntil(() => scene.isUsedInEdge({ east: 2 }));
  const took = seconds(stage.elapsedMs() - startedMs);
  stage.say(
    `After ${took} nobody is sent to west any more. ${total.get(FAILED) ?? 0} requests failed until then. Now:`,
  );
  await scene.sayCounts();
  await scene.untilNoticed("lost");
  await scene.untilNoticed("failover");
  stage.suggest(
    kubectl(edge, `get endpointslices -n ${SHOP}`),
    `${kubectl(west, "get pods -A")}   # nobody answers`,
    ...(explain === undefined ? [] : [explain]),
  );
}

async function regainWest(scene: Scene): Promise<void> {
  const { stage, world } = scene;
  stage.title("west has its power back");
  const startedMs = stage.elapsedMs();
  await world.clusters.west.restorePower();
  await scene.untilUsedInEdge({ east: 2, west: 2 });
  const took = seconds(stage.elapsedMs() - startedMs);
  stage.say(`After ${took} both are used again, and nobody had to do anything:`);
  await scene.sayCounts();
}

async function unexportFromEast(scene: Scene, virtualIp: string): Promise<void> {
  const { stage, world } = scene;
  stage.title("east takes its export back: the service lives on in west");
  await unexportCheckout(world.clusters.east);
  await scene.untilUsedInEdge({ west: 2 });
  await scene.sayCounts();
  const after = await scene.virtualIp();
  if (after !== virtualIp) throw new Error(`the virtual IP changed from ${virtualIp} to ${after}`);
  stage.say(`The virtual IP of edge is the one that it was from the beginning: ${after}`);
}

async function untilConflict({ stage, world }: Scene, status: "True" | "False"): Promise<void> {
  const { east, west } = world.clusters;
  await stage.until(`both ServiceExports say Conflict=${status}`, async () => {
    const conflicts = await Promise.all([findConflict(east), findConflict(west)]);
    return conflicts.every((conflict) => conflict?.status === status);
  });
}

function seconds(ms: number): string {
  return `${(ms / SECOND_MS).toFixed(1)} s`;
}
