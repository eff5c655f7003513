// Page: the server's events in, the model out. It never gives up: what was last known stays, marked as such, until the server is
// there again and tells everything anew.

import { type DashboardChange, type DashboardState, ROUTES } from "../state.ts";
import { applyChange, createModel, type Model } from "./model.ts";

export interface Connection {
  readonly state: "live" | "connecting";
  /** Wall clock: when something was heard last. */
  readonly since?: string;
}

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 15_000;

export interface FeedListener {
  (model: Model | undefined, connection: Connection): void;
}

export function followServer(listener: FeedListener): void {
  let model: Model | undefined;
  let heardAt: string | undefined;
  let pauseMs = FIRST_PAUSE_MS;

  const tell = (state: Connection["state"]): void => {
    listener(model, { state, ...(heardAt === undefined ? {} : { since: heardAt }) });
  };
  const hear = (next: Model): void => {
    model = next;
    heardAt = new Date().toISOString();
    pauseMs = FIRST_PAUSE_MS;
    tell("live");
  };
  const open = (): void => {
    const source = new EventSource(ROUTES.changes);
    source.addEventListener("state", ({ data }: MessageEvent<string>) => {
      hear(createModel(JSON.parse(data) as DashboardState, performance.now()));
    });
    source.addEventListener("change", ({ data }: MessageEvent<string>) => {
      if (model === undefined) return;
      hear(applyChange(model, JSON.parse(data) as DashboardChange, performance.now()));
    });
    source.addEventListener("error", () => {
      tell("connecting");
      // The browser tries again by itself, but not after an answer that was no stream.
      if (source.readyState !== EventSource.CLOSED) return;
      setTimeout(open, pauseMs);
      pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
    });
  };
  tell("connecting");
  open();
}
