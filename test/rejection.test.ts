import { describe, expect, onTestFinished, test } from "vitest";
import { EVENT, ENDPOINT_SLICE } from "../src/api/builtin.ts";
import { SERVICE_IMPORT } from "../src/api/mcs.ts";
import type { ServiceKey } from "../src/api/names.ts";
import { apiVersionOf, type Condition } from "../src/api/object.ts";
import { startMember } from "../src/controllers/member.ts";
import { admitContribution, compileDeclaration } from "../src/core/admission.ts";
import { createPolicy } from "../src/core/policy.ts";
import { createMemoryHub } from "../src/hub/memory.ts";
import type { Hub } from "../src/ports/hub.ts";
import type { Log } from "../src/ports/log.ts";
import { CentralWorld, SHOP } from "./centralWorld.ts";
import { seededRandom } from "./embedded.ts";
import { aContribution, aShare, id } from "./shares.ts";

const nothing = (): void => undefined;
const LOG: Log = { debug: nothing, info: nothing, warn: nothing, error: nothing, with: () => LOG };
const INSIDE = ["10.1.0.1"];
const OUTSIDE = [...INSIDE, "192.0.2.1"];

/** East imports what west shares, through a hub that admits only what is declared for west. */
async function open() {
  const world = await CentralWorld.open("east");
  const { site, line } = world.sites[0]!;
  const memory = createMemoryHub(world.clock, () => false);
  memory.admit(id("east"));
  memory.admit(id("west"));
  const declaration = compileDeclaration({ podCIDRs: ["10.1.0.0/16"] });
  const admitted = (service: ServiceKey) =>
    memory
      .contributions(service)
      .map((one) => admitContribution(one, { declaration, ownServices: [] }));
  const hub: Hub = {
    ...memory,
    contributions: (service) => admitted(service).map(({ contribution }) => contribution),
    rejections: (service) => admitted(service).flatMap(({ rejections }) => rejections),
  };
  const start = () =>
    startMember({
      cluster: id("east"),
      families: ["IPv4"],
      store: line.store,
      hub,
      policy: createPolicy({ namespaces: "wait" }),
      livenessOf: () => "live",
      clock: world.clock,
      random: seededRandom(3),
      log: LOG,
    });
  let member = start();
  onTestFinished(() => world.during(member.stop()));

  return {
    site,
    line,
    share: async (addresses: readonly string[], seconds = 5) => {
      await memory.publish(aContribution(aShare("west"), addresses));
      await memory.completeSync(id("west"));
      await world.pass(seconds);
    },
    restart: async () => {
      await world.during(member.stop());
      line.forgetWrites();
      member = start();
      await world.pass(60);
    },
    reasons: async () => {
      const { items } = await site.store.list(EVENT, { namespace: SHOP });
      return items.map(
        ({ type, reason, involvedObject }) => `${type} ${reason} ${involvedObject.kind}`,
      );
    },
    accepted: async () => (await site.importConditions("web"))["EndpointsAccepted"],
    addresses: async () => {
      const { items } = await site.store.list(ENDPOINT_SLICE, { namespace: SHOP });
      return items.flatMap(({ endpoints }) => endpoints.flatMap((endpoint) => endpoint.addresses));
    },
  };
}

describe("endpoints outside what is declared for their cluster", () => {
  test("are not imported, the others are, and the import says which and why", async () => {
    const { share, accepted, addresses, reasons } = await open();
    await share(OUTSIDE);
    expect(await addresses()).toEqual(INSIDE);
    expect(await accepted()).toMatchObject({ status: "False", reason: "AddressNotDeclared" });
    expect((await accepted())?.message).toContain("such as 192.0.2.1");
    expect(await reasons()).toEqual(["Warning EndpointsRejected ServiceImport"]);
  });

  test("that are gone take the condition along, and coming back is told again", async () => {
    const { share, accepted, reasons } = await open();
    await share(OUTSIDE);
    await share(INSIDE);
    expect(await accepted()).toBeUndefined();
    expect(await reasons()).toHaveLength(1);
    await share(OUTSIDE);
    expect(await accepted()).toBeDefined();
    expect(await reasons()).toHaveLength(2);
  });

  test("that become more change the words, without another Event", async () => {
    const { share, accepted, reasons } = await open();
    await share(OUTSIDE);
    await share([...OUTSIDE, "192.0.2.2"]);
    expect((await accepted())?.message).toContain("2 endpoints");
    expect(await reasons()).toHaveLength(1);
  });

  test("that come and go without end do not fill the storage with Events", async () => {
    const { share, accepted, reasons } = await open();
    for (let times = 0; times < 200; times += 1) {
      await share(INSIDE, 0.05);
      await share(OUTSIDE, 0.05);
    }
    expect((await reasons()).length).toBeLessThan(120);
    expect(await accepted()).toBeDefined();
    for (let times = 0; times < 3; times += 1) {
      await share(INSIDE);
      await share(OUTSIDE);
    }
    expect((await reasons()).length).toBeGreaterThan(100);
  });

  test("are not told again after a restart: nothing at all is written", async () => {
    const { share, restart, line, reasons } = await open();
    await share(OUTSIDE);
    await restart();
    expect(line.writes()).toEqual([]);
    expect(await reasons()).toHaveLength(1);
  });

  test("are told beside the conditions of others, which stay when ours goes, whoever else holds on to it", async () => {
    const { share, site, line, accepted } = await open();
    await share(OUTSIDE);
    const other: Condition = {
      type: "Other",
      status: "True",
      reason: "Fine",
      message: "",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    };
    const object = {
      apiVersion: apiVersionOf(SERVICE_IMPORT),
      kind: SERVICE_IMPORT.kind,
      metadata: { namespace: SHOP, name: "web" },
      status: { conditions: [other, (await accepted())!] },
    };
    const options = { fieldManager: "other", force: true, subresource: "status" } as const;
    await site.store.apply(SERVICE_IMPORT, object, options);
    line.forgetWrites();
    await share(INSIDE);
    expect(Object.keys(await site.importConditions("web")).toSorted()).toEqual(["Other", "Ready"]);
    expect((await site.importConditions("web"))["Other"]).toEqual(other);
    const statuses = line.writes().filter((write) => write.includes("/status"));
    expect(statuses).toEqual(["replace serviceimports/status web"]);
  });
});
