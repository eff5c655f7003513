// CLI: `isthmus demo`: three clusters on loopback, the real controllers between them, and a story told with real requests.

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import pc from "picocolors";
import { stringify } from "yaml";
import type { TimelineEvent } from "../dashboard/state.ts";
import { type CliContext, untilStopped } from "./context.ts";
import { describeState, isSettled, openDemoDashboard, readDashboard } from "./demo/dashboard.ts";
import { CHECKOUT, CHECKOUT_NAME, renderExport, renderPod, SHOP } from "./demo/shop.ts";
import { createScene, type Scene } from "./demo/scene.ts";
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
  /** Whether the machine has all of 127.0.0.0/8; absent: it is tried. */
  readonly isWhole?: boolean;
}

export async function runDemo(context: CliContext, options: DemoOptions): Promise<void> {
  const { signal, out } = context;
  const { bold, cyan } = pc.createColors(context.color);
  const stage = createStage(context, options.goOn);
  out(bold("Isthmus: one Service, used from three clusters. Nothing is kept when you leave."));
  const world = await openWorld(context, options);
  const undo = [() => world.stop()];
  try {
    signal.throwIfAborted();
    const dashboard = await openDemoDashboard(context, world);
    const { url } = dashboard;
    undo.push(() => dashboard.close());
    out(`Watch it in a browser, if you like: ${cyan(url)}`);
    // Its time line tells of what it saw coming.
    await stage.until("the dashboard has read all clusters", async () => dashboard.feed.isRead());
    const explain = options.hasExplain ? renderExplain(context, world) : undefined;
    const untilNoticed = (kind: TimelineEvent["kind"]): Promise<void> =>
      stage.until(`the dashboard tells of "${kind}"`, async () => {
        const { events } = await readDashboard(url, signal);
        return events.some((event) => event.kind === kind);
      });
    const scene = createScene({ stage, world, signal, explain, untilNoticed });
    await tellStory(scene);
    out("");
    if (options.stays) {
      await printNextSteps(context, scene, url);
      await untilStopped(signal);
    } else {
      await printDashboard(context, scene, url);
      out("That is all. With --stay everything goes on running, for you to try it.");
    }
  } finally {
    for (const step of undo.toReversed()) await step();
    if (signal.aborted) out("\nEverything is cleaned up.");
  }
}

function renderExplain({ env }: CliContext, { folder }: World): string {
  // In a clone there is no command of that name.
  const isthmus = env["npm_lifecycle_event"] === undefined ? "isthmus" : "npm run isthmus --";
  // Every shell that people type into makes three flags of it. With ids: who is dead cannot say who it is.
  const named = CLUSTERS.map((id) => `${id}=${join(folder, id)}`);
  const all = `--kubeconfig={${named.join()}}.yaml`;
  return `${isthmus} explain ${SHOP}/${CHECKOUT.name} ${all}`;
}

/** For who cannot open it: what it shows. */
async function printDashboard(
  { out, signal }: CliContext,
  { stage }: Scene,
  url: string,
): Promise<void> {
  const wanted = { key: `${SHOP}/${CHECKOUT.name}`, exporters: ["west"] };
  let state = await readDashboard(url, signal);
  await stage.until("the dashboard shows it", async () => {
    state = await readDashboard(url, signal);
    return isSettled(state, wanted);
  });
  out(`The dashboard at ${url} has followed it all, and shows:`);
  for (const line of describeState(state)) out(`   ${line}`);
  out("");
}

async function printNextSteps(
  { out, color }: CliContext,
  scene: Scene,
  url: string,
): Promise<void> {
  const { bold, cyan, dim } = pc.createColors(color);
  const { world, kubectl, curl } = scene;
  const { east, west, edge } = world.clusters;
  const files = {
    export: join(world.folder, "export.yaml"),
    pod: join(world.folder, "pod.yaml"),
  };
  await writeFile(files.export, stringify(renderExport()));
  await writeFile(files.pod, stringify(renderPod("checkout-3")));
  const tries: readonly (readonly [string, ...string[]])[] = [
    ["east exports again:", kubectl(east, `create -f ${files.export}`)],
    [
      "One more pod in west, and one less:",
      kubectl(west, `create -f ${files.pod}`),
      kubectl(west, `delete pod checkout-1 -n ${SHOP}`),
    ],
    [
      "What edge makes of it:",
      kubectl(edge, `get serviceimports,endpointslices -n ${SHOP}`),
      curl(await scene.virtualIp()),
    ],
    [
      "The last export is taken back, and the name is gone:",
      kubectl(west, `delete serviceexport ${CHECKOUT.name} -n ${SHOP}`),
      `dig @${edge.dns.host} -p ${edge.dns.port} ${CHECKOUT_NAME}`,
    ],
  ];
  out(bold("All of it goes on running. Try it in another terminal:"));
  for (const [why, ...commands] of tries) {
    out(`   ${dim(why)}`);
    for (const command of commands) out(`     ${cyan(command)}`);
  }
  out(`   ${dim("What became of it, with a time line of all that happened:")}`);
  out(`     ${cyan(url)}`);
  out("");
  out("Ctrl-C ends everything.");
}
