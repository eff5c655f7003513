import { describe, expect, test } from "vitest";
import { aContribution, aShare, id } from "../../test/shares.ts";
import type { ClusterProperty } from "../api/about.ts";
import type { EndpointSlice } from "../api/builtin.ts";
import type { ClusterId } from "../api/names.ts";
import type { Contribution } from "../api/share.ts";
import { readDrain, renderDrain } from "./drain.ts";
import { viewMerged } from "./import.ts";
import { judgeLiveness, type Judged, type Liveness, NOTHING_JUDGED } from "./liveness.ts";
import { mergeShares } from "./merge.ts";
import { planSlices } from "./slices.ts";
import type { Write } from "./write.ts";

describe("the property by which a cluster is drained", () => {
  const other = { ...renderDrain("east"), metadata: { name: "cluster.clusterset.k8s.io" } };

  test("says why", () => {
    expect(readDrain([other, renderDrain("new kernel")])).toBe("new kernel");
  });

  test("is not there, or is going: the cluster is not drained", () => {
    expect(readDrain([])).toBeUndefined();
    expect(readDrain([other])).toBeUndefined();
    const { metadata, ...rest } = renderDrain("new kernel");
    const going = { ...metadata, deletionTimestamp: "2026-01-01T00:00:00Z" };
    expect(readDrain([{ metadata: going, ...rest }])).toBeUndefined();
  });

  test("without a word it says that there is none, and it is on one line that the hub takes", () => {
    const { spec: _, ...bare } = renderDrain("x");
    expect(readDrain([bare])).toBe("no reason given");
    expect(readDrain([renderDrain(" \n\t ")])).toBe("no reason given");
    expect(readDrain([renderDrain("new\nkernel\u001b[31m")])).toBe("new kernel [31m");
    const long = readDrain([renderDrain("\u{1f6a7}".repeat(1_000))] as ClusterProperty[]);
    expect(long).toBe("\u{1f6a7}".repeat(256));
  });
});

describe("the liveness of a member that asks to be drained", () => {
  const POLICY = { unreadyAfterMs: 20, withdrawAfterMs: 30 };

  /** "b" among three that are heard, look by look: [silentMs, isDrained]. */
  function follow(...looks: readonly (readonly [number, boolean])[]): Liveness {
    let judged: Judged = NOTHING_JUDGED;
    for (const [at, [silentMs, isDrained]] of looks.entries()) {
      const contacts = [
        { cluster: id("a"), silentMs: 0 },
        { cluster: id("b"), silentMs, isDrained },
        { cluster: id("c"), silentMs: 0 },
      ];
      judged = judgeLiveness({ contacts, policy: POLICY, nowMs: 1_000 * (at + 1) }, judged);
    }
    return judged.liveness.get(id("b"))!;
  }

  test("is drained at once, and live again at once", () => {
    expect(follow([0, true])).toBe("drained");
    expect(follow([0, true], [0, false])).toBe("live");
    expect(follow([15, true], [15, false])).toBe("live");
  });

  test("R65: is worse when it is not heard: then it is silent or lost like anybody", () => {
    expect(follow([0, true], [20, true])).toBe("silent");
    expect(follow([0, true], [20, true], [30, true])).toBe("lost");
    expect(follow([0, true], [30, true], [0, true])).toBe("drained");
  });

  const flaps = (isDrained: boolean) =>
    Array.from({ length: 4 }, () => [[30, isDrained] as const, [0, isDrained] as const]).flat();

  test("is drained rather than flapping when it is both", () => {
    expect(follow(...flaps(false))).toBe("flapping");
    expect(follow(...flaps(false), [0, true])).toBe("drained");
    expect(follow(...flaps(false), [0, true], [0, false])).toBe("flapping");
  });

  test("is no worse trusted for going down while it was drained", () => {
    expect(follow(...flaps(true), [0, false])).toBe("live");
  });

  test("R66: stays as it says, and no worse, while most are silent: it is we who are cut off", () => {
    const contacts = ["a", "b", "c"].map((name) => ({
      cluster: id(name),
      silentMs: name === "a" ? 0 : 99,
      isDrained: name === "b",
    }));
    const input = { contacts, policy: POLICY, nowMs: 1_000, self: id("a") };
    expect(judgeLiveness(input, NOTHING_JUDGED).liveness.get(id("b"))).toBe("drained");
  });
});

