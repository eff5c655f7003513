// Whether the demo waits and stays, by flags and by who is there.

import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { systemClock, systemRandom } from "../../kube/clock.ts";
import type { CliContext } from "../context.ts";
import { untilEnter } from "./keyboard.ts";
import { chooseManner } from "./manner.ts";

function contextOf(interactive: boolean): CliContext & { readonly lines: readonly string[] } {
  const lines: string[] = [];
  return {
    lines,
    out: (line) => lines.push(line),
    error: (line) => lines.push(line),
    input: () => Promise.resolve(""),
    color: false,
    interactive,
    env: {},
    home: "",
    clock: systemClock,
    random: systemRandom,
    signal: AbortSignal.abort(new Error("Ctrl-C")),
  };
}

test("the demo stays in a terminal or when told to, and never as a script", () => {
  expect(chooseManner(contextOf(true), {}).stays).toBe(true);
  expect(chooseManner(contextOf(true), { fast: true }).stays).toBe(true);
  expect(chooseManner(contextOf(false), {}).stays).toBe(false);
  expect(chooseManner(contextOf(false), { stay: true }).stays).toBe(true);
  expect(chooseManner(contextOf(true), { script: true, stay: true }).stays).toBe(false);
});

test("the demo waits for Enter in a terminal, unless it is told to be fast or a script, and says what it waits for", async () => {
  const person = contextOf(true);
  await expect(chooseManner(person, {}).goOn()).rejects.toThrow("Ctrl-C");
  expect(person.lines.join("\n")).toContain("Press Enter");
  for (const [interactive, flags] of [
    [true, { fast: true }],
    [true, { script: true }],
    [false, {}],
    [false, { stay: true }],
  ] as const) {
    const context = contextOf(interactive);
    await chooseManner(context, flags).goOn();
    expect(context.lines).toEqual([]);
  }
});

test("Enter goes on once; a second one is needed for the next step; the end of input goes on for good", async () => {
  const input = new PassThrough();
  const { signal } = new AbortController();
  const first = untilEnter(input, signal);
  input.write("\n");
  await first;
  expect(input.isPaused()).toBe(true);
  const second = untilEnter(input, signal);
  input.end();
  await second;
  await untilEnter(input, signal);
});

test("Ctrl-C ends the wait for Enter", async () => {
  const stop = new AbortController();
  const waiting = untilEnter(new PassThrough(), stop.signal);
  stop.abort(new Error("Ctrl-C"));
  await expect(waiting).rejects.toThrow("Ctrl-C");
});
