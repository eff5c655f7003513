// Manifest: an object that a renderer made in, the resource to send it to out. Pure.

import {
  VALIDATING_ADMISSION_POLICY,
  VALIDATING_ADMISSION_POLICY_BINDING,
} from "../../api/admissionpolicy.ts";
import { LEASE, NAMESPACE, SERVICE_ACCOUNT } from "../../api/builtin.ts";
import { CLUSTER_MEMBER } from "../../api/isthmus.ts";
import { JOIN_TOKEN } from "../../api/jointoken.ts";
import { PART_OF_LABEL } from "../../api/names.ts";
import { apiVersionOf, type KubeObject, type ObjectRef, type Resource } from "../../api/object.ts";
import {
  CLUSTER_ROLE,
  CLUSTER_ROLE_BINDING,
  RESOURCE_QUOTA,
  ROLE,
  ROLE_BINDING,
} from "../../api/rbac.ts";

const RESOURCES: readonly Resource[] = [
  NAMESPACE,
  SERVICE_ACCOUNT,
  LEASE,
  RESOURCE_QUOTA,
  ROLE,
  ROLE_BINDING,
  CLUSTER_ROLE,
  CLUSTER_ROLE_BINDING,
  CLUSTER_MEMBER,
  JOIN_TOKEN,
  VALIDATING_ADMISSION_POLICY,
  VALIDATING_ADMISSION_POLICY_BINDING,
];

/** One object to delete; it may be gone already. */
export interface Removal {
  readonly resource: Resource;
  readonly ref: ObjectRef;
}

/** Where an object of these renderers lives. */
export function resourceOf(object: KubeObject): Resource {
  const found = RESOURCES.find(
    (resource) => resource.kind === object.kind && apiVersionOf(resource) === object.apiVersion,
  );
  if (found === undefined) throw new Error(`${object.apiVersion} ${object.kind} is not of the hub`);
  return found;
}

/** One object of ours: with apiVersion, kind and the label that says so. */
export function anObject<T extends KubeObject>(
  resource: Resource<T>,
  metadata: KubeObject["metadata"],
  content: Omit<T, keyof KubeObject>,
): KubeObject & Omit<T, keyof KubeObject> {
  const labels = { [PART_OF_LABEL]: "isthmus", ...metadata.labels };
  return {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    metadata: { ...metadata, labels },
    ...content,
  };
}
