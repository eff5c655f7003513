// Test tool: every command of the program as its own --help tells it: which commands are below it, which flags it takes.

import { runCommand } from "./commandLine.ts";

export interface HelpPage {
  /** Words behind "isthmus": "get exports"; "" for the program itself. */
  readonly verb: string;
  readonly text: string;
  readonly commands: readonly string[];
  /** With two dashes, without those that every command has; and how else each may be spelled. */
  readonly flags: readonly string[];
  readonly shorts: ReadonlyMap<string, string>;
  /** Also the short ones and --help. */
  readonly spellings: readonly string[];
}

const COMMON: ReadonlySet<string> = new Set(["--help", "--version"]);

/** From the top down, as a person would look for them. */
export async function readHelpPages(verb = ""): Promise<readonly HelpPage[]> {
  const words = verb === "" ? [] : verb.split(" ");
  const { code, out } = await runCommand([...words, "--help"]);
  if (code !== 0) throw new Error(`isthmus ${verb} --help ended with ${code}`);
  const options = sectionOf(out, "Options:");
  const found = [...options.matchAll(/^ {2}(?:(-\w), )?(--[a-z][-a-z]*)/gm)];
  const spellings = found.flatMap(([, short, long]) => [
    ...(short === undefined ? [] : [short]),
    long!,
  ]);
  const commands = [...sectionOf(out, "Commands:").matchAll(/^ {2}([a-z][-a-z]*)/gm)]
    .map(([, name]) => name!)
    .filter((name) => name !== "help");
  const page: HelpPage = {
    verb,
    text: out,
    commands,
    spellings,
    shorts: new Map(found.flatMap(([, short, long]) => (short ? [[long!, short]] : []))),
    flags: spellings.filter((flag) => flag.startsWith("--") && !COMMON.has(flag)),
  };
  const below: HelpPage[] = [];
  for (const name of commands) below.push(...(await readHelpPages([...words, name].join(" "))));
  return [page, ...below];
}

function sectionOf(text: string, title: string): string {
  const from = text.split(`\n${title}\n`)[1] ?? "";
  return from.split("\n\n")[0] ?? "";
}
