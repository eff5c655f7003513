// A store and a run's span in, the same store with a child span for each write out. Without a span it is the very store. Hands on the
// very promises of the store: who waits for an answer does not wait longer for being traced.

import type { Resource } from "../api/object.ts";
import { isStoreError, type Store, type StoreError } from "../ports/store.ts";
import type { Attributes, Span } from "../ports/trace.ts";

interface Target {
  readonly namespace?: string;
  /** Absent where the server makes it up. */
  readonly name?: string;
  readonly subresource?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export function traceWrites(
  store: Store,
  server: "cluster" | "hub",
  span: Span | undefined,
): Store {
  if (span === undefined) return store;
  const run = span;

  function note<T>(
    verb: string,
    resource: Resource,
    target: Target,
    answer: Promise<T>,
  ): Promise<T> {
    const { namespace, name, subresource, signal } = target;
    const child = run.child(`${verb} ${resource.kind}`, {
      "isthmus.server": server,
      "isthmus.verb": verb,
      "isthmus.resource":
        resource.group === "" ? resource.plural : `${resource.plural}.${resource.group}`,
      "isthmus.object": [namespace, name].filter((part) => part !== undefined).join("/"),
      ...(subresource === undefined ? {} : { "isthmus.subresource": subresource }),
    });
    answer.then(
      () => child.end(),
      (error: unknown) => {
        // Who was told to stop has not been failed by anybody.
        if (signal?.aborted === true && !isStoreError(error)) {
          child.end({ "isthmus.outcome": "stopped" });
          return;
        }
        child.fail(describe(error));
        child.end(isStoreError(error) ? describeRefusal(error) : {});
      },
    );
    return answer;
  }

  return {
    get: (resource, ref, options) => store.get(resource, ref, options),
    list: (resource, options) => store.list(resource, options),
    watch: (resource, options, onEvent) => store.watch(resource, options, onEvent),
    create: (resource, object, options) =>
      note(
        "create",
        resource,
        { ...object.metadata, ...options },
        store.create(resource, object, options),
      ),
    replace: (resource, object, options) =>
      note(
        "replace",
        resource,
        { ...object.metadata, ...options },
        store.replace(resource, object, options),
      ),
    apply: (resource, object, options) =>
      note(
        "apply",
        resource,
        { ...object.metadata, ...options },
        store.apply(resource, object, options),
      ),
    delete: (resource, ref, options) =>
      note("delete", resource, { ...ref, ...options }, store.delete(resource, ref, options)),
  };
}

/** A server that did not answer has no status. What it answers when all is well is not known here: 200 or 201. */
function describeRefusal({ code, status }: StoreError): Attributes {
  return { "error.type": code, ...(status > 0 && { "http.response.status_code": status }) };
}

export function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
