// Policy: the mark of what Isthmus makes in, validations out that keep others from giving it and from touching what has it.
// Pure.

import type { Validation } from "../api/admissionpolicy.ts";

/** A label with the value that makes an object ours. */
export interface Mark {
  readonly label: string;
  readonly value: string;
}

/**
 * What goes anyway is free, or it might never go: the namespace is emptied by whoever does that in this cluster, and finalizers are
 * taken away by whoever put them there.
 */
export const ENDING_VARIABLE = {
  name: "isEnding",
  expression:
    "(namespaceObject != null && has(namespaceObject.metadata.deletionTimestamp)) || " +
    "(oldObject != null && has(oldObject.metadata.deletionTimestamp))",
};

export function markVariables(mark: Mark) {
  const isMarked = (holder: "object" | "oldObject"): string =>
    `${holder} != null && ${holder}.metadata.?labels[?'${mark.label}'].orValue('') == '${mark.value}'`;
  return [
    ENDING_VARIABLE,
    { name: "wasOurs", expression: isMarked("oldObject") },
    { name: "isOurs", expression: isMarked("object") },
  ];
}

/** `sentence` says what is ours, and what to change instead. */
export function markValidations(mark: Mark, sentence: string): readonly Validation[] {
  return [
    {
      expression: "!variables.wasOurs || variables.isEnding",
      message: sentence,
      reason: "Forbidden",
    },
    {
      expression: "variables.wasOurs || !variables.isOurs",
      message: `The label ${mark.label}: ${mark.value} is for what Isthmus makes itself. Leave it out.`,
      reason: "Forbidden",
    },
  ];
}
