// CoreDNS, undoing: a Corefile with our comments in, the Corefile without what they say we added out. Pure.
// One thing at a time, and the text is read again after each: what people changed since stays as they left it.

import { CACHE_KINDS, type CacheKind, findExceptions } from "./corefileCache.ts";
import { expandLines, findSites, normalizeZone, parseKey } from "./corefileServer.ts";
import {
  type Corefile,
  type Directive,
  findLineEnd,
  findLineStart,
  parseCorefile,
  type Word,
} from "./corefileSyntax.ts";

/** What was added. `key:` is followed by the key itself, `cache:` by what is not cached. */
export type Addition =
  | "zone"
  | "option"
  | "argument"
  | "braces"
  | "break"
  | "block"
  | `cache:${CacheKind}`
  | `key:${string}`;

export interface Marker {
  readonly start: number;
  readonly end: number;
  readonly zone: string;
  readonly additions: readonly Addition[];
}

const MARKER = /^# isthmus dns enable (\S+) \(([^)]*)\)/u;

export function renderMarker(zone: string, additions: readonly Addition[]): string {
  return `# isthmus dns enable ${zone} (${additions.join(", ")}): undo it with isthmus dns disable`;
}

/** On lines of their own: with words in front of it a comment is somebody's copy, and its line not ours to cut. */
export function findMarkers(corefile: Corefile): readonly Marker[] {
  const { text, comments } = corefile;
  return comments.flatMap(({ start, end }) => {
    const match = MARKER.exec(text.slice(start, end));
    if (match === null || text.slice(findLineStart(text, start), start).trim() !== "") return [];
    const [, zone = "", additions = ""] = match;
    return [{ start, end, zone, additions: additions.split(", ") as Addition[] }];
  });
}

export function removeMarked(text: string, zone: string): string {
  let rest = text;
  for (;;) {
    const corefile = parseCorefile(rest);
    const marker = findMarkers(corefile).find((found) => normalizeZone(found.zone) === zone);
    if (marker === undefined) return rest;
    rest = marker.additions.includes("block")
      ? removeBlock(corefile, marker, zone)
      : removeAdditions(corefile, marker, zone);
  }
}

function removeBlock(corefile: Corefile, marker: Marker, zone: string): string {
  const { text, blocks } = corefile;
  const block = blocks.find(({ keys }) => (keys[0]?.start ?? -1) > marker.start);
  const isOurs = block?.keys.every((key) => parseKey(key).zone === zone) ?? false;
  const end = isOurs ? (block?.braces?.close.end ?? marker.end) : marker.end;
  const start = findLineStart(text, marker.start);
  const newline = /^\r?\n/u.exec(text.slice(end))?.[0] ?? "";
  // At the very end of the file the line break in front of it is the one that was added.
  const from = newline === "" && start > 0 ? lineBreakBefore(text, start) : start;
  return text.slice(0, from) + text.slice(end + newline.length);
}

function lineBreakBefore(text: string, lineStart: number): number {
  return text.charAt(lineStart - 2) === "\r" ? lineStart - 2 : lineStart - 1;
}

