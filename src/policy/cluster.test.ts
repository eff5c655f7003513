import { expect, test } from "vitest";
import type {
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from "../api/admissionpolicy.ts";
import { derivedServiceName, DERIVED_NAME_PATTERN } from "../api/digest.ts";
import type { ServiceKey } from "../api/names.ts";
import {
  type ClusterPolicyOptions,
  ENDPOINT_POLICY,
  EXPORT_POLICY,
  IMPORT_POLICY,
  renderClusterPolicies,
  renderClusterPolicyRemoval,
  SERVICE_POLICY,
} from "./cluster.ts";

const NAMES = [EXPORT_POLICY, IMPORT_POLICY, SERVICE_POLICY, ENDPOINT_POLICY];
const AGENT = "'system:serviceaccount:isthmus-system:isthmus-agent'";

function policy(name: string, options: ClusterPolicyOptions = {}): ValidatingAdmissionPolicy {
  const found = renderClusterPolicies(options).find(
    ({ kind, metadata }) => kind === "ValidatingAdmissionPolicy" && metadata.name === name,
  );
  return found as ValidatingAdmissionPolicy;
}

function conditionOf(name: string, options: ClusterPolicyOptions = {}): string {
  return policy(name, options).spec.matchConditions![0]!.expression;
}

test("every policy has a binding of its name, and all of them fail closed", () => {
  const objects = renderClusterPolicies();
  const policies = objects.slice(0, NAMES.length) as readonly ValidatingAdmissionPolicy[];
  const bindings = objects.slice(NAMES.length) as readonly ValidatingAdmissionPolicyBinding[];
  expect(policies.map(({ metadata }) => metadata.name)).toEqual(NAMES);
  expect(bindings.map(({ metadata, spec }) => [metadata.name, spec.policyName])).toEqual(
    NAMES.map((name) => [name, name]),
  );
  expect(policies.map(({ spec }) => spec.failurePolicy)).toEqual(NAMES.map(() => "Fail"));
  for (const { metadata } of objects) {
    expect(metadata.labels).toEqual({ "app.kubernetes.io/part-of": "isthmus" });
  }
});

test("what is removed is what was installed, bindings first", () => {
  const kindAndName = ({ kind, name }: { kind: string; name?: string | undefined }): string =>
    `${kind} ${name}`;
  const removed = renderClusterPolicyRemoval().map(({ resource, ref }) =>
    kindAndName({ kind: resource.kind, name: ref.name }),
  );
  const installed = renderClusterPolicies().map(({ kind, metadata }) =>
    kindAndName({ kind, name: metadata.name }),
  );
  expect(removed.toSorted()).toEqual(installed.toSorted());
  expect(removed.slice(0, NAMES.length)).toEqual(installed.slice(NAMES.length));
});

test("nothing is exported from the namespaces that are denied where Isthmus runs", () => {
  const listOf = (options: ClusterPolicyOptions): string =>
    policy(EXPORT_POLICY, options).spec.validations[0]!.expression;
  expect(listOf({})).toBe(
    "!(request.namespace in ['kube-system', 'kube-public', 'kube-node-lease', 'default', 'isthmus-system', 'isthmus-hub'])",
  );
  expect(listOf({ namespaces: { allowed: ["default"], denied: ["o'hare", "default"] } })).toBe(
    String.raw`!(request.namespace in ['kube-system', 'kube-public', 'kube-node-lease', 'isthmus-system', 'isthmus-hub', 'o\'hare'])`,
  );
});

test("whoever is named takes the place of the agent; the system and break-glass are never in question", () => {
  for (const name of [IMPORT_POLICY, SERVICE_POLICY, ENDPOINT_POLICY]) {
    expect(conditionOf(name)).toContain(`[${AGENT}, 'system:kube-controller-manager']`);
    const named = conditionOf(name, { controllers: { users: ["central"], groups: ["fleet"] } });
    expect(named).not.toContain(AGENT);
    expect(named).toContain("['central', 'system:kube-controller-manager']");
    expect(named).toContain(
      "['fleet', 'system:serviceaccounts:kube-system', 'isthmus.dev:break-glass']",
    );
    const byGroup = conditionOf(name, { controllers: { groups: ["fleet"] } });
    expect(byGroup).not.toContain(AGENT);
  }
});

test("exports in denied namespaces are refused to everybody but who breaks the glass", () => {
  expect(conditionOf(EXPORT_POLICY)).toBe(
    "!(request.userInfo.?groups.orValue([]).exists(group, group in ['isthmus.dev:break-glass']))",
  );
});

test("imports by hand are one validation more to forbid", () => {
  const messagesOf = (options: ClusterPolicyOptions): readonly string[] =>
    policy(IMPORT_POLICY, options).spec.validations.map(({ message }) => message);
  const allowed = messagesOf({});
  expect(messagesOf({ handmadeImports: "allow" })).toEqual(allowed);
  expect(messagesOf({ handmadeImports: "deny" })).toEqual([
    ...allowed,
    expect.stringContaining("not written by hand"),
  ]);
});

test("a Service without our label never meets a policy", () => {
  expect(policy(SERVICE_POLICY).spec.matchConstraints.objectSelector).toEqual({
    matchLabels: { "isthmus.dev/managed": "true" },
  });
});

test("names of derived Services are known by their pattern", () => {
  const pattern = new RegExp(DERIVED_NAME_PATTERN);
  expect(derivedServiceName("shop/web" as ServiceKey)).toMatch(pattern);
  expect("derived-data").not.toMatch(pattern);
});

test("every refusal is a sentence, and is answered with 403", () => {
  for (const name of NAMES) {
    for (const { message, reason } of policy(name, { handmadeImports: "deny" }).spec.validations) {
      expect(message).toMatch(/^[A-Z].*\.$/);
      expect(reason).toBe("Forbidden");
    }
  }
});
