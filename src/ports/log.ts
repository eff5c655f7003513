// Port: where the shell says what happened. Constant lower-case messages, fields for the rest, never a secret.

export type LogFields = Readonly<Record<string, unknown>>;

export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** The same log with these fields on every line. */
  with(fields: LogFields): Log;
}
