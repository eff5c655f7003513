// Configuration: values of a YAML file read with their place in it, so that a wrong type is reported by line.
// Never quotes the file's content: it holds secrets.

import { LineCounter, parseDocument } from "yaml";
import { Problem } from "../api/problem.ts";
import { isToken } from "./credential.ts";
import { isRecord } from "./record.ts";

export function parseFields(text: string, file: string): Field {
  const lines = new LineCounter();
  // Pretty errors quote the source, which may be a key.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line, col } = lines.linePos(error.pos[0]);
    const what = error.code.toLowerCase().replaceAll("_", " ");
    throw invalidKubeconfig(`${file}, line ${line}, column ${col}: not valid YAML (${what})`);
  }
  const locate: Locate = (path) => {
    for (let length = path.length; length > 0; length--) {
      const start = rangeStart(document.getIn(path.slice(0, length), true));
      if (start !== undefined) return `${file}, line ${lines.linePos(start).line}`;
    }
    return file;
  };
  return new Field(document.toJS() ?? {}, [], locate);
}

type PathStep = string | number;
type Locate = (path: readonly PathStep[]) => string;

/** Null counts as absent. */
export class Field {
  readonly value: unknown;
  readonly #path: readonly PathStep[];
  readonly #locate: Locate;

  constructor(value: unknown, path: readonly PathStep[], locate: Locate) {
    this.value = value ?? undefined;
    this.#path = path;
    this.#locate = locate;
  }

  get(key: string): Field {
    const record = this.#record();
    return new Field(record?.[key], [...this.#path, key], this.#locate);
  }

  /** Empty strings count as absent, as in kubectl. */
  string(): string | undefined {
    if (this.value === undefined || this.value === "") return undefined;
    if (typeof this.value !== "string") throw this.refuse("must be a string");
    return this.value;
  }

  boolean(): boolean {
    if (this.value === undefined) return false;
    if (typeof this.value !== "boolean") throw this.refuse("must be true or false");
    return this.value;
  }

  items<T>(read: (item: Field) => T): T[] {
    if (this.value === undefined) return [];
    if (!Array.isArray(this.value)) throw this.refuse("must be a list");
    return this.value.map((item: unknown, index) =>
      read(new Field(item, [...this.#path, index], this.#locate)),
    );
  }

  strings(): string[] {
    return this.items((item) => item.string() ?? "");
  }

  mapOf<T>(read: (field: Field) => T): Record<string, T> {
    const keys = Object.keys(this.#record() ?? {});
    return Object.fromEntries(keys.map((key) => [key, read(this.get(key))]));
  }

  /** The line break that a YAML block leaves at the end is not part of it. */
  token(): string | undefined {
    const text = this.string()?.trim();
    if (text !== undefined && !isToken(text)) throw this.refuse("must be one line of plain text");
    return text;
  }

  /** Base64 of PEM text, decoded. */
  pem(): string | undefined {
    const data = this.string();
    if (data === undefined) return undefined;
    const text = Buffer.from(data, "base64").toString("utf8");
    if (!text.includes("-----BEGIN ")) throw this.refuse("must be base64 of PEM text");
    return text;
  }

  refuse(why: string): Problem {
    const name = this.#path.filter((step) => typeof step === "string").join(".");
    return invalidKubeconfig(
      `${this.#locate(this.#path)}: ${name === "" ? "the file" : name} ${why}`,
    );
  }

  #record(): Readonly<Record<string, unknown>> | undefined {
    if (this.value === undefined) return undefined;
    if (!isRecord(this.value)) throw this.refuse("must be a map of fields");
    return this.value;
  }
}

export function invalidKubeconfig(message: string): Problem {
  return new Problem("KubeconfigInvalid", message, {
    hint: "Correct the kubeconfig; kubectl config view shows how kubectl reads it.",
  });
}

function rangeStart(node: unknown): number | undefined {
  if (!isRecord(node) || !Array.isArray(node["range"])) return undefined;
  const start: unknown = node["range"][0];
  return typeof start === "number" ? start : undefined;
}
