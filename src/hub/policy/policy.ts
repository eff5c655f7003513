// Policy: what one ValidatingAdmissionPolicy of ours checks in, the policy and its binding out. Pure.

import {
  type ResourceRule,
  VALIDATING_ADMISSION_POLICY,
  VALIDATING_ADMISSION_POLICY_BINDING,
  type ValidatingAdmissionPolicy,
  type ValidatingAdmissionPolicyBinding,
  type Validation,
} from "../../api/admissionpolicy.ts";
import { anObject } from "../manifest/resource.ts";

/** What API servers fill in. They keep constraints as one piece: without these every apply would be a change of it. */
const DEFAULT_CONSTRAINTS = {
  matchPolicy: "Equivalent",
  namespaceSelector: {},
  objectSelector: {},
} as const;

/** Denied as well when it cannot be evaluated. */
export function renderPolicy(
  name: string,
  spec: Omit<ValidatingAdmissionPolicy["spec"], "failurePolicy">,
): ValidatingAdmissionPolicy {
  const matchConstraints = { ...DEFAULT_CONSTRAINTS, ...spec.matchConstraints };
  return anObject(
    VALIDATING_ADMISSION_POLICY,
    { name },
    { spec: { failurePolicy: "Fail", ...spec, matchConstraints } },
  );
}

export function renderPolicyBinding(
  name: string,
  paramRef?: ValidatingAdmissionPolicyBinding["spec"]["paramRef"],
): ValidatingAdmissionPolicyBinding {
  const param = paramRef !== undefined && { paramRef };
  return anObject(
    VALIDATING_ADMISSION_POLICY_BINDING,
    { name },
    { spec: { policyName: name, validationActions: ["Deny"], ...param } },
  );
}

export function matchRule(
  apiGroup: string,
  resources: readonly string[],
  operations: ResourceRule["operations"],
): ResourceRule {
  return { apiGroups: [apiGroup], apiVersions: ["*"], resources, operations, scope: "*" };
}

/** What is requested, as in "serviceaccounts/token". */
export const WHAT_VARIABLE = {
  name: "what",
  expression:
    "request.resource.resource + (has(request.subResource) && request.subResource != '' ? '/' + request.subResource : '')",
};

/** A validation for some resources; the others pass. */
export function demand(
  what: readonly string[],
  validation: Omit<Validation, "reason"> & Partial<Pick<Validation, "reason">>,
): Validation {
  const { expression, message, reason = "Invalid" } = validation;
  const others = what.map((each) => `variables.what != '${each}'`).join(" && ");
  return { expression: `(${others}) || (${expression})`, message, reason };
}
