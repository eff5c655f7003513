import { describe, expect, test } from "vitest";
import type { ClusterId } from "../api/names.ts";
import { isProblem } from "../api/problem.ts";
import { chooseId, type Membership } from "./membership.ts";

const NOTHING: Membership = {
  secret: undefined,
  credential: undefined,
  idProperty: undefined,
  setProperty: undefined,
};

function withProperty(value: string): Membership {
  const metadata = { name: "cluster.clusterset.k8s.io" };
  const idProperty = {
    apiVersion: "about.k8s.io/v1beta1",
    kind: "ClusterProperty",
    metadata,
    spec: { value },
  };
  return { ...NOTHING, idProperty };
}

function refusalOf(choose: () => ClusterId): string {
  try {
    return `chosen: ${choose()}`;
  } catch (error) {
    if (!isProblem(error, "ClusterIdInvalid")) throw error;
    return error.message;
  }
}

describe("the id of a joining cluster", () => {
  test("is the one that is given", () => {
    expect(chooseId(NOTHING, "east")).toBe("east");
    expect(chooseId(withProperty("east"), "east")).toBe("east");
  });

  test("is else the one that the cluster has, or joined under before", () => {
    expect(chooseId(withProperty("east"), undefined)).toBe("east");
    const credential = { cluster: "east" as ClusterId, server: "https://hub", claim: "" };
    expect(chooseId({ ...NOTHING, credential }, undefined)).toBe("east");
  });

  test("is refused where it is missing, wrong, too long for a hub, or not what the cluster says", () => {
    expect(refusalOf(() => chooseId(NOTHING, undefined))).toBe("the cluster has no id");
    expect(refusalOf(() => chooseId(NOTHING, "East"))).toContain("upper-case");
    expect(refusalOf(() => chooseId(NOTHING, "e".repeat(48)))).toContain("chosen");
    expect(refusalOf(() => chooseId(NOTHING, "e".repeat(49)))).toContain("may have 48");
    expect(refusalOf(() => chooseId(withProperty("west"), "east"))).toContain('says "west"');
    expect(refusalOf(() => chooseId(withProperty("we.st"), undefined))).toContain("a dot");
  });
});
