// Policy: what an administrator wants of a member cluster in, the policies and bindings that hold its people to it out. Pure; the
// order is the order of creation.

import {
  VALIDATING_ADMISSION_POLICY,
  VALIDATING_ADMISSION_POLICY_BINDING,
  type ValidatingAdmissionPolicy,
  type ValidatingAdmissionPolicyBinding,
} from "../api/admissionpolicy.ts";
import type { NamespaceLists } from "../core/policy.ts";
import type { Removal } from "../hub/manifest/resource.ts";
import { renderPolicyBinding } from "../hub/policy/policy.ts";
import { renderEndpointPolicy } from "./endpoints.ts";
import type { Controllers } from "./exempt.ts";
import { renderExportPolicy } from "./exports.ts";
import { type HandmadeImports, renderImportPolicy } from "./imports.ts";
import { renderServicePolicy } from "./services.ts";

export interface ClusterPolicyOptions {
  /** Whose work the policies protect. */
  readonly controllers?: Controllers;
  readonly namespaces?: NamespaceLists;
  /** Absent: allow. */
  readonly handmadeImports?: HandmadeImports;
}

/** Policies and their bindings have the same name. */
export const EXPORT_POLICY = "isthmus-exports";
export const IMPORT_POLICY = "isthmus-imports";
export const SERVICE_POLICY = "isthmus-services";
export const ENDPOINT_POLICY = "isthmus-endpoints";
const NAMES = [EXPORT_POLICY, IMPORT_POLICY, SERVICE_POLICY, ENDPOINT_POLICY];

export function renderClusterPolicies(
  options: ClusterPolicyOptions = {},
): readonly (ValidatingAdmissionPolicy | ValidatingAdmissionPolicyBinding)[] {
  const { controllers = {}, namespaces = {}, handmadeImports = "allow" } = options;
  return [
    renderExportPolicy(EXPORT_POLICY, namespaces),
    renderImportPolicy(IMPORT_POLICY, { controllers, handmadeImports }),
    renderServicePolicy(SERVICE_POLICY, controllers),
    renderEndpointPolicy(ENDPOINT_POLICY, controllers),
    ...NAMES.map((name) => renderPolicyBinding(name)),
  ];
}

/** All of them, whatever they were rendered from; bindings first, because without one a policy does nothing. */
export function renderClusterPolicyRemoval(): readonly Removal[] {
  return [VALIDATING_ADMISSION_POLICY_BINDING, VALIDATING_ADMISSION_POLICY].flatMap((resource) =>
    NAMES.map((name) => ({ resource, ref: { name } })),
  );
}
