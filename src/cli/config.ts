// CLI: `isthmus config`: what a command would be started with in, its settings and where each comes from out. Starts nothing.

import { stringify } from "yaml";
import type { Configurable, SettingValue } from "../api/settings.ts";
import { redactText } from "../core/check/redact.ts";
import type { Origin } from "./configFile.ts";
import { readConfiguration, type Setting } from "./configuration.ts";
import type { Given } from "./configured.ts";
import type { CliContext } from "./context.ts";
import { orNone, printTable } from "./printing.ts";
import { plain } from "./terminal.ts";

export type ConfigFormat = "table" | "yaml" | "json";

export function printConfiguration(
  context: CliContext,
  { name, flags }: Given<Configurable>,
  format: ConfigFormat,
): void {
  const { list } = readConfiguration(context, name, flags);
  const settings = list.map((setting) => ({ ...setting, value: redact(setting.value) }));
  switch (format) {
    case "json":
      context.out(JSON.stringify({ settings: settings.map(renderEntry(name)) }, undefined, 2));
      return;
    case "yaml":
      context.out(renderFile(name, settings));
      return;
    case "table": {
      const columns = [
        { title: "SETTING", read: ({ key }: Setting) => `${name}.${key}` },
        { title: "VALUE", read: ({ value }: Setting) => orNone(String(value ?? "")) },
        { title: "FROM", read: ({ origin }: Setting) => describeOrigin(origin) },
      ];
      printTable(context, settings, { columns, isWide: false });
      return;
    }
    default:
      format satisfies never;
  }
}

/** A secret has no place in a setting; who puts one there all the same does not find it in the log of a CI. */
function redact(value: SettingValue | undefined): SettingValue | undefined {
  if (typeof value === "string") return redactText(value);
  return typeof value === "object" ? value.map(redactText) : value;
}

function renderEntry(name: Configurable) {
  return ({ key, value, origin: { from, where } }: Setting) => ({
    setting: `${name}.${key}`,
    value: value ?? null,
    from,
    ...(where === undefined ? {} : { where }),
  });
}

/** A file that says the same; what is absent is left out. */
function renderFile(name: Configurable, settings: readonly Setting[]): string {
  const told = settings.filter(({ value }) => value !== undefined);
  const lines = told.flatMap(({ key, value, origin }) => {
    const [first, ...rest] = stringify({ [key]: value }, { lineWidth: 0 })
      .trimEnd()
      .split("\n");
    return [`${first} # ${plain(describeOrigin(origin))}`, ...rest].map((line) => `  ${line}`);
  });
  return [`${name}:`, ...lines].join("\n");
}

function describeOrigin({ from, where }: Origin): string {
  return where === undefined ? from : `${from} ${where}`;
}
