// Mutants of drains: who is left, when, and who is told. Shown only by worlds in which clusters are drained.

import type { Mutant } from "./mutant.ts";

export const DRAIN_MUTANTS: readonly Mutant[] = [
  {
    name: "drain though nobody else serves",
    sentence: "The endpoints of a drained cluster are out of use whether there are others or not.",
    file: "src/core/replacement.ts",
    from: "return routesOf(slice).every(isServed) ? turnUnready(slice) : slice;",
    to: "return turnUnready(slice);",
    seed: 1,
    hasDrains: true,
  },
  {
    name: "drain before others are there",
    sentence: "A drained cluster is left for endpoints that are still to be written.",
    file: "src/core/replacement.ts",
    from: "routes.has(route) && (!isUsed || written.has(route));",
    to: "routes.has(route);",
    seed: 23,
    hasDrains: true,
  },
  {
    name: "stand in though drained, too",
    sentence: "Two drained clusters are each left for the other.",
    file: "src/core/replacement.ts",
    from: '(liveness === "live" ? slices : [])',
    to: '(liveness === "live" || liveness === "drained" ? slices : [])',
    seed: 1,
    hasDrains: true,
  },
  {
    name: "drain nobody",
    sentence: "That a cluster is drained is known and makes no difference.",
    file: "src/core/liveness.ts",
    from: 'return isDrained && !isOut(liveness) ? "drained" : liveness;',
    to: "return liveness;",
    seed: 8,
    hasDrains: true,
  },
  {
    name: "drain for ever",
    sentence: "The hub is told that a cluster is drained, and not that it is over.",
    file: "src/hub/drain.ts",
    from: "return member.status?.drained !== told.why;",
    to: "return told.why !== undefined && member.status?.drained !== told.why;",
    seed: 13,
    hasDrains: true,
  },
  {
    name: "let two reports undo each other",
    sentence:
      "That a cluster is drained, and that all is published, is said by one owner of fields.",
    file: "src/hub/presence.ts",
    from: "const fieldManager = `${FIELD_MANAGER}-drain`;",
    to: "const fieldManager = FIELD_MANAGER;",
    seed: 1,
    hasDrains: true,
  },
];
