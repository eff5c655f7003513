// Test tool: a command that serves the dashboard, run in this process until the test ends, and what its page is told.

import { expect, onTestFinished } from "vitest";
import type { DashboardState } from "../src/dashboard/state.ts";
import { type CommandRun, runCommand } from "./commandLine.ts";

export interface Running {
  /** Resolves with what the pattern finds in what is printed. */
  prints(pattern: RegExp): Promise<string>;
  readonly out: () => string;
  readonly error: () => string;
  stop(): Promise<CommandRun>;
}

/** A command that runs until it is stopped, at the latest at the end of the test. */
export function startCommand(home: string, ...args: readonly string[]): Running {
  const stopping = new AbortController();
  const printed: { readonly to: "out" | "error"; readonly line: string }[] = [];
  let look = (): void => undefined;
  const note = (to: "out" | "error") => (line: string) => {
    printed.push({ to, line });
    look();
  };
  const run = runCommand(args, {
    home,
    out: note("out"),
    error: note("error"),
    signal: stopping.signal,
  });
  const stop = async (): Promise<CommandRun> => {
    stopping.abort();
    return run;
  };
  onTestFinished(async () => void (await stop()));
  const text = (to: "out" | "error"): string =>
    printed.flatMap((one) => (one.to === to ? one.line : [])).join("\n");
  return {
    prints: (pattern) =>
      new Promise((resolve, reject) => {
        look = () => {
          const found = pattern.exec(`${text("out")}\n${text("error")}`)?.[1];
          if (found !== undefined) resolve(found);
        };
        look();
        void run.then(({ code }) => reject(new Error(`ended with ${code}: ${text("error")}`)));
      }),
    out: () => text("out"),
    error: () => text("error"),
    stop,
  };
}

export const URL_PRINTED = /(http:\/\/[^\s"]+\/)/;

export async function readState(url: string, token?: string): Promise<DashboardState> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const response = await fetch(new URL("/api/state", url), { headers });
  expect(response.status).toBe(200);
  return (await response.json()) as DashboardState;
}

/** Follows the page's own stream until the state is as wanted. */
export async function untilShown(
  url: string,
  isShown: (state: DashboardState) => boolean,
): Promise<DashboardState> {
  const stream = await fetch(new URL("/api/changes", url));
  for await (const _ of stream.body!) {
    const state = await readState(url);
    if (isShown(state)) return state;
  }
  throw new Error("the stream ended");
}

/** So many ready endpoints, of whatever service. */
export function uses(cluster: string, ready: number): (state: DashboardState) => boolean {
  return ({ services }) =>
    services.some(({ parts }) =>
      parts.some(
        (part) =>
          part.cluster === cluster &&
          part.sources.reduce((sum, one) => sum + one.ready, 0) === ready,
      ),
    );
}

/** One is asked a moment after the other. */
export function ageless(json: string): unknown {
  return JSON.parse(json.replaceAll(/\b[\dsmhd]+ ago\b/g, "some time ago"));
}
