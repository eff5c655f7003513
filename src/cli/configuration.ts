// CLI: a configuration file, the environment and the flags of a command in, its settings and where each comes from out. Flags win over the
// environment, that over the file, that over defaults. Whatever is wrong is told at once, wherever it stands.

import { Problem } from "../api/problem.ts";
import {
  CONFIGURABLE,
  type Configurable,
  flagOf,
  type Settings,
  type SettingSchema,
  type SettingValue,
  settingsOf,
  variableOf,
} from "../api/settings.ts";
import { type Claim, type Mistake, type Origin, readConfigFile } from "./configFile.ts";
import type { CliContext } from "./context.ts";
import { findFault, requireFit } from "./settingRules.ts";
import { findNearest } from "./suggest.ts";

export interface Setting {
  readonly key: string;
  /** Undefined: absent. */
  readonly value: SettingValue | undefined;
  readonly origin: Origin;
}

export interface Configuration<C extends Configurable> {
  readonly settings: Settings[C];
  /** The same, one by one and in the order of --help. */
  readonly list: readonly Setting[];
}

const FILE_VARIABLE = "ISTHMUS_CONFIG";

/** Undefined: none is named. */
export function findConfigFile(
  { env }: Pick<CliContext, "env">,
  given: Readonly<Record<string, unknown>>,
): string | undefined {
  const named = given["config"] as string | undefined;
  return named ?? (env[FILE_VARIABLE] || undefined);
}

/** `given`: the flags that were given, and no others. Throws a Problem that names all mistakes. */
export function readConfiguration<C extends Configurable>(
  { env }: Pick<CliContext, "env">,
  command: C,
  given: Readonly<Record<string, unknown>>,
): Configuration<C> {
  const file = findConfigFile({ env }, given);
  const read = file === undefined ? { claims: [], mistakes: [] } : readConfigFile(file);
  const claims = [
    ...read.claims,
    ...claimsOfEnvironment(env, command),
    ...claimsOfFlags(given, command),
  ];
  const mistakes = [...read.mistakes, ...findStrayVariables(env), ...claims.flatMap(judge)];
  if (mistakes.length > 0) throw explain(mistakes);
  const list = Object.entries(settingsOf(command)).map(([key, schema]): Setting => {
    const claim = claims.findLast((each) => each.command === command && each.key === key);
    if (claim === undefined) return { key, value: schema.default, origin: { from: "default" } };
    return { key, value: claim.value as SettingValue, origin: claim.origin };
  });
  const told = list.filter(({ value }) => value !== undefined);
  const settings = Object.fromEntries(told.map(({ key, value }) => [key, value])) as Settings[C];
  requireFit(command, settings);
  return { settings, list };
}

function claimsOfEnvironment(env: CliContext["env"], command: Configurable): readonly Claim[] {
  return Object.entries(settingsOf(command)).flatMap(([key, schema]) => {
    const where = variableOf(key);
    const text = env[where] ?? "";
    if (text === "") return [];
    const value = schema.type === "array" ? splitList(text) : decode(text, schema);
    return [{ command, key, value, origin: { from: "environment", where } }];
  });
}

function claimsOfFlags(
  given: Readonly<Record<string, unknown>>,
  command: Configurable,
): readonly Claim[] {
  return Object.entries(settingsOf(command)).flatMap(([key, schema]) => {
    const value = given[key];
    if (value === undefined) return [];
    const origin = { from: "flag", where: flagOf(key, schema) } as const;
    return [{ command, key, value: decode(value, schema), origin }];
  });
}

function splitList(text: string): readonly string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

/** Text for numbers, true and false, as the environment and the command line have it. What is none stays text, and is judged. */
function decode(value: unknown, schema: SettingSchema): unknown {
  if (typeof value !== "string") return value;
  const takes = (type: SettingSchema["type"]): boolean =>
    [schema, ...(schema.anyOf ?? [])].some((way) => way.type === type);
  if (takes("integer") && /^\d{1,15}$/.test(value)) return Number(value);
  if (takes("boolean") && /^(?:true|false)$/.test(value)) return value === "true";
  return value;
}

/** The environment is not ours alone: Kubernetes names Services in it. Only what is nearly one of our names is taken for it. */
function findStrayVariables(env: CliContext["env"]): readonly Mistake[] {
  const keys = CONFIGURABLE.flatMap((command) => Object.keys(settingsOf(command)));
  const known = [FILE_VARIABLE, ...new Set(keys.map(variableOf))];
  const bare = known.map((name) => name.slice(PREFIX.length));
  return Object.keys(env)
    .filter((name) => name.startsWith(PREFIX) && env[name] !== "" && !known.includes(name))
    .flatMap((name) => {
      const nearest = findNearest(name.slice(PREFIX.length), bare);
      if (nearest === undefined) return [];
      const origin = { from: "environment" } as const;
      const fix = `Did you mean ${PREFIX}${nearest}?`;
      return [{ path: name, origin, what: "there is no such variable", fix }];
    });
}

const PREFIX = "ISTHMUS_";

function judge({ command, key, value, origin }: Claim): readonly Mistake[] {
  const fault = findFault(command, key, value);
  return fault === undefined ? [] : [{ path: `${command}.${key}`, origin, ...fault }];
}

function explain(mistakes: readonly Mistake[]): Problem {
  const code = mistakes.every(({ origin }) => origin.from === "flag")
    ? "ArgumentInvalid"
    : "ConfigurationInvalid";
  const sentences = mistakes.map(describeMistake);
  const [only] = mistakes;
  if (only !== undefined && mistakes.length === 1) {
    return new Problem(code, sentences.join(""), { hint: only.fix });
  }
  const lines = mistakes.map(({ fix }, index) =>
    [`  ${sentences[index]?.replace(/\.$/, "")}`, ...(fix === undefined ? [] : [fix])].join(". "),
  );
  return new Problem(code, [`${mistakes.length} settings are wrong:`, ...lines].join("\n"));
}

function describeMistake({ path, origin: { where }, what }: Mistake): string {
  const place = [path, ...(where === undefined ? [] : [path === "" ? where : `(${where})`])];
  return `${place.filter((word) => word !== "").join(" ")}: ${what}`;
}
