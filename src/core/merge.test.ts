import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { aShare, id } from "../../test/shares.ts";
import type { ServiceShare } from "../api/share.ts";
import { mergeShares } from "./merge.ts";
import { describePort } from "./ports.ts";

function merge(...shares: readonly ServiceShare[]) {
  const merged = mergeShares(shares);
  if (merged === undefined) throw new Error("nothing was merged");
  return merged;
}
const reasons = (...shares: readonly ServiceShare[]): string =>
  merge(...shares)
    .conflicts.map((conflict) => conflict.reason)
    .join(",");
const ports = (...shares: readonly ServiceShare[]): readonly string[] =>
  merge(...shares).ports.map(describePort);

test("R1: no share, no service", () => {
  expect(mergeShares([])).toBeUndefined();
});

test("R20: the older export wins, whatever the order of arrival", () => {
  const old = aShare("west", { age: 9, type: "Headless" });
  const young = aShare("east");
  expect(merge(old, young).type).toBe("Headless");
  expect(merge(young, old).type).toBe("Headless");
});

test("R20: exports of the same second are ordered by cluster id", () => {
  expect(merge(aShare("west"), aShare("east", { type: "Headless" })).type).toBe("Headless");
});

test("R22: when the oldest leaves, the next oldest decides", () => {
  const second = aShare("b", { age: 5, sessionAffinity: "ClientIP" });
  expect(merge(aShare("a", { age: 9 }), second, aShare("c")).sessionAffinity).toBe("None");
  expect(merge(second, aShare("c")).sessionAffinity).toBe("ClientIP");
});

test("R16: contributing clusters are listed in order of their ids", () => {
  expect(merge(aShare("c", { age: 9 }), aShare("a"), aShare("b")).clusters).toEqual([
    "a",
    "b",
    "c",
  ]);
});

describe("ports", () => {
  const cases: Record<
    string,
    { shares: readonly (readonly string[])[]; merged: readonly string[] }
  > = {
    "R29: a port that only the younger has is added": {
      shares: [
        ["tcp 42/TCP", "udp 42/UDP"],
        ["tcp 42/TCP", "stcp 142/SCTP"],
      ],
      merged: ["tcp 42/TCP", "udp 42/UDP", "stcp 142/SCTP"],
    },
    "R26a, R29: the same name with another number is dropped": {
      shares: [["tcp 42/TCP", "udp 42/UDP"], ["tcp 43/TCP"]],
      merged: ["tcp 42/TCP", "udp 42/UDP"],
    },
    "R29: another name and number is added": {
      shares: [["tcp 42/TCP", "udp 42/UDP"], ["tcp2 4242/TCP"]],
      merged: ["tcp 42/TCP", "udp 42/UDP", "tcp2 4242/TCP"],
    },
    "R24: a proper subset is a conflict": {
      shares: [["http 80/TCP", "https 443/TCP"], ["http 80/TCP"]],
      merged: ["http 80/TCP", "https 443/TCP"],
    },
    "R26b: the same number under another name keeps the older name": {
      shares: [["web 80/TCP"], ["http 80/TCP"]],
      merged: ["web 80/TCP"],
    },
    "R26b, R38: another appProtocol keeps the older one": {
      shares: [["http 80/TCP h2c"], ["http 80/TCP"]],
      merged: ["http 80/TCP (h2c)"],
    },
    "R25: an unnamed port counts as a name": {
      shares: [["80/TCP"], ["81/TCP"]],
      merged: ["80/TCP"],
    },
    "R25: a port without a name stays the sole one": {
      shares: [["80/TCP"], ["http 81/TCP"]],
      merged: ["80/TCP"],
    },
    "R25: a port without a name is not added to others": {
      shares: [["http 81/TCP"], ["80/TCP"]],
      merged: ["http 81/TCP"],
    },
  };
  test.each(Object.entries(cases))("%s", (_, { shares, merged }) => {
    const made = shares.map((list, index) => aShare(`c${index}`, { age: 9 - index, ports: list }));
    expect(ports(...made)).toEqual(merged);
    expect(reasons(...made)).toBe("PortConflict");
  });

  test("R27: order is not a conflict", () => {
    const old = aShare("a", { age: 9, ports: ["http 80/TCP", "dns 53/UDP"] });
    const young = aShare("b", { ports: ["dns 53/UDP", "http 80/TCP"] });
    expect(reasons(old, young)).toBe("");
  });

  test("R43: the message names the port that is left out, and what stands in its way", () => {
    const [conflict] = merge(
      aShare("a", { age: 9 }),
      aShare("b", { ports: ["http 81/TCP"] }),
      aShare("c"),
    ).conflicts;
    expect(conflict?.message).toBe(
      'Conflicting ports. Using "http 80/TCP", all ports merged with precedence to oldest service export in "a". ' +
        '1/3 clusters disagree. Port "http 81/TCP" of "b" is left out: the older "http 80/TCP" takes its place.',
    );
  });
});

