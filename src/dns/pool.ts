// DNS: several server processes behind one port: changes in, to each of them out, and their counts as one. A process that dies is
// started again, later each time it dies young; nothing is lost with it but what it had not yet reported.

import type { Clock, Random, Timer } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import { backoffMs } from "../runtime/backoff.ts";
import { createLayout } from "./counters.ts";
import { type Child, createMember, type Member } from "./member.ts";
import type { Report, ServerConfig } from "./server.ts";
import type { Change } from "./table.ts";

/** Whoever serves: this process or others. */
export interface Servers {
  replace(change: Change): void;
  markSynced(): void;
  /** Of all together. */
  report(): Report;
  processes(): { readonly running: number; readonly restarts: number };
  stop(): Promise<void>;
}

export interface PoolOptions {
  readonly processes: number;
  /** Limits are for all processes together. */
  readonly config: ServerConfig;
  readonly fork: () => Child;
  /** A terminal or systemd ends all processes at once: then those that go first are not missed. */
  readonly isEnding: () => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const RESTART = { baseMs: 200, capMs: 30_000 };
/** One that lived this long died of something else than its start. */
const HEALTHY_MS = 60_000;
/** What is being answered may be answered. */
const END_MS = 3_000;

interface Place {
  member: Member | undefined;
  restart: Timer | undefined;
  failures: number;
}

export function startPool(options: PoolOptions): Servers {
  const { processes, clock, random, log } = options;
  const config = divide(options.config, processes);
  const state = new Map<string, Change>();
  const retired = new Float64Array(createLayout(config.zones.length).length);
  const places: Place[] = [];
  let isSynced = false;
  let isStopping = false;
  let restarts = 0;
  let newestSerial = config.serial;
  let onEmpty: () => void = () => undefined;

  function start(place: Place): void {
    const startedMs = clock.monotonic();
    place.restart = undefined;
    const child = options.fork();
    const member = createMember({
      child,
      config,
      state,
      clock,
      isSynced: () => isSynced,
      serial: () => newestSerial,
      onOpened: () => log.info("server process answers", { pid: child.pid }),
      onFailed: (message) => {
        log.error("server process cannot open its sockets", { pid: child.pid, error: message });
        member.kill();
      },
      onExit(reason) {
        const report = member.report();
        if (report !== undefined) addTo(retired, report.totals);
        place.member = undefined;
        if (isStopping && members().length === 0) onEmpty();
        if (isStopping || options.isEnding()) return;
        startAgain(place, clock.monotonic() - startedMs, reason);
      },
    });
    place.member = member;
  }

  function startAgain(place: Place, livedMs: number, reason: string): void {
    restarts++;
    place.failures = livedMs >= HEALTHY_MS ? 1 : place.failures + 1;
    const delayMs = backoffMs(RESTART, place.failures, random);
    log.warn("server process ended", { reason, restartInMs: Math.round(delayMs) });
    place.restart = clock.schedule(delayMs, () => start(place));
  }

  function members(): readonly Member[] {
    return places.flatMap(({ member }) => member ?? []);
  }

  for (let index = 0; index < processes; index++) {
    const place: Place = { member: undefined, restart: undefined, failures: 0 };
    places.push(place);
    start(place);
  }
  return {
    replace(change) {
      newestSerial = change.serial ?? newestSerial + 1;
      // What changed last is last, so that whoever is sent everything ends with the newest serial. What is gone need not be kept.
      state.delete(change.owner);
      if (change.names.length > 0) state.set(change.owner, change);
      for (const member of members()) member.mark(change.owner);
    },
    markSynced() {
      isSynced = true;
      for (const member of members()) member.sync();
    },
    report: () => sumReports(retired, members()),
    processes: () => ({
      running: members().filter((member) => member.isOpen()).length,
      restarts,
    }),
    async stop() {
      isStopping = true;
      for (const { restart } of places) restart?.cancel();
      for (const member of members()) member.end();
      const timer = clock.schedule(END_MS, () => {
        for (const member of members()) member.kill();
      });
      await new Promise<void>((resolve) => {
        onEmpty = resolve;
        if (members().length === 0) resolve();
      });
      timer.cancel();
    },
  };
}

/** The kernel spreads clients over the processes, evenly enough for limits that keep harm away. */
function divide(config: ServerConfig, processes: number): ServerConfig {
  return {
    ...config,
    answersPerSecond: config.answersPerSecond / processes,
    maxTcpConnections: Math.ceil(config.maxTcpConnections / processes),
  };
}

function addTo(sum: Float64Array, part: Float64Array): void {
  for (let index = 0; index < sum.length; index++) {
    sum[index] = (sum[index] ?? 0) + (part[index] ?? 0);
  }
}

function sumReports(retired: Float64Array, members: readonly Member[]): Report {
  const totals = retired.slice();
  const reports = members.flatMap((member) => member.report() ?? []);
  for (const report of reports) addTo(totals, report.totals);
  const sum = (read: (report: Report) => number): number =>
    reports.reduce((total, report) => total + read(report), 0);
  return {
    totals,
    // The one that is behind tells what clients may see.
    serial: least(reports.map(({ serial }) => serial)),
    names: least(reports.map(({ names }) => names)),
    tcpConnections: sum(({ tcpConnections }) => tcpConnections),
    forwarding: sum(({ forwarding }) => forwarding),
    isSynced: reports.some((report) => report.isSynced),
  };
}

function least(numbers: readonly number[]): number {
  return numbers.length === 0 ? 0 : Math.min(...numbers);
}
