// Refusals: the server's own vocabulary, and what stands in when there is none.

import { describe, expect, it } from "vitest";
import { isAbsentObject } from "../ports/store.ts";
import { parseRetryAfter, toRefusedError, toWatchError } from "./status.ts";

const NOW = Date.parse("2026-01-01T00:00:00Z");

function refuse(status: number, body: unknown, headers = {}) {
  return toRefusedError({ status, body, headers, attempted: "GET /x", nowMs: NOW });
}
function aStatus(reason: string, details?: unknown) {
  return { kind: "Status", reason, message: `because ${reason}`, details };
}

describe("toRefusedError", () => {
  it.each([
    [409, "AlreadyExists", "AlreadyExists"],
    [409, "Conflict", "Conflict"],
    [410, "Expired", "Gone"],
    [410, "Gone", "Gone"],
    [422, "Invalid", "Invalid"],
    [500, "ServerTimeout", "Timeout"],
    [413, "RequestEntityTooLarge", "TooLarge"],
    [500, "InternalError", "Internal"],
    [503, "ServiceUnavailable", "Unavailable"],
  ])("reads %i %s as %s", (status, reason, code) => {
    expect(refuse(status, aStatus(reason))).toMatchObject({ code, status });
  });

  it.each([
    [400, "BadRequest"],
    [401, "Unauthorized"],
    [403, "Forbidden"],
    [404, "NotFound"],
    [409, "Conflict"],
    [418, "BadRequest"],
    [429, "TooManyRequests"],
    [500, "Internal"],
    [502, "Unavailable"],
    [504, "Timeout"],
  ])("goes by the status %i when there is no Status: %s", (status, code) => {
    expect(refuse(status, "something in between")).toMatchObject({ code, body: undefined });
  });

  it("says what the server said and what was attempted, and bounds an error page", () => {
    expect(refuse(403, aStatus("Forbidden")).message).toBe("because Forbidden (GET /x)");
    expect(refuse(502, "x".repeat(10_000)).message.length).toBeLessThan(400);
    expect(refuse(500, undefined).message).toBe("HTTP status 500 (GET /x)");
  });

  it("prefers the Retry-After header to the one in the details", () => {
    const body = aStatus("TooManyRequests", { retryAfterSeconds: 9 });
    expect(refuse(429, body, { "retry-after": "3" }).retryAfterSeconds).toBe(3);
    expect(refuse(429, body).retryAfterSeconds).toBe(9);
    expect(refuse(429, aStatus("TooManyRequests")).retryAfterSeconds).toBeUndefined();
  });
});

describe("parseRetryAfter", () => {
  it("reads seconds and dates, and nothing else", () => {
    expect(parseRetryAfter("7", NOW)).toBe(7);
    expect(parseRetryAfter("Thu, 01 Jan 2026 00:00:30 GMT", NOW)).toBe(30);
    expect(parseRetryAfter("Wed, 31 Dec 2025 00:00:00 GMT", NOW)).toBe(0);
    expect(parseRetryAfter("soon", NOW)).toBeUndefined();
    expect(parseRetryAfter("", NOW)).toBeUndefined();
    expect(parseRetryAfter(undefined, NOW)).toBeUndefined();
  });
});

describe("isAbsentObject", () => {
  it("tells a missing object from a kind that the server does not know", () => {
    expect(isAbsentObject(refuse(404, aStatus("NotFound", { name: "a", kind: "pods" })))).toBe(
      true,
    );
    expect(isAbsentObject(refuse(404, aStatus("NotFound", {})))).toBe(false);
    expect(isAbsentObject(refuse(404, "404 page not found"))).toBe(false);
  });
});

describe("toWatchError", () => {
  it("takes the code of the Status in the event", () => {
    const expired = { kind: "Status", code: 410, reason: "Expired", message: "too old" };
    expect(toWatchError(expired, "watch /x")).toMatchObject({ code: "Gone", status: 410 });
    expect(toWatchError({ odd: true }, "watch /x")).toMatchObject({ code: "Internal" });
  });
});
