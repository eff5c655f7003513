// Schema, the front: what the request pipeline asks of a type's schema, each in the file it comes from.

export { validateCrdSchema } from "./crdschema.ts";
export { applyDefaults } from "./defaults.ts";
export { pruneUnknown } from "./prune.ts";
export { resolveSchema } from "./resolve.ts";
export { validateObject } from "./validate.ts";
