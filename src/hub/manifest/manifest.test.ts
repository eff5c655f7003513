import { describe, expect, test } from "vitest";
import { CLUSTER_LABEL, type ClusterId, HUB_NAMESPACE, PART_OF_LABEL } from "../../api/names.ts";
import type { KubeObject } from "../../api/object.ts";
import type { Role } from "../../api/rbac.ts";
import { renderHub } from "./hub.ts";
import { renderJoinProbes, renderJoinToken, renderJoinTokenRemoval } from "./jointoken.ts";
import { renderMember, renderRemoval } from "./member.ts";
import { resourceOf } from "./resource.ts";
import {
  renderJoinTokenRequest,
  renderMemberTokenRequest,
  TOKEN_SECONDS_MIN,
} from "./tokenrequest.ts";

const EAST = "east" as ClusterId;
const CLAIM = "0123456789abcdef".repeat(4);
const EAST_MEMBER = renderMember({ cluster: EAST, claim: CLAIM, spec: {} });
const TOKEN = renderJoinToken({ name: "t1", uses: 1, expiresAt: "2026-01-02T03:04:05Z" });
const EVERYTHING = [...renderHub(), ...EAST_MEMBER, ...TOKEN];

/** As in "Role isthmus-hub/join-t1". */
function nameOf({ kind, metadata: { namespace, name } }: KubeObject): string {
  return `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;
}
function namesOf(removals: ReturnType<typeof renderRemoval>): readonly string[] {
  return removals.map(({ resource, ref }) =>
    nameOf({ ...resource, apiVersion: "", metadata: ref }),
  );
}

test("every object says that it is part of isthmus, and has a home to be sent to", () => {
  for (const object of EVERYTHING) {
    expect(object.metadata.labels).toMatchObject({ [PART_OF_LABEL]: "isthmus" });
    expect(resourceOf(object).namespaced).toBe(object.metadata.namespace !== undefined);
  }
});

test("no role has a wildcard, may escalate or impersonate, or reads secrets", () => {
  const roles = EVERYTHING.filter((object): object is Role => object.kind.endsWith("Role"));
  expect(roles).toHaveLength(5);
  const words = roles.flatMap(({ rules }) =>
    rules.flatMap(({ apiGroups, resources, verbs }) => [...apiGroups, ...resources, ...verbs]),
  );
  for (const word of ["*", "escalate", "impersonate", "secrets", "deletecollection"]) {
    expect(words).not.toContain(word);
  }
});

test("a hub is confined before anybody is let in", () => {
  const kinds = renderHub().map(({ kind }) => kind);
  expect(kinds[0]).toBe("Namespace");
  expect(kinds.lastIndexOf("ValidatingAdmissionPolicyBinding")).toBeLessThan(
    kinds.indexOf("ClusterRole"),
  );
});

test("policies refuse what they cannot judge", () => {
  const policies = renderHub().filter(({ kind }) => kind === "ValidatingAdmissionPolicy");
  expect(policies).toHaveLength(4);
  for (const policy of policies) expect(policy).toMatchObject({ spec: { failurePolicy: "Fail" } });
});

describe("a member", () => {
  test("begins with the namespace that takes the id, and is known to others last", () => {
    expect(EAST_MEMBER.map(nameOf)).toEqual([
      "Namespace isthmus-member-east",
      "ResourceQuota isthmus-member-east/isthmus-member",
      "ServiceAccount isthmus-member-east/agent",
      "RoleBinding isthmus-member-east/isthmus-member",
      "ClusterRoleBinding isthmus-member-east",
      "Role isthmus-hub/isthmus-member-east",
      "RoleBinding isthmus-hub/isthmus-member-east",
      "Lease isthmus-hub/east",
      "ClusterMember isthmus-member-east/east",
    ]);
  });

  test("can be found by its label", () => {
    for (const { metadata } of EAST_MEMBER) {
      expect(metadata.labels).toMatchObject({ [CLUSTER_LABEL]: EAST });
    }
  });

  test("shows half of its claim to other members, and not the other half", () => {
    const [, ...others] = EAST_MEMBER;
    expect(JSON.stringify(EAST_MEMBER[0])).toContain(CLAIM);
    expect(JSON.stringify(others)).toContain(CLAIM.slice(0, 32));
    expect(JSON.stringify(others)).not.toContain(CLAIM.slice(0, 33));
  });

  test("is refused a claim that could be guessed", () => {
    expect(() => renderMember({ cluster: EAST, claim: "guess", spec: {} })).toThrow("32 random");
  });

  test("takes what lies outside its namespace with it when the namespace goes", () => {
    const objects = renderMember({ cluster: EAST, claim: CLAIM, spec: {}, namespaceUid: "u1" });
    const owned = objects.filter(({ metadata }) => metadata.ownerReferences !== undefined);
    expect(owned.map(nameOf)).toEqual([
      "ClusterRoleBinding isthmus-member-east",
      "Role isthmus-hub/isthmus-member-east",
      "RoleBinding isthmus-hub/isthmus-member-east",
      "Lease isthmus-hub/east",
    ]);
    for (const { metadata } of owned) {
      expect(metadata.ownerReferences).toEqual([
        { apiVersion: "v1", kind: "Namespace", name: "isthmus-member-east", uid: "u1" },
      ]);
    }
  });

  test("is removed as a whole, first for the others, then for itself", () => {
    const removed = namesOf(renderRemoval(EAST));
    expect(removed.toSorted()).toEqual(EAST_MEMBER.map(nameOf).toSorted());
    expect(removed.slice(0, 2)).toEqual([
      "ClusterMember isthmus-member-east/east",
      "ServiceAccount isthmus-member-east/agent",
    ]);
    expect(removed.at(-1)).toBe("Namespace isthmus-member-east");
  });

  test("shows its claim only where it is asked for", () => {
    const { path, body } = renderMemberTokenRequest(EAST, CLAIM);
    expect(path).toBe("/api/v1/namespaces/isthmus-member-east/serviceaccounts/agent/token");
    expect(JSON.stringify(body)).toContain(CLAIM);
    expect(renderMemberTokenRequest(EAST).body.metadata).toEqual({});
  });
});

describe("a join token", () => {
  test("has an account only after everything that confines it", () => {
    expect(TOKEN.map(nameOf)).toEqual([
      "JoinToken isthmus-hub/t1",
      "ValidatingAdmissionPolicyBinding isthmus-join-t1",
      "Role isthmus-hub/join-t1",
      "RoleBinding isthmus-hub/join-t1",
      "ClusterRoleBinding isthmus-join-t1",
      "ServiceAccount isthmus-hub/join-t1",
    ]);
  });

  test("is removed as a whole, its account first", () => {
    const removed = namesOf(renderJoinTokenRemoval("t1"));
    expect(removed.toSorted()).toEqual(TOKEN.map(nameOf).toSorted());
    expect(removed[0]).toBe("ServiceAccount isthmus-hub/join-t1");
  });

  test("is tried with what each of its policies must refuse", () => {
    const [stray, uncounted] = renderJoinProbes("t1");
    expect(nameOf(stray!)).toBe(nameOf(uncounted!));
    expect(Object.keys(stray!.metadata.labels!)).toEqual([PART_OF_LABEL]);
    expect(Object.values(uncounted!.metadata.labels!)).toContain("t1");
  });

  test("is asked for as long as an API server gives at least", () => {
    const { path, body } = renderJoinTokenRequest("t1", 60);
    expect(path).toBe(`/api/v1/namespaces/${HUB_NAMESPACE}/serviceaccounts/join-t1/token`);
    expect(body.spec.expirationSeconds).toBe(TOKEN_SECONDS_MIN);
    expect(renderJoinTokenRequest("t1", 7_200).body.spec.expirationSeconds).toBe(7_200);
  });
});
