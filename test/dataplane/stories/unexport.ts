// Story: an export is taken back. Its name, virtual IPs and slices go everywhere; the Service itself and its answers at home
// are as before. Exported anew, the name is back.

import { expect } from "vitest";
import { SERVICE } from "../../../src/api/builtin.ts";
import { eventually } from "../../scenarios/poll.ts";
import { addressesOf, isFrom, over } from "../measured.ts";
import { MEMBERS } from "../plan.ts";
import { canConnect } from "../probe.ts";
import { LIMIT_MS, type Shop } from "../shop.ts";
import { SERVICE_PORTS } from "../workload.ts";

export async function unexport(shop: Shop): Promise<undefined> {
  await shop.offer("west", "web", { replicas: 2 });
  await shop.leadsTo("web", ["west"]);
  const target = `web.${shop.namespace}.svc.cluster.local`;
  const [home, abroad] = await Promise.all([
    shop.call("west", "web", { target }),
    shop.call("east", "web"),
  ]);
  const service = await shop.require("west", SERVICE, "web");
  const vips = await shop.vips("east", "web");
  const east = shop.cluster("east").plan.name;
  const { port } = SERVICE_PORTS.tcp;
  const reaches = (): Promise<boolean[]> =>
    Promise.all(vips.map((address) => canConnect(east, { address, port })));
  await eventually(
    "the virtual IPs lead to it",
    async () => expect(await reaches()).toEqual([true, true]),
    LIMIT_MS,
  );

  await abroad.ignore();
  await shop.unexport("west", "web");
  for (const id of MEMBERS) {
    await eventually(
      `nothing of the import is left in ${id}`,
      async () => {
        expect(await shop.serviceImport(id, "web")).toBeUndefined();
        expect(await shop.derived(id, "web")).toBeUndefined();
        expect(await shop.slices(id, "web")).toEqual([]);
      },
      LIMIT_MS,
    );
  }
  // A connection that is open stays open: nobody takes it away but one of its ends.
  const isDenied = over(
    ["tcp", "udp"],
    ({ sent, failed, failedBy }) => failed === sent && failedBy["name not found"] === failed,
  );
  await abroad.settles("the name does not exist", isDenied);
  await eventually(
    "the virtual IPs lead nowhere",
    async () => expect(await reaches()).toEqual([false, false]),
    LIMIT_MS,
  );
  await home.settles("west answers at home", isFrom("west"));
  expect((await shop.require("west", SERVICE, "web")).spec).toEqual(service.spec);
  const [four, six] = service.spec?.clusterIPs ?? [];
  expect(addressesOf(home.windows, 4)).toEqual([four]);
  expect(addressesOf(home.windows, 6)).toEqual([six]);

  await shop.export("west", "web");
  await shop.leadsTo("web", ["west"]);
  await abroad.settles("the name is back", isFrom("west"));
  await abroad.holdToAccount();
  await abroad.settles("west answers abroad", isFrom("west"));
  return undefined;
}
