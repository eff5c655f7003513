// Printing: a JSONPath of a CRD's printer column in, a function from an object to the values it selects out.
// The subset that Kubernetes allows in columns: fields, indexes, slices, wildcards, filters, descent. Never throws on data.

import { getField, isJsonArray, isJsonObject } from "../json.ts";
import type { Json, JsonObject } from "../types.ts";

type Step = (value: Json) => readonly Json[];
export type Select = (object: JsonObject) => readonly Json[];

/** Undefined when the path is not one that Kubernetes would accept. */
export function parseJsonPath(path: string): Select | undefined {
  const steps: Step[] = [];
  let rest = path.trim();
  if (rest.startsWith("{") && rest.endsWith("}")) rest = rest.slice(1, -1);
  if (rest.startsWith("$")) rest = rest.slice(1);
  while (rest !== "") {
    const taken = takeStep(rest);
    if (taken === undefined) return undefined;
    steps.push(taken.step);
    rest = rest.slice(taken.length);
  }
  return (object) =>
    steps.reduce<readonly Json[]>((values, step) => values.flatMap(step), [object]);
}

function takeStep(text: string): { readonly step: Step; readonly length: number } | undefined {
  // A backslash keeps the next character out of the grammar: labels have dots in their names.
  const name = /^(\.\.?)((?:\\.|[^.[\]\\])+)/.exec(text);
  if (name) {
    const key = (name[2] ?? "").replaceAll(/\\(.)/g, "$1");
    const select = key === "*" ? selectAll : selectField(key);
    const step: Step = name[1] === ".." ? (value) => descend(value).flatMap(select) : select;
    return { step, length: name[0].length };
  }
  if (!text.startsWith("[") && !text.startsWith(".[")) return undefined;
  const open = text.indexOf("[");
  const close = findClose(text, open);
  if (close < 0) return undefined;
  const step = parseBracket(text.slice(open + 1, close).trim());
  return step === undefined ? undefined : { step, length: close + 1 };
}

/** Position of the bracket that closes the one at `open`; brackets inside quotes do not count. */
function findClose(text: string, open: number): number {
  let quote = "";
  for (let at = open + 1; at < text.length; at++) {
    const char = text.charAt(at);
    if (quote !== "") {
      if (char === "\\") at++;
      else if (char === quote) quote = "";
    } else if (char === "'" || char === '"') quote = char;
    else if (char === "]") return at;
  }
  return -1;
}

function parseBracket(inside: string): Step | undefined {
  if (inside === "*") return selectAll;
  if (/^-?\d+$/.test(inside)) {
    const index = Number(inside);
    return (value) => (isJsonArray(value) ? present(value.at(index)) : []);
  }
  const slice = /^(-?\d*):(-?\d*)$/.exec(inside);
  if (slice) {
    const start = slice[1] ? Number(slice[1]) : 0;
    const end = slice[2] ? Number(slice[2]) : undefined;
    return (value) => (isJsonArray(value) ? value.slice(start, end) : []);
  }
  const quoted = parseQuoted(inside);
  if (quoted !== undefined) return selectField(quoted);
  const filter = /^\?\((.*)\)$/s.exec(inside);
  return filter ? parseFilter((filter[1] ?? "").trim()) : undefined;
}

function parseFilter(text: string): Step | undefined {
  const parts = /^@(.*?)(?:\s*(==|!=|<=|>=|<|>)\s*(.+))?$/s.exec(text);
  if (!parts) return undefined;
  const select = parseJsonPath((parts[1] ?? "").trim());
  if (select === undefined) return undefined;
  const [, , operator, literal] = parts;
  const wanted = operator === undefined ? undefined : parseLiteral((literal ?? "").trim());
  if (operator !== undefined && wanted === undefined) return undefined;
  return (value) =>
    children(value).filter((item) => {
      const found = isJsonObject(item) ? select(item)[0] : undefined;
      if (operator === undefined) return found !== undefined;
      return found !== undefined && wanted !== undefined && compare(found, operator, wanted);
    });
}

function compare(left: Json, operator: string, right: Json): boolean {
  if (operator === "==") return left === right;
  if (operator === "!=") return left !== right;
  const ordered =
    (typeof left === "number" && typeof right === "number") ||
    (typeof left === "string" && typeof right === "string");
  if (!ordered) return false;
  if (operator === "<") return left < right;
  if (operator === "<=") return left <= right;
  return operator === ">" ? left > right : left >= right;
}

function parseLiteral(text: string): Json | undefined {
  const quoted = parseQuoted(text);
  if (quoted !== undefined) return quoted;
  if (text === "true" || text === "false") return text === "true";
  const number = Number(text);
  return text === "" || Number.isNaN(number) ? undefined : number;
}

function parseQuoted(text: string): string | undefined {
  const match = /^(['"])(.*)\1$/s.exec(text);
  return match?.[2]?.replaceAll(/\\(.)/g, "$1");
}

function selectField(key: string): Step {
  return (value) => (isJsonObject(value) ? present(getField(value, key)) : []);
}

function selectAll(value: Json): readonly Json[] {
  return children(value);
}

function children(value: Json): readonly Json[] {
  if (isJsonArray(value)) return value;
  return isJsonObject(value) ? Object.values(value) : [];
}

/** The value and everything below it. */
function descend(value: Json): readonly Json[] {
  return [value, ...children(value).flatMap(descend)];
}

function present(value: Json | undefined): readonly Json[] {
  return value === undefined ? [] : [value];
}
