// Policy: Services that carry virtual IPs are Isthmus's own. All others never meet it. Pure.

import type { ValidatingAdmissionPolicy } from "../api/admissionpolicy.ts";
import { SERVICE } from "../api/builtin.ts";
import { MANAGED_LABEL } from "../api/names.ts";
import { matchRule, renderPolicy } from "../hub/policy/policy.ts";
import { type Controllers, unlessKeeper } from "./exempt.ts";
import { markValidations, markVariables } from "./mark.ts";

const MARK = { label: MANAGED_LABEL, value: "true" };

export function renderServicePolicy(
  name: string,
  controllers: Controllers,
): ValidatingAdmissionPolicy {
  return renderPolicy(name, {
    matchConstraints: {
      // As it was or as it is to be.
      objectSelector: { matchLabels: { [MARK.label]: MARK.value } },
      resourceRules: [
        matchRule(
          SERVICE.group,
          // With an address in its status a Service takes over traffic, too.
          [SERVICE.plural, `${SERVICE.plural}/status`],
          ["CREATE", "UPDATE", "DELETE"],
        ),
      ],
    },
    matchConditions: [unlessKeeper(controllers)],
    variables: markVariables(MARK),
    validations: markValidations(
      MARK,
      "This Service carries the virtual IP of a ServiceImport, and Isthmus would undo the change. Change the Service that is exported, or the ServiceImport if it was written by hand.",
    ),
  });
}
