// Mutants of how loops run: lists and watches, memory of our own writes, queues. What is wrong there is wrong with everything.

import type { Mutant } from "./mutant.ts";

export const RUNTIME_MUTANTS: readonly Mutant[] = [
  {
    name: "ignore 410",
    sentence: "A server that has forgotten our version is asked for it again and again.",
    file: "src/runtime/informer.ts",
    from: 'if (isStoreError(error, "Gone", "BadRequest", "Invalid")) {',
    to: 'if (isStoreError(error, "BadRequest", "Invalid")) {',
    seed: 155,
  },
  {
    name: "miss what vanished between two lists",
    sentence: "A new list adds to the cache, and what is no longer in it stays.",
    file: "src/runtime/informer.ts",
    from: "for (const key of cache.keys()) if (!seen.has(key)) drop(key);",
    to: "",
    seed: 371,
  },
];
