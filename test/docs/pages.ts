// Test tool: the pages that people read, taken apart: files in, their code blocks, commands, headings and links out. A block of
// commands begins with ```sh; every other block is a picture, a file, or what a command prints.

import { readdirSync, readFileSync } from "node:fs";

export interface Page {
  /** From the root of the repository: "docs/agents.md". */
  readonly name: string;
  readonly text: string;
}

export interface Block {
  readonly language: string;
  /** Of its first line behind the fence, from 1. */
  readonly line: number;
  readonly lines: readonly string[];
}

export interface DocCommand {
  readonly page: string;
  readonly line: number;
  /** As a reader would type it, without what follows a comment sign, on one line but for what it reads from a here-document. */
  readonly text: string;
}

const ROOT = new URL("../../", import.meta.url);

export function readPages(): readonly Page[] {
  const inside = (folder: string): readonly string[] =>
    readdirSync(new URL(folder, ROOT))
      .filter((name) => name.endsWith(".md"))
      .sort()
      .map((name) => `${folder}${name}`);
  const names = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    ...inside("docs/"),
    ...inside("docs/decisions/"),
  ];
  return names.map((name) => ({ name, text: readFileSync(new URL(name, ROOT), "utf8") }));
}

export function blocksOf({ name, text }: Page): readonly Block[] {
  const blocks: Block[] = [];
  let open: { language: string; line: number; lines: string[] } | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    const fence = /^ *```(\w*)$/.exec(line);
    if (fence === null) open?.lines.push(line);
    else if (open === undefined) open = { language: fence[1] ?? "", line: index + 2, lines: [] };
    else {
      blocks.push(open);
      open = undefined;
    }
  }
  if (open !== undefined) throw new Error(`${name}:${open.line}: a block that does not end`);
  return blocks;
}

export function commandsOf(page: Page): readonly DocCommand[] {
  return blocksOf(page)
    .filter(({ language }) => language === "sh")
    .flatMap((block) => readCommands(page.name, block));
}

function readCommands(page: string, block: Block): readonly DocCommand[] {
  const found: DocCommand[] = [];
  const lines = [...block.lines.entries()];
  for (let next = lines.shift(); next !== undefined; next = lines.shift()) {
    const line = block.line + next[0];
    let text = next[1];
    while (text.endsWith("\\"))
      text = `${text.slice(0, -1).trimEnd()} ${lines.shift()?.[1].trim() ?? ""}`;
    text = text.replace(/(^|\s)#.*$/, "").trim();
    if (text === "") continue;
    const end = /<<'?(\w+)'?$/.exec(text)?.[1];
    if (end !== undefined) {
      const last = lines.findIndex(([, more]) => more === end);
      if (last < 0) throw new Error(`${page}:${line}: a here-document without its ${end}`);
      const body = lines.splice(0, last + 1).map(([, more]) => more);
      text = [text, ...body].join("\n");
    }
    found.push({ page, line, text });
  }
  return found;
}

/** What a heading is called in an address, as GitHub has it: twice the same are told apart by numbers. */
export function anchorsOf({ text }: Page): ReadonlySet<string> {
  const prose = withoutBlocks(text);
  const anchors = new Set<string>();
  for (const [, title = ""] of prose.matchAll(/^#{1,6} +(.+)$/gm)) {
    const plain = title
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .trim()
      .toLowerCase();
    const anchor = plain.replaceAll(/[^\p{L}\p{N}\s_-]/gu, "").replaceAll(/\s/g, "-");
    let unique = anchor;
    for (let count = 1; anchors.has(unique); count += 1) unique = `${anchor}-${count}`;
    anchors.add(unique);
  }
  return anchors;
}

/** Where its links and pictures lead, as they are written. */
export function linksOf({ text }: Page): readonly string[] {
  const prose = withoutBlocks(text).replaceAll(/`[^`\n]*`/g, "``");
  const links = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, to]) => to!);
  const pictures = [...prose.matchAll(/\b(?:src|srcset|href)="([^"]+)"/g)].map(([, to]) => to!);
  return [...links, ...pictures];
}

function withoutBlocks(text: string): string {
  return text.replaceAll(/^ *```\w*\n.*?^ *```$/gms, "");
}
