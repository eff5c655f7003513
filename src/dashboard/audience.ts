// Dashboard: changes in, server-sent events to every open page out. Bounded: so many pages, for each at most one message that it
// has not taken. Who is behind gets the whole state once it reads again; who does not read at all is sent away by the server.

import type { ServerResponse } from "node:http";
import type { Clock, Timer } from "../ports/clock.ts";
import type { DashboardChange } from "./state.ts";

/** As JSON: one copy for everybody, because it is big and some take it slowly. */
export interface WrittenState {
  readonly version: number;
  readonly json: Buffer;
}

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
}

const PLACES = 64;
/** Proxies cut what is silent for a minute; and by this a page notices that we are gone. */
const BEAT_MS = 15_000;
/** An event, because a page cannot see comments. */
const BEAT = "event: beat\ndata: {}\n\n";
const END = "\n\n";

export function createAudience(options: {
  readonly clock: Clock;
  readonly state: () => WrittenState;
}): Audience {
  const { clock, state } = options;
  const seats = new Set<Seat>();
  let timer: Timer | undefined;

  function sendState(seat: Seat): void {
    const { version, json } = state();
    seat.isBehind = false;
    seat.response.write(begin("state", version));
    seat.response.write(json);
    seat.response.write(END);
  }

  function beat(): void {
    // Who is still taking something hears from us anyway; who takes nothing is found by the server's own patience.
    for (const { response } of seats) if (!response.writableNeedDrain) response.write(BEAT);
    timer = seats.size === 0 ? undefined : clock.schedule(BEAT_MS, beat);
  }

  return {
    admit(response) {
      if (seats.size >= PLACES) return false;
      const seat: Seat = { response, isBehind: false };
      seats.add(seat);
      response.on("close", () => seats.delete(seat));
      response.on("error", () => seats.delete(seat));
      response.on("drain", () => {
        if (seat.isBehind) sendState(seat);
      });
      response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
      sendState(seat);
      timer ??= clock.schedule(BEAT_MS, beat);
      return true;
    },
    tell(change) {
      if (seats.size === 0) return;
      const message = `${begin("change", change.version)}${JSON.stringify(change)}${END}`;
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
function begin(event: string, version: number): string {
  return `event: ${event}\nid: ${version}\ndata: `;
}
