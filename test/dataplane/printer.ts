// Data plane: set-up of a run: a file for the stories' rows before it, the table for a person after it, also when stories failed.

import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseRows, renderMarkdown, renderText } from "./table.ts";

/** Where stories append their rows. Test processes are told by their environment. */
export const ROWS_FILE = "ISTHMUS_DATAPLANE_ROWS";
/** Names a file that the table is written to as Markdown. */
const TABLE_FILE = "ISTHMUS_DATAPLANE_TABLE";

export function setup(): () => void {
  const path = join(tmpdir(), `dataplane-rows-${process.pid}`);
  appendFileSync(path, "");
  process.env[ROWS_FILE] = path;
  return () => {
    const rows = parseRows(readFileSync(path, "utf8"));
    if (rows.length === 0) return;
    process.stdout.write(`\n${renderText(rows)}\n`);
    const table = process.env[TABLE_FILE];
    if (table) writeFileSync(table, renderMarkdown(rows));
  };
}
