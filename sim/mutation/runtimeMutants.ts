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
  {
    name: "resume a watch at the wrong version",
    sentence: "After a cut the watch begins at whatever is now: deletions in between are missed.",
    file: "src/runtime/informer.ts",
    from: "resumeAt === undefined ? await listAll() : await watchOnce(resumeAt);",
    to: 'resumeAt === undefined ? await listAll() : await watchOnce(totals.watches > 0 ? "0" : resumeAt);',
    seed: 1,
  },
  {
    name: "try once",
    sentence: "A key that failed is not tried again until something happens to it.",
    file: "src/runtime/queue.ts",
    from: "    place(entry, wantedMs);\n    const retryInMs",
    to: "    entries.delete(entry.key);\n    const retryInMs",
    seed: 1,
  },
  {
    name: "drop what is added meanwhile",
    sentence: "A key that is added while it is worked on is not worked on again.",
    file: "src/runtime/queue.ts",
    from: "entry.askedForMs = Math.min(entry.askedForMs ?? wantedMs, wantedMs);",
    to: "",
    seed: 1,
  },
];
