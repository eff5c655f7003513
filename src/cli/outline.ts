// CLI: the program itself in, its commands, flags and choices as plain data out. Completions are made of it, so that they cannot
// know less than the program does.

import type { Command, Option } from "commander";

export interface Outline {
  /** All words that lead to it: "isthmus get exports". */
  readonly place: string;
  /** Its name, and what else it goes by. */
  readonly names: readonly string[];
  readonly description: string;
  readonly flags: readonly FlagOutline[];
  /** What may stand behind it instead of a command. */
  readonly choices: readonly string[];
  readonly commands: readonly Outline[];
}

export interface FlagOutline {
  readonly short?: string;
  readonly long: string;
  readonly description: string;
  readonly takes: "nothing" | "file" | "value";
  readonly choices: readonly string[];
}

/** `place`: all words that lead to the command, its own included. */
export function outlineProgram(command: Command, place: string): Outline {
  const help = command.createHelp();
  return {
    place,
    names: [command.name(), ...command.aliases()],
    description: command.description(),
    flags: help.visibleOptions(command).map(outlineFlag),
    choices: command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
    // `help` stands for --help, and takes all that stands beside it.
    commands: help
      .visibleCommands(command)
      .filter((each) => command.commands.includes(each))
      .map((each) => outlineProgram(each, `${place} ${each.name()}`)),
  };
}

function outlineFlag(option: Option): FlagOutline {
  const { short, long = "", description, argChoices = [], flags } = option;
  const takesValue = option.required || option.optional;
  return {
    ...(short === undefined ? {} : { short }),
    long,
    description,
    takes: takesValue ? (/file>/.test(flags) ? "file" : "value") : "nothing",
    choices: argChoices,
  };
}

/** It and all below it, from the top. */
export function flattenOutline(outline: Outline): readonly Outline[] {
  return [outline, ...outline.commands.flatMap(flattenOutline)];
}

/** As they are typed. */
export function spellFlag({ short, long }: FlagOutline): readonly string[] {
  return short === undefined ? [long] : [short, long];
}
