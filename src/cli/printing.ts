// CLI: what reading commands print: data as JSON or YAML, tables, ages, and words in colour.

import pc from "picocolors";
import { stringify } from "yaml";
import { formatAge } from "../core/clusterset/time.ts";
import { parseTime } from "../ports/clock.ts";
import type { CliContext } from "./context.ts";
import type { OutputFormat } from "./observer.ts";
import { renderRows } from "./table.ts";
import { plain } from "./terminal.ts";

export interface Column<T> {
  readonly title: string;
  readonly read: (row: T) => string;
  /** Shown with -o wide only. */
  readonly wide?: boolean;
}

/** True when the format was one for programs, and all is printed. */
export function printData(
  context: CliContext,
  format: OutputFormat | undefined,
  printed: { readonly data: unknown; readonly names: readonly string[] },
): boolean {
  switch (format) {
    case "json":
      context.out(JSON.stringify(printed.data, undefined, 2));
      return true;
    case "yaml":
      context.out(
        stringify(printed.data, { aliasDuplicateObjects: false, lineWidth: 0 }).trimEnd(),
      );
      return true;
    case "name":
      for (const name of printed.names) context.out(name);
      return true;
    case "wide":
    case undefined:
      return false;
    default:
      return format satisfies never;
  }
}

export function printTable<T>(
  context: CliContext,
  rows: readonly T[],
  table: { readonly columns: readonly Column<T>[]; readonly isWide: boolean },
): void {
  const columns = table.columns.filter(({ wide }) => table.isWide || wide !== true);
  const lines = renderRows(
    columns.map(({ title }) => title),
    rows.map((row) => columns.map(({ read }) => plain(read(row)))),
  );
  for (const line of lines) context.out(line);
}

/** "5m"; "-" when it is not known. */
export function ageOf(time: string | undefined, nowMs: number): string {
  const ms = parseTime(time);
  return ms === undefined ? "-" : formatAge(nowMs - ms);
}

/** kubectl shows nothing as this, too. */
export function orNone(text: string | undefined): string {
  return text === undefined || text === "" ? "<none>" : text;
}

export function warnOf(context: CliContext, sentences: readonly string[]): void {
  const { yellow } = pc.createColors(context.errorColor ?? context.color);
  for (const sentence of new Set(sentences))
    context.error(`${yellow("warning:")} ${plain(sentence)}`);
}
