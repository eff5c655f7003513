// The guard, on its own: up and down within one turn, so that nothing else of this thread meets it.

import { randomBytes } from "node:crypto";
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
