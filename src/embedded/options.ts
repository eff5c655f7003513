// Embedded server, options of writes: a query in, checked options out, or the API server's refusal. Pure.

import { forbidden, invalid, notSupported, required, tooLong } from "./schema/failure.ts";
import { isTrue } from "./request.ts";
import { invalidOptions } from "./status.ts";
import type { FieldFailure } from "./types.ts";

export type FieldValidation = "Ignore" | "Warn" | "Strict";

export interface WriteOptions {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
  readonly force: boolean;
}

const MANAGER_BYTES = 128;

export function parseWriteOptions(
  kind: "CreateOptions" | "UpdateOptions" | "PatchOptions" | "DeleteOptions",
  query: URLSearchParams,
  request: { readonly userAgent: string | undefined; readonly isApply?: boolean },
): WriteOptions {
  const failures: FieldFailure[] = [];
  const dryRun = query.getAll("dryRun").filter((value) => value !== "");
  if (dryRun.some((value) => value !== "All")) {
    failures.push(notSupported("dryRun", dryRun, ["All"]));
  }
  const named = query.get("fieldManager") ?? "";
  const isApply = request.isApply === true;
  if (isApply && named === "") {
    failures.push(required("fieldManager", "is required for apply patch"));
  }
  if (named.length > MANAGER_BYTES) failures.push(tooLong("fieldManager", MANAGER_BYTES));
  if (!isPrintable(named)) {
    failures.push(invalid("fieldManager", named, "should only contain printable characters"));
  }
  if (query.get("force") !== null && !isApply) {
    failures.push(forbidden("force", "may not be specified for non-apply patch"));
  }
  const validation = query.get("fieldValidation") ?? "";
  if (!isValidation(validation)) {
    const known = ["", "Ignore", "Strict", "Warn"];
    failures.push(notSupported("fieldValidation", validation, known));
  }
  if (failures.length > 0) throw invalidOptions(kind, failures);
  return {
    dryRun: dryRun.length > 0,
    fieldManager: named === "" ? managerOf(request.userAgent) : named,
    fieldValidation: isValidation(validation) && validation !== "" ? validation : "Warn",
    force: isTrue(query.get("force")),
  };
}

function isValidation(text: string): text is FieldValidation | "" {
  return text === "" || text === "Ignore" || text === "Warn" || text === "Strict";
}

/** "kubectl/v1.36 (linux)" writes as "kubectl". */
function managerOf(userAgent: string | undefined): string {
  const name = (userAgent ?? "").split("/")[0] ?? "";
  return name.replaceAll(/\p{C}/gu, "").slice(0, MANAGER_BYTES);
}

function isPrintable(text: string): boolean {
  return !/\p{C}/u.test(text);
}
