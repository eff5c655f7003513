import { describe, expect, test } from "vitest";
import { VirtualClock } from "../../test/clock.ts";
import { runHubContract } from "../../test/contract/hub.ts";
import { aContribution, aShare, id, WEB } from "../../test/shares.ts";
import { createMemoryHub } from "./memory.ts";

runHubContract(async () => {
  const clock = new VirtualClock();
  const hub = createMemoryHub(clock, () => false);
  let count = 0;
  return {
    uniqueId: (name) => id(`${name}-${(count += 1)}`),
    join: async (cluster) => {
      hub.admit(cluster);
      return hub;
    },
    remove: async (cluster) => hub.dismiss(cluster),
    eventually: async (_, assertion) => {
      await clock.advance(1_000);
      assertion();
    },
    monotonic: () => clock.monotonic(),
    close: async () => undefined,
  };
});

function aHub(...admitted: readonly string[]) {
  const clock = new VirtualClock();
  const heard: string[] = [];
  let strangers = false;
  const hub = createMemoryHub(clock, () => strangers);
  for (const name of admitted) hub.admit(id(name));
  hub.subscribe({
    onService: (service) => heard.push(service),
    onDoubt: (service) => heard.push(`doubt ${service}`),
    onMembers: () => heard.push("members"),
  });
  const expectStrangers = (value: boolean): void => {
    strangers = value;
  };
  return { hub, clock, heard, expectStrangers };
}
const share = (cluster: string, addresses?: readonly string[]) =>
  aContribution(aShare(cluster), addresses);

describe("members of the hub in memory", () => {
  test("R67: an id that is taken is refused, and nobody is told", () => {
    const { hub, heard } = aHub();
    expect(hub.admit(id("east"))).toBe(true);
    expect(hub.admit(id("east"))).toBe(false);
    expect(hub.members()).toHaveLength(1);
    expect(heard).toEqual(["members"]);
  });

  test("are told once that one of them is complete", async () => {
    const { hub, heard } = aHub("east");
    await hub.completeSync(id("east"));
    await hub.completeSync(id("east"));
    expect(heard).toEqual(["members"]);
  });

  test("R66: a step of the wall clock makes nobody silent", () => {
    const { hub, clock } = aHub("east");
    clock.stepWall(3_600_000);
    expect(hub.members()[0]?.silentMs).toBe(0);
  });

  test("that are expected but unknown are asked for anew each time", () => {
    const { hub, heard, expectStrangers } = aHub();
    expect(hub.hasStrangers()).toBe(false);
    expectStrangers(true);
    hub.reviewMembers();
    expect(hub.hasStrangers()).toBe(true);
    expect(heard).toEqual(["members"]);
  });
});

describe("shares in memory", () => {
  test("published twice are told once, changed ones again", async () => {
    const { hub, heard } = aHub("east");
    await hub.publish(share("east"));
    await hub.publish(share("east"));
    expect(heard).toEqual([WEB]);
    await hub.publish(share("east", ["10.0.0.2"]));
    expect(heard).toEqual([WEB, WEB]);
  });

  test("R67: of a cluster that leaves go with it, and its id is free again", async () => {
    const { hub, heard } = aHub("east", "west");
    await hub.publish(share("east"));
    await hub.publish(share("west"));
    hub.dismiss(id("east"));
    expect(hub.contributions(WEB)).toEqual([share("west")]);
    expect(heard).toEqual([WEB, WEB, WEB, "members"]);
    hub.dismiss(id("west"));
    expect([...hub.services()]).toEqual([]);
    expect(hub.admit(id("east"))).toBe(true);
  });
});
