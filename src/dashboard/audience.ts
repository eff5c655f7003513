// Dashboard: changes in, server-sent events to every open page out. Bounded: so many pages, for each at most one message that it
// has not taken. Who is behind gets the whole state once it reads again; who does not read at all is sent away.

import type { ServerResponse } from "node:http";
import type { Clock, Timer } from "../ports/clock.ts";
import type { DashboardChange } from "./state.ts";

export interface Audience {
  /** False: there is no place left. */
  admit(response: ServerResponse): boolean;
  tell(change: DashboardChange): void;
  size(): number;
  close(): void;
}

interface Seat {
  readonly response: ServerResponse;
  /** Something was not told because it had not taken what was told before. */
  isBehind: boolean;
  /** Had not at the last beat either. */
  wasFull: boolean;
}

const PLACES = 64;
/** Proxies cut what is silent for a minute; and by this a page notices that we are gone. */
const BEAT_MS = 15_000;

export function createAudience(options: {
  readonly clock: Clock;
  /** The whole state as JSON, and its version. */
  readonly state: () => { readonly version: number; readonly json: string };
}): Audience {
  const { clock, state } = options;
  const seats = new Set<Seat>();
  let timer: Timer | undefined;

  function sendState(seat: Seat): void {
    const { version, json } = state();
    seat.isBehind = false;
    seat.response.write(render("state", version, json));
  }

  function beat(): void {
    for (const seat of seats) {
      const isFull = seat.response.writableNeedDrain;
      if (isFull && seat.wasFull) seat.response.destroy();
      else if (!isFull) seat.response.write(": beat\n\n");
      seat.wasFull = isFull;
    }
    timer = seats.size === 0 ? undefined : clock.schedule(BEAT_MS, beat);
  }

  return {
    admit(response) {
      if (seats.size >= PLACES) return false;
      const seat: Seat = { response, isBehind: false, wasFull: false };
      seats.add(seat);
      response.on("close", () => seats.delete(seat));
      response.on("error", () => seats.delete(seat));
      response.on("drain", () => {
        seat.wasFull = false;
        if (seat.isBehind) sendState(seat);
      });
      response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
      sendState(seat);
      timer ??= clock.schedule(BEAT_MS, beat);
      return true;
    },
    tell(change) {
      if (seats.size === 0) return;
      const message = render("change", change.version, JSON.stringify(change));
      for (const seat of seats) {
        if (seat.response.writableNeedDrain) seat.isBehind = true;
        else seat.response.write(message);
      }
    },
    size: () => seats.size,
    close() {
      timer?.cancel();
      timer = undefined;
      for (const { response } of seats) response.destroy();
      seats.clear();
    },
  };
}

/** JSON has no line breaks, so one line of data is enough. */
function render(event: string, version: number, json: string): string {
  return `event: ${event}\nid: ${version}\ndata: ${json}\n\n`;
}
