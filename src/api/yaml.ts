// From a CRD to the YAML text that people read and kubectl applies. Same CRD, same bytes.

import { stringify } from "yaml";

import type { CustomResourceDefinition } from "./builtin.ts";

export function renderCrdYaml(crd: CustomResourceDefinition): string {
  // Two versions share one schema object; kubectl reads anchors, but people should not have to.
  return stringify(crd, { aliasDuplicateObjects: false, lineWidth: 100 });
}

/** As controller-gen names them, so that a glance at the folder says what is in it. */
export function crdFileName(crd: CustomResourceDefinition): string {
  return `${crd.spec.group}_${crd.spec.names.plural}.yaml`;
}
