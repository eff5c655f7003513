// Edge, watches: the events of one watch in, newline-delimited JSON on one response out. Never lets a reader that does
// not read hold more memory than its allowance.

import type { ServerResponse } from "node:http";
import type { JsonObject, WatchAnswer, WireEvent } from "../types.ts";

export interface StreamOptions {
  /** Turns an event's object into the form that was asked for. */
  readonly encode: (event: WireEvent) => JsonObject;
  /** What may wait for a slow reader, beyond the events that the watch began with. */
  readonly bufferLimitBytes: number;
}

export interface WatchStream {
  /** Ends it as a server does that shuts down. */
  end(): void;
}

/**
 *            clean end / server stops ──▶ last chunk, socket stays usable
 *  open ──┬─ cut by the cluster ────────▶ socket destroyed
 *         ├─ reader too slow ───────────▶ socket destroyed
 *         └─ reader gone ───────────────▶ nothing left to do
 */
export function streamWatch(
  response: ServerResponse,
  answer: WatchAnswer,
  options: StreamOptions,
): WatchStream {
  let state: "starting" | "open" | "closed" = "starting";
  let watch: { stop(): void } | undefined;
  let allowance = options.bufferLimitBytes;

  const close = (how: "end" | "destroy"): void => {
    if (state === "closed") return;
    state = "closed";
    watch?.stop();
    if (how === "end") response.end();
    else response.destroy();
  };

  response.on("close", () => close("destroy"));
  response.writeHead(200, {
    "Cache-Control": "no-cache, private",
    "Content-Type": "application/json",
  });
  // The client learns that its watch stands before the first event, which may be long in coming.
  response.flushHeaders();

  // One write for the whole past instead of one per object.
  response.cork();
  watch = answer.start(
    (event) => {
      if (state === "closed") return;
      const line = `${JSON.stringify({ type: event.type, object: options.encode(event) })}\n`;
      // The past is as large as the store and comes at once: the reader had no chance to read it yet.
      if (state === "starting") allowance += line.length;
      response.write(line);
      if (response.writableLength > allowance) close("destroy");
    },
    ({ clean }) => close(clean ? "end" : "destroy"),
  );
  response.uncork();
  // `start` may have ended the watch already, before there was anything to stop.
  if (isClosed(state)) watch.stop();
  else state = "open";
  return { end: () => close("end") };
}

// A function, because the compiler does not see that callbacks have changed the variable.
function isClosed(state: string): boolean {
  return state === "closed";
}
