// Apply: planned writes in, the objects as the API server has them now out. Decides nothing: order, content and need of
// each write come from the core.

import { FIELD_MANAGER } from "../api/names.ts";
import type { KubeObject } from "../api/object.ts";
import type { Write } from "../core/write.ts";
import { isStoreError, type Store } from "../ports/store.ts";
import type { Freshness } from "../runtime/freshness.ts";

export interface ApplyContext {
  readonly store: Store;
  readonly freshness: Freshness;
  /** The key whose reconcile writes. */
  readonly owner: string;
  readonly signal: AbortSignal;
}

/** The write that the API server would not take, so that the caller can plan around it. */
export class RefusedWrite extends Error {
  override readonly name = "RefusedWrite";
  readonly write: Write;

  constructor(write: Write, cause: Error) {
    super(cause.message, { cause });
    this.write = write;
  }
}

/** Refusals that say nothing about the next object. */
const ABOUT_ONE_OBJECT = ["BadRequest", "Conflict", "Forbidden", "Invalid", "TooLarge"] as const;

/** Throws the first refusal after the others had their turn: one slice that is refused must not hold back the rest. */
export async function applyWrites(context: ApplyContext, writes: readonly Write[]): Promise<void> {
  const refusals: Error[] = [];
  for (const write of writes) {
    context.signal.throwIfAborted();
    try {
      await applyWrite(context, write);
    } catch (error) {
      if (!isStoreError(error, ...ABOUT_ONE_OBJECT)) throw error;
      refusals.push(error.code === "Invalid" ? new RefusedWrite(write, error) : error);
    }
  }
  if (refusals[0] !== undefined) throw refusals[0];
}

async function applyWrite(context: ApplyContext, write: Write): Promise<void> {
  const { store, freshness, owner, signal } = context;
  switch (write.verb) {
    case "delete": {
      const { resource, ref, uid } = write;
      try {
        await store.delete(resource, ref, { ...(uid === undefined ? {} : { uid }), signal });
      } catch (error) {
        // A conflict on a delete by uid: the name belongs to another object now, and ours is gone.
        if (!isStoreError(error, "Conflict")) throw error;
      }
      freshness.deleted(owner, resource, toObject(write));
      return;
    }
    case "replace": {
      const { resource, object, subresource } = write;
      const written = await store.replace(resource, object, {
        fieldManager: FIELD_MANAGER,
        ...(subresource === undefined ? {} : { subresource }),
        signal,
      });
      freshness.wrote(owner, resource, written);
      return;
    }
    case "apply": {
      const { resource, object, subresource } = write;
      const written = await store.apply(resource, object, {
        fieldManager: FIELD_MANAGER,
        // The fields that we apply are ours by right: whoever else set them is corrected.
        force: true,
        ...(subresource === undefined ? {} : { subresource }),
        signal,
      });
      freshness.wrote(owner, resource, written);
    }
  }
}

function toObject(write: Extract<Write, { verb: "delete" }>): KubeObject {
  const { resource, ref, uid } = write;
  return {
    apiVersion: resource.version,
    kind: resource.kind,
    metadata: { ...ref, ...(uid === undefined ? {} : { uid }) },
  };
}