test("R25, R43: the message says why a port without a name has to stand alone", () => {
  const [conflict] = merge(
    aShare("a", { age: 9, ports: ["80/TCP"] }),
    aShare("b", { ports: ["http 81/TCP"] }),
  ).conflicts;
  expect(conflict?.message).toContain(
    'Port "http 81/TCP" of "b" is left out: only a sole port may go without a name, and the older "80/TCP" came first.',
  );
});

describe("properties where the oldest wins", () => {
  const cases: Record<
    string,
    { field: Omit<Partial<ServiceShare>, "cluster" | "ports">; reason: string }
  > = {
    "R30: type": { field: { type: "Headless" }, reason: "TypeConflict" },
    "R31: session affinity": {
      field: {
        sessionAffinity: "ClientIP",
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
      },
      reason: "SessionAffinityConflict",
    },
    "R33: internal traffic policy": {
      field: { internalTrafficPolicy: "Local" },
      reason: "InternalTrafficPolicyConflict",
    },
    "R34: traffic distribution": {
      field: { trafficDistribution: "PreferClose" },
      reason: "TrafficDistributionConflict",
    },
    "R35: exported labels": { field: { labels: { team: "a" } }, reason: "LabelsConflict" },
    "R36: exported annotations": {
      field: { annotations: { note: "a" } },
      reason: "AnnotationsConflict",
    },
    "R37: IP families": { field: { ipFamilies: ["IPv6"] }, reason: "IPFamilyConflict" },
  };
  test.each(Object.entries(cases))("%s", (_, { field, reason }) => {
    const plain = aShare("plain", { age: 9 });
    const special = aShare("special", field);
    expect(reasons(plain, special)).toBe(reason);
    expect(merge(plain, special)).toMatchObject({ type: "ClusterSetIP", ipFamilies: ["IPv4"] });
    const winner = merge(aShare("special", { ...field, age: 9 }), aShare("plain"));
    expect(winner).toMatchObject(field);
    expect(winner.conflicts.map((conflict) => conflict.reason)).toEqual([reason]);
  });

  test("R32: the config of the affinity comes with it, and differing timeouts are a conflict of their own", () => {
    const affine = (cluster: string, timeoutSeconds: number, age: number) =>
      aShare(cluster, {
        age,
        sessionAffinity: "ClientIP",
        sessionAffinityConfig: { clientIP: { timeoutSeconds } },
      });
    const merged = merge(affine("a", 60, 9), affine("b", 70, 1));
    expect(merged.sessionAffinityConfig).toEqual({ clientIP: { timeoutSeconds: 60 } });
    expect(merged.conflicts.map(({ reason }) => reason)).toEqual(["SessionAffinityConfigConflict"]);
  });

  test("R33: unset and Cluster are the same internal traffic policy", () => {
    const { internalTrafficPolicy: _, ...unset } = aShare("b");
    expect(reasons(aShare("a", { age: 9 }), unset)).toBe("");
  });

  test("R35: labels are taken whole from the winner, not merged key by key", () => {
    const merged = merge(
      aShare("a", { age: 9, labels: { team: "a" } }),
      aShare("b", { labels: { tier: "b" } }),
    );
    expect(merged.labels).toEqual({ team: "a" });
  });

  test("R37: families that only the younger has are no conflict: all of its backends are reachable", () => {
    const merged = merge(aShare("a", { age: 9 }), aShare("b", { ipFamilies: ["IPv4", "IPv6"] }));
    expect(merged.conflicts).toEqual([]);
    expect(merged.ipFamilies).toEqual(["IPv4"]);
  });

  test("R37: a backend that one of the families in use cannot reach is a conflict", () => {
    expect(reasons(aShare("a", { age: 9, ipFamilies: ["IPv4", "IPv6"] }), aShare("b"))).toBe(
      "IPFamilyConflict",
    );
  });

  test("R43: the message says which value won, from whom, why, and how many disagree", () => {
    const young = (cluster: string, type: "ClusterSetIP" | "Headless") => aShare(cluster, { type });
    const { conflicts } = merge(
      aShare("cluster-1", { age: 9 }),
      young("cluster-2", "Headless"),
      young("cluster-3", "ClusterSetIP"),
      young("cluster-4", "Headless"),
      young("cluster-5", "ClusterSetIP"),
    );
    expect(conflicts).toEqual([
      {
        reason: "TypeConflict",
        message:
          'Conflicting type. Using "ClusterSetIP" from oldest service export in "cluster-1". 2/5 clusters disagree.',
      },
    ]);
  });

  test("R45: all conflicts are told, in a fixed order", () => {
    const old = aShare("a", { age: 9 });
    const young = aShare("b", {
      type: "Headless",
      ports: ["http 81/TCP"],
      labels: { a: "b" },
      ipFamilies: ["IPv6"],
      sessionAffinity: "ClientIP",
    });
    expect(reasons(old, young)).toBe(
      "PortConflict,TypeConflict,SessionAffinityConflict,LabelsConflict,IPFamilyConflict",
    );
  });
});

