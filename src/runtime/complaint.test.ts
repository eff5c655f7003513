import { expect, test } from "vitest";
import type { Log } from "../ports/log.ts";
import { StoreError } from "../ports/store.ts";
import { THING } from "../../test/scriptedStore.ts";
import { logInformerError } from "./complaint.ts";

test("what is new is a warning, its repetition is for those who debug, and a broken object is always a warning", () => {
  const lines: unknown[] = [];
  const note =
    (level: string): Log["warn"] =>
    (message, fields) =>
      void lines.push([level, message, fields]);
  const log: Log = {
    debug: note("debug"),
    info: note("info"),
    warn: note("warn"),
    error: note("error"),
    with: () => log,
  };
  const target = { log, message: "informer failed" };
  const error = new StoreError("Unreachable", "refused");
  const failure = { during: "watch", error, retryInMs: 83.2161 } as const;
  logInformerError(target, THING, { ...failure, isRepeated: false });
  logInformerError(target, THING, { ...failure, isRepeated: true });
  logInformerError(target, THING, { during: "project", error: "odd", key: "a/b" });
  const fields = { resource: THING.plural, during: "watch", error: "refused", retryInMs: 83 };
  expect(lines).toEqual([
    ["warn", "informer failed", fields],
    ["debug", "informer failed", fields],
    [
      "warn",
      "informer failed",
      { resource: THING.plural, during: "project", error: "odd", key: "a/b" },
    ],
  ]);
});
