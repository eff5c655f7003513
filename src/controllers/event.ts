// Apply: notes about an object in, Kubernetes Events out. An Event that cannot be written is not worth a failed reconcile.

import { EVENT } from "../api/builtin.ts";
import { apiVersionOf, type KubeObject, type Resource } from "../api/object.ts";
import type { EventNote } from "../core/event.ts";
import { type Clock, formatTime } from "../ports/clock.ts";
import { isStoreError, type Store } from "../ports/store.ts";
import type { RateLimit, TokenBucket } from "../runtime/bucket.ts";

/** The API server refuses longer messages. */
const MESSAGE_MAX_LENGTH = 1024;

/**
 * API servers keep Events for an hour: what another cluster changes back and forth must not fill this one's storage. What
 * is left out is still in the conditions.
 */
export const EVENT_LIMIT: RateLimit = { perSecond: 0.5, burst: 100 };

export interface EventContext {
  readonly store: Store;
  readonly clock: Clock;
  /** Shared by all that is told in one cluster. */
  readonly eventBucket: TokenBucket;
  readonly signal: AbortSignal;
}

export async function recordEvents(
  context: EventContext,
  about: {
    readonly resource: Resource;
    readonly object: KubeObject;
    readonly events: readonly EventNote[];
  },
): Promise<void> {
  const { namespace = "", name = "", uid } = about.object.metadata;
  const time = formatTime(context.clock.now());
  for (const note of about.events) {
    if (context.eventBucket.take() > 0) return;
    const event = {
      apiVersion: apiVersionOf(EVENT),
      kind: EVENT.kind,
      metadata: { namespace, generateName: `${name}.` },
      involvedObject: {
        apiVersion: apiVersionOf(about.resource),
        kind: about.resource.kind,
        namespace,
        name,
        ...(uid === undefined ? {} : { uid }),
      },
      type: note.type,
      reason: note.reason,
      message: note.message.slice(0, MESSAGE_MAX_LENGTH),
      source: { component: "isthmus" },
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
    };
    try {
      await context.store.create(EVENT, event, { signal: context.signal });
    } catch (error) {
      if (!isStoreError(error)) throw error;
    }
  }
}
