// Story: two clusters mean different things by the same port, and each has one that the other lacks. Each port leads only to
// clusters that have it (R28), and both exports say what is wrong until it is mended.

import { expect } from "vitest";
import { SERVICE, type ServicePort } from "../../../src/api/builtin.ts";
import { SERVICE_EXPORT } from "../../../src/api/mcs.ts";
import { untilYounger } from "../../scenarios/outcome.ts";
import { eventually } from "../../scenarios/poll.ts";
import { answerersOf, isFrom, over } from "../measured.ts";
import { LIMIT_MS, type Shop } from "../shop.ts";
import { SERVICE_PORTS } from "../workload.ts";

const { tcp, udp, http } = SERVICE_PORTS;
const EXPORTERS = ["west", "edge"] as const;

export async function ports(shop: Shop): Promise<undefined> {
  // All pods listen everywhere: what is sent to the wrong cluster is answered there, and shows.
  await shop.offer("west", "web", { spec: { ports: [tcp, http] } });
  await untilYounger(await shop.require("west", SERVICE_EXPORT, "web"));
  await shop.offer("edge", "web", { spec: { ports: [{ ...tcp, port: 700 }, udp] } });
  await conflictIs(shop, "True", "PortConflict");
  await shop.leadsTo("web", EXPORTERS);
  const caller = await shop.call("east", "web");
  await caller.settles("each port leads to who has it", (flow) =>
    isFrom(flow.protocol === "udp" ? "edge" : "west")(flow),
  );

  // Never, also not while it started.
  expect(answerersOf(caller.windows, ["tcp", "http"])).toEqual(["west"]);
  expect(answerersOf(caller.windows, ["udp"])).toEqual(["edge"]);
  await Promise.all(EXPORTERS.map((id) => setPorts(shop, id, [tcp, http, udp])));
  await conflictIs(shop, "False", "NoConflicts");
  await caller.settles("both have the port", over(["tcp"], isFrom("edge", "west")));
  return undefined;
}

async function setPorts(
  shop: Shop,
  id: (typeof EXPORTERS)[number],
  wanted: readonly ServicePort[],
): Promise<void> {
  await shop.edit(id, SERVICE, "web", (service) => ({
    ...service,
    spec: { ...service.spec, ports: wanted },
  }));
}

async function conflictIs(shop: Shop, status: string, reason: string): Promise<void> {
  for (const id of EXPORTERS) {
    await eventually(
      `the export of ${id} says ${reason}`,
      async () => {
        expect(await shop.exportCondition(id, "web", "Conflict")).toMatchObject({ status, reason });
      },
      LIMIT_MS,
    );
  }
}
