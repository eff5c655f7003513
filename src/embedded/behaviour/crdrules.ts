// Built-in behaviour: what a CustomResourceDefinition must look like, and what the server fills in. Pure.

import type { CustomResourceDefinition } from "../../api/builtin.ts";
import type { KubeObject } from "../../api/object.ts";
import { invalid, required } from "../schema/failure.ts";
import { asJson } from "../metadata.ts";
import { checkLabelName, checkSubdomainName } from "../name.ts";
import type { Rules } from "../rules.ts";
import { eachChild } from "../schema/crdkeyword.ts";
import { validateCrdSchema } from "../schema/crdschema.ts";
import { partOf, withPart } from "../system.ts";
import type { FieldFailure, Schema } from "../types.ts";
import { differsInContent, withMetadata } from "../write.ts";

export const CLEANUP = "customresourcecleanup.apiextensions.k8s.io";

type Crd = CustomResourceDefinition;

function asCrd(object: KubeObject): Crd {
  return object as Crd;
}

export const CRD_RULES: Rules = {
  checkName: checkSubdomainName,
  raisesGeneration: (next, old) => differsInContent(next, old, true),
  applyDefaults: (object) => {
    const { names } = asCrd(object).spec ?? {};
    if (names === undefined || typeof names.kind !== "string") return object;
    return withPart(object, "spec", {
      conversion: partOf(object, "spec")["conversion"] ?? { strategy: "None" },
      names: {
        ...names,
        singular: names.singular || names.kind.toLowerCase(),
        listKind: names.listKind || `${names.kind}List`,
      },
    });
  },
  prepareCreate: (object) => {
    const storedVersions = storageVersions(asCrd(object));
    const status = { conditions: [], acceptedNames: { plural: "", kind: "" }, storedVersions };
    return { ...object, status } as KubeObject;
  },
  prepareUpdate: (next, old) => {
    const stored = asCrd(old).status?.storedVersions ?? [];
    const added = storageVersions(asCrd(next)).filter((name) => !stored.includes(name));
    return added.length === 0
      ? next
      : withPart(next, "status", { storedVersions: [...stored, ...added] });
  },
  validate: (object) => validateCrd(asCrd(object)),
  warn: (object) => findCelRules(asCrd(object)),
  validateUpdate: (next, old) => validateCrdUpdate(asCrd(next), asCrd(old)),
  prepareDelete: (object, context) => {
    const { deletionTimestamp, finalizers = [] } = object.metadata;
    if (deletionTimestamp !== undefined) return object;
    return withMetadata(object, {
      ...object.metadata,
      deletionTimestamp: context.time,
      finalizers: finalizers.includes(CLEANUP) ? finalizers : [...finalizers, CLEANUP],
    });
  },
};

function storageVersions(crd: Crd): readonly string[] {
  return (crd.spec?.versions ?? []).filter(({ storage }) => storage).map(({ name }) => name);
}

function validateCrd(crd: Crd): FieldFailure[] {
  const failures: FieldFailure[] = [];
  // Nothing is certain of a body that no schema has checked for presence.
  const spec: Partial<Crd["spec"]> = crd.spec ?? {};
  const { names, scope } = spec;
  const group = spec.group ?? "";
  const versions = spec.versions ?? [];
  const name = crd.metadata.name ?? "";
  if (name !== `${names?.plural ?? ""}.${group}`) {
    failures.push(invalid("metadata.name", name, 'must be spec.names.plural+"."+spec.group'));
  }
  if (group === "") failures.push(required("spec.group"));
  else if (!group.includes(".")) {
    failures.push(invalid("spec.group", group, "should be a domain with at least one dot"));
  } else {
    failures.push(...checkSubdomainName(group).map((why) => invalid("spec.group", group, why)));
  }
  if (scope === undefined) failures.push(required("spec.scope"));
  else if (scope !== "Namespaced" && scope !== "Cluster") {
    failures.push({
      field: "spec.scope",
      reason: "FieldValueNotSupported",
      message: `Unsupported value: ${JSON.stringify(scope)}: supported values: "Cluster", "Namespaced"`,
    });
  }
  failures.push(...validateNames(names));
  failures.push(...validateVersions(versions));
  return failures;
}

function findCelRules(crd: Crd): readonly string[] {
  return crd.spec.versions
    .filter(({ schema }) => hasCelRules((schema?.openAPIV3Schema ?? {}) as Schema))
    .map(({ name }) => `the embedded server ignores x-kubernetes-validations of version ${name}`);
}

/** CEL rules stand outside allOf, anyOf, oneOf and not: servers refuse them there. */
function hasCelRules(schema: Schema): boolean {
  let found = schema["x-kubernetes-validations"] !== undefined;
  eachChild(schema, "", (child) => {
    found ||= hasCelRules(child);
  });
  return found;
}

function validateNames(names: Crd["spec"]["names"] | undefined): FieldFailure[] {
  const failures: FieldFailure[] = [];
  for (const field of ["plural", "singular", "kind", "listKind"] as const) {
    const name = names?.[field] ?? "";
    if (name === "") failures.push(required(`spec.names.${field}`));
    else {
      const complaints = checkLabelName(name.toLowerCase());
      failures.push(...complaints.map((why) => invalid(`spec.names.${field}`, name, why)));
    }
  }
  return failures;
}

function validateVersions(versions: Crd["spec"]["versions"]): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const seen = new Set<string>();
  const schemas = new Set(versions.map(({ schema }) => JSON.stringify(schema?.openAPIV3Schema)));
  for (const [at, version] of versions.entries()) {
    const path = `spec.versions[${at}]`;
    failures.push(
      ...checkLabelName(version.name ?? "").map((why) =>
        invalid(`${path}.name`, version.name, why),
      ),
    );
    if (seen.has(version.name)) {
      failures.push(invalid("spec.versions", version.name, "must contain unique version names"));
    }
    seen.add(version.name);
    const schema = version.schema?.openAPIV3Schema as Schema | undefined;
    if (schema === undefined) {
      failures.push(required(`${path}.schema.openAPIV3Schema`));
    } else if (schemas.size > 1) {
      failures.push(...validateCrdSchema(schema, `${path}.schema.openAPIV3Schema`));
    } else if (at === 0) {
      failures.push(...validateCrdSchema(schema));
    }
  }
  if (versions.filter(({ storage }) => storage).length !== 1) {
    const why = "must have exactly one version marked as storage version";
    failures.push(invalid("spec.versions", asJson(versions), why));
  }
  return failures;
}

function validateCrdUpdate(next: Crd, old: Crd): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const why = "field is immutable";
  if (next.spec.group !== old.spec.group) {
    failures.push(invalid("spec.group", next.spec.group, why));
  }
  const isEstablished = (old.status?.conditions ?? []).some(
    ({ type, status }) => type === "Established" && status === "True",
  );
  if (isEstablished) {
    if (next.spec.scope !== old.spec.scope) {
      failures.push(invalid("spec.scope", next.spec.scope, why));
    }
    for (const field of ["kind", "plural"] as const) {
      if (next.spec.names[field] !== old.spec.names[field]) {
        failures.push(invalid(`spec.names.${field}`, next.spec.names[field], why));
      }
    }
  }
  const versions = new Set(next.spec.versions.map(({ name }) => name));
  for (const [at, stored] of (next.status?.storedVersions ?? []).entries()) {
    if (versions.has(stored)) continue;
    const path = `status.storedVersions[${at}]`;
    failures.push(
      invalid(
        path,
        stored,
        "missing from spec.versions; " +
          `${stored} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${stored} and removes ${stored} from status.storedVersions`,
      ),
    );
  }
  return failures;
}