describe("laws", () => {
  const share = fc
    .record({
      cluster: fc.constantFrom("a", "b", "c", "d", "e"),
      age: fc.nat(3),
      type: fc.constantFrom("ClusterSetIP" as const, "Headless" as const),
      ports: fc.uniqueArray(
        fc.constantFrom(
          "http 80/TCP",
          "web 80/TCP",
          "http 81/TCP",
          "dns 53/UDP",
          "http 80/TCP h2c",
        ),
        { selector: (text) => text.split(" ")[0], maxLength: 3 },
      ),
      sessionAffinity: fc.constantFrom("None" as const, "ClientIP" as const),
      ipFamilies: fc.constantFrom(
        ["IPv4" as const],
        ["IPv6" as const],
        ["IPv6" as const, "IPv4" as const],
      ),
      labels: fc.constantFrom({}, { team: "a" }),
    })
    .map(({ cluster, ...fields }) => aShare(cluster, fields));
  const shares = fc.uniqueArray(share, { selector: (one) => one.cluster, maxLength: 5 });
  const shuffled = shares.chain((list) =>
    fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })),
  );

  test("R21: any order of the same shares gives the same answer", () => {
    fc.assert(
      fc.property(shuffled, ([list, other]) => {
        expect(mergeShares(other)).toEqual(mergeShares(list));
      }),
    );
  });

  test("R25: no two merged ports share a name, or protocol and number", () => {
    fc.assert(
      fc.property(shares, (list) => {
        const merged = mergeShares(list)?.ports ?? [];
        expect(new Set(merged.map(({ name }) => name)).size).toBe(merged.length);
        expect(new Set(merged.map(({ protocol, port }) => `${protocol}${port}`)).size).toBe(
          merged.length,
        );
      }),
    );
  });

  test("R44: there is a conflict exactly when two shares differ in what is compared", () => {
    fc.assert(
      fc.property(share, fc.constantFrom("x", "y"), (one, cluster) => {
        const twin = { ...one, cluster: id(cluster) };
        expect(mergeShares([one, twin])?.conflicts).toEqual([]);
      }),
    );
  });

  test("R23: a younger export changes nothing that is in force, it only adds ports", () => {
    fc.assert(
      fc.property(shares, share, (list, late) => {
        const before = mergeShares(list);
        if (before === undefined || list.some((one) => one.cluster === late.cluster)) return;
        const after = mergeShares([...list, { ...late, exportedAt: "2026-01-01T01:00:00Z" }]);
        const { ports: old, clusters: _, conflicts: __, ...rest } = before;
        expect(after).toMatchObject(rest);
        expect(after?.ports.slice(0, old.length)).toEqual(old);
      }),
    );
  });
});
