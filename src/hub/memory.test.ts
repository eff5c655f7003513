import { describe, expect, test } from "vitest";
import { VirtualClock } from "../../test/clock.ts";
import { aContribution, aShare, id, WEB } from "../../test/shares.ts";
import { createMemoryHub } from "./memory.ts";

function aHub(...admitted: readonly string[]) {
  const clock = new VirtualClock();
  const heard: string[] = [];
  let strangers = false;
  const hub = createMemoryHub(clock, () => strangers);
  for (const name of admitted) hub.admit(id(name));
  const stop = hub.subscribe({
    onService: (service) => heard.push(service),
    onMembers: () => heard.push("members"),
  });
  const expectStrangers = (value: boolean): void => {
    strangers = value;
  };
  return { hub, clock, heard, stop, expectStrangers };
}
const share = (cluster: string, addresses?: readonly string[]) =>
  aContribution(aShare(cluster), addresses);

describe("members", () => {
  test("R67: a cluster id that is taken is refused", () => {
    const { hub } = aHub();
    expect(hub.admit(id("east"))).toBe(true);
    expect(hub.admit(id("east"))).toBe(false);
    expect(hub.members()).toHaveLength(1);
  });

  test("are told of newcomers, and of refused ones nothing", () => {
    const { hub, heard } = aHub();
    hub.admit(id("east"));
    hub.admit(id("east"));
    expect(heard).toEqual(["members"]);
  });

  test("are incomplete until they have published all they have, which is told once", async () => {
    const { hub, heard } = aHub("east");
    expect(hub.members()[0]?.isComplete).toBe(false);
    await hub.completeSync(id("east"));
    await hub.completeSync(id("east"));
    expect(hub.members()[0]?.isComplete).toBe(true);
    expect(heard).toEqual(["members"]);
  });

  test("R66: are silent for as long as the hub's own clock says since they were heard", async () => {
    const { hub, clock } = aHub("east", "west");
    await clock.advance(5_000);
    await hub.heartbeat(id("east"));
    await clock.advance(1_000);
    expect(hub.members().map(({ cluster, silentMs }) => [cluster, silentMs])).toEqual([
      ["east", 1_000],
      ["west", 6_000],
    ]);
  });

  test("R66: a step of the wall clock makes nobody silent", () => {
    const { hub, clock } = aHub("east");
    clock.stepWall(3_600_000);
    expect(hub.members()[0]?.silentMs).toBe(0);
  });

  test("who was never admitted cannot publish, withdraw, complete or be heard", async () => {
    const { hub } = aHub();
    const stranger = id("stranger");
    await expect(hub.publish(share("stranger"))).rejects.toThrow("never admitted");
    await expect(hub.withdraw(stranger, WEB)).rejects.toThrow("never admitted");
    await expect(hub.completeSync(stranger)).rejects.toThrow("never admitted");
    await expect(hub.heartbeat(stranger)).rejects.toThrow("never admitted");
    expect([...hub.services()]).toEqual([]);
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

describe("shares", () => {
  test("of all clusters meet", async () => {
    const { hub, heard } = aHub("east", "west");
    await hub.publish(share("east"));
    await hub.publish(share("west"));
    expect(hub.contributions(WEB)).toEqual([share("east"), share("west")]);
    expect([...hub.services()]).toEqual([WEB]);
    expect(heard).toEqual([WEB, WEB]);
  });

  test("published twice are told once, changed ones again", async () => {
    const { hub, heard } = aHub("east");
    await hub.publish(share("east"));
    await hub.publish(share("east"));
    expect(heard).toEqual([WEB]);
    await hub.publish(share("east", ["10.0.0.2"]));
    expect(heard).toEqual([WEB, WEB]);
    expect(hub.contributions(WEB)).toEqual([share("east", ["10.0.0.2"])]);
  });

  test("R10: withdrawn are gone, those of others stay", async () => {
    const { hub, heard } = aHub("east", "west");
    await hub.publish(share("east"));
    await hub.publish(share("west"));
    await hub.withdraw(id("east"), WEB);
    expect(hub.contributions(WEB)).toEqual([share("west")]);
    await hub.withdraw(id("west"), WEB);
    expect([...hub.services()]).toEqual([]);
    expect(heard).toHaveLength(4);
  });

  test("R10: withdrawing what is not there tells nobody", async () => {
    const { hub, heard } = aHub("east", "west");
    await hub.withdraw(id("east"), WEB);
    await hub.publish(share("west"));
    await hub.withdraw(id("east"), WEB);
    expect(heard).toEqual([WEB]);
    expect(hub.contributions(WEB)).toEqual([share("west")]);
  });

  test("R67: of a cluster that leaves go with it, and its id is free again", async () => {
    const { hub, heard } = aHub("east", "west");
    await hub.publish(share("east"));
    await hub.publish(share("west"));
    hub.dismiss(id("east"));
    expect(hub.contributions(WEB)).toEqual([share("west")]);
    expect(heard).toEqual([WEB, WEB, WEB, "members"]);
    expect(hub.members().map(({ cluster }) => cluster)).toEqual(["west"]);
    hub.dismiss(id("west"));
    expect([...hub.services()]).toEqual([]);
    expect(hub.admit(id("east"))).toBe(true);
  });

  test("of a service that nobody shares are none", () => {
    expect(aHub("east").hub.contributions(WEB)).toEqual([]);
  });
});

test("who stops listening hears nothing more", async () => {
  const { hub, heard, stop } = aHub("east");
  stop();
  await hub.publish(share("east"));
  await hub.completeSync(id("east"));
  expect(heard).toEqual([]);
});
