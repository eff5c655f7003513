// CLI: `isthmus completion`: the program in, a script for a shell out that completes commands, flags and choices. Asks no cluster:
// names of services are not completed.

import type { Command } from "commander";
import type { CliContext } from "./context.ts";
import { flattenOutline, type Outline, outlineProgram, spellFlag } from "./outline.ts";
import type { Shell } from "./shell.ts";

const NAME = "isthmus";

const RENDERERS: Readonly<Record<Shell, (places: readonly Outline[]) => readonly string[]>> = {
  bash: renderBash,
  zsh: renderZsh,
  fish: renderFish,
};

export function printCompletion(context: CliContext, program: Command, shell: Shell): void {
  // However it was called, it is completed under its own name: kubectl completes its plugins in another way.
  const places = flattenOutline(outlineProgram(program, NAME));
  context.out(RENDERERS[shell](places).join("\n"));
}

/** Works with the bash 3.2 of macOS, too: no associative arrays, no mapfile. */
function renderBash(places: readonly Outline[]): readonly string[] {
  return [
    `# bash completion of ${NAME}. To try it: source <(${NAME} completion bash)`,
    `_${NAME}() {`,
    `  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]}`,
    `  local place=${NAME} word i commands flags IFS=$' \\t\\n'`,
    "  COMPREPLY=()",
    "  # Readline takes = for a word of its own: --output=json, --kubeconfig east=file.",
    '  if [[ $cur == "=" ]]; then cur=""',
    '  elif [[ $prev == "=" ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}',
    "    if [[ $prev != -* ]] && ((COMP_CWORD > 3)); then prev=${COMP_WORDS[COMP_CWORD-3]}; fi",
    "  fi",
    "  for ((i = 1; i < COMP_CWORD; i++)); do",
    "    word=${COMP_WORDS[i]}",
    '    case "$place $word" in',
    ...renderWalk(places, {
      step: (place) => `      place=${quote(place)} ;;`,
      skip: "      ((i++)) ;;",
    }),
    "    esac",
    "  done",
    '  case "$place $prev" in',
    ...renderValues(places, {
      choices: (words) =>
        `COMPREPLY=($(compgen -W ${quote(words.join(" "))} -- "$cur")); return ;;`,
      file: "compopt -o filenames 2>/dev/null; IFS=$'\\n'; COMPREPLY=($(compgen -f -- \"$cur\")); return ;;",
      value: "return ;;",
    }),
    "  esac",
    '  case "$place" in',
    ...places.flatMap((outline) => [
      `    ${quote(outline.place)})`,
      `      commands=${quote(offeredWords(outline).join(" "))}`,
      `      flags=${quote(outline.flags.flatMap(spellFlag).join(" "))} ;;`,
    ]),
    "  esac",
    "  if [[ $cur == -* || -z $commands ]]; then commands=$flags; fi",
    '  COMPREPLY=($(compgen -W "$commands" -- "$cur"))',
    "}",
    `complete -F _${NAME} ${NAME}`,
  ];
}

function renderZsh(places: readonly Outline[]): readonly string[] {
  const entry = (word: string, description: string): string =>
    quote(description === "" ? word : `${word}:${description}`);
  return [
    `#compdef ${NAME}`,
    `# zsh completion of ${NAME}. To try it: source <(${NAME} completion zsh)`,
    `_${NAME}() {`,
    `  local place=${NAME} word before cur=\${words[CURRENT]} i`,
    "  local -a commands flags",
    "  for (( i = 2; i < CURRENT; i++ )); do",
    "    word=${words[i]}",
    '    case "$place $word" in',
    ...renderWalk(places, {
      step: (place) => `      place=${quote(place)} ;;`,
      skip: "      (( i++ )) ;;",
    }),
    "    esac",
    "  done",
    "  before=${words[CURRENT-1]}",
    "  if [[ $cur == --*=* ]]; then before=${cur%%=*}; compset -P '*='; fi",
    '  case "$place $before" in',
    ...renderValues(places, {
      choices: (words) => `compadd -- ${words.join(" ")}; return ;;`,
      file: "_files; return ;;",
      value: "return ;;",
    }),
    "  esac",
    '  case "$place" in',
    ...places.flatMap((outline) => [
      `    ${quote(outline.place)})`,
      `      commands=(${describedWords(outline)
        .map(([word, what]) => entry(word, what))
        .join(" ")})`,
      `      flags=(${outline.flags
        .flatMap((flag) => spellFlag(flag).map((word) => entry(word, flag.description)))
        .join(" ")}) ;;`,
    ]),
    "  esac",
    "  if [[ $cur == -* || ${#commands} -eq 0 ]]; then _describe -o flag flags",
    "  else _describe command commands; fi",
    "}",
    `if [[ "\${funcstack[1]}" == "_${NAME}" ]]; then _${NAME} "$@"; else compdef _${NAME} ${NAME}; fi`,
  ];
}

