// Guard: while it is up, nothing real can be reached: no timer, no time, no chance, no socket. Whoever tries is refused, and
// remembered: what swallows the refusal has broken the rule all the same.

import crypto from "node:crypto";
import dgram from "node:dgram";
import dns from "node:dns";
import { syncBuiltinESMExports } from "node:module";
import net from "node:net";
import timers from "node:timers";
import timersPromises from "node:timers/promises";

export interface Guard {
  /** What was reached for, each once. */
  readonly reached: ReadonlySet<string>;
  lower(): void;
}

/** Of this thread: nothing else may run in it meanwhile. */
export function raiseGuard(): Guard {
  const reached = new Set<string>();
  const undo: (() => void)[] = [];

  function refuse(what: string): never {
    reached.add(what);
    throw new Error(`${what} was reached from a simulated world`);
  }
  function replace(owner: object, key: string, value: unknown): void {
    const before = Object.getOwnPropertyDescriptor(owner, key);
    if (before === undefined || before.configurable !== true) {
      throw new Error(`${key} cannot be guarded here`);
    }
    Object.defineProperty(owner, key, { configurable: true, writable: true, value });
    undo.push(() => Object.defineProperty(owner, key, before));
  }
  function forbid(owner: object, key: string, what: string): void {
    replace(owner, key, () => refuse(what));
  }

  const RealDate = globalThis.Date;
  /** A time that is given may be written in words; the time that it is may not be asked for. */
  class GuardedDate extends RealDate {
    constructor(...given: readonly [] | readonly [number | string | Date]) {
      if (given.length === 0) refuse("new Date()");
      super(given[0]);
    }
    static override now(): number {
      return refuse("Date.now");
    }
  }
  // Called without `new` it is the time in words.
  replace(globalThis, "Date", new Proxy(GuardedDate, { apply: () => refuse("Date()") }));
  for (const timer of ["setTimeout", "setInterval", "setImmediate"]) {
    forbid(globalThis, timer, timer);
    forbid(timers, timer, `timers.${timer}`);
    forbid(timersPromises, timer, `timers/promises.${timer}`);
  }
  const scheduler = Object.getPrototypeOf(timersPromises.scheduler) as object;
  for (const method of ["wait", "yield"]) forbid(scheduler, method, `scheduler.${method}`);
  forbid(globalThis, "fetch", "fetch");
  forbid(Math, "random", "Math.random");
  forbid(performance.constructor.prototype as object, "now", "performance.now");
  forbid(AbortSignal, "timeout", "AbortSignal.timeout");
  const bigint = (): never => refuse("process.hrtime.bigint");
  replace(
    process,
    "hrtime",
    Object.assign(() => refuse("process.hrtime"), { bigint }),
  );
  forbid(process, "uptime", "process.uptime");
  for (const source of ["randomUUID", "randomBytes", "randomInt", "randomFill", "randomFillSync"]) {
    forbid(crypto, source, `crypto.${source}`);
  }
  for (const source of ["randomUUID", "getRandomValues"]) {
    forbid(Object.getPrototypeOf(globalThis.crypto) as object, source, `crypto.${source}`);
  }
  for (const method of ["connect", "listen"]) {
    const owner = method === "connect" ? net.Socket.prototype : net.Server.prototype;
    forbid(owner, method, `net ${method}`);
  }
  forbid(dgram, "createSocket", "dgram.createSocket");
  forbid(dns, "lookup", "dns.lookup");
  forbid(dns.promises, "lookup", "dns.promises.lookup");
  syncBuiltinESMExports();
  return {
    reached,
    lower() {
      for (const each of undo.toReversed()) each();
      syncBuiltinESMExports();
    },
  };
}
