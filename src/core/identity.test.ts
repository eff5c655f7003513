import { describe, expect, test } from "vitest";
import type { ClusterProperty } from "../api/about.ts";
import { resolveIdentity } from "./identity.ts";

const property = (value: string): ClusterProperty => ({
  apiVersion: "about.k8s.io/v1beta1",
  kind: "ClusterProperty",
  metadata: { name: "cluster.clusterset.k8s.io" },
  spec: { value },
});
const problem = (...args: Parameters<typeof resolveIdentity>): string => {
  const identity = resolveIdentity(...args);
  return identity.ok ? `no problem with ${identity.value}` : identity.problem;
};

describe("a cluster is called", () => {
  test("what its ClusterProperty says", () => {
    expect(resolveIdentity("ctx", undefined, property("east"))).toEqual({
      ok: true,
      value: "east",
    });
  });

  test("what the administrator says", () => {
    expect(resolveIdentity("ctx", "east", undefined)).toEqual({ ok: true, value: "east" });
  });

  test("what both say", () => {
    expect(resolveIdentity("ctx", "east", property("east"))).toEqual({ ok: true, value: "east" });
  });
});

describe("a cluster is refused, with words,", () => {
  test("when nobody says what it is called", () => {
    expect(problem("ctx", undefined, undefined)).toBe(
      "Cluster ctx has no id. Give it one with a ClusterProperty named cluster.clusterset.k8s.io, or name it on the command line as id=ctx.",
    );
  });

  test("when its ClusterProperty and the administrator disagree", () => {
    const words = problem("ctx", "east", property("west"));
    expect(words).toContain('"east"');
    expect(words).toContain('"west"');
  });

  test("R53, R67: when the id would not fit into a label or a DNS name", () => {
    expect(problem("ctx", "x".repeat(64), undefined)).toContain("at most 63");
    expect(problem("ctx", undefined, property("a.b"))).toContain("has a dot");
    expect(problem("ctx", "", undefined)).toContain("empty");
  });
});
