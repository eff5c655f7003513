// Rules that an API server itself checks every write against, in CEL. Only the fields that Isthmus writes.

import { defineResource, type KubeObject } from "./object.ts";

const ADMISSION_VERSION = "admissionregistration.k8s.io/v1";

interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: "Exists" | "DoesNotExist" | "In" | "NotIn";
    readonly values?: readonly string[];
  }[];
}

export interface ResourceRule {
  readonly apiGroups: readonly string[];
  readonly apiVersions: readonly string[];
  readonly resources: readonly string[];
  readonly operations: readonly ("CREATE" | "UPDATE" | "DELETE")[];
  readonly scope: "*";
}

export interface Validation {
  readonly expression: string;
  /** A sentence for whoever is refused. */
  readonly message: string;
  /** Forbidden is answered with 403, Invalid with 422. */
  readonly reason: "Forbidden" | "Invalid";
}

export interface ValidatingAdmissionPolicy extends KubeObject {
  readonly spec: {
    /** What the server does when the policy itself cannot be evaluated. */
    readonly failurePolicy: "Fail";
    readonly paramKind?: { readonly apiVersion: string; readonly kind: string };
    readonly matchConstraints: {
      readonly resourceRules: readonly ResourceRule[];
      readonly namespaceSelector?: LabelSelector;
      readonly objectSelector?: LabelSelector;
      readonly matchPolicy?: "Equivalent";
    };
    readonly matchConditions?: readonly { readonly name: string; readonly expression: string }[];
    readonly variables?: readonly { readonly name: string; readonly expression: string }[];
    readonly validations: readonly Validation[];
  };
}
export const VALIDATING_ADMISSION_POLICY = defineResource<ValidatingAdmissionPolicy>({
  apiVersion: ADMISSION_VERSION,
  kind: "ValidatingAdmissionPolicy",
  plural: "validatingadmissionpolicies",
  namespaced: false,
});

export interface ValidatingAdmissionPolicyBinding extends KubeObject {
  readonly spec: {
    readonly policyName: string;
    readonly validationActions: readonly ["Deny"];
    readonly paramRef?: {
      readonly name: string;
      /** Absent: the namespace of the request. */
      readonly namespace?: string;
      readonly parameterNotFoundAction: "Deny";
    };
    readonly matchResources?: { readonly objectSelector?: LabelSelector };
  };
}
export const VALIDATING_ADMISSION_POLICY_BINDING = defineResource<ValidatingAdmissionPolicyBinding>(
  {
    apiVersion: ADMISSION_VERSION,
    kind: "ValidatingAdmissionPolicyBinding",
    plural: "validatingadmissionpolicybindings",
    namespaced: false,
  },
);
