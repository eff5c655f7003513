// Completion as a shell has it: bash sources the script and answers what it would offer, which is what --help names. The scripts
// for zsh and fish are only read: those shells need not be on the machine.

import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { mustRun, runCommand } from "./commandLine.ts";
import { readHelpPages } from "./helpPages.ts";
import { temporaryDirectory } from "./loopback.ts";

const run = promisify(execFile);

/** What bash would offer for each line; the last word is the one that is being typed. */
async function complete(
  lines: readonly (readonly string[])[],
  folder = temporaryDirectory(),
): Promise<readonly (readonly string[])[]> {
  const script = join(folder, ".completion.bash");
  writeFileSync(script, await mustRun(["completion", "bash"]));
  const asks = lines.map(
    (words) =>
      `COMP_WORDS=(isthmus ${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length}; _isthmus; echo "\${COMPREPLY[*]}"`,
  );
  // A shell without anybody's settings; what it does not understand goes to standard error.
  const text = [
    "set -u",
    "shopt -s extglob",
    `source ${script}`,
    "complete -p isthmus >/dev/null",
    ...asks,
  ];
  const { stdout, stderr } = await run("bash", ["--norc", "--noprofile", "-c", text.join("\n")], {
    cwd: folder,
  });
  expect(stderr).toBe("");
  const answers = stdout.split("\n").slice(0, -1);
  expect(answers).toHaveLength(lines.length);
  return answers.map((answer) => answer.split(" ").filter((word) => word !== ""));
}

describe("bash", () => {
  test("offers every command and every flag that --help names, wherever the line has come to", async () => {
    const pages = await readHelpPages();
    expect(pages.map(({ verb }) => verb)).toContain("hub token create");
    const typed = pages.map(({ verb }) => (verb === "" ? [] : verb.split(" ")));
    const flags = await complete(typed.map((words) => [...words, "-"]));
    const commands = await complete(typed.map((words) => [...words, ""]));
    const sorted = (words: readonly string[]): string => words.toSorted().join(" ");
    expect(pages.map(({ verb }, index) => `${verb}: ${sorted(flags[index]!)}`)).toEqual(
      pages.map(({ verb, spellings }) => `${verb}: ${sorted(spellings)}`),
    );
    const parents = pages.flatMap((page, index) => (page.commands.length > 0 ? [index] : []));
    expect(parents.map((index) => commands[index])).toEqual(
      parents.map((index) => pages[index]!.commands),
    );
  });

  test("completes the word that was begun", async () => {
    const answers = await complete([
      ["ex"],
      ["get", "im"],
      ["get", "svcex", "--no"],
      ["hub", "t"],
      ["export", "web", "--dr"],
    ]);
    expect(answers).toEqual([
      ["export", "explain"],
      ["imports"],
      ["--no-hub"],
      ["token"],
      ["--dry-run"],
    ]);
  });

  test("offers the choices of a flag, also behind =, and of an argument", async () => {
    const formats = ["json", "yaml", "wide", "name"];
    const answers = await complete([
      ["get", "exports", "-o", ""],
      ["status", "--output", "=", ""],
      ["status", "--output", "="],
      ["status", "--output", "y"],
      ["central", "--namespaces", ""],
      ["completion", ""],
    ]);
    expect(answers).toEqual([
      formats,
      formats,
      formats,
      ["yaml"],
      ["wait", "create", "never"],
      ["bash", "zsh", "fish"],
    ]);
  });

  test("offers files where a file is meant, and nothing where it knows nothing", async () => {
    const folder = temporaryDirectory();
    mkdirSync(join(folder, "east.d"));
    writeFileSync(join(folder, "east.yaml"), "");
    const answers = await complete(
      [
        ["status", "--kubeconfig", "ea"],
        ["central", "--kubeconfig", "e", "=", "east.y"],
        ["status", "--timeout", ""],
      ],
      folder,
    );
    expect(answers.map((words) => words.toSorted())).toEqual([
      ["east.d", "east.yaml"],
      ["east.yaml"],
      [],
    ]);
  });

  test("takes the value of a flag for no command", async () => {
    const [value, command] = await complete([
      ["dns", "--zone", "enable", "--max-u"],
      ["dns", "--zone", "x", "enable", "--max-u"],
    ]);
    expect(value).toEqual(["--max-udp-size"]);
    expect(command).toEqual([]);
  });
});

describe.each(["zsh", "fish"])("%s", (shell) => {
  test("the script names every command and every flag", async () => {
    const script = await mustRun(["completion", shell]);
    for (const { verb, flags } of await readHelpPages()) {
      expect(script).toContain(`isthmus${verb === "" ? "" : ` ${verb}`}`);
      for (const flag of flags) {
        expect(script).toContain(shell === "zsh" ? `'${flag}:` : `-l ${flag.slice(2)} `);
      }
    }
  });
});

test("another shell is wrong usage, and the ones that are known are named", async () => {
  const { code, err } = await runCommand(["completion", "tcsh"]);
  expect(code).toBe(2);
  expect(err).toContain("bash, zsh, fish");
});
