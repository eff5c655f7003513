// Ear: an agent's store in, the same store out, with somebody who hears of every write, or with nothing but copies in what it
// hands out, as from a socket.

import type { KubeObject } from "../../src/api/object.ts";
import type { Store, WriteOptions } from "../../src/ports/store.ts";

export function createWriteListener(
  store: Store,
  hear: (verb: string, plural: string, name: string) => void,
): Store {
  const note = (verb: string, plural: string, name = "", writing?: WriteOptions): void => {
    if (writing?.dryRun !== true) hear(verb, plural, name);
  };
  return {
    ...store,
    create: (resource, object, writing) => {
      note("create", resource.plural, nameOf(object), writing);
      return store.create(resource, object, writing);
    },
    replace: (resource, object, writing) => {
      note("replace", resource.plural, nameOf(object), writing);
      return store.replace(resource, object, writing);
    },
    apply: (resource, object, applying) => {
      note("apply", resource.plural, nameOf(object), applying);
      return store.apply(resource, object, applying);
    },
    delete: (resource, ref, deleting) => {
      note("delete", resource.plural, `${ref.namespace ?? ""}/${ref.name}`);
      return store.delete(resource, ref, deleting);
    },
  };
}

export function createCopyingStore(store: Store): Store {
  return {
    get: async (resource, ref, getting) => {
      const found = await store.get(resource, ref, getting);
      return found === undefined ? undefined : copy(found);
    },
    list: async (resource, listing) => {
      const page = await store.list(resource, listing);
      return { ...page, items: page.items.map(copy) };
    },
    watch: (resource, watching, onEvent) =>
      store.watch(resource, watching, (event) =>
        onEvent(event.type === "BOOKMARK" ? event : { ...event, object: copy(event.object) }),
      ),
    create: async (resource, object, writing) =>
      copy(await store.create(resource, object, writing)),
    replace: async (resource, object, writing) =>
      copy(await store.replace(resource, object, writing)),
    apply: async (resource, object, applying) =>
      copy(await store.apply(resource, object, applying)),
    delete: (resource, ref, deleting) => store.delete(resource, ref, deleting),
  };
}

// Not structuredClone: what comes from a socket was text before, and holds other strings.
function copy<T extends KubeObject>(object: T): T {
  return JSON.parse(JSON.stringify(object)) as T;
}

function nameOf({ metadata: { namespace = "", name = "" } }: KubeObject): string {
  return `${namespace}/${name}`;
}
