import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { NAMESPACE } from "../api/builtin.ts";
import { endpointShareName } from "../api/digest.ts";
import {
  ENDPOINT_SHARE,
  ENDPOINT_SHARE_CRD,
  SERVICE_SHARE,
  SERVICE_SHARE_CRD,
} from "../api/hubshare.ts";
import { memberNamespace, type ServiceKey, serviceKey } from "../api/names.ts";
import { ADMISSION_LIMITS } from "../core/admission.ts";
import { encodeEndpointShare, encodeServiceShare } from "../core/wire.ts";
import { type HubAgent, HubWorld } from "../../test/hubWorld.ts";
import { aContribution, aShare, id, WEB } from "../../test/shares.ts";

const EAST = id("east");
const V4 = endpointShareName(WEB, "web-ipv4");

let world: HubWorld;
let west: HubAgent;

beforeEach(async () => {
  world = await HubWorld.open("east", "west");
  west = await world.start("west");
});
afterEach(async () => {
  await world.stop();
});

const web = (addresses?: readonly string[]) => aContribution(aShare("east"), addresses);
const serviceSpec = encodeServiceShare(web().share);
const endpointSpec = encodeEndpointShare(web().endpoints[0]!);

function reasons(agent = west): readonly string[] {
  return agent.hub.rejections(WEB).map(({ cluster, reason }) => `${cluster} ${reason}`);
}

describe("whose share it is", () => {
  test("is said by its namespace, never by its content", async () => {
    const spec = { ...serviceSpec, labels: { cluster: "west" } };
    await world.putService("east", "shop.web", spec);
    await world.pass(1);
    const [contribution] = west.hub.contributions(WEB);
    expect(contribution?.share).toMatchObject({ cluster: "east", service: "shop/web" });
  });

  test("matters: of a namespace without a ClusterMember nothing is taken", async () => {
    for (const name of ["isthmus-member-south", "somewhere"]) {
      const metadata = { name };
      await world.admin.create(NAMESPACE, { apiVersion: "v1", kind: "Namespace", metadata });
    }
    await world.putService("south", "shop.web", serviceSpec);
    await world.putEndpoints("south", V4, endpointSpec);
    await world.pass(1);
    expect(west.hub.contributions(WEB)).toEqual([]);
    expect([...west.hub.services()]).toEqual([]);
    west.heard.length = 0;
    await world.register("south");
    await world.pass(1);
    expect(west.hub.contributions(WEB)).toHaveLength(1);
    expect(west.heard).toContain("members");
  });
});

describe("what is not taken in", () => {
  test("are endpoints outside the declared ranges, and a sentence says so", async () => {
    await world.putService("east", "shop.web", serviceSpec);
    const endpoints = [{ addresses: ["10.0.0.1"] }, { addresses: ["192.168.0.1"] }];
    await world.putEndpoints("east", V4, { ...endpointSpec, endpoints });
    await world.pass(1);
    const [contribution] = west.hub.contributions(WEB);
    expect(contribution?.endpoints.map((share) => share.endpoints.length)).toEqual([1]);
    expect(reasons()).toEqual(["east AddressNotDeclared"]);
    expect(west.hub.rejections(WEB)[0]?.message).toContain("192.168.0.1");
    expect(west.hub.rejectionTotals()).toEqual(new Map([["east AddressNotDeclared", 1]]));
  });

  test("are endpoints inside the Service range of the cluster that reads", async () => {
    await world.register("north", { serviceCIDRs: ["10.0.0.0/24"] });
    const north = await world.start("north");
    await world.putService("east", "shop.web", serviceSpec);
    await world.putEndpoints("east", V4, endpointSpec);
    await world.pass(1);
    expect(reasons()).toEqual([]);
    expect(reasons(north)).toEqual(["east AddressInServiceRange"]);
    expect(north.hub.contributions(WEB)[0]?.endpoints).toEqual([]);
  });

  test("is nothing of this cluster's own: at home it is used, but said that others will not", async () => {
    const agent = await world.start("east");
    const share = web(["10.0.0.1", "192.168.0.1"]);
    await agent.hub.publish(share);
    await world.pass(1);
    expect(agent.hub.contributions(WEB)).toEqual([share]);
    expect(reasons(agent)).toEqual(["east AddressNotDeclared"]);
    expect(west.hub.contributions(WEB)).toEqual([web()]);
  });

  test("is what the hub has of this cluster, while its own agent has not said so: it may be old", async () => {
    const before = await world.start("east");
    await before.hub.publish(web());
    await before.hub.completeSync(id("east"));
    await world.pass(1);
    const agent = await world.start("east");
    expect(agent.hub.contributions(WEB)).toEqual([]);
    const ownOf = () => agent.hub.members().find(({ cluster }) => cluster === "east");
    expect(ownOf()?.isComplete).toBe(false);
    await agent.hub.publish(web(["10.0.0.2"]));
    expect(agent.hub.contributions(WEB)).toEqual([web(["10.0.0.2"])]);
    await agent.hub.completeSync(id("east"));
    expect(ownOf()?.isComplete).toBe(true);
  });

  test("is a share without what it cannot do without", async () => {
    await world.putService("east", "shop.web", { ...serviceSpec, type: "Anycast" });
    await world.pass(1);
    expect(west.hub.contributions(WEB)).toEqual([]);
    expect(reasons()).toEqual(["east Malformed"]);
  });

  test("is an EndpointShare by the name of another slice", async () => {
    await world.putService("east", "shop.web", serviceSpec);
    await world.putEndpoints("east", V4, { ...endpointSpec, slice: "other" });
    await world.pass(1);
    expect(west.hub.contributions(WEB)[0]?.endpoints).toEqual([]);
    expect(reasons()).toEqual(["east Malformed"]);
  });

  test("are endpoints without their service: they come early, or stayed behind", async () => {
    await world.putEndpoints("east", V4, endpointSpec);
    await world.pass(1);
    expect(west.hub.contributions(WEB)).toEqual([]);
    expect(reasons()).toEqual([]);
  });

  test("is reported no more when it is put right", async () => {
    await world.putService("east", "shop.web", { ...serviceSpec, type: "Anycast" });
    await world.pass(1);
    expect(west.hub.rejections(WEB)).toHaveLength(1);
    await world.putService("east", "shop.web", serviceSpec);
    await world.pass(1);
    expect(west.hub.rejections(WEB)).toEqual([]);
    expect(west.hub.rejectionTotals()).toEqual(new Map());
  });
});

