// CLI: the Log port on pino: one JSON object per line on standard error, so that standard output stays for answers.

import { pino } from "pino";
import { Problem } from "../api/problem.ts";
import { LOG_LEVELS, type LogLevel } from "../api/settings.ts";
import type { Log, LogFields } from "../ports/log.ts";
import { isStoreError } from "../ports/store.ts";

/** A level that is asked for with every line may change. */
export function createLog(level: LogLevel | (() => LogLevel), write: (line: string) => void): Log {
  const current = typeof level === "string" ? () => level : level;
  const logger = pino(
    {
      // Loggers with fields of their own would keep the level that they began with: all is judged here.
      level: "debug",
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { error: describeError },
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => write(line.trimEnd()) },
  );
  const isHeard = (of: LogLevel): boolean =>
    LOG_LEVELS.indexOf(of) >= LOG_LEVELS.indexOf(current());
  return wrap(logger, isHeard);
}

/** A refusal is a sentence, not the whole answer of the server; of what was not foreseen the stack is needed. */
function describeError(error: unknown): unknown {
  if (error instanceof Problem || isStoreError(error)) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : error;
}

function wrap(logger: pino.Logger, isHeard: (of: LogLevel) => boolean): Log {
  const say =
    (of: LogLevel) =>
    (message: string, fields: LogFields = {}): void => {
      if (isHeard(of)) logger[of](fields, message);
    };
  return {
    debug: say("debug"),
    info: say("info"),
    warn: say("warn"),
    error: say("error"),
    with: (fields) => wrap(logger.child(fields), isHeard),
  };
}
