// Failures of informers in, log lines out: one for each way in which a server fails, not one for each attempt. An outage of
// hours must not bury what was said at its beginning.

import type { Resource } from "../api/object.ts";
import type { Log } from "../ports/log.ts";
import type { InformerError } from "./informer.ts";

/** `message` says whose informer it is. */
export function logInformerError(
  { log, message }: { readonly log: Log; readonly message: string },
  resource: Resource,
  failure: InformerError,
): void {
  const error = failure.error instanceof Error ? failure.error.message : String(failure.error);
  const fields = { resource: resource.plural, during: failure.during, error };
  if ("key" in failure) {
    log.warn(message, { ...fields, key: failure.key });
    return;
  }
  const level = failure.isRepeated ? "debug" : "warn";
  log[level](message, { ...fields, retryInMs: Math.round(failure.retryInMs) });
}