function removeAdditions(before: Corefile, marker: Marker, zone: string): string {
  const directives = listDirectives(before);
  const ordinal = directives.findIndex((line) => holds(line, marker));
  const heir = findMarkers(before).find(
    (other) =>
      other.zone !== marker.zone && directives[ordinal] && holds(directives[ordinal], other),
  );
  let text =
    heir === undefined ? cutLine(before.text, marker.start) : handOver(before, marker, heir);
  if (ordinal === -1) return text;
  const isLeft = (addition: Addition): boolean => heir !== undefined && SHARED.has(addition);
  const reread = (): { corefile: Corefile; directive: Directive | undefined } => {
    const corefile = parseCorefile(text);
    return { corefile, directive: listDirectives(corefile)[ordinal] };
  };
  // From the inside out, so that the number of the directive stays what it is.
  const steps: Readonly<Record<string, () => void>> = {
    option: () => removeOption(true),
    argument: () => removeOption(false),
    break: () => {
      const { directive } = reread();
      if (directive?.braces === undefined) return;
      const { end } = directive.braces.open;
      const indent = indentOf(text, directive.name.start);
      const added = [`\r\n${indent}`, `\n${indent}`].find((gap) => text.startsWith(gap, end));
      text = text.slice(0, end) + text.slice(end + (added?.length ?? 0));
    },
    braces: () => {
      const { corefile, directive } = reread();
      if (directive?.braces === undefined || directive.lines.length > 0) return;
      const { open, close } = directive.braces;
      if (corefile.comments.some(({ start }) => start > open.start && start < close.start)) return;
      const last = directive.args.at(-1) ?? directive.name;
      text = text.slice(0, last.end) + text.slice(close.end);
    },
    zone: () => {
      const { directive } = reread();
      cutWord(directive?.args.findLast((arg) => normalizeZone(arg.text) === zone));
    },
  };
  function removeOption(wholeLine: boolean): void {
    const { corefile, directive } = reread();
    const lines = expandLines(corefile, directive?.lines ?? []);
    const line = lines.findLast((option) => option.name.text === "multicluster");
    const arg = line?.args.findLast((word) => normalizeZone(word.text) === zone);
    if (line === undefined || arg === undefined) return;
    if (wholeLine && line.args.length === 1) text = cutLine(text, line.name.start);
    else cutWord(arg);
  }
  function cutWord(word: Word | undefined): void {
    if (word === undefined) return;
    const head = text.slice(0, word.start).replace(/[ \t]+$/u, "");
    text = head + text.slice(word.end);
  }
  function removeExceptions(kind: CacheKind): void {
    const { corefile, directive } = reread();
    const lines = directive === undefined ? [] : findExceptions(corefile, directive, kind);
    // From behind, so that no place moves before its turn.
    for (const line of lines.toSorted((a, b) => b.name.start - a.name.start)) {
      const word = line.args.slice(1).findLast(({ text }) => normalizeZone(text) === zone);
      // Without a zone the line would stand for all of them.
      if (word !== undefined && line.args.length === 2) text = cutLine(text, line.name.start);
      else cutWord(word);
    }
  }
  function removeKey(key: string): void {
    const { corefile, directive } = reread();
    const site = findSites(corefile, "kubernetes").find(
      ({ block, directive: used }) =>
        used === directive && block.keys.some((word) => word.text === key),
    );
    cutWord(site?.block.keys.findLast((word) => word.text === key));
  }
  for (const step of ["option", "argument", "break", "braces", "zone"] as const) {
    if (!marker.additions.includes(step)) continue;
    if (step === "option" && isLeft(step)) steps["argument"]?.();
    else if (!isLeft(step)) steps[step]?.();
  }
  for (const kind of CACHE_KINDS) {
    if (marker.additions.includes(`cache:${kind}`)) removeExceptions(kind);
  }
  for (const addition of marker.additions) {
    if (addition.startsWith("key:")) removeKey(addition.slice("key:".length));
  }
  return text;
}

/** What the zones of one plugin have in common: it goes with the last of them. */
const SHARED: ReadonlySet<Addition> = new Set(["option", "braces", "break"]);

function handOver({ text }: Corefile, marker: Marker, heir: Marker): string {
  const shared = marker.additions.filter((addition) => SHARED.has(addition));
  const own = heir.additions.filter(
    (addition) => addition !== "argument" || !shared.includes("option"),
  );
  const line = renderMarker(heir.zone, [...own, ...shared]);
  const rewrite = (from: string): string => from.slice(0, heir.start) + line + from.slice(heir.end);
  if (heir.start > marker.start) return cutLine(rewrite(text), marker.start);
  const moved = line.length - (heir.end - heir.start);
  return cutLine(rewrite(text), marker.start + moved);
}

/** Of plugins in blocks and in snippets, in the order of the text. */
function listDirectives(corefile: Corefile): readonly Directive[] {
  return corefile.blocks.flatMap((block) =>
    block.lines.filter((line) => line.name.text === "kubernetes"),
  );
}

function holds(directive: Directive, marker: Marker): boolean {
  const { braces } = directive;
  return (
    braces !== undefined && braces.open.end <= marker.start && marker.end <= braces.close.start
  );
}

/** With the line break in front of it, so that what stood before and behind meet again. */
function cutLine(text: string, at: number): string {
  const start = findLineStart(text, at);
  return (
    text.slice(0, start === 0 ? 0 : lineBreakBefore(text, start)) +
    text.slice(findLineEnd(text, at))
  );
}

export function indentOf(text: string, at: number): string {
  return /^[ \t]*/u.exec(text.slice(findLineStart(text, at), at))?.[0] ?? "";
}
