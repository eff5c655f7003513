// Page: the server's events in, the model out. It never gives up: what was last known stays, marked as such, until the server is
// there again and tells everything anew.

import type { Clock, Timer } from "../../ports/clock.ts";
import type { DashboardChange, DashboardState } from "../state.ts";
import { applyChange, createModel, type Model } from "./model.ts";

export interface Connection {
  readonly state: "live" | "connecting";
  /** Wall clock: when something was heard last. */
  readonly since?: string;
}

/** What is used of an EventSource. */
export interface EventStream {
  readonly readyState: number;
  addEventListener(type: string, listener: (event: { readonly data: string }) => void): void;
  close(): void;
}

export interface FeedOptions {
  readonly clock: Clock;
  readonly connect: () => EventStream;
  readonly listener: (model: Model | undefined, connection: Connection) => void;
}

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 15_000;
/**
 * The server says something every 15 s. A laptop that slept, a VPN or a NAT leaves a connection that looks open and brings
 * nothing, of which the browser never tells.
 */
const FIRST_PATIENCE_MS = 40_000;
/** A state of megabytes on a thin line takes longer, and is not heard of before it is whole: each attempt is given more time. */
const LONGEST_PATIENCE_MS = 160_000;
/** EventSource.CLOSED */
const CLOSED = 2;

export function followServer({ clock, connect, listener }: FeedOptions): void {
  let model: Model | undefined;
  let heardAt: string | undefined;
  let pauseMs = FIRST_PAUSE_MS;
  let patienceMs = FIRST_PATIENCE_MS;
  let timer: Timer | undefined;

  const tell = (state: Connection["state"]): void => {
    listener(model, { state, ...(heardAt === undefined ? {} : { since: heardAt }) });
  };
  const open = (): void => {
    const stream = connect();
    const watch = (): void => {
      timer?.cancel();
      timer = clock.schedule(patienceMs, () => {
        patienceMs = Math.min(LONGEST_PATIENCE_MS, patienceMs * 2);
        stream.close();
        tell("connecting");
        open();
      });
    };
    const hear = (next: Model | undefined): void => {
      patienceMs = FIRST_PATIENCE_MS;
      watch();
      if (next === undefined) return;
      model = next;
      heardAt = new Date(clock.now()).toISOString();
      pauseMs = FIRST_PAUSE_MS;
      tell("live");
    };
    stream.addEventListener("state", ({ data }) => {
      hear(createModel(JSON.parse(data) as DashboardState, clock.monotonic()));
    });
    stream.addEventListener("change", ({ data }) => {
      const change = JSON.parse(data) as DashboardChange;
      hear(model === undefined ? undefined : applyChange(model, change, clock.monotonic()));
    });
    stream.addEventListener("beat", () => hear(model));
    stream.addEventListener("error", () => {
      tell("connecting");
      // The browser tries again by itself, but not after an answer that was no stream.
      if (stream.readyState !== CLOSED) return;
      timer?.cancel();
      timer = clock.schedule(pauseMs, open);
      pauseMs = Math.min(LONGEST_PAUSE_MS, pauseMs * 2);
    });
    watch();
  };
  tell("connecting");
  open();
}
