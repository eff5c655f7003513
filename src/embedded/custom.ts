// Embedded server, custom kinds: a CustomResourceDefinition in, the kinds it serves out. Never stores.

import type { CustomResourceDefinition } from "../api/builtin.ts";
import type { KubeObject } from "../api/object.ts";
import { CUSTOM_DEFAULT } from "./print/columns.ts";
import { type Conversion, Kind } from "./kind.ts";
import { jsonOf } from "./metadata.ts";
import { checkSubdomainName } from "./name.ts";
import type { Rules } from "./rules.ts";
import { applyDefaults } from "./schema/defaults.ts";
import { pruneUnknown } from "./schema/prune.ts";
import { resourceKeyOf } from "./storage.ts";
import type { Definitions, Schema, ServedType } from "./types.ts";
import { differsInContent } from "./write.ts";

type CrdVersion = CustomResourceDefinition["spec"]["versions"][number] & {
  readonly selectableFields?: readonly { readonly jsonPath: string }[];
};

const NO_DEFINITIONS: Definitions = {};
const NO_SCHEMA: Schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

export function createCustomKinds(crd: CustomResourceDefinition): Kind[] {
  const { versions } = crd.spec;
  const stored = versions.find((version) => version.storage) ?? versions[0];
  if (stored === undefined) return [];
  return versions
    .filter((version) => version.served)
    .map((version) => createCustomKind(crd, version, stored));
}

function createCustomKind(
  crd: CustomResourceDefinition,
  version: CrdVersion,
  stored: CrdVersion,
): Kind {
  const { group, names, scope } = crd.spec;
  const hasStatus = version.subresources?.status !== undefined;
  const served: ServedType = {
    resource: {
      group,
      version: version.name,
      kind: names.kind,
      plural: names.plural,
      namespaced: scope === "Namespaced",
    },
    singular: names.singular ?? names.kind.toLowerCase(),
    listKind: names.listKind ?? `${names.kind}List`,
    shortNames: names.shortNames ?? [],
    categories: names.categories ?? [],
    hasStatus,
    schema: schemaOf(version),
    definitions: NO_DEFINITIONS,
    columns: version.additionalPrinterColumns ?? CUSTOM_DEFAULT,
    builtin: false,
    storageVersion: stored.name,
  };
  const rules: Rules = {
    checkName: checkSubdomainName,
    selectableFields: (version.selectableFields ?? []).map(({ jsonPath }) => jsonPath.slice(1)),
    raisesGeneration: (next, old) => differsInContent(next, old, hasStatus),
  };
  const conversion = createConversion(`${group}/${version.name}`, schemaOf(version), {
    apiVersion: `${group}/${stored.name}`,
    schema: schemaOf(stored),
  });
  return new Kind({ served, key: resourceKeyOf(served.resource), rules, conversion });
}

function schemaOf(version: CrdVersion): Schema {
  return (version.schema?.openAPIV3Schema as Schema | undefined) ?? NO_SCHEMA;
}

/** Strategy None: only apiVersion changes, then each side keeps what its own schema knows. */
function createConversion(
  apiVersion: string,
  schema: Schema,
  stored: { readonly apiVersion: string; readonly schema: Schema },
): Conversion {
  return {
    fromStored: (object) => coerce(object, apiVersion, schema),
    toStored: (object) =>
      object.apiVersion === stored.apiVersion
        ? object
        : coerce(object, stored.apiVersion, stored.schema),
  };
}

function coerce(object: KubeObject, apiVersion: string, schema: Schema): KubeObject {
  const named = object.apiVersion === apiVersion ? object : { ...object, apiVersion };
  const { object: pruned } = pruneUnknown(schema, NO_DEFINITIONS, jsonOf(named));
  return applyDefaults(schema, NO_DEFINITIONS, pruned) as unknown as KubeObject;
}
