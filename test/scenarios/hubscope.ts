// Scenario suite: a hub of its own for one world, on an API server that it shares with others: the hub's namespaces get
// other names there, and nothing else of that server is seen.

import { NAMESPACE } from "../../src/api/builtin.ts";
import type { KubeObject, Resource } from "../../src/api/object.ts";
import type { Store } from "../../src/ports/store.ts";

const HUB_PREFIX = "isthmus-";

export interface HubScope {
  readonly store: Store;
  /** Deletes the namespaces that were made through it. */
  close(): Promise<void>;
}

/** `prefix` takes the place of "isthmus-" in front of the names of namespaces. */
export function scopeHub(server: Store, prefix: string): HubScope {
  const made = new Set<string>();
  const toServer = (name: string): string =>
    name.startsWith(HUB_PREFIX) ? prefix + name.slice(HUB_PREFIX.length) : name;
  const fromServer = (name: string): string | undefined =>
    name.startsWith(prefix) ? HUB_PREFIX + name.slice(prefix.length) : undefined;

  function outward<T extends KubeObject>(resource: Resource<T>, object: T): T {
    const { name, namespace } = object.metadata;
    const metadata = {
      ...object.metadata,
      ...(resource === NAMESPACE && name !== undefined ? { name: toServer(name) } : {}),
      ...(namespace === undefined ? {} : { namespace: toServer(namespace) }),
    };
    return { ...object, metadata };
  }
  /** Undefined for what belongs to somebody else. */
  function inward<T extends KubeObject>(resource: Resource<T>, object: T): T | undefined {
    const { name = "", namespace } = object.metadata;
    if (resource === NAMESPACE) {
      const own = fromServer(name);
      return own === undefined
        ? undefined
        : { ...object, metadata: { ...object.metadata, name: own } };
    }
    if (namespace === undefined) return object;
    const own = fromServer(namespace);
    return own === undefined
      ? undefined
      : { ...object, metadata: { ...object.metadata, namespace: own } };
  }
  function requireInward<T extends KubeObject>(resource: Resource<T>, object: T): T {
    const own = inward(resource, object);
    if (own === undefined) throw new Error("the server answered with an object of another hub");
    return own;
  }
  function outwardRef<R extends { readonly namespace?: string; readonly name: string }>(
    resource: Resource,
    ref: R,
  ): R {
    return {
      ...ref,
      ...(resource === NAMESPACE ? { name: toServer(ref.name) } : {}),
      ...(ref.namespace === undefined ? {} : { namespace: toServer(ref.namespace) }),
    };
  }
  function outwardNamespace<O extends { readonly namespace?: string }>(options: O): O {
    return options.namespace === undefined
      ? options
      : { ...options, namespace: toServer(options.namespace) };
  }

  const store: Store = {
    async get(resource, ref, options) {
      const object = await server.get(resource, outwardRef(resource, ref), options);
      return object === undefined ? undefined : requireInward(resource, object);
    },
    async list(resource, options = {}) {
      const page = await server.list(resource, outwardNamespace(options));
      return { ...page, items: page.items.flatMap((item) => inward(resource, item) ?? []) };
    },
    watch: (resource, options, onEvent) =>
      server.watch(resource, outwardNamespace(options), (event) => {
        if (event.type === "BOOKMARK") return onEvent(event);
        const object = inward(resource, event.object);
        if (object !== undefined) onEvent({ ...event, object });
      }),
    async create(resource, object, options) {
      const sent = outward(resource, object);
      if (resource === NAMESPACE) made.add(sent.metadata.name!);
      return requireInward(resource, await server.create(resource, sent, options));
    },
    replace: async (resource, object, options) =>
      requireInward(resource, await server.replace(resource, outward(resource, object), options)),
    apply: async (resource, object, options) =>
      requireInward(resource, await server.apply(resource, outward(resource, object), options)),
    delete: (resource, ref, options) => server.delete(resource, outwardRef(resource, ref), options),
  };

  return {
    store,
    async close() {
      await Promise.all([...made].map((name) => server.delete(NAMESPACE, { name })));
    },
  };
}
