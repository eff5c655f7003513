// CLI: `isthmus demo`: two embedded clusters, the real controllers between them, and a story told with real objects.

import pc from "picocolors";
import { ENDPOINT_SLICE, POD, SERVICE } from "../api/builtin.ts";
import { MEMBER_CRDS } from "../api/crds.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT, type ServiceImport } from "../api/mcs.ts";
import { type Central, startCentral } from "../controllers/central.ts";
import { installCrds } from "../controllers/crd.ts";
import { createPolicy } from "../core/policy.ts";
import { type CliContext, untilStopped } from "./context.ts";
import { type RunningCluster, startEmbeddedCluster } from "./embeddedCluster.ts";
import { createLog } from "./log.ts";
import {
  CHECKOUT,
  createCheckout,
  createPod,
  createStage,
  exportCheckout,
  IMPORTED,
  listBackends,
  nameCluster,
  SHOP,
  type Stage,
} from "./stage.ts";

export async function runDemo(
  context: CliContext,
  options: { readonly stays: boolean },
): Promise<void> {
  const running: { stop(): Promise<void> }[] = [];
  try {
    const stage = createStage(context);
    const [east, west] = await openScene(context, stage, running);
    await tellStory(stage, { east, west });
    if (!options.stays) {
      context.out("");
      context.out(
        "That is all. With --stay the clusters go on running, for you to try them with kubectl.",
      );
      return;
    }
    printNextSteps(context, [east, west]);
    await untilStopped(context.signal);
  } finally {
    for (const part of running.toReversed()) await part.stop();
  }
}

async function openScene(
  context: CliContext,
  stage: Stage,
  running: { stop(): Promise<void> }[],
): Promise<readonly [RunningCluster, RunningCluster]> {
  const { clock, random } = context;
  stage.title("Two clusters, each with its own API server");
  const open = async (name: string): Promise<RunningCluster> => {
    const cluster = await startEmbeddedCluster(context, { name });
    running.push(cluster);
    const installed = await installCrds({ store: cluster.client, crds: MEMBER_CRDS, clock });
    await nameCluster(cluster);
    stage.say(`${name}: ${cluster.url}, ${installed.length} CustomResourceDefinitions installed`);
    return cluster;
  };
  const east = await open("east");
  const west = await open("west");

  const members = [east, west].map(({ name, client }) => ({ name, store: client }));
  const log = createLog("error", context.error);
  const central: Central = startCentral({ members, policy: createPolicy({}), clock, random, log });
  running.push(central);
  await stage.until("both clusters are joined", async () => central.joined().length === 2);
  stage.say("Isthmus runs in central mode: one process that talks to both, and to nobody else.");
  return [east, west];
}

async function tellStory(
  stage: Stage,
  clusters: { readonly east: RunningCluster; readonly west: RunningCluster },
): Promise<void> {
  const { east, west } = clusters;
  const imported = (cluster: RunningCluster): Promise<ServiceImport | undefined> =>
    cluster.client.get(SERVICE_IMPORT, CHECKOUT);

  stage.title(`east has a Service "${CHECKOUT.name}" with two pods; west has none`);
  await createCheckout(east, [{ name: "http", port: 80, targetPort: 8080 }]);
  await createPod(east, "checkout-1", "10.1.0.11");
  await createPod(east, "checkout-2", "10.1.0.12");
  await stage.show(east, POD);

  stage.title("east exports it: one object");
  await exportCheckout(east);
  await stage.until("west has an import with an IP and two endpoints", async () => {
    const ips = (await imported(west))?.spec?.ips ?? [];
    return ips.length > 0 && (await listBackends(west)).length === 2;
  });
  stage.say("Every cluster of the set now has it, under one name and an IP of its own:");
  await stage.show(west, SERVICE_IMPORT);
  await stage.show(west, ENDPOINT_SLICE, IMPORTED);
  const vip = (await imported(west))?.spec?.ips?.join(", ") ?? "";

  stage.title("west exports the same name, but with another port");
  await createCheckout(west, [{ name: "http", port: 8000, targetPort: 8080 }]);
  await createPod(west, "checkout-1", "10.2.0.11");
  await exportCheckout(west);
  await stage.until("the conflict is reported", async () => {
    const conflict = await findConflict(east);
    return conflict?.status === "True";
  });
  stage.say("The older export wins, nothing breaks, and both owners are told:");
  const conflict = await findConflict(west);
  stage.say(`Conflict=${conflict?.status} ${conflict?.reason}`);
  for (const line of (conflict?.message ?? "").split("\n")) stage.say(line);

  stage.title("a pod of east goes away, west's owner mends the port");
  await east.client.delete(POD, { namespace: SHOP, name: "checkout-2" });
  await mendPort(west);
  await stage.until("one endpoint of each cluster is left", async () => {
    const backends = await listBackends(west);
    return backends.toSorted().join() === "10.1.0.11,10.2.0.11";
  });
  await stage.show(west, ENDPOINT_SLICE, IMPORTED);

  stage.title("east takes its export back: the service lives on in west, IP unchanged");
  await east.client.delete(SERVICE_EXPORT, CHECKOUT);
  await stage.until("only west's endpoint is left", async () => {
    return (await listBackends(west)).join() === "10.2.0.11";
  });
  await stage.show(west, SERVICE_IMPORT);
  const after = (await imported(west))?.spec?.ips?.join(", ") ?? "";
  if (after !== vip) throw new Error(`the virtual IP changed from ${vip} to ${after}`);
}

async function mendPort(cluster: RunningCluster): Promise<void> {
  const service = await cluster.client.get(SERVICE, CHECKOUT);
  if (service === undefined) throw new Error(`${cluster.name} has lost its Service`);
  const ports = [{ name: "http", port: 80, targetPort: 8080 }];
  await cluster.client.replace(SERVICE, { ...service, spec: { ...service.spec, ports } });
}

async function findConflict(cluster: RunningCluster) {
  const serviceExport = await cluster.client.get(SERVICE_EXPORT, CHECKOUT);
  return serviceExport?.status?.conditions?.find((condition) => condition.type === "Conflict");
}

function printNextSteps(context: CliContext, clusters: readonly RunningCluster[]): void {
  const { bold } = pc.createColors(context.color);
  context.out("");
  context.out(bold("Try it yourself, in another terminal:"));
  for (const cluster of clusters) {
    context.out(
      `   kubectl --kubeconfig ${cluster.kubeconfigPath} get svcex,svcim,endpointslices -A`,
    );
  }
  context.out("");
  context.out(
    "The clusters are embedded: real API objects, no nodes and no traffic. Ctrl-C ends them; nothing is kept.",
  );
}
