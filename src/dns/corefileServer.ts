// CoreDNS, reading: the blocks of a Corefile in, who serves which zone at which port out, snippets followed. Pure.

import {
  type Block,
  type Corefile,
  CorefileError,
  type Directive,
  type Word,
} from "./corefileSyntax.ts";

/** A key of a server block: `dns://cluster.local:53`. */
export interface ServerKey {
  readonly word: Word;
  readonly zone: string;
  /** Transport and port, as far as they are written: blocks compete for a zone where these are equal. */
  readonly at: string;
  /** The key that serves another zone at the same place. */
  readonly render: (zone: string) => string;
  /** False when an environment variable decides it. */
  readonly isKnown: boolean;
}

export interface Site {
  readonly block: Block;
  readonly keys: readonly ServerKey[];
  readonly directive: Directive;
}

export function normalizeZone(zone: string): string {
  return zone.toLowerCase().replace(/\.+$/u, "");
}

export function isInZone(name: string, zone: string): boolean {
  return zone === "" || name === zone || name.endsWith(`.${zone}`);
}

export function isServerBlock(block: Block): boolean {
  return block.snippet === undefined;
}

export function parseKey(word: Word): ServerKey {
  const text = word.text.replace(/,$/u, "");
  const [, transport = "", rest = ""] = /^([a-z]+:\/\/)?(.*)$/su.exec(text) ?? [];
  const [, name = "", port = ""] = /^(.*?)(:(?:\d+|\{[$%][^}]*\}))?$/su.exec(rest) ?? [];
  const scheme = transport === "" ? "dns://" : transport;
  return {
    word,
    zone: normalizeZone(name),
    at: `${scheme}${scheme === "dns://" && port === "" ? ":53" : port}`,
    render: (zone) => `${transport}${zone}${port}`,
    isKnown: !/\{[$%]/u.test(name),
  };
}

/** The lines of a block, those of imported snippets in their place. Files are not ours to read. */
export function expandLines(
  corefile: Corefile,
  lines: readonly Directive[],
  seen: ReadonlySet<string> = new Set(),
): readonly Directive[] {
  return lines.flatMap((line) => {
    const name = importedName(line);
    if (name === undefined) return [line];
    const snippet = corefile.blocks.find((block) => block.snippet === name);
    if (snippet === undefined || seen.has(name)) return [];
    return expandLines(corefile, snippet.lines, new Set([...seen, name]));
  });
}

/** What is imported and is no snippet of this file. */
export function listImportedFiles(corefile: Corefile): readonly string[] {
  const visit = (lines: readonly Directive[]): readonly string[] =>
    lines.flatMap((line) => [importedName(line) ?? [], visit(line.lines)].flat());
  const names = [
    ...corefile.imports.map((word) => word.text),
    ...corefile.blocks.flatMap((block) => visit(block.lines)),
  ];
  return names.filter((name) => !corefile.blocks.some((block) => block.snippet === name));
}

function importedName(line: Directive): string | undefined {
  return line.name.text === "import" ? line.args[0]?.text : undefined;
}

/** Every server block with the plugin in it. */
export function findSites(corefile: Corefile, plugin: string): readonly Site[] {
  return corefile.blocks.filter(isServerBlock).flatMap((block) => {
    const lines = expandLines(corefile, block.lines);
    const directive = lines.find((line) => line.name.text === plugin);
    return directive === undefined ? [] : [{ block, keys: block.keys.map(parseKey), directive }];
  });
}

export function alreadyServed(zone: string, ...keys: readonly ServerKey[]): CorefileError {
  const names = keys.map(({ word }) => word.text).join(" ");
  return new CorefileError(
    `The Corefile has a server block for ${zone} already (${names}) that answers it in another way: remove that block, or leave ${zone} to it.`,
  );
}
