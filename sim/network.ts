// Network: a server's store and a line in, the store as one process sees it out: late, refused, answered wrongly, or never.
// A request whose caller has gone may still have its effect.

import type { KubeObject, Resource } from "../src/api/object.ts";
import { type Store, StoreError, type WatchEvent, type WatchOptions } from "../src/ports/store.ts";
import { type Call, type Line, toError } from "./line.ts";
import type { Process } from "./process.ts";
import type { SimTime } from "./time.ts";

export interface NetworkOptions {
  /** What the server is called. */
  readonly name: string;
  readonly server: Store;
  readonly line: Line;
  readonly process: Process;
  readonly time: SimTime;
  /** Its credential is gone: nothing that it sent is taken any more. */
  readonly isRefused: () => boolean;
  /** What is asked, when, and what came of it. */
  readonly onCall: (call: Call, name: string, outcome: string) => void;
}

/** As the HTTP client has it: no byte for so long, and a request has failed. */
const REQUEST_SILENCE_MS = 60_000;

export function createNetwork(options: NetworkOptions): Store {
  const { server, line, process, time, onCall } = options;

  /** The call that it dies at is not even sent, or is the last that the server hears of it. */
  function countCall(call: Call): { readonly isSent: boolean; readonly isLast: boolean } {
    if (process.isDead) return { isSent: false, isLast: false };
    const last = process.isLast(call);
    if (last === "before") process.meetDoom();
    return { isSent: last !== "before", isLast: last === "after" };
  }

  function send<X>(
    call: Call,
    name: string,
    signal: AbortSignal | undefined,
    run: () => Promise<X>,
  ): Promise<X> {
    const { isSent, isLast } = countCall(call);
    if (!isSent) return never();
    if (signal?.aborted === true) return Promise.reject(signal.reason as Error);
    return new Promise<X>((resolve, reject) => {
      let isOver = false;
      const finish = (outcome: string, end: () => void): void => {
        if (isOver || process.isDead) return;
        isOver = true;
        silence.cancel();
        signal?.removeEventListener("abort", onAbort);
        onCall(call, name, outcome);
        end();
      };
      const fail = (error: unknown): void => {
        const outcome = error instanceof StoreError ? error.code : "failed";
        finish(outcome, () => reject(error));
      };
      const onAbort = (): void => finish("left", () => reject(signal?.reason as Error));
      signal?.addEventListener("abort", onAbort, { once: true });
      const silence = time.schedule(REQUEST_SILENCE_MS, () => {
        fail(new StoreError("Timeout", `no answer to ${call.verb} ${call.plural} ${name}`));
      });
      const refuse = (): void => fail(unreachable(call));
      const answer = (arrive: () => void): void => line.carry("answers", arrive, refuse);
      const arrive = (): void => {
        if (options.isRefused()) return;
        // The connection was closed before the server had read it, or after.
        if ((isOver || process.isDead) && line.flip(0.5)) return;
        const failure = line.rollFailure(call);
        if (failure !== undefined && !failure.afterWrite) {
          answer(() => fail(toError(failure, call)));
          return;
        }
        const succeed = (value: X): void => {
          if (isLast) process.meetDoom();
          if (failure === undefined) answer(() => finish("done", () => resolve(value)));
          else answer(() => fail(toError(failure, call)));
        };
        run().then(succeed, (error: unknown) => {
          if (isLast) process.meetDoom();
          answer(() => fail(error));
        });
      };
      line.carry("requests", arrive, refuse);
    });
  }

  function watch<T extends KubeObject>(
    resource: Resource<T>,
    watching: WatchOptions,
    onEvent: (event: WatchEvent<T>) => void,
  ): Promise<void> {
    const call: Call = { verb: "watch", plural: resource.plural };
    const { isSent } = countCall(call);
    if (!isSent) return never();
    const { signal, onOpen, ...rest } = watching;
    if (signal?.aborted === true) return Promise.resolve();
    const what = `${resource.plural} of ${options.name}`;
    process.noteWatch(what, false);
    return new Promise<void>((resolve, reject) => {
      let isOver = false;
      const leaving = new AbortController();
      const finish = (outcome: string, end: () => void): void => {
        if (isOver || process.isDead) return;
        close();
        if (outcome === "left") process.forgetWatch(what);
        else process.noteWatch(what, false);
        onCall(call, "", outcome);
        end();
      };
      /** The server notices. */
      const close = (): void => {
        isOver = true;
        silence.cancel();
        forgetDeath();
        signal?.removeEventListener("abort", onAbort);
        stream.end();
        leaving.abort();
      };
      const onAbort = (): void => finish("left", resolve);
      signal?.addEventListener("abort", onAbort, { once: true });
      const fail = (error: unknown): void => {
        const outcome = error instanceof StoreError ? error.code : "failed";
        finish(outcome, () => reject(error));
      };
      const refuse = (): void => fail(unreachable(call));
      const stream = line.openStream(resource.plural, refuse);
      const forgetDeath = process.onDeath(() => close());
      const silence = time.schedule(REQUEST_SILENCE_MS, refuse);
      const deliver = (event: WatchEvent<T>): void => {
        if (!isOver && !process.isDead) onEvent(event);
      };
      const open = (): void => {
        if (isOver || process.isDead) return;
        const failure = line.rollFailure(call);
        if (failure !== undefined) {
          line.carry("answers", () => fail(toError(failure, call)), refuse);
          return;
        }
        const accepted = (): void => {
          stream.push(() => {
            silence.cancel();
            if (isOver || process.isDead) return;
            process.noteWatch(what, true);
            onOpen?.();
          });
        };
        server
          .watch(resource, { ...rest, signal: leaving.signal, onOpen: accepted }, (event) => {
            stream.push(() => deliver(event));
            if (line.isDoubled()) stream.push(() => deliver(event));
          })
          .then(
            () => stream.push(() => finish("ended", resolve)),
            (error: unknown) => stream.push(() => fail(error)),
          );
      };
      line.carry("requests", open, refuse);
    });
  }

  return {
    get: (resource, ref, getting) =>
      send({ verb: "get", plural: resource.plural }, ref.name, getting?.signal, () =>
        server.get(resource, ref),
      ),
    list: (resource, listing = {}) => {
      const { signal, ...rest } = listing;
      return send({ verb: "list", plural: resource.plural }, "", signal, () =>
        server.list(resource, rest),
      );
    },
    watch,
    create: (resource, object, writing = {}) => {
      const { signal, ...rest } = writing;
      return send({ verb: "create", plural: resource.plural }, nameOf(object), signal, () =>
        server.create(resource, object, rest),
      );
    },
    replace: (resource, object, writing = {}) => {
      const { signal, ...rest } = writing;
      return send({ verb: "replace", plural: resource.plural }, nameOf(object), signal, () =>
        server.replace(resource, object, rest),
      );
    },
    apply: (resource, object, applying) => {
      const { signal, ...rest } = applying;
      return send({ verb: "apply", plural: resource.plural }, nameOf(object), signal, () =>
        server.apply(resource, object, rest),
      );
    },
    delete: (resource, ref, deleting = {}) => {
      const { signal, ...rest } = deleting;
      return send({ verb: "delete", plural: resource.plural }, ref.name, signal, () =>
        server.delete(resource, ref, rest),
      );
    },
  };
}

/** A new one each time: what waits for it has to be forgotten with it. */
function never(): Promise<never> {
  return new Promise<never>(() => undefined);
}

function nameOf({ metadata }: KubeObject): string {
  return metadata.name ?? metadata.generateName ?? "";
}

function unreachable(call: Call): StoreError {
  return new StoreError("Unreachable", `no route to the server (${call.verb} ${call.plural})`);
}
