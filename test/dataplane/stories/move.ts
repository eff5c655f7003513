// Story: a frontend in east, its backend in west. The backend moves to edge, and back again: same name, same virtual IP, and
// not one request fails, because backends drain before they end.

import { expect } from "vitest";
import { eventually } from "../../scenarios/poll.ts";
import { addressesOf, clustersOf, isFrom, over } from "../measured.ts";
import { LIMIT_MS, type Shop } from "../shop.ts";

const BACKENDS = { replicas: 2 };

export async function move(shop: Shop): Promise<undefined> {
  await shop.offer("west", "web", BACKENDS);
  await shop.leadsTo("web", ["west"]);
  const vips = await shop.vips("east", "web");
  const { uid } = (await shop.derived("east", "web"))!.metadata;
  const frontend = await shop.call("east", "web");
  await frontend.settles("west answers alone", isFrom("west"));

  // One connection and one UDP flow go where they went before: only what is new is spread.
  await shop.offer("edge", "web", BACKENDS);
  await frontend.sees("both answer", over(["tcp"], isFrom("edge", "west")));
  await shop.retire("west", "web");
  await frontend.settles("edge answers alone", isFrom("edge"));

  // The other way round: first the export goes, while the pods still serve who is connected.
  await shop.offer("west", "web", BACKENDS);
  await frontend.sees("both answer", over(["tcp"], isFrom("edge", "west")));
  await shop.unexport("edge", "web");
  await eventually(
    "nothing of edge is imported",
    async () => expect(await shop.slices("east", "web", "edge")).toEqual([]),
    LIMIT_MS,
  );
  const left = over(["tcp", "udp"], isFrom("west"));
  await frontend.settles("new connections and datagrams go to west", left);
  await shop.scale("edge", "web", 0);
  await frontend.settles("west answers alone", isFrom("west"));

  expect(await shop.vips("east", "web")).toEqual(vips);
  expect((await shop.derived("east", "web"))?.metadata.uid).toBe(uid);
  expect(addressesOf(frontend.windows, 4)).toEqual([vips[0]]);
  expect(addressesOf(frontend.windows, 6)).toEqual([vips[1]]);
  const everywhere = frontend.windows.flatMap(({ flows }) => flows.flatMap(clustersOf));
  expect(new Set(everywhere)).toEqual(new Set(["west", "edge"]));
  return undefined;
}
