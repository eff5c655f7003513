// Mutants of how loops run: lists and watches, memory of our own writes, queues. What is wrong there is wrong with everything.

import type { Mutant } from "./mutant.ts";

export const RUNTIME_MUTANTS: readonly Mutant[] = [
  {
    name: "ignore 410",
    sentence: "A server that has forgotten our version is asked for it again and again.",
    file: "src/runtime/informer.ts",
    from: 'if (isStoreError(error, "Gone", "BadRequest", "Invalid")) {',
    to: 'if (isStoreError(error, "BadRequest", "Invalid")) {',
    seed: 10,
  },
  {
    name: "miss what vanished between two lists",
    sentence: "A new list adds to the cache, and what is no longer in it stays.",
    file: "src/runtime/informer.ts",
    from: "for (const key of cache.keys()) if (!seen.has(key)) drop(key);",
    to: "",
    seed: 181,
  },
  {
    name: "forget our own writes",
    sentence: "A reconcile that is quicker than the watch plans by what was there before it wrote.",
    file: "src/runtime/freshness.ts",
    from: "if (memories.length === 0) return cached;",
    to: "return cached;",
    seed: 9,
  },
  {
    name: "trust what was written",
    sentence: "What we wrote and never came back is not looked at again.",
    file: "src/runtime/freshness.ts",
    from: "    for (const owner of faded) onFaded?.(owner);\n",
    to: "",
    seed: 492,
  },
  {
    name: "try once",
    sentence: "A key that failed is not tried again until something happens to it.",
    file: "src/runtime/queue.ts",
    from: "    place(entry, wantedMs);\n    const retryInMs",
    to: "    entries.delete(entry.key);\n    const retryInMs",
    seed: 83,
  },
  {
    name: "resume at version 0",
    sentence: "A watch that was cut begins with all that is there: what went meanwhile stays.",
    file: "src/runtime/informer.ts",
    from: "const watch = { ...scope, resourceVersion, timeoutSeconds, signal, onOpen };",
    to: 'const watch = { ...scope, resourceVersion: "0", timeoutSeconds, signal, onOpen };',
    seed: 5,
  },
  {
    name: "take an event that comes twice for news",
    sentence: "An object that is told again, unchanged, counts as deleted and made anew.",
    file: "src/runtime/informer.ts",
    from: "    const isSameObject = before?.uid === uid;\n    if (isSameObject && before.resourceVersion === resourceVersion) return;\n",
    to: "    const isSameObject = before?.uid === uid && before.resourceVersion !== resourceVersion;\n",
    seed: 11,
  },
  {
    name: "drop what comes while a key runs",
    sentence: "A key that is added while it is worked on does not run again.",
    file: "src/runtime/queue.ts",
    from: "        entry.isAddedMeanwhile = true;\n",
    to: "",
    seed: 37,
  },
];