function renderFish(places: readonly Outline[]): readonly string[] {
  const steps = places.flatMap((outline) =>
    outline.commands.flatMap(({ names, place }) =>
      names.map((name) => [
        `            case ${quoteFish(`${outline.place} ${name}`)}`,
        `                set place ${quoteFish(place)}`,
      ]),
    ),
  );
  return [
    `# fish completion of ${NAME}. To try it: ${NAME} completion fish | source`,
    `function __${NAME}_at`,
    `    set -l place ${NAME}`,
    "    set -l typed (commandline -opc)",
    "    set -e typed[1]",
    "    for word in $typed",
    '        switch "$place $word"',
    ...steps.flat(),
    "        end",
    "    end",
    '    test "$place" = "$argv[1]"',
    "end",
    `complete -c ${NAME} -f`,
    ...places.flatMap((outline) => {
      const when = `complete -c ${NAME} -n ${quoteFish(`__${NAME}_at "${outline.place}"`)}`;
      return [
        ...describedWords(outline).map(
          ([word, what]) => `${when} -a ${word} -d ${quoteFish(what)}`,
        ),
        ...outline.flags.map(({ short, long, description, takes, choices }) =>
          [
            when,
            `-l ${long.slice(2)}`,
            ...(short === undefined ? [] : [`-s ${short.slice(1)}`]),
            ...(choices.length > 0
              ? [`-x -a ${quoteFish(choices.join(" "))}`]
              : { nothing: [], file: ["-r -F"], value: ["-x"] }[takes]),
            `-d ${quoteFish(description)}`,
          ].join(" "),
        ),
      ];
    }),
  ];
}

/** From one word to the next: which command the line has come to. A flag's value is no command. */
function renderWalk(
  places: readonly Outline[],
  words: { readonly step: (place: string) => string; readonly skip: string },
): readonly string[] {
  return places.flatMap((outline) => {
    const { commands, flags } = outline;
    const valued = flags.filter(({ takes }) => takes !== "nothing").flatMap(spellFlag);
    const steps = commands.flatMap(({ names, place }) => [
      `      ${matchAny(outline, names)}`,
      words.step(place),
    ]);
    if (commands.length === 0 || valued.length === 0) return steps;
    return [...steps, `      ${matchAny(outline, valued)}`, words.skip];
  });
}

/** Behind a flag that takes a value: what that may be. */
function renderValues(
  places: readonly Outline[],
  words: {
    readonly choices: (choices: readonly string[]) => string;
    readonly file: string;
    readonly value: string;
  },
): readonly string[] {
  return places.flatMap((outline) =>
    outline.flags
      .filter(({ takes }) => takes !== "nothing")
      .map((flag) => {
        const { choices, takes } = flag;
        const action =
          choices.length > 0 ? words.choices(choices) : takes === "file" ? words.file : words.value;
        return `    ${matchAny(outline, spellFlag(flag))} ${action}`;
      }),
  );
}

function matchAny({ place }: Outline, words: readonly string[]): string {
  return `${words.map((word) => quote(`${place} ${word}`)).join("|")})`;
}

/** Aliases are for those who know them. */
function describedWords({ commands, choices }: Outline): readonly (readonly [string, string])[] {
  return [
    ...commands.map(({ names, description }) => [names[0] ?? "", description] as const),
    ...choices.map((choice) => [choice, ""] as const),
  ];
}

function offeredWords(outline: Outline): readonly string[] {
  return describedWords(outline).map(([word]) => word);
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function quoteFish(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
