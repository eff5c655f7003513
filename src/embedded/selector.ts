// Selectors: the text of a labelSelector or fieldSelector in, requirements out; requirements and an object in, whether it matches out.

import { getField, isJsonObject } from "./json.ts";
import type { Json, JsonObject } from "./types.ts";

/** The text is no selector; the message is the one of the server's 400. */
export class SelectorError extends Error {
  override readonly name = "SelectorError";
}

export interface LabelRequirement {
  readonly key: string;
  readonly operator: "in" | "notin" | "exists" | "absent" | "gt" | "lt";
  readonly values: readonly string[];
}

export interface FieldRequirement {
  /** Dotted, as in "metadata.name". */
  readonly path: string;
  readonly equals: boolean;
  readonly value: string;
}

const OPERATORS = "in, notin, =, ==, !=, gt, lt";
const SYMBOL = /^(?:==|!=|[(),!=<>])/;
const WORD = /^[^\s(),!=<>]+/;

/** Every requirement must hold. Throws a SelectorError. */
export function parseLabelSelector(text: string): readonly LabelRequirement[] {
  const tokens = tokenize(text);
  const requirements: LabelRequirement[] = [];
  let at = 0;
  const peek = (): string => tokens[at] ?? "";
  const next = (): string => tokens[at++] ?? "";
  while (at < tokens.length) {
    if (peek() !== "!" && !isWord(peek())) {
      throw new SelectorError(`found '${peek()}', expected: !, identifier, or 'end of string'`);
    }
    requirements.push(parseRequirement(peek, next));
    const separator = next();
    if (separator === "") break;
    if (separator !== ",") {
      throw new SelectorError(`found '${separator}', expected: ',' or 'end of string'`);
    }
    if (peek() !== "!" && !isWord(peek())) {
      throw new SelectorError(`found '${peek()}', expected: identifier after ','`);
    }
  }
  return requirements;
}

function tokenize(text: string): readonly string[] {
  const tokens: string[] = [];
  let rest = text.trimStart();
  while (rest !== "") {
    const token = SYMBOL.exec(rest)?.[0] ?? WORD.exec(rest)?.[0] ?? rest;
    tokens.push(token);
    rest = rest.slice(token.length).trimStart();
  }
  return tokens;
}

function isWord(token: string): boolean {
  return token !== "" && !SYMBOL.test(token);
}

function refuse(problem: string): SelectorError {
  return new SelectorError(`unable to parse requirement: ${problem}`);
}

function parseRequirement(peek: () => string, next: () => string): LabelRequirement {
  const negated = peek() === "!";
  if (negated) next();
  const key = next();
  if (!isWord(key)) throw refuse(`found '${key}', expected: identifier`);
  checkKey(key);
  if (negated) return { key, operator: "absent", values: [] };
  if (peek() === "" || peek() === ",") return { key, operator: "exists", values: [] };
  const operator = next();
  switch (operator) {
    case "in":
    case "notin":
      return { key, operator, values: parseValues(key, peek, next) };
    case "=":
    case "==":
      return { key, operator: "in", values: [parseValue(key, peek, next)] };
    case "!=":
      return { key, operator: "notin", values: [parseValue(key, peek, next)] };
    case ">":
    case "<": {
      const value = parseValue(key, peek, next);
      if (!/^[+-]?\d+$/.test(value)) {
        throw refuse(
          `values[0]: Invalid value: ${JSON.stringify(value)}: for 'Gt', 'Lt' operators, the value must be an integer`,
        );
      }
      return { key, operator: operator === ">" ? "gt" : "lt", values: [value] };
    }
    default:
      throw refuse(`found '${operator}', expected: ${OPERATORS}`);
  }
}

/** One value; nothing at all stands for the empty one. */
function parseValue(key: string, peek: () => string, next: () => string): string {
  if (peek() === "" || peek() === ",") return "";
  const value = next();
  if (!isWord(value)) throw refuse(`found '${value}', expected: identifier`);
  checkValue(key, value, 0);
  return value;
}

function parseValues(key: string, peek: () => string, next: () => string): readonly string[] {
  const open = next();
  if (open !== "(") throw refuse(`found '${open}' expected: '('`);
  const values: string[] = [];
  // An empty place between commas is the empty value.
  for (;;) {
    if (isWord(peek())) {
      values.push(next());
    } else {
      values.push("");
    }
    const after = next();
    if (after === ")") break;
    if (after !== ",") throw refuse(`found '${after}', expected: ',' or ')'`);
  }
  for (const [index, value] of values.entries()) checkValue(key, value, index);
  return [...new Set(values)];
}

const NAME = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

