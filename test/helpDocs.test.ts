// The docs and --help say the same: every flag of every command is on a page that speaks of the command, and every flag that a
// page gives to a command is one that it takes.

import { readdirSync, readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { type HelpPage, readHelpPages } from "./helpPages.ts";

interface Page {
  readonly name: string;
  readonly text: string;
}

const SPELLING = /(?<![-\w])(?:--[a-z][-a-z0-9]*|-\w\b)/g;
const FLAG = /(?<![-\w])--[a-z][-a-z0-9]*/g;
/** Tables of flags of other programs: of the tests, the benchmark and the simulation. */
const OF_OTHER_PROGRAMS: ReadonlySet<string> = new Set(["docs/bench.md", "docs/testing.md"]);

const root = new URL("../", import.meta.url);
const names = [
  "README.md",
  ...readdirSync(new URL("docs/", root))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];
const pages: readonly Page[] = names.map((name) => ({
  name,
  text: readFileSync(new URL(name, root), "utf8"),
}));

let help: readonly HelpPage[] = [];
beforeAll(async () => {
  help = await readHelpPages();
});

/** "isthmus get exports -A", as it stands in a block or between backticks, also by npm and kubectl. */
function commandsIn({ text }: Page): readonly string[] {
  const blocks = [...text.matchAll(/^```\w*\n(.*?)^```/gms)].flatMap(([, block]) =>
    block!.replaceAll("\\\n", " ").split("\n"),
  );
  const prose = text.replaceAll(/^```\w*\n.*?^```/gms, "");
  const spans = [...prose.matchAll(/`([^`]+)`/g)].map(([, span]) => span!);
  const titles = [...prose.matchAll(/^#+ (isthmus .*)$/gm)].map(([, title]) => title!);
  return [...blocks, ...spans, ...titles].flatMap((line) => {
    const typed = line.replace(/npm run (isthmus|demo)/, (_, name: string) =>
      name === "demo" ? "isthmus demo" : name,
    );
    const found = /(?:^|[\s;&|(])isthmus (?:-- )?([a-z].*)$/.exec(typed);
    // To Helm it is the name of a release. What comes behind a pipe or a comment sign is not ours.
    return found === null || typed.startsWith("helm ")
      ? []
      : [found[1]!.split(/ \\?[|#;>]|\s#/)[0]!];
  });
}

/** The longest command that the line begins with. */
function verbOf(line: string): HelpPage | undefined {
  const words = line.split(/\s+/);
  const known = new Map(help.map((page) => [page.verb, page]));
  for (let length = words.length; length > 0; length -= 1) {
    const page = known.get(words.slice(0, length).join(" "));
    if (page !== undefined) return page;
  }
  return undefined;
}

/** `hub token` alone means `hub token create`. */
const MEANS: ReadonlyMap<string, string> = new Map([["hub token", "hub token create"]]);

function flagsOf({ verb, flags }: HelpPage): readonly string[] {
  const meant = help.find((page) => page.verb === MEANS.get(verb));
  return [...flags, ...(meant?.flags ?? []), "--help"];
}

/** Pages that show the command, or speak of all that begin like it: "isthmus get". */
function pagesAbout({ verb }: HelpPage): readonly Page[] {
  const groups = help.filter(
    ({ verb: other, flags, commands }) =>
      commands.length > 0 && flags.length === 0 && verb.startsWith(`${other} `),
  );
  const meant = new Set([verb, ...groups.map((group) => group.verb)]);
  return pages.filter((page) =>
    commandsIn(page).some((line) => {
      const shown = verbOf(line)?.verb ?? "";
      return meant.has(MEANS.get(shown) ?? shown);
    }),
  );
}

describe("--help", () => {
  test("has a sentence for every command and every flag", () => {
    expect(help.length).toBeGreaterThan(20);
    const bare = help.flatMap(({ verb, text }) =>
      text
        .split("\n")
        .filter((line) => line.startsWith("  -") && !/\S {2,}\S/.test(line))
        .map((line) => `${verb}:${line}`),
    );
    expect(bare).toEqual([]);
    // Usage, an empty line, and then what it is for.
    const mute = help.filter(({ text }) => !/^Usage: .*\n\n[a-z]/i.test(text));
    expect(mute.map(({ verb }) => verb)).toEqual([]);
  });

  test("of every command names flags that a page about the command names, too", () => {
    const missing = help.flatMap((page) => {
      const about = pagesAbout(page);
      if (page.verb !== "" && page.commands.length === 0 && about.length === 0) {
        return [`isthmus ${page.verb}: no page shows it`];
      }
      const words = new Set(about.flatMap(({ text }) => text.match(SPELLING) ?? []));
      return page.flags
        .filter((flag) => !words.has(flag) && !words.has(page.shorts.get(flag) ?? ""))
        .map(
          (flag) =>
            `isthmus ${page.verb} ${flag}: not in ${about.map(({ name }) => name).join(", ")}`,
        );
    });
    expect(missing).toEqual([]);
  });
});

describe.each(pages)("$name", (page) => {
  test("gives no command a flag that it does not take", () => {
    const wrong = commandsIn(page).flatMap((line) => {
      const verb = verbOf(line);
      if (verb === undefined) return [`isthmus ${line}: no such command`];
      const flags = flagsOf(verb);
      return (line.match(FLAG) ?? [])
        .filter((flag) => !flags.includes(flag))
        .map((flag) => `isthmus ${verb.verb} ${flag}: no such flag`);
    });
    expect(wrong).toEqual([]);
  });

  test("has no flag in a table that no command takes", () => {
    const rows = OF_OTHER_PROGRAMS.has(page.name) ? [] : (page.text.match(/^\| `-.*? \| /gm) ?? []);
    const known = new Set(help.flatMap(flagsOf));
    const unknown = rows.flatMap((row) => row.match(FLAG) ?? []).filter((flag) => !known.has(flag));
    expect(unknown).toEqual([]);
  });
});
