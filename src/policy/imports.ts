// Policy: ServiceImports that Isthmus made are its own, and so is the status of all. Those that people write by hand stay theirs,
// where they may write any. Pure.

import type { ValidatingAdmissionPolicy, Validation } from "../api/admissionpolicy.ts";
import { SERVICE_IMPORT } from "../api/mcs.ts";
import { MANAGED_LABEL } from "../api/names.ts";
import { demand, matchRule, renderPolicy, WHAT_VARIABLE } from "../hub/policy/policy.ts";
import { type Controllers, unlessKeeper } from "./exempt.ts";
import { markValidations, markVariables } from "./mark.ts";

/** Whether people may write ServiceImports by hand, as far as their roles let them. */
export const HANDMADE_IMPORTS = ["allow", "deny"] as const;
export type HandmadeImports = (typeof HANDMADE_IMPORTS)[number];

const MARK = { label: MANAGED_LABEL, value: "true" };
const IMPORTS = SERVICE_IMPORT.plural;
const STATUS = `${IMPORTS}/status`;

export function renderImportPolicy(
  name: string,
  options: { readonly controllers: Controllers; readonly handmadeImports: HandmadeImports },
): ValidatingAdmissionPolicy {
  return renderPolicy(name, {
    matchConstraints: {
      resourceRules: [
        matchRule(SERVICE_IMPORT.group, [IMPORTS, STATUS], ["CREATE", "UPDATE", "DELETE"]),
      ],
    },
    matchConditions: [unlessKeeper(options.controllers)],
    variables: [WHAT_VARIABLE, ...markVariables(MARK)],
    validations: [
      {
        expression: `variables.what != '${STATUS}'`,
        message: "The status of a ServiceImport is what Isthmus says of it. Nobody else writes it.",
        reason: "Forbidden",
      },
      ...markValidations(
        MARK,
        "Isthmus makes this ServiceImport from what clusters export, and would undo the change. Change the Service or the ServiceExport in the cluster that exports it.",
      ),
      ...(options.handmadeImports === "deny" ? [handmadeValidation()] : []),
    ],
  });
}

/** Those that there are may go. */
function handmadeValidation(): Validation {
  return demand([IMPORTS], {
    expression: "request.operation == 'DELETE' || variables.isEnding",
    message:
      "ServiceImports are not written by hand in this cluster: Isthmus makes them. Write a ServiceExport in the cluster that has the Service.",
    reason: "Forbidden",
  });
}