const NAME_RULE =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE_RULE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const SUBDOMAIN_RULE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

function checkKey(key: string): void {
  const problem = keyProblem(key);
  if (problem !== undefined) {
    throw refuse(`<nil>: Invalid value: ${JSON.stringify(key)}: ${problem}`);
  }
}

function keyProblem(key: string): string | undefined {
  const parts = key.split("/");
  if (parts.length > 2) {
    return `a valid label key ${NAME_RULE} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`;
  }
  const name = parts.at(-1) ?? "";
  const [prefix] = parts;
  if (parts.length === 2 && prefix !== undefined) {
    if (prefix === "") return "prefix part must be non-empty";
    if (prefix.length > 253) return "prefix part must be no more than 253 bytes";
    if (!SUBDOMAIN.test(prefix)) return `prefix part ${SUBDOMAIN_RULE}`;
  }
  if (name === "") return `name part must be non-empty; name part ${NAME_RULE}`;
  if (name.length > 63) return "name part must be no more than 63 bytes";
  return NAME.test(name) ? undefined : `name part ${NAME_RULE}`;
}

function checkValue(key: string, value: string, index: number): void {
  const problem =
    value.length > 63
      ? "must be no more than 63 bytes"
      : VALUE.test(value)
        ? undefined
        : VALUE_RULE;
  if (problem !== undefined) {
    throw refuse(`values[${index}][${key}]: Invalid value: ${JSON.stringify(value)}: ${problem}`);
  }
}

export function matchesLabels(
  requirements: readonly LabelRequirement[],
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  return requirements.every((requirement) => {
    const { key } = requirement;
    const value = labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined;
    return holds(requirement, value);
  });
}

function holds({ operator, values }: LabelRequirement, value: string | undefined): boolean {
  switch (operator) {
    case "exists":
      return value !== undefined;
    case "absent":
      return value === undefined;
    case "in":
      return value !== undefined && values.includes(value);
    case "notin":
      return value === undefined || !values.includes(value);
    case "gt":
    case "lt":
  }
  // A label that is no integer is neither greater nor less.
  if (value === undefined || !/^[+-]?\d+$/.test(value)) return false;
  const limit = BigInt(values[0] ?? "0");
  return operator === "gt" ? BigInt(value) > limit : BigInt(value) < limit;
}

const METADATA_FIELDS: ReadonlySet<string> = new Set(["metadata.name", "metadata.namespace"]);

/** `allowed` are the dotted paths of this kind beside name and namespace. Throws a SelectorError. */
export function parseFieldSelector(
  text: string,
  allowed: readonly string[] = [],
  refusal: (path: string) => string = (path) => `field label not supported: ${path}`,
): readonly FieldRequirement[] {
  const requirements: FieldRequirement[] = [];
  for (const term of splitTerms(text)) {
    if (term === "") continue;
    const parts = /^([\s\S]*?)(!=|==|=)([\s\S]*)$/.exec(term);
    const [, path, operator, value] = parts ?? [];
    if (path === undefined || operator === undefined || value === undefined) {
      throw new SelectorError(`invalid selector: '${text}'; can't understand '${term}'`);
    }
    const unescaped = unescapeValue(value);
    if (!METADATA_FIELDS.has(path) && !allowed.includes(path)) {
      throw new SelectorError(refusal(path));
    }
    requirements.push({ path, equals: operator !== "!=", value: unescaped });
  }
  return requirements;
}

function splitTerms(text: string): readonly string[] {
  return text.match(/(?:\\[\s\S]?|[^,\\])+/g) ?? [];
}

function unescapeValue(value: string): string {
  let plain = "";
  for (let index = 0; index < value.length; index += 1) {
    const char = value.charAt(index);
    if (char === "\\") {
      const escaped = value.charAt(index + 1);
      if (escaped === "" || !"\\,=".includes(escaped)) {
        throw new SelectorError(`invalid field selector: invalid escape sequence: \\${escaped}`);
      }
      plain += escaped;
      index += 1;
    } else if (char === "," || char === "=") {
      const code = char.charCodeAt(0);
      throw new SelectorError(`invalid field selector: unescaped character in value: ${code}`);
    } else {
      plain += char;
    }
  }
  return plain;
}

/** A field that is not there reads as the empty text. */
export function matchesFields(
  requirements: readonly FieldRequirement[],
  object: JsonObject,
): boolean {
  return requirements.every(
    ({ path, equals, value }) => (readPath(object, path) === value) === equals,
  );
}

function readPath(object: JsonObject, path: string): string {
  let value: Json | undefined = object;
  for (const key of path.split(".")) {
    value = isJsonObject(value) ? getField(value, key) : undefined;
  }
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : "";
}
