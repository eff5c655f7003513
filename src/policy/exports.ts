// Policy: nothing is exported from denied namespaces. What was exported before the policy came may be changed and deleted:
// importers and exporter leave it out anyway. Pure.

import type { ValidatingAdmissionPolicy } from "../api/admissionpolicy.ts";
import { SERVICE_EXPORT } from "../api/mcs.ts";
import { listDenied, type NamespaceLists } from "../core/policy.ts";
import { renderCel } from "../hub/policy/cel.ts";
import { matchRule, renderPolicy } from "../hub/policy/policy.ts";
import { unlessBreakGlass } from "./exempt.ts";

export function renderExportPolicy(name: string, lists: NamespaceLists): ValidatingAdmissionPolicy {
  return renderPolicy(name, {
    matchConstraints: {
      resourceRules: [matchRule(SERVICE_EXPORT.group, [SERVICE_EXPORT.plural], ["CREATE"])],
    },
    matchConditions: [unlessBreakGlass()],
    validations: [
      {
        expression: `!(request.namespace in ${renderCel(listDenied(lists))})`,
        message:
          "Nothing is exported from this namespace. Export the Service from another one, or ask an administrator to allow this one: isthmus policy install --allow-namespace, and the same flag where Isthmus runs.",
        reason: "Forbidden",
      },
    ],
  });
}
