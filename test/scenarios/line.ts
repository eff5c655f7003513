// Scenario suite: the line between central and one cluster. Passes requests on, counts the writes, shows only the
// scenario's own namespaces (others use the server at the same time), and can be cut and healed.

import { CLUSTER_PROPERTY } from "../../src/api/about.ts";
import { NAMESPACE } from "../../src/api/builtin.ts";
import type { KubeObject, Resource } from "../../src/api/object.ts";
import { type Store, StoreError, type WatchEvent } from "../../src/ports/store.ts";

export interface Line {
  readonly store: Store;
  /** As in "apply serviceimports/status web": in the order in which they were sent. */
  writes(): readonly string[];
  forgetWrites(): void;
  /** How often its properties were read with success: what a heartbeat does. */
  beats(): number;
  /** From now on nothing answers, and running watches break. */
  cut(): void;
  heal(): void;
}

export function createLine(server: Store, isShown: (namespace: string) => boolean): Line {
  let writes: string[] = [];
  let beats = 0;
  let connection = new AbortController();

  /** Rejects as a network without a route does, for as long as the line is cut and from the moment it is. */
  async function carry<T>(send: (cut: AbortSignal) => Promise<T>): Promise<T> {
    const { signal } = connection;
    if (signal.aborted) throw unreachable();
    try {
      const answer = await send(signal);
      if (signal.aborted) throw unreachable();
      return answer;
    } catch (error) {
      throw signal.aborted ? unreachable() : error;
    }
  }

  function write<T>(sentence: string, send: () => Promise<T>): Promise<T> {
    return carry(() => {
      writes.push(sentence);
      return send();
    });
  }

  const store: Store = {
    get: (resource, ref, options) => carry(() => server.get(resource, ref, options)),
    list: (resource, options) =>
      carry(async () => {
        const page = await server.list(resource, options);
        if (resource.plural === CLUSTER_PROPERTY.plural) beats += 1;
        return { ...page, items: page.items.filter((item) => isInScope(resource, item)) };
      }),
    watch: (resource, options, onEvent) =>
      carry((cut) => {
        const { signal } = options;
        return server.watch(
          resource,
          { ...options, signal: signal === undefined ? cut : AbortSignal.any([signal, cut]) },
          (event) => {
            if (!cut.aborted && isEventInScope(resource, event)) onEvent(event);
          },
        );
      }),
    create: (resource, object, options) =>
      options?.dryRun === true
        ? carry(() => server.create(resource, object, options))
        : write(describe("create", resource, object), () =>
            server.create(resource, object, options),
          ),
    replace: (resource, object, options) =>
      write(describe("replace", resource, object, options?.subresource), () =>
        server.replace(resource, object, options),
      ),
    apply: (resource, object, options) =>
      write(describe("apply", resource, object, options.subresource), () =>
        server.apply(resource, object, options),
      ),
    delete: (resource, ref, options) =>
      write(`delete ${resource.plural} ${ref.name}`, () => server.delete(resource, ref, options)),
  };

  function isInScope(resource: Resource, object: KubeObject): boolean {
    const { name = "", namespace } = object.metadata;
    if (resource.plural === NAMESPACE.plural) return isShown(name);
    return namespace === undefined || isShown(namespace);
  }
  function isEventInScope<T extends KubeObject>(
    resource: Resource<T>,
    event: WatchEvent<T>,
  ): boolean {
    return event.type === "BOOKMARK" || isInScope(resource, event.object);
  }

  return {
    store,
    writes: () => writes,
    beats: () => beats,
    forgetWrites: () => {
      writes = [];
    },
    cut: () => connection.abort(new Error("the line was cut")),
    heal: () => {
      if (connection.signal.aborted) connection = new AbortController();
    },
  };
}

function describe(
  verb: string,
  resource: Resource,
  object: KubeObject,
  subresource?: string,
): string {
  const { name, generateName = "" } = object.metadata;
  const part = subresource === undefined ? "" : `/${subresource}`;
  return `${verb} ${resource.plural}${part} ${name ?? generateName}`;
}

function unreachable(): StoreError {
  return new StoreError("Unreachable", "no route to the cluster");
}
