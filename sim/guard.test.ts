// The guard, on its own: up and down within one turn, so that nothing else of this thread meets it.

import { randomBytes, randomFill, randomFillSync, randomInt } from "node:crypto";
import { createSocket } from "node:dgram";
import { lookup } from "node:dns";
import { lookup as lookupLater } from "node:dns/promises";
import { connect, createServer } from "node:net";
import timers from "node:timers";
import * as timersPromises from "node:timers/promises";
import { expect, test } from "vitest";
import { raiseGuard } from "./guard.ts";

const TEMPTATIONS: Readonly<Record<string, () => unknown>> = {
  setTimeout: () => setTimeout(() => undefined, 1),
  setInterval: () => setInterval(() => undefined, 1),
  setImmediate: () => setImmediate(() => undefined),
  fetch: () => fetch("http://example.com"),
  "Math.random": () => Math.random(),
  "Date.now": () => Date.now(),
  "new Date()": () => new Date(),
  "performance.now": () => performance.now(),
  "AbortSignal.timeout": () => AbortSignal.timeout(1),
  "crypto.randomUUID": () => crypto.randomUUID(),
  "crypto.randomBytes": () => randomBytes(8),
  "crypto.randomInt": () => randomInt(8),
  "crypto.randomFill": () => randomFill(new Uint8Array(8), () => undefined),
  "crypto.randomFillSync": () => randomFillSync(new Uint8Array(8)),
  "crypto.getRandomValues": () => crypto.getRandomValues(new Uint8Array(8)),
  "timers.setTimeout": () => timers.setTimeout(() => undefined, 1),
  "timers.setInterval": () => timers.setInterval(() => undefined, 1),
  "timers.setImmediate": () => timers.setImmediate(() => undefined),
  "timers/promises.setTimeout": () => timersPromises.setTimeout(1),
  "timers/promises.setInterval": () => timersPromises.setInterval(1),
  "timers/promises.setImmediate": () => timersPromises.setImmediate(),
  "scheduler.wait": () => timersPromises.scheduler.wait(1),
  "scheduler.yield": () => timersPromises.scheduler.yield(),
  "process.hrtime": () => process.hrtime(),
  "process.hrtime.bigint": () => process.hrtime.bigint(),
  "process.uptime": () => process.uptime(),
  "Date()": () => Date(),
  "net connect": () => connect(1, "127.0.0.1"),
  "net listen": () => createServer().listen(0),
  "dgram.createSocket": () => createSocket("udp4"),
  "dns.lookup": () => lookup("localhost", () => undefined),
  "dns.promises.lookup": () => lookupLater("localhost"),
};

test.each(Object.entries(TEMPTATIONS))(
  "a simulated world that reaches for %s is refused, and it is remembered",
  (what, reach) => {
    const guard = raiseGuard();
    let refusal: unknown;
    try {
      reach();
    } catch (error) {
      refusal = error;
    } finally {
      guard.lower();
    }
    expect(String(refusal)).toContain("was reached from a simulated world");
    expect([...guard.reached]).toEqual([what]);
  },
);

test("a time that is given can be written in words, and all is as it was once the guard is down", () => {
  const guard = raiseGuard();
  const text = new Date(0).toISOString();
  guard.lower();
  expect(text).toBe("1970-01-01T00:00:00.000Z");
  expect(Date.now()).toBeGreaterThan(0);
  expect(Math.random()).toBeLessThan(1);
});