describe("a cluster that the hub does not know", () => {
  const publishEast = async () => {
    await world.putService("east", "shop.web", serviceSpec);
    await world.putEndpoints("east", V4, endpointSpec);
  };

  test("takes in nothing: what is declared of itself would have to be held against it", async () => {
    await publishEast();
    const south = await world.start("south");
    expect(south.hub.contributions(WEB)).toEqual([]);
    expect(south.hub.hasStrangers()).toBe(true);
    await world.register("south");
    await world.pass(1);
    expect(south.hub.contributions(WEB)).toEqual([web()]);
  });

  test("still has its Service ranges guarded when it has been evicted", async () => {
    await world.register("south", { serviceCIDRs: ["10.0.0.0/24"] });
    const south = await world.start("south");
    await publishEast();
    await world.pass(1);
    await world.evict("south");
    await world.pass(120);
    expect(south.hub.contributions(WEB)[0]?.endpoints).toEqual([]);
    expect(reasons(south)).toEqual(["east AddressInServiceRange"]);
  });
});

describe("on a hub of the next version", () => {
  beforeEach(async () => {
    for (const crd of [SERVICE_SHARE_CRD, ENDPOINT_SHARE_CRD]) {
      await world.alterSchema(crd, (spec) => {
        spec["x-kubernetes-preserve-unknown-fields"] = true;
      });
    }
  });

  test("a share is read as far as it is understood", async () => {
    await world.putService("east", "shop.web", {
      ...serviceSpec,
      cluster: "west",
      capacity: { weight: 7 },
      whenLost: "teleport",
    });
    const endpoints = endpointSpec.endpoints.map((endpoint) => ({ ...endpoint, weight: 7 }));
    await world.putEndpoints("east", V4, { ...endpointSpec, endpoints, service: "shop/other" });
    await world.pass(1);
    expect(west.hub.contributions(WEB)).toEqual([web()]);
    expect(reasons()).toEqual(["east Malformed"]);
    expect(west.hub.rejections(WEB)[0]?.message).toContain("teleport");
  });

  test("a share of our own cluster is put back to what this version says", async () => {
    const agent = await world.start("east");
    await world.putService("east", "shop.web", { ...serviceSpec, capacity: { weight: 7 } });
    await world.pass(1);
    await agent.hub.publish(web());
    await world.pass(1);
    expect((await world.serviceShares())[0]?.spec).toEqual(serviceSpec);
    agent.line.forgetWrites();
    await agent.hub.publish(web());
    expect(agent.writes()).toEqual([]);
  });

  test("a share that is larger than any can be is left out, and said to be", async () => {
    await world.putService("east", "shop.web", serviceSpec);
    await world.putEndpoints("east", V4, { ...endpointSpec, filler: "x".repeat(1_100_000) });
    await world.pass(1);
    expect(west.hub.contributions(WEB)[0]?.endpoints).toEqual([]);
    expect(reasons()).toEqual(["east TooMany"]);
    expect(west.hub.rejections(WEB)[0]?.message).toContain("1048576 characters");
  });
});

