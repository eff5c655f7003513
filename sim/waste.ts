// Waste: an agent's store in, the same out, and a complaint for each write that changed nothing since the agent's own last one
// (R8). A server takes such a write without a word; a thousand clusters that send them are a load that nobody sees.

import { LEASE } from "../src/api/builtin.ts";
import type { KubeObject } from "../src/api/object.ts";
import type { Store } from "../src/ports/store.ts";

export function watchWaste(store: Store, complain: (what: string) => void): Store {
  /** Version that the agent was answered with when it last wrote the object. */
  const versions = new Map<string, string>();

  function note<T extends KubeObject>(plural: string, written: T): T {
    const { namespace = "", name = "", resourceVersion = "" } = written.metadata;
    const key = `${plural} ${namespace}/${name}`;
    // A heartbeat says that time has passed, even when it has not.
    if (versions.get(key) === resourceVersion && plural !== LEASE.plural) complain(key);
    versions.set(key, resourceVersion);
    return written;
  }

  return {
    ...store,
    create: async (resource, ...rest) =>
      note(resource.plural, await store.create(resource, ...rest)),
    replace: async (resource, ...rest) =>
      note(resource.plural, await store.replace(resource, ...rest)),
    apply: async (resource, ...rest) => note(resource.plural, await store.apply(resource, ...rest)),
  };
}
