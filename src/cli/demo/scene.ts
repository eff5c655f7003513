// Demo: the world and the stage in, what the steps of the story have in common out: commands to try, what edge uses, who answers there.

import type { TimelineEvent } from "../../dashboard/state.ts";
import type { Stage } from "../stage.ts";
import type { DemoCluster } from "./cluster.ts";
import { countUsable, findVirtualIp } from "./shop.ts";
import { addAnswer, createVisitor, FAILED, type Tally, type Visitor } from "./visitor.ts";
import { type ClusterName, CLUSTERS, type World } from "./world.ts";

export interface SceneOptions {
  readonly stage: Stage;
  readonly world: World;
  readonly signal: AbortSignal;
  /** How `isthmus explain` is called here; undefined when this version has no such command. */
  readonly explain: string | undefined;
  /** The dashboard has it on its time line, which is not told of what is over before it is looked at. */
  readonly untilNoticed: (kind: TimelineEvent["kind"]) => Promise<void>;
}

/** The story is told from edge: it has no pods, so that all that it uses comes from others. */
export interface Scene extends SceneOptions {
  readonly inEdge: Visitor;
  /** Of edge, which keeps it through the whole story. */
  virtualIp(): Promise<string>;
  /** A command for another terminal. */
  readonly kubectl: (cluster: DemoCluster, rest: string) => string;
  readonly curl: (host: string) => string;
  /** So many endpoints of each cluster: the API server of edge says so, its virtual IP follows, and they do answer. */
  isUsedInEdge(expected: Expected): Promise<boolean>;
  untilUsedInEdge(expected: Expected): Promise<void>;
  /** Asks, and says who answered how often. */
  sayCounts(): Promise<void>;
  /** Asks until it is true, and says every second who answered. */
  askUntil(isTrue: () => Promise<boolean>): Promise<Tally>;
}

type Expected = Readonly<Partial<Record<ClusterName, number>>>;

const REQUESTS = 30;
const ASK_EVERY_MS = 50;
const ASK_AT_MOST_MS = 60_000;
export const SECOND_MS = 1_000;

export function createScene(options: SceneOptions): Scene {
  const { stage, world, signal } = options;
  const { network } = world;
  const { edge } = world.clusters;
  const { port } = network;
  const inEdge = createVisitor(edge, { network, signal });

  async function isUsedInEdge(expected: Expected): Promise<boolean> {
    const usable = await countUsable(edge);
    const wanted = CLUSTERS.flatMap((name) => {
      const count = expected[name];
      return count === undefined ? [] : [[name, count] as const];
    });
    const isWritten =
      wanted.every(([name]) => world.clusters[name].isSettled()) &&
      usable.size === wanted.length &&
      wanted.every(([cluster, count]) => usable.get(cluster) === count);
    const host = await findVirtualIp(edge);
    if (!isWritten || host === undefined) return false;
    const total = wanted.reduce((sum, [, count]) => sum + count, 0);
    return edge.backendsOf({ host, port })?.length === total;
  }

  return {
    ...options,
    inEdge,
    async virtualIp() {
      const host = await findVirtualIp(edge);
      if (host === undefined) throw new Error("edge has no virtual IP for the shop");
      return host;
    },
    kubectl: ({ kubeconfigPath }, rest) => `kubectl --kubeconfig ${kubeconfigPath} ${rest}`,
    curl(host) {
      const at = network.locate({ host, port });
      return `curl http://${at.host}:${at.port}`;
    },
    isUsedInEdge,
    async untilUsedInEdge(expected) {
      const what = `edge uses ${JSON.stringify(expected)} endpoints`;
      await stage.until(what, () => isUsedInEdge(expected));
    },
    async sayCounts() {
      const tally = await inEdge.count(REQUESTS);
      stage.say(`${REQUESTS} requests in edge, each a new connection: ${renderTally(tally)}`);
    },
    async askUntil(isTrue) {
      const total = new Map<string, number>();
      let tally = new Map<string, number>();
      let second = 1;
      const startedMs = stage.elapsedMs();
      const tell = (): void => {
        if (tally.size > 0) stage.say(`  second ${second}: ${renderTally(tally)}`);
        second += 1;
        tally = new Map();
      };
      while (!(await isTrue())) {
        const sinceMs = stage.elapsedMs() - startedMs;
        if (sinceMs > ASK_AT_MOST_MS) throw new Error("asked in vain until it is true");
        if (sinceMs >= second * SECOND_MS) tell();
        const answer = await inEdge.ask();
        addAnswer(tally, answer);
        addAnswer(total, answer);
        await stage.wait(ASK_EVERY_MS);
      }
      tell();
      return total;
    },
  };
}

function renderTally(tally: Tally): string {
  const known = [...CLUSTERS, FAILED].filter((name) => tally.has(name));
  return known.map((name) => `${name} ${tally.get(name)}`).join(", ");
}