describe("a member with more than its due", () => {
  const limits = { ...ADMISSION_LIMITS, services: 2 };
  const service = (name: string): ServiceKey => serviceKey({ namespace: "shop", name });
  let north: HubAgent;
  beforeEach(async () => {
    await world.register("north");
    north = await world.start("north", { limits });
    for (const name of ["b", "c", "d"]) await world.putService("east", `shop.${name}`, serviceSpec);
    await world.pass(2);
  });
  const taken = () =>
    ["a", "b", "c", "d"].filter((name) => north.hub.contributions(service(name)).length > 0);

  test("has the first by name taken in, and the others reported", () => {
    expect(taken()).toEqual(["b", "c"]);
    expect(north.hub.rejections(service("d"))).toMatchObject([
      { cluster: "east", reason: "TooMany" },
    ]);
    expect(north.hub.rejections(service("c"))).toEqual([]);
  });

  test("is logged once, not for every share", async () => {
    for (const name of ["e", "f"]) await world.putService("east", `shop.${name}`, serviceSpec);
    await world.pass(60);
    const lines = world.said.filter(({ message }) => message.includes("more than is taken in"));
    expect(lines).toHaveLength(1);
  });

  test("has another taken in instead, and both told, when an earlier one comes or goes", async () => {
    north.heard.length = 0;
    await world.putService("east", "shop.a", serviceSpec);
    await world.pass(2);
    expect(taken()).toEqual(["a", "b"]);
    expect(north.heard).toEqual(expect.arrayContaining([service("a"), service("c")]));
  });

  test("has what was left out taken in, and told, when there is room", async () => {
    north.heard.length = 0;
    const ref = { namespace: memberNamespace(EAST), name: "shop.b" };
    await world.admin.delete(SERVICE_SHARE, ref);
    await world.pass(2);
    expect(taken()).toEqual(["c", "d"]);
    expect(north.heard).toContain(service("d"));
    expect(north.hub.rejections(service("d"))).toEqual([]);
  });
});

describe("a member with more endpoints than its due", () => {
  const limits = { ...ADMISSION_LIMITS, endpoints: 3 };
  const service = (name: string): ServiceKey => serviceKey({ namespace: "shop", name });
  const taken = () =>
    ["a", "b"].filter((name) => north.hub.contributions(service(name)).length > 0);
  let north: HubAgent;
  beforeEach(async () => {
    await world.register("north");
    north = await world.start("north", { limits });
    for (const name of ["a", "b"]) await put(name, 1);
    await world.pass(2);
  });

  async function put(name: string, endpoints: number): Promise<void> {
    await world.putService("east", `shop.${name}`, serviceSpec);
    const [endpoint] = endpointSpec.endpoints;
    await world.putEndpoints("east", endpointShareName(service(name), "slice"), {
      ...endpointSpec,
      slice: "slice",
      endpoints: Array.from({ length: endpoints }, () => endpoint),
    });
  }

  test("has the first by name taken in, and another again once there is room", async () => {
    expect(taken()).toEqual(["a", "b"]);
    await put("a", 3);
    await world.pass(2);
    expect(taken()).toEqual(["a"]);
    expect(north.hub.rejections(service("b"))).toMatchObject([
      { cluster: "east", reason: "TooMany" },
    ]);
    await put("a", 2);
    await world.pass(2);
    expect(taken()).toEqual(["a", "b"]);
    expect(north.hub.rejections(service("b"))).toEqual([]);
  });
});

test("work is proportional to the change: one slice more is told of one service", async () => {
  await world.putService("east", "shop.web", serviceSpec);
  await world.putService("east", "shop.other", serviceSpec);
  await world.pass(1);
  west.heard.length = 0;
  await world.putEndpoints("east", V4, endpointSpec);
  await world.pass(1);
  expect(west.heard).toEqual([WEB]);
});

test("annotations and labels of others on a share change nothing", async () => {
  await world.putService("east", "shop.web", serviceSpec);
  await world.putEndpoints("east", V4, endpointSpec);
  const ref = { namespace: memberNamespace(EAST), name: V4 };
  const share = await world.admin.get(ENDPOINT_SHARE, ref);
  const metadata = { ...share!.metadata, annotations: { note: "x".repeat(1_000) } };
  await world.admin.replace(ENDPOINT_SHARE, { ...share!, metadata });
  await world.pass(1);
  expect(west.hub.contributions(WEB)).toEqual([web()]);
});
