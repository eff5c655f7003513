import { expect, test } from "vitest";
import { StoreError } from "../ports/store.ts";
import { createLog } from "./log.ts";

test("a refusal is one sentence in the log, without the server's whole answer; a bug has its stack", () => {
  const lines: string[] = [];
  const log = createLog("info", (line) => lines.push(line));
  const body = { kind: "Status", message: "changed" };
  log.warn("lease was not renewed", { error: new StoreError("Conflict", "changed", { body }) });
  log.warn("lease was not renewed", { error: new TypeError("undefined is not a function") });
  const errors = lines.map((line) => (JSON.parse(line) as { readonly error: unknown }).error);
  expect(errors[0]).toBe("changed");
  expect(errors[1]).toMatch(/^TypeError: undefined is not a function\n +at /);
});
