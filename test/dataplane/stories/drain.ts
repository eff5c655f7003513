// Story: edge is drained for maintenance. New connections and datagrams go to east and west, from everywhere, edge's own clients
// included; what only edge has goes on. Its pods are stopped and started, it is undrained, and is used again. Not one request
// fails.

import { eventually } from "../../scenarios/poll.ts";
import { clustersOf, isFrom, type IsRight, over } from "../measured.ts";
import { MEMBERS } from "../plan.ts";
import { LIMIT_MS, type Shop } from "../shop.ts";

const isElsewhere: IsRight = (flow) => !clustersOf(flow).includes("edge");

export async function drain(shop: Shop): Promise<string> {
  const { bed } = shop;
  await Promise.all([
    ...MEMBERS.map((id) => shop.offer(id, "web", { replicas: 2 })),
    shop.offer("edge", "sole", { replicas: 1 }),
  ]);
  await shop.leadsTo("web", MEMBERS);
  await shop.leadsTo("sole", ["edge"]);
  const callers = await Promise.all([shop.call("east", "web"), shop.call("edge", "web")]);
  const sole = await shop.call("west", "sole");
  const all = <T>(ask: (caller: (typeof callers)[number]) => Promise<T>): Promise<T[]> =>
    Promise.all(callers.map(ask));
  const everybody = over(["tcp"], isFrom("east", "edge", "west"));
  await all((caller) => caller.settles("all answer", everybody));

  const where = MEMBERS.flatMap((id) => [
    "--kubeconfig",
    `${id}=${bed.clusters[id].kubeconfigPath}`,
  ]);
  const beganMs = performance.now();
  await bed.isthmus("drain", "edge", "--reason", "new kernel", "--wait", ...where);
  const drainedMs = performance.now() - beganMs;
  // A connection that is open stays where it is until it ends.
  const isLeft = over(["tcp", "udp"], isElsewhere);
  await all((caller) => caller.settles("edge gets nothing new", isLeft));
  await sole.settles("what only edge has goes on", isFrom("edge"));

  await shop.scale("edge", "web", 0);
  await all((caller) => caller.settles("edge answers nobody", isElsewhere));
  await shop.scale("edge", "web", 2);
  await eventually(
    "the new pods of edge are known, and not used",
    async () => {
      const slices = await shop.slices("east", "web", "edge");
      const endpoints = slices.flatMap((slice) => slice.endpoints);
      const isHeldBack = endpoints.every(({ conditions }) => conditions?.ready === false);
      if (endpoints.length < 2 || !isHeldBack) throw new Error(JSON.stringify(endpoints));
    },
    LIMIT_MS,
  );
  await all((caller) => caller.settles("edge still answers nobody", isElsewhere));

  await bed.isthmus("undrain", "edge", "--wait", ...where);
  await all((caller) => caller.settles("all answer again", everybody));
  await sole.settles("what only edge has went on", isFrom("edge"));
  return `left ${(drainedMs / 1_000).toFixed(1)} s after the command began`;
}
