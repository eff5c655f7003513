// DNS: one server process as the pool sees it: owners that changed in, messages to the process out. It is sent the state of what changed
// and not the history, one message at a time: a process that is slow or starts late costs a set of names, whatever happens meanwhile.
//
//   forked ──hello──▶ taking what there is ──all taken──▶ open ──▶ taking changes
//      │                       │                                       │
//      └─────────── silent for a minute, or gone: over ◀───────────────┘
//
// A process that joins others which already serve opens its sockets when it has all that they have: until then it could only say SERVFAIL.

import type { Clock, Timer } from "../ports/clock.ts";
import { type FromServer, sizeOfChange, type ToServer } from "./channel.ts";
import type { Report, ServerConfig } from "./server.ts";
import type { Change } from "./table.ts";

/** A process that runs a server; the operating system's side of a member. */
export interface Child {
  readonly pid: number | undefined;
  send(message: ToServer): void;
  /** At once, without asking. */
  kill(): void;
  listen(listener: { onMessage(message: FromServer): void; onExit(reason: string): void }): void;
}

export interface MemberOptions {
  readonly child: Child;
  readonly config: ServerConfig;
  /** The latest change of every owner. */
  readonly state: ReadonlyMap<string, Change>;
  readonly isSynced: () => boolean;
  /** Of the newest change. */
  readonly serial: () => number;
  readonly clock: Clock;
  /** It opened its sockets, or says why it could not. */
  readonly onOpened: () => void;
  readonly onFailed: (message: string) => void;
  readonly onExit: (reason: string) => void;
}

export interface Member {
  readonly pid: number | undefined;
  /** The state has another change of the owner. */
  mark(owner: string): void;
  /** Everything was told that there is. */
  sync(): void;
  isOpen(): boolean;
  /** Undefined before the first. */
  report(): Report | undefined;
  /** Asks it to end; `kill` when it does not. */
  end(): void;
  kill(): void;
}

const BATCH_BYTES = 256 * 1_024;
/** It reports every second. Starting may take longer, on a machine that is busy. */
const SILENT_MS = 60_000;
/** Who was stopped for a minute may have been the reader: then all that the process said meanwhile is still to be heard. */
const HEARING_MS = 5_000;

export function createMember(options: MemberOptions): Member {
  const { child, config, state, clock } = options;
  /** Those that changed first are sent first. */
  const waiting = new Set<string>(state.keys());
  let hasStarted = false;
  let isBusy = false;
  let wasToldSynced = false;
  let wasToldOpen = false;
  let isOpen = false;
  let report: Report | undefined;
  let heardMs = clock.monotonic();
  let isSuspect = false;
  let watchdog = guard(SILENT_MS);

  function guard(delayMs: number): Timer {
    return clock.schedule(delayMs, () => {
      const leftMs = heardMs + SILENT_MS - clock.monotonic();
      if (leftMs <= 0 && isSuspect) child.kill();
      else {
        isSuspect = leftMs <= 0;
        watchdog = guard(isSuspect ? HEARING_MS : leftMs);
      }
    });
  }

  function proceed(): void {
    if (!hasStarted || isBusy) return;
    if (waiting.size === 0 && options.isSynced() && !wasToldSynced) {
      wasToldSynced = true;
      child.send({ kind: "synced" });
    }
    if (!wasToldOpen && (wasToldSynced || !options.isSynced())) {
      wasToldOpen = true;
      child.send({ kind: "open" });
    }
    if (waiting.size === 0) return;
    isBusy = true;
    child.send({ kind: "changes", changes: takeBatch() });
  }

  function takeBatch(): readonly Change[] {
    const batch: Change[] = [];
    let size = 0;
    for (const owner of waiting) {
      const change = state.get(owner) ?? { owner, names: [], serial: options.serial() };
      size += sizeOfChange(change);
      if (batch.length > 0 && size > BATCH_BYTES) break;
      batch.push(change);
      waiting.delete(owner);
    }
    return batch;
  }

  function receive(message: FromServer): void {
    heardMs = clock.monotonic();
    switch (message.kind) {
      case "hello":
        hasStarted = true;
        child.send({ kind: "start", config });
        proceed();
        return;
      case "taken":
        isBusy = false;
        proceed();
        return;
      case "opened":
        isOpen = true;
        options.onOpened();
        return;
      case "failed":
        options.onFailed(message.message);
        return;
      case "report":
        report = message.report;
    }
  }

  child.listen({
    onMessage: receive,
    onExit(reason) {
      watchdog.cancel();
      isOpen = false;
      options.onExit(reason);
    },
  });

  return {
    pid: child.pid,
    mark(owner) {
      // Behind what changed before it, so that the serial of what was sent last is the newest.
      waiting.delete(owner);
      waiting.add(owner);
      proceed();
    },
    sync: proceed,
    isOpen: () => isOpen,
    report: () => report,
    end: () => child.send({ kind: "stop" }),
    kill: () => child.kill(),
  };
}
