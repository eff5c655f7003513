// Permission suite: a store in, the same store out that notes which permission each request needed and which were
// refused for want of one.

import type { KubeObject, Resource } from "../../src/api/object.ts";
import { isNamespaceTerminating, isStoreError, type Store } from "../../src/ports/store.ts";

export interface Recorder {
  readonly store: Store;
  /** As in "patch multicluster.x-k8s.io/serviceimports/status", each once. */
  used(): readonly string[];
  /** What the API server said, each time it answered 403 for want of a permission. */
  refusals(): readonly string[];
}

export function createRecorder(server: Store): Recorder {
  const used = new Set<string>();
  const refusals: string[] = [];
  /** Uids of all objects that were read or written, and the how-manieth each was. */
  const known = new Map<string | undefined, number>();

  async function ask<T>(permission: string, send: () => Promise<T>): Promise<T> {
    used.add(permission);
    try {
      return await send();
    } catch (error) {
      if (isStoreError(error, "Forbidden") && !isNamespaceTerminating(error)) {
        refusals.push(`${permission}: ${error.message}`);
      }
      throw error;
    }
  }

  function note<T extends KubeObject>(object: T): T {
    const { uid } = object.metadata;
    if (!known.has(uid)) known.set(uid, known.size);
    return object;
  }

  const store: Store = {
    get: (resource, ref, options) =>
      ask(nameOf("get", resource), () => server.get(resource, ref, options)),
    list: (resource, options) =>
      ask(nameOf("list", resource), async () => {
        const page = await server.list(resource, options);
        for (const item of page.items) note(item);
        return page;
      }),
    watch: (resource, options, onEvent) =>
      ask(nameOf("watch", resource), () =>
        server.watch(resource, options, (event) => {
          if (event.type !== "BOOKMARK") note(event.object);
          onEvent(event);
        }),
      ),
    create: (resource, object, options) =>
      ask(nameOf("create", resource), async () =>
        note(await server.create(resource, object, options)),
      ),
    replace: (resource, object, options) =>
      ask(nameOf("update", resource, options?.subresource), async () =>
        note(await server.replace(resource, object, options)),
      ),
    apply: (resource, object, options) =>
      ask(nameOf("patch", resource, options.subresource), async () => {
        const knownBefore = known.size;
        const answer = note(await server.apply(resource, object, options));
        // An object that nobody had seen before the request was made by it, though a watch may have told of it before
        // the answer came. API servers ask for both permissions then.
        if (known.get(answer.metadata.uid)! >= knownBefore) used.add(nameOf("create", resource));
        return answer;
      }),
    delete: (resource, ref, options) =>
      ask(nameOf("delete", resource), () => server.delete(resource, ref, options)),
  };

  return { store, used: () => [...used].toSorted(), refusals: () => refusals };
}

/** Without the version: permissions are about groups. */
function nameOf(verb: string, resource: Resource, subresource?: string): string {
  const group = resource.group === "" ? "" : `${resource.group}/`;
  const part = subresource === undefined ? "" : `/${subresource}`;
  return `${verb} ${group}${resource.plural}${part}`;
}
