// What the docs tell people to type: every command line is one that its program takes, every file that it names is there. Whether it
// also does what it should is shown by docsCommands.real.test.ts.

import { existsSync, readFileSync } from "node:fs";
import type { Command } from "commander";
import { describe, expect, test } from "vitest";
import { createProgram } from "../src/cli/program.ts";
import { silentContext } from "./commandLine.ts";
import { NOT_RUN, RUN_ELSEWHERE } from "./docs/ledger.ts";
import { blocksOf, commandsOf, readPages } from "./docs/pages.ts";
import { parseShell, type SimpleCommand } from "./docs/shell.ts";
import { WALK } from "./docs/walk.ts";

const root = new URL("../", import.meta.url);
const pages = readPages();
const { scripts } = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as {
  readonly scripts: Readonly<Record<string, string>>;
};

/** Of others: what they take is shown where they run. */
const FOREIGN: ReadonlySet<string> = new Set([
  "aws",
  "curl",
  "dig",
  "docker",
  "gcloud",
  "helm",
  "kind",
  "kubectl",
  "ln",
  "podman",
  "sed",
  "sha256sum",
  "source",
  "tar",
]);
const NPM_VERBS: ReadonlySet<string> = new Set(["install", "pack", "run", "test"]);

/** What is wrong with one program's run; empty when nothing is. */
async function judge(words: SimpleCommand): Promise<readonly string[]> {
  const [program = "", verb = "", ...rest] = words;
  if (program === "isthmus") return judgeOurs(words.slice(1));
  if (program === "kubectl" && verb === "isthmus") return judgeOurs(rest);
  if (program === "npm") return judgeNpm(verb, rest);
  if (!FOREIGN.has(program)) return [`${program}: nobody knows this program`];
  return program === "kubectl" ? judgeFiles(words) : [];
}

async function judgeNpm(verb: string, args: readonly string[]): Promise<readonly string[]> {
  if (!NPM_VERBS.has(verb)) return [`npm ${verb}: not what the docs speak of`];
  const [script = "", dashes, ...given] = args;
  if (verb === "test") return scripts["test"] === undefined ? ["npm test: no such script"] : [];
  if (verb !== "run") return [];
  if (scripts[script] === undefined) return [`npm run ${script}: no such script`];
  if (dashes !== undefined && dashes !== "--") return [`npm run ${script} ${dashes}: needs --`];
  if (script === "isthmus") return judgeOurs(given);
  return script === "demo" ? judgeOurs(["demo", ...given]) : [];
}

/** The real command line, in which nothing acts: flags, arguments and choices are looked at by commander itself. */
async function judgeOurs(args: readonly string[]): Promise<readonly string[]> {
  const errors: string[] = [];
  const program = createProgram({ ...silentContext, error: (line) => errors.push(line) });
  disarm(program);
  try {
    await program.parseAsync([...args], { from: "user" });
    return [];
  } catch {
    return [`isthmus ${args.join(" ")}: ${errors[0]}`];
  }
}

function disarm(command: Command): void {
  // What only has commands below it shows its help instead, and that is no use of it.
  if (command.commands.length === 0 || hasAction(command)) command.action(() => {});
  for (const below of command.commands) disarm(below);
}

function hasAction(command: Command): boolean {
  return "_actionHandler" in command && typeof command._actionHandler === "function";
}

function judgeFiles(words: SimpleCommand): readonly string[] {
  return words.flatMap((word, index) => {
    const file = words[index + 1] ?? "";
    if (!["-f", "--filename"].includes(word) || file === "-" || file.startsWith("<(")) return [];
    return existsSync(new URL(file, root)) ? [] : [`${words.join(" ")}: there is no ${file}`];
  });
}

describe.each(pages)("$name", (page) => {
  test("has only commands that their programs take", async () => {
    const wrong: string[] = [];
    for (const { line, text } of commandsOf(page)) {
      for (const words of parseShell(text.split("\n")[0]!.replace(/<<\S+$/, ""))) {
        const found = await judge(words);
        wrong.push(...found.map((what) => `${page.name}:${line}: ${what}`));
      }
    }
    expect(wrong).toEqual([]);
  });

  test("says of every block with commands that it is one", () => {
    const begins =
      /^\s*(?:[A-Z_]+=\S+ )*(?:isthmus|npm|npx|kubectl|helm|kind|docker|podman|aws|gcloud) /;
    const unmarked = blocksOf(page)
      .filter(({ language, lines }) => language !== "sh" && lines.some((line) => begins.test(line)))
      .map(({ line }) => `${page.name}:${line}: begin it with \`\`\`sh`);
    expect(unmarked).toEqual([]);
  });
});

describe("all commands", () => {
  const inDocs = new Map(
    pages.flatMap(commandsOf).map(({ text, page, line }) => [text, `${page}:${line}`] as const),
  );
  const steps = WALK.flatMap((story) => story.steps);
  const run = steps.filter(({ isAside }) => isAside === undefined).map(({ command }) => command);
  const fates = [...run, ...Object.keys(RUN_ELSEWHERE), ...Object.values(NOT_RUN).flat()];

  test("are run by a test, or listed with the reason why not", () => {
    const forgotten = [...inDocs].filter(([text]) => !fates.includes(text));
    expect(forgotten.map(([text, where]) => `${where}: ${text}`)).toEqual([]);
  });

  test("that are run or listed are in the docs, each in one place", () => {
    expect(fates.filter((text) => !inDocs.has(text))).toEqual([]);
    expect(fates.filter((text, index) => fates.indexOf(text) !== index)).toEqual([]);
  });

  test("that another test runs name one that there is", () => {
    const gone = Object.values(RUN_ELSEWHERE).filter((file) => !existsSync(new URL(file, root)));
    expect(gone).toEqual([]);
  });

  test("are filled in only where a reader would have to", () => {
    const idle = steps.flatMap(({ command, filled = {} }) =>
      Object.keys(filled).filter((text) => !command.includes(text)),
    );
    expect(idle).toEqual([]);
  });
});

describe("the reader of commands", () => {
  test("finds what is wrong", async () => {
    const judged = async (line: string): Promise<readonly string[]> =>
      (await Promise.all(parseShell(line).map(judge))).flat();
    expect(await judged("isthmus join --tokne x")).toHaveLength(1);
    expect(await judged("isthmus get")).toHaveLength(1);
    expect(await judged("npm run isthmus -- hub token delete")).toHaveLength(1);
    expect(await judged("kubectl isthmus explain")).toHaveLength(1);
    expect(await judged("isthmus config agent -o xml")).toHaveLength(1);
    expect(await judged('kubectl label x "$(isthmus no-such)"')).toHaveLength(1);
    expect(await judged("npm run no-such && kubectl apply -f no/such.yaml")).toHaveLength(2);
    expect(await judged("A=b isthmus status > file | isthmus dns enable --dry-run")).toEqual([]);
  });
});
