import { expect, test } from "vitest";
import { isProblem } from "../api/problem.ts";
import { parseEndpoint } from "./endpoint.ts";

test.each([
  ["http://collector:4318", "http://collector:4318/v1/traces"],
  ["https://[::1]:4318/", "https://[::1]:4318/v1/traces"],
  ["https://example.org/otlp//", "https://example.org/otlp/v1/traces"],
])("%s is posted to at %s", (text, url) => {
  expect(parseEndpoint(text).href).toBe(url);
});

test.each([
  ["collector:4318", "no http or https URL"],
  ["collector", "no http or https URL"],
  ["grpc://collector:4317", "no http or https URL"],
  ["http://eve:hunter2@collector:4318", "a user or a password"],
  ["http://hunter2@collector:4318", "a user or a password"],
  ["http://collector:4318?key=hunter2", 'behind "?" or "#"'],
  ["http://collector:4318/v1/traces/", "ends with /v1/traces, which is added"],
])("%s is refused, and not quoted", (text, why) => {
  let refusal: unknown;
  try {
    parseEndpoint(text);
  } catch (error) {
    refusal = error;
  }
  if (!isProblem(refusal)) throw new Error("it was not refused");
  expect(refusal.message).toContain(why);
  expect(refusal.hint).toMatch(/^(Give|No setting is a secret\. Give) .*\.$/);
  expect(`${refusal.message} ${refusal.hint}`).not.toContain("hunter2");
});
