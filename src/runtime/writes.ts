// A store in, the same store out, and how many writes of each kind went through it and how they ended. Hands on the very
// promises of the store: who waits for an answer does not wait longer for being counted.

import type { Resource } from "../api/object.ts";
import { isStoreError, type Store } from "../ports/store.ts";

const VERBS = ["create", "replace", "apply", "delete"] as const;
/** "refused": the server answered that it will not. "failed": no answer, or one that says nothing of the write. */
const WRITE_RESULTS = ["done", "refused", "failed"] as const;
type WriteVerb = (typeof VERBS)[number];
type WriteResult = (typeof WRITE_RESULTS)[number];

export interface WriteCount {
  readonly kind: string;
  readonly verb: WriteVerb;
  readonly result: WriteResult;
  readonly count: number;
}

export interface CountedStore {
  readonly store: Store;
  readonly writes: () => readonly WriteCount[];
}

const NO_ANSWER = ["Unreachable", "Timeout", "Unavailable", "Internal", "TooManyRequests"] as const;

/** `usual` are the kinds that are written by each verb: they exist at zero before the first write. */
export function countWrites(
  server: Store,
  usual: readonly (readonly [Resource, ...WriteVerb[]])[] = [],
): CountedStore {
  const counts = new Map<string, { -readonly [K in keyof WriteCount]: WriteCount[K] }>();

  function countOf(kind: string, verb: WriteVerb, result: WriteResult) {
    const key = `${kind} ${verb} ${result}`;
    const found = counts.get(key) ?? { kind, verb, result, count: 0 };
    counts.set(key, found);
    return found;
  }

  function note<T>(
    { kind }: Resource,
    verb: WriteVerb,
    options: { readonly dryRun?: boolean; readonly signal?: AbortSignal } | undefined,
    answer: Promise<T>,
  ): Promise<T> {
    if (options?.dryRun === true) return answer;
    answer.then(
      () => countOf(kind, verb, "done").count++,
      (error: unknown) => {
        // Who was told to stop has not been failed by anybody.
        if (options?.signal?.aborted === true && !isStoreError(error)) return;
        const isRefusal = isStoreError(error) && !isStoreError(error, ...NO_ANSWER);
        countOf(kind, verb, isRefusal ? "refused" : "failed").count++;
      },
    );
    return answer;
  }

  for (const [{ kind }, ...verbs] of usual) {
    for (const verb of verbs) for (const result of WRITE_RESULTS) countOf(kind, verb, result);
  }

  return {
    store: {
      get: (resource, ref, options) => server.get(resource, ref, options),
      list: (resource, options) => server.list(resource, options),
      watch: (resource, options, onEvent) => server.watch(resource, options, onEvent),
      create: (resource, object, options) =>
        note(resource, "create", options, server.create(resource, object, options)),
      replace: (resource, object, options) =>
        note(resource, "replace", options, server.replace(resource, object, options)),
      apply: (resource, object, options) =>
        note(resource, "apply", options, server.apply(resource, object, options)),
      delete: (resource, ref, options) =>
        note(resource, "delete", options, server.delete(resource, ref, options)),
    },
    writes: () => [...counts.values()].map((count) => ({ ...count })),
  };
}
