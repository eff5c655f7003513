// CLI: `isthmus demo`: three embedded clusters, the real controllers between them, and a story told with real requests.

import { join } from "node:path";
import pc from "picocolors";
import { type CliContext, untilStopped } from "./context.ts";
import { CHECKOUT, CHECKOUT_NAME, SHOP } from "./demo/shop.ts";
import { tellStory } from "./demo/story.ts";
import { CLUSTERS, openWorld, type World } from "./demo/world.ts";
import { createStage } from "./stage.ts";

export interface DemoOptions {
  /** Leaves the world running until it is stopped. */
  readonly stays: boolean;
  /** Between two steps; resolves when the story may go on. */
  readonly goOn: () => Promise<void>;
  /** This version has `isthmus explain`. */
  readonly hasExplain: boolean;
  /** Absent: the machine is asked. */
  readonly isWhole?: boolean;
}

export async function runDemo(context: CliContext, options: DemoOptions): Promise<void> {
  const { signal } = context;
  const stage = createStage(context, options.goOn);
  const { bold } = pc.createColors(context.color);
  context.out(
    bold("Isthmus: one Service, used from three clusters. Nothing is kept when you leave."),
  );
  const world = await openWorld(context, options);
  try {
    const explain = options.hasExplain ? renderExplain(context, world) : undefined;
    await tellStory({ stage, world, signal, explain });
    if (!options.stays) {
      context.out("");
      context.out(
        "That is all. With --stay everything goes on running, for you to try it in another terminal.",
      );
      return;
    }
    printNextSteps(context, world);
    await untilStopped(signal);
  } finally {
    await world.stop();
  }
}

function renderExplain({ env }: CliContext, { clusters }: World): string {
  // From a clone there is no command of that name yet.
  const isthmus = env["npm_lifecycle_event"] === undefined ? "isthmus" : "npm run isthmus --";
  const all = CLUSTERS.map((name) => `--kubeconfig ${clusters[name].kubeconfigPath}`);
  return `${isthmus} explain ${SHOP}/${CHECKOUT.name} ${all.join(" ")}`;
}

function printNextSteps(context: CliContext, { clusters, folder }: World): void {
  const { bold, cyan, dim } = pc.createColors(context.color);
  const { east, west, edge } = clusters;
  const command = (text: string): void => context.out(`     ${cyan(text)}`);
  const say = (text: string): void => context.out(`   ${dim(text)}`);
  context.out("");
  context.out(bold("It is yours now. In another terminal:"));
  say("east exports again; one more pod in west; one less");
  command(`kubectl --kubeconfig ${east.kubeconfigPath} create -f ${join(folder, "export.yaml")}`);
  command(`kubectl --kubeconfig ${west.kubeconfigPath} create -f ${join(folder, "pod.yaml")}`);
  command(`kubectl --kubeconfig ${west.kubeconfigPath} delete pod checkout-1 -n ${SHOP}`);
  say("what edge makes of it");
  command(`kubectl --kubeconfig ${edge.kubeconfigPath} get svcim,endpointslices -n ${SHOP}`);
  command(`dig @${edge.dns.host} -p ${edge.dns.port} ${CHECKOUT_NAME}`);
  context.out("");
  context.out("Ctrl-C ends everything; nothing is kept.");
}
