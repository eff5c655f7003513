// Identity: what the cluster says of itself and what the administrator says of it in, its id or a sentence out.

import type { ClusterProperty } from "../api/about.ts";
import { CLUSTER_ID_PROPERTY, type ClusterId, type Parsed, parseClusterId } from "../api/names.ts";

/** `name` is what the administrator calls the cluster in the configuration: all there is to call it by so far. */
export function resolveIdentity(
  name: string,
  given: string | undefined,
  property: ClusterProperty | undefined,
): Parsed<ClusterId> {
  const written = property?.spec?.value;
  const id = given ?? written;
  if (id === undefined) {
    return {
      ok: false,
      problem: `Cluster ${name} has no id. Give it one with a ClusterProperty named ${CLUSTER_ID_PROPERTY}, or name it on the command line as id=${name}.`,
    };
  }
  if (given !== undefined && written !== undefined && given !== written) {
    return {
      ok: false,
      problem: `Cluster ${name} is to be "${given}", but its ClusterProperty ${CLUSTER_ID_PROPERTY} says "${written}". Use one of the two.`,
    };
  }
  return parseClusterId(id);
}
