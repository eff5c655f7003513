// The settings of src/api/settings.ts for those who read: tables for docs/configuration.md, and the JSON schema of a configuration file for
// editors and Helm.

import { join } from "node:path";
import {
  CONFIGURABLE,
  type Configurable,
  flagOf,
  SETTINGS,
  type SettingSchema,
  settingsOf,
  variableOf,
} from "../src/api/settings.ts";

const ROOT = join(import.meta.dirname, "..");

export const SETTINGS_PAGE = join(ROOT, "docs/configuration.md");
export const SETTINGS_SCHEMA_FILE = join(ROOT, "charts/isthmus/config.schema.json");

/** The page with its tables anew; the rest of it stays. */
export function renderSettingsPage(page: string): string {
  return CONFIGURABLE.reduce((text, command) => {
    const [before, after] = [`<!-- settings of ${command} -->`, "<!-- end -->"];
    const from = text.indexOf(before);
    const to = text.indexOf(after, from);
    if (from < 0 || to < 0) throw new Error(`the page has no place for the settings of ${command}`);
    return `${text.slice(0, from + before.length)}\n${renderTable(command)}\n${text.slice(to)}`;
  }, page);
}

function renderTable(command: Configurable): string {
  const rows = Object.entries(settingsOf(command)).map(([key, schema]) => {
    const names = [key, flagOf(key, schema), variableOf(key)].map((name) => `\`${name}\``);
    return `| ${[...names, describeDefault(schema), schema.description ?? ""].join(" | ")} |`;
  });
  const head = ["| setting | flag | variable | default | what it says |", "|---|---|---|---|---|"];
  return [...head, ...rows].join("\n");
}

function describeDefault({ default: usual }: SettingSchema): string {
  const values = Array.isArray(usual) ? usual : usual === undefined ? [] : [usual];
  return values.map((value) => `\`${String(value)}\``).join(", ");
}

/** Of the file as a whole; nothing in it is required. */
export function renderSettingsSchema(): string {
  const sections = CONFIGURABLE.map((command) => {
    const { required: _, ...section } = SETTINGS[command];
    return [command, section] as const;
  });
  const schema = {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Isthmus configuration",
    description: "Generated from src/api/settings.ts by `npm run generate`; do not edit.",
    type: "object",
    additionalProperties: false,
    properties: Object.fromEntries(sections),
  };
  // What stands behind a flag in --help is nothing that a file needs.
  const skip = (key: string, value: unknown): unknown => (key === "x-value" ? undefined : value);
  return `${JSON.stringify(schema, skip, 2)}\n`;
}