describe("the endpoints of a drained source", () => {
  const of = (name: string, ...addresses: readonly string[]): Contribution =>
    aContribution(aShare(name, { ipFamilies: ["IPv4", "IPv6"] }), addresses);

  interface Scene {
    readonly states: Readonly<Record<string, Liveness>>;
    /** By their last word, whatever their state. */
    readonly drained?: readonly string[];
    readonly awaited?: readonly string[];
    readonly observed?: readonly EndpointSlice[];
    readonly all?: readonly Contribution[];
  }
  /** Seen from cluster "a". */
  function plan(contributions: readonly Contribution[], scene: Scene): readonly Write[] {
    const { states, drained = [], awaited = [], observed = [], all = contributions } = scene;
    const merged = mergeShares(all.map(({ share }) => share));
    return planSlices(
      {
        cluster: id("a"),
        view: viewMerged(merged!, { families: ["IPv4", "IPv6"], derivedName: "derived-web" }),
        contributions,
        livenessOf: (cluster: ClusterId) => states[cluster] ?? "live",
        isDrained: (cluster) => drained.includes(cluster),
        isAwaited: (cluster) => awaited.includes(cluster),
      },
      observed,
    );
  }
  const slicesOf = (writes: readonly Write[]): readonly EndpointSlice[] =>
    writes.flatMap((write) => (write.verb === "delete" ? [] : [write.object as EndpointSlice]));
  const readyIn = (slices: readonly EndpointSlice[]): readonly string[] =>
    slices.flatMap(({ endpoints }) =>
      endpoints.flatMap(({ addresses, conditions }) => (conditions?.ready ? addresses : [])),
    );
  const ready = (contributions: readonly Contribution[], scene: Scene): readonly string[] =>
    readyIn(slicesOf(plan(contributions, scene)));

  test("are not ready while others serve, in other clusters and in its own", () => {
    const both = [of("a", "10.0.0.1"), of("b", "10.0.0.2")];
    expect(ready(both, { states: { b: "drained" } })).toEqual(["10.0.0.1"]);
    expect(ready(both, { states: { a: "drained" } })).toEqual(["10.0.0.2"]);
  });

  test("stay where nobody else serves, or all who do are drained, too", () => {
    expect(ready([of("b", "10.0.0.2")], { states: { b: "drained" } })).toEqual(["10.0.0.2"]);
    const both = [of("a", "10.0.0.1"), of("b", "10.0.0.2")];
    const states = { a: "drained", b: "drained" } as const;
    expect(ready(both, { states })).toEqual(["10.0.0.1", "10.0.0.2"]);
  });

  test("stay for a family that nobody else has", () => {
    const both = [of("a", "10.0.0.1"), of("b", "10.0.0.2", "fd00::2")];
    expect(ready(both, { states: { b: "drained" } })).toEqual(["10.0.0.1", "fd00::2"]);
  });

  test("leave whatever is to become of them when their cluster is lost", () => {
    const kept = aContribution(aShare("b", { whenLost: "keep" }), ["10.0.0.2"]);
    const both = [of("a", "10.0.0.1"), kept];
    expect(ready(both, { states: { b: "flapping" } })).toEqual(["10.0.0.1", "10.0.0.2"]);
    expect(ready(both, { states: { b: "drained" } })).toEqual(["10.0.0.1"]);
  });

  test("to be kept when their cluster is lost do not come back by its being stopped, but where nobody else serves", () => {
    const kept = aContribution(aShare("b", { whenLost: "keep" }), ["10.0.0.2"]);
    for (const stopped of ["silent", "lost"] as const) {
      const scene = { states: { b: stopped }, drained: ["b"] };
      expect(ready([of("a", "10.0.0.1"), kept], scene)).toEqual(["10.0.0.1"]);
      expect(ready([of("a", "10.0.0.1"), kept], { states: { b: stopped } })).toHaveLength(2);
      expect(ready([kept], scene)).toEqual(["10.0.0.2"]);
      // Whose are not to be kept are as anybody's.
      expect(ready([of("b", "10.0.0.2")], scene)).toEqual([]);
    }
  });

  test("stay at home where clients reach their own node only: there is nobody else for them", () => {
    const local = (name: string, address: string): Contribution =>
      aContribution(aShare(name, { internalTrafficPolicy: "Local" }), [address]);
    const both = [local("a", "10.0.0.1"), local("b", "10.0.0.2")];
    expect(ready(both, { states: { a: "drained" } })).toEqual(["10.0.0.1", "10.0.0.2"]);
    expect(ready(both, { states: { b: "drained" } })).toEqual(["10.0.0.1"]);
  });

  test("R66: do not come back while those who serve in their place are not heard after a restart", () => {
    const all = [of("a", "10.0.0.1"), of("b", "10.0.0.2")];
    const states = { a: "drained" } as const;
    const observed = slicesOf(plan(all, { states }));
    const [own] = all;
    expect(plan([own!], { states, observed, awaited: ["b"], all })).toEqual([]);
    // Who is not awaited any more has left, and serves nobody.
    expect(ready([own!], { states, observed, all: [own!] })).toEqual(["10.0.0.1"]);
    // Nor does who is silent.
    const silent = { a: "drained", b: "silent" } as const;
    expect(ready([own!], { states: silent, observed, awaited: ["b"], all })).toEqual(["10.0.0.1"]);
  });

  test("leave when those who take their place have been written, not before: a write may be refused", () => {
    const all = [of("a", "10.0.0.1"), of("b", "10.0.0.2")];
    const states = { b: "drained" } as const;
    const alone = slicesOf(plan([all[1]!], { states }));
    const first = slicesOf(plan(all, { states, observed: alone }));
    expect(readyIn(first)).toEqual(["10.0.0.1"]);
    expect(first).toHaveLength(1);
    const second = slicesOf(plan(all, { states, observed: [...alone, ...first] }));
    expect(second).toHaveLength(1);
    expect(readyIn(second)).toEqual([]);
  });

  test("R66: that are not heard yet stay as they are, ready or not", () => {
    const all = [of("a", "10.0.0.1"), of("b", "10.0.0.2")];
    for (const was of ["live", "drained"] as const) {
      const observed = slicesOf(plan(all, { states: { b: was } }));
      const scene = { states: { b: "drained" }, observed, awaited: ["b"], all } as const;
      expect(plan([all[0]!], scene)).toEqual([]);
    }
  });
});
