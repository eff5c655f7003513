// CLI: a server-side `Table` or plain rows in, aligned text out, in the manner of kubectl. Never truncates.

interface TableColumn {
  readonly name: string;
  /** Above 0: shown in wide output only. */
  readonly priority?: number;
}

/** meta.k8s.io/v1 Table, as far as printing needs it. */
export interface Table {
  readonly columnDefinitions: readonly TableColumn[];
  readonly rows: readonly { readonly cells: readonly unknown[] }[];
}

export function renderRows(
  header: readonly string[],
  rows: readonly (readonly string[])[],
): string[] {
  const widths = header.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? "").length)),
  );
  return [header, ...rows].map((row) =>
    header
      .map((_, column) => (row[column] ?? "").padEnd(widths[column] ?? 0))
      .join("   ")
      .trimEnd(),
  );
}

export function renderTable(table: Table): string[] {
  const shown = table.columnDefinitions.flatMap((column, index) =>
    (column.priority ?? 0) === 0 ? [{ title: column.name.toUpperCase(), index }] : [],
  );
  return renderRows(
    shown.map((column) => column.title),
    table.rows.map((row) => shown.map((column) => renderCell(row.cells[column.index]))),
  );
}

function renderCell(cell: unknown): string {
  if (cell === null || cell === undefined) return "";
  return typeof cell === "string" ? cell : JSON.stringify(cell);
}
