// The docs followed to the letter on three real clusters: every command of test/docs/walk.ts in its order, as processes, with the
// real kubectl. What a command should do is asked of it as far as its reader would see; more of each is shown by its own tests.

import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient } from "../src/kube/client.ts";
import { systemClock } from "../src/kube/clock.ts";
import { loadKubeconfig } from "../src/kube/config.ts";
import { requireKubectl } from "./controlplane/binaries.ts";
import { type RealCluster, startCluster } from "./controlplane/cluster.ts";
import { installCoreDns } from "./dns/kubeadm.ts";
import { renderGiven, renderShop } from "./docs/given.ts";
import { createReader, type Lasting, type Reader } from "./docs/reader.ts";
import { type Step, WALK } from "./docs/walk.ts";
import { eventually } from "./scenarios/poll.ts";

/** Some dozens of processes, on a machine that may have no time for them. */
const STORY_MS = 900_000;
const AWAITED_MS = 120_000;

let clusters: readonly RealCluster[] = [];
let reader: Reader;
let folder = "";

beforeAll(async () => {
  const names = ["east", "west", "edge"] as const;
  clusters = await Promise.all(names.map((name) => startCluster({ name: `docs-${name}` })));
  const [east, west, edge] = clusters as [RealCluster, RealCluster, RealCluster];
  folder = mkdtempSync(join(tmpdir(), "isthmus-docs-"));
  reader = await createReader({
    folder,
    kubectl: process.env["KUBECTL"] || (await requireKubectl()),
    clusters: { east, west, edge },
    hub: edge,
    words: { HUB_URL: edge.url, ...(await findPorts()) },
  });
  for (const [index, name] of names.entries()) {
    await apply(name, renderGiven(`10.1${index + 1}.0.0/16`));
  }
  await apply("east", renderShop());
  const config = loadKubeconfig({ paths: [east.kubeconfigPath], env: {}, home: "/" });
  const store = createClient(config, { clock: systemClock });
  await installCoreDns(store);
  await store.close();
}, STORY_MS);
afterAll(async () => {
  await reader?.leave();
  await Promise.all(clusters.map((cluster) => cluster.stop()));
  rmSync(folder, { recursive: true, force: true });
}, STORY_MS);

async function apply(context: string, manifest: string): Promise<void> {
  await mustEnd({ command: `kubectl --context ${context} apply -f - <<'YAML'\n${manifest}\nYAML` });
}

async function findPorts(): Promise<Readonly<Record<string, string>>> {
  const servers = ["PORT_1", "PORT_2", "PORT_3"].map((name) => ({ name, server: createServer() }));
  const found: Record<string, string> = {};
  for (const { name, server } of servers) {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    if (address !== null && typeof address === "object") found[name] = String(address.port);
  }
  for (const { server } of servers) server.close();
  return found;
}

function fillIn({ command, filled = {} }: Step): string {
  return Object.entries(filled).reduce((line, [from, to]) => line.replaceAll(from, to), command);
}

function begin(step: Step): Lasting {
  return reader.type(fillIn(step), step.env);
}

async function mustEnd(step: Step): Promise<void> {
  const { code = 0, prints } = step;
  const typed = await begin(step).exit;
  const isRight = typed.code === code && (prints?.test(typed.output) ?? true);
  if (!isRight) throw new Error(`it ended with ${typed.code} and printed:\n${typed.output}`);
}

async function mustLast(step: Step): Promise<void> {
  const lasting = begin(step);
  let hasEnded = false;
  void lasting.exit.then(() => (hasEnded = true));
  await eventually(
    "it is at work",
    () => {
      if (hasEnded || step.prints?.test(lasting.output())) return;
      throw new Error(lasting.output());
    },
    AWAITED_MS,
  );
  if (hasEnded) throw new Error(`it has ended by itself:\n${lasting.output()}`);
  if (step.lasts === "shortly") await lasting.end();
}

/** What went wrong; absent: nothing. */
async function follow(step: Step): Promise<string | undefined> {
  try {
    if (step.lasts !== undefined) await mustLast(step);
    else if (step.isAwaited === undefined) await mustEnd(step);
    else await eventually("it shows what it should", () => mustEnd(step), AWAITED_MS);
    return undefined;
  } catch (error) {
    return `$ ${step.command}\n${String(error)}`;
  }
}

/** In this order: each story goes on where the one before ended. */
test.each(WALK)(
  "$title",
  async ({ steps, beginsQuiet }) => {
    if (beginsQuiet) await reader.leave();
    for (const step of steps) expect(await follow(step)).toBeUndefined();
  },
  STORY_MS,
);
