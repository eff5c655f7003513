// CLI: the Log port on pino: one JSON object per line on standard error, so that standard output stays for answers.

import { pino } from "pino";
import { Problem } from "../api/problem.ts";
import type { Log } from "../ports/log.ts";
import { isStoreError } from "../ports/store.ts";

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;

export function createLog(level: string, write: (line: string) => void): Log {
  const logger = pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { error: describeError },
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line: string) => write(line.trimEnd()) },
  );
  return wrap(logger);
}

/** A refusal is a sentence, not the whole answer of the server; of what was not foreseen the stack is needed. */
function describeError(error: unknown): unknown {
  if (error instanceof Problem || isStoreError(error)) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : error;
}

function wrap(logger: pino.Logger): Log {
  return {
    debug: (message, fields = {}) => logger.debug(fields, message),
    info: (message, fields = {}) => logger.info(fields, message),
    warn: (message, fields = {}) => logger.warn(fields, message),
    error: (message, fields = {}) => logger.error(fields, message),
    with: (fields) => wrap(logger.child(fields)),
  };
}
