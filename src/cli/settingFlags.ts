// CLI: the settings of a command in, its flags out: the same words in --help, in the file and in the environment.

import { type Command, Option } from "commander";
import { type Configurable, flagOf, type SettingSchema, settingsOf } from "../api/settings.ts";
import { collect } from "./repeated.ts";

export function withSettings(command: Command, name: Configurable): Command {
  command.option(
    "--config <file>",
    "a file with settings, over which flags and the environment win; absent: $ISTHMUS_CONFIG",
  );
  for (const [key, schema] of Object.entries(settingsOf(name))) {
    command.addOption(renderOption(key, schema));
  }
  return command;
}

/** Key → value of the flags that were given, and no others. */
export function readGivenFlags(command: Command): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(command.opts()).filter(([key]) => command.getOptionValueSource(key) === "cli"),
  );
}

function renderOption(key: string, schema: SettingSchema): Option {
  const { type, description = "", enum: choices, "x-value": value } = schema;
  const flag = flagOf(key, schema);
  if (type === "boolean") return new Option(flag, `do not ${description}`);
  const option = new Option(`${flag} <${value}>`, description);
  // What is given replaces the default, and is not added to it.
  if (type === "array") return option.argParser(collect).default([]);
  if (choices !== undefined) option.choices(choices);
  return schema.default === undefined ? option : option.default(String(schema.default));
}
