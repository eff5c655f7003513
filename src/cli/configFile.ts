// CLI: a configuration file in, what it says of each setting and on which line out, and all that is wrong with its form. Nothing of it is
// quoted but names of settings: who takes it for the place of a secret must not find that in a log.

import { readFileSync, statSync } from "node:fs";
import { isMap, isScalar, LineCounter, parseDocument } from "yaml";
import { Problem } from "../api/problem.ts";
import { CONFIGURABLE, type Configurable, settingsOf } from "../api/settings.ts";
import { suggestName } from "./suggest.ts";

/** What one place says of one setting. */
export interface Claim {
  readonly command: Configurable;
  readonly key: string;
  readonly value: unknown;
  readonly origin: Origin;
}

export interface Origin {
  readonly from: "default" | "file" | "environment" | "flag";
  /** "isthmus.yaml:4", "ISTHMUS_LOG_LEVEL", "--log-level". */
  readonly where?: string;
}

export interface Mistake {
  /** "agent.metricsAddress". */
  readonly path: string;
  readonly origin: Origin;
  readonly what: string;
  readonly fix?: string | undefined;
}

interface Reading {
  readonly claims: readonly Claim[];
  readonly mistakes: readonly Mistake[];
}

const SIZE_MAX = 1_048_576;

export function readConfigFile(file: string): Reading {
  return parseConfig(readText(file), file);
}

export function readText(file: string): string {
  let size: number;
  try {
    const stat = statSync(file);
    // A pipe would be read once, and never end to be read again.
    size = stat.isFile() ? stat.size : Number.NaN;
    if (size <= SIZE_MAX) return readFileSync(file, "utf8");
  } catch (cause) {
    const hint = "Check that it is there and that this user may read it.";
    const message = `the configuration file ${file} cannot be read`;
    throw new Problem("ConfigurationInvalid", message, { hint, cause });
  }
  const what = Number.isNaN(size) ? "is no file" : `has more than ${SIZE_MAX} bytes`;
  throw new Problem("ConfigurationInvalid", `the configuration file ${file} ${what}`);
}

function parseConfig(text: string, file: string): Reading {
  const lines = new LineCounter();
  // Pretty errors quote the source.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const claims: Claim[] = [];
  const mistakes: Mistake[] = [];
  const at = (position: number | undefined): Origin => ({
    from: "file",
    where: position === undefined ? file : `${file}:${lines.linePos(position).line}`,
  });
  const [error] = document.errors;
  if (error !== undefined) {
    const what = `not valid YAML (${error.code.toLowerCase().replaceAll("_", " ")})`;
    return { claims, mistakes: [{ path: "", origin: at(error.pos[0]), what }] };
  }
  let values: Readonly<Record<string, unknown>>;
  try {
    values = (document.toJS() ?? {}) as Readonly<Record<string, unknown>>;
  } catch {
    const what = "it refers to a part that is not there, or to one part too often";
    return { claims, mistakes: [{ path: "", origin: at(undefined), what }] };
  }
  for (const [name, origin] of keysOf(document.contents, at)) {
    if (!isConfigurable(name)) {
      mistakes.push({ path: name, origin, ...explainSection(name) });
      continue;
    }
    const section = values[name] ?? {};
    const node = document.get(name, true);
    if (typeof section !== "object" || Array.isArray(section)) {
      const fix = "Put the settings below it, indented, each as name: value.";
      mistakes.push({ path: name, origin, what: "it has no settings", fix });
      continue;
    }
    const settings = settingsOf(name);
    // What an alias stands for is on the line of the alias.
    const keys = isMap(node)
      ? keysOf(node, at)
      : Object.keys(section).map((key) => [key, origin] as const);
    for (const [key, origin] of keys) {
      const path = `${name}.${key}`;
      const value = (section as Readonly<Record<string, unknown>>)[key] ?? undefined;
      if (Object.hasOwn(settings, key)) {
        if (value !== undefined) claims.push({ command: name, key, value, origin });
      } else mistakes.push({ path, origin, ...explainKey(name, key) });
    }
  }
  if (document.contents !== null && !isMap(document.contents)) {
    const fix = `Begin with a command, such as "agent:", and put its settings below it, indented.`;
    mistakes.push({ path: "", origin: at(undefined), what: "it has no settings by name", fix });
  }
  return { claims, mistakes };
}

function keysOf(
  node: unknown,
  at: (position: number | undefined) => Origin,
): readonly (readonly [string, Origin])[] {
  if (!isMap(node)) return [];
  return node.items.map(({ key }) => [
    String(isScalar(key) ? key.value : key),
    at(isScalar(key) ? key.range?.[0] : undefined),
  ]);
}

function isConfigurable(name: string): name is Configurable {
  return CONFIGURABLE.some((command) => command === name);
}

type Explanation = Pick<Mistake, "what" | "fix">;

function explainSection(name: string): Explanation {
  const owners = CONFIGURABLE.filter((command) => Object.hasOwn(settingsOf(command), name));
  if (owners.length > 0) {
    return { what: "it stands at the top", fix: `Put it below ${joinWords(owners)}.` };
  }
  return { what: "there is no such command", fix: suggestName(name, CONFIGURABLE) };
}

function explainKey(command: Configurable, key: string): Explanation {
  const what = `there is no such setting of ${command}`;
  return { what, fix: suggestName(key, Object.keys(settingsOf(command))) };
}

/** "a, b or c". */
export function joinWords(words: readonly string[]): string {
  const [end = "", ...before] = words.toReversed();
  return before.length === 0 ? end : `${before.toReversed().join(", ")} or ${end}`;
}
