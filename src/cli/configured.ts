// CLI: a command that runs until it is stopped in: its settings are read and its log made before it starts, and while it runs the level
// of the log follows the configuration file. Nothing else of the file is taken over without a restart.

import { isDeepStrictEqual } from "node:util";
import { isProblem } from "../api/problem.ts";
import type { Configurable, LogLevel, Settings } from "../api/settings.ts";
import type { Timer } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import { readText } from "./configFile.ts";
import { type Configuration, findConfigFile, readConfiguration } from "./configuration.ts";
import type { CliContext } from "./context.ts";
import { createLog } from "./log.ts";

/** A file of a ConfigMap changes by the kubelet's minute: sooner than this nobody notices. Reading is what works on every file system. */
const LOOK_MS = 2_000;

export interface Given<C extends Configurable> {
  readonly name: C;
  /** The flags that were given, and no others. */
  readonly flags: Readonly<Record<string, unknown>>;
  /** Started again by itself, to help: the first of its processes has judged the file, and says what becomes of it. */
  readonly isHelper?: boolean;
}

export async function runConfigured<C extends Configurable>(
  context: CliContext,
  given: Given<C>,
  run: (settings: Settings[C], log: Log) => Promise<void>,
): Promise<void> {
  const started = readStart(context, given);
  let level = levelOf(started);
  const log = createLog(() => level, context.error);
  const file = findConfigFile(context, given.flags);
  const timer =
    file === undefined
      ? undefined
      : followFile(context, { given, file, started, log }, (next) => {
          level = next;
        });
  try {
    await run(started.settings, log);
  } finally {
    timer?.cancel();
  }
}

/** A file that was broken since must not keep a helper from coming back: what else was given is right, as the first process runs. */
function readStart<C extends Configurable>(
  context: CliContext,
  { name, flags, isHelper = false }: Given<C>,
): Configuration<C> {
  try {
    return readConfiguration(context, name, flags);
  } catch (error) {
    if (!isHelper) throw error;
    const { config: _, ...rest } = flags;
    return readConfiguration({ env: { ...context.env, ISTHMUS_CONFIG: "" } }, name, rest);
  }
}

function levelOf({ settings }: Configuration<Configurable>): LogLevel {
  return "logLevel" in settings ? settings.logLevel : "info";
}

interface Following<C extends Configurable> {
  readonly given: Given<C>;
  readonly file: string;
  readonly started: Configuration<C>;
  readonly log: Log;
}

function followFile<C extends Configurable>(
  context: CliContext,
  { given, file, started, log }: Following<C>,
  setLevel: (level: LogLevel) => void,
): Timer {
  const { clock } = context;
  const { name, flags, isHelper = false } = given;
  let level = levelOf(started);
  let before = readOrNothing(file);
  let timer = clock.schedule(LOOK_MS, look);
  return { cancel: () => timer.cancel() };

  function look(): void {
    timer = clock.schedule(LOOK_MS, look);
    const text = readOrNothing(file);
    if (text === before) return;
    before = text;
    try {
      takeOver(readConfiguration(context, name, flags));
    } catch (error) {
      if (!isProblem(error)) throw error;
      const fields = { file, error, hint: error.hint };
      if (!isHelper) log.warn("configuration file has changed, and is not taken over", fields);
    }
  }

  function takeOver(next: Configuration<C>): void {
    const from = level;
    level = levelOf(next);
    // While warnings are heard: before the change, or after it.
    const tell = (): void => {
      if (level !== from && !isHelper) log.warn("log level changed", { from, to: level });
    };
    if (from !== "error") tell();
    setLevel(level);
    if (from === "error") tell();
    if (isHelper) return;
    const waiting = next.list
      .filter(({ key, value }, index) => {
        return key !== "logLevel" && !isDeepStrictEqual(value, started.list[index]?.value);
      })
      .map(({ key }) => `${name}.${key}`);
    if (waiting.length > 0) {
      log.warn("settings have changed that count from the next start on", { settings: waiting });
    }
  }
}

function readOrNothing(file: string): string | undefined {
  try {
    return readText(file);
  } catch {
    return undefined;
  }
}
