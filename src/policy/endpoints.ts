// Policy: EndpointSlices that Isthmus wrote are its own, and nobody else puts endpoints behind a virtual IP: neither by a slice
// that names the derived Service, nor by Endpoints of its name, which Kubernetes mirrors into such a slice. Pure.

import type { ValidatingAdmissionPolicy, Validation } from "../api/admissionpolicy.ts";
import { ENDPOINT_SLICE } from "../api/builtin.ts";
import { DERIVED_NAME_PATTERN } from "../api/digest.ts";
import {
  KUBE_SERVICE_NAME_LABEL,
  MANAGED_BY_LABEL,
  SERVICE_NAME_LABEL,
  SLICE_MANAGER,
} from "../api/names.ts";
import { demand, matchRule, renderPolicy, WHAT_VARIABLE } from "../hub/policy/policy.ts";
import { type Controllers, unlessKeeper } from "./exempt.ts";
import { markValidations, markVariables } from "./mark.ts";

const MARK = { label: MANAGED_BY_LABEL, value: SLICE_MANAGER };
const SLICES = ENDPOINT_SLICE.plural;
const ENDPOINTS = "endpoints";

export function renderEndpointPolicy(
  name: string,
  controllers: Controllers,
): ValidatingAdmissionPolicy {
  return renderPolicy(name, {
    matchConstraints: {
      resourceRules: [
        matchRule(ENDPOINT_SLICE.group, [SLICES], ["CREATE", "UPDATE", "DELETE"]),
        matchRule("", [ENDPOINTS], ["CREATE", "UPDATE"]),
      ],
    },
    matchConditions: [unlessKeeper(controllers)],
    variables: [
      WHAT_VARIABLE,
      ...markVariables(MARK),
      { name: "link", expression: linkOf("object") },
      { name: "linkBefore", expression: linkOf("oldObject") },
    ],
    validations: [
      ...markValidations(
        MARK,
        "These are endpoints that another cluster shares, and Isthmus would undo the change. Change them in the cluster that they come from.",
      ),
      linkValidation(),
      demand([ENDPOINTS], {
        expression: `!object.metadata.?name.orValue('').matches('${DERIVED_NAME_PATTERN}')`,
        message: "Nobody but Isthmus puts endpoints behind a virtual IP.",
        reason: "Forbidden",
      }),
    ],
  });
}

/** The Service that kube-proxy routes to them. */
function linkOf(holder: "object" | "oldObject"): string {
  return `${holder} == null ? '' : ${holder}.metadata.?labels[?'${KUBE_SERVICE_NAME_LABEL}'].orValue('')`;
}

/** What Isthmus linked, for an import written by hand, may be written again. */
function linkValidation(): Validation {
  return demand([SLICES], {
    expression: `variables.link == variables.linkBefore || !variables.link.matches('${DERIVED_NAME_PATTERN}')`,
    message: `Nobody but Isthmus puts endpoints behind a virtual IP. For a ServiceImport written by hand, label the EndpointSlice ${SERVICE_NAME_LABEL} with its name.`,
    reason: "Forbidden",
  });
}
