// CoreDNS, switching: a Corefile in, the same with a clusterset zone switched on or off out. Pure; every other byte stays.
//
//   multicluster, CoreDNS ≥ 1.12.2 answers the zone itself:         stub, older ones forward it to isthmus dns:
//     kubernetes cluster.local clusterset.local {                     # isthmus dns enable clusterset.local (block): …
//         # isthmus dns enable clusterset.local (zone, option): …     clusterset.local:53 {
//         multicluster clusterset.local                                   errors
//         pods insecure                                                   forward . 10.96.0.53
//     }                                                               }
//     cache 30 {
//         disable success cluster.local clusterset.local
//
// The comment lists what was added, so that disabling takes away that and nothing else, whatever else was edited since.

import { CACHE_KINDS, findMissingExceptions } from "./corefileCache.ts";
import { type Addition, indentOf, removeMarked, renderMarker } from "./corefileMarker.ts";
import {
  alreadyServed,
  expandLines,
  findSites,
  isInZone,
  isServerBlock,
  listImportedFiles,
  normalizeZone,
  parseKey,
  type ServerKey,
  type Site,
} from "./corefileServer.ts";
import { addStub } from "./corefileStub.ts";
import {
  type Corefile,
  CorefileError,
  type Directive,
  findLineEnd,
  newlineOf,
  parseCorefile,
} from "./corefileSyntax.ts";

export type ZoneSource =
  | { readonly kind: "multicluster" }
  /** Addresses of `isthmus dns`, each with or without a port. */
  | { readonly kind: "stub"; readonly servers: readonly string[] };

const PLUGIN = "kubernetes";
const OPTION = "multicluster";

/** Throws a CorefileError where it cannot tell how, or where somebody else serves the zone. */
export function enableZone(text: string, zone: string, source: ZoneSource): string {
  const name = normalizeZone(zone);
  const plain = disableZone(text, zone);
  const edit = (from: string): string =>
    source.kind === "stub" ? addStub(from, name, source.servers) : addZone(from, name);
  const wanted = edit(plain);
  // Two zones switched on in turn: doing the first again must not move it behind the second.
  return wanted !== text && plain !== text && isUnchangedBy(edit, text) ? text : wanted;
}

function isUnchangedBy(edit: (text: string) => string, text: string): boolean {
  try {
    return edit(text) === text;
  } catch (error) {
    if (error instanceof CorefileError) return false;
    throw error;
  }
}

/** Takes away what enabling added, and only that. */
export function disableZone(text: string, zone: string): string {
  return removeMarked(text, normalizeZone(zone));
}

/** Whether somebody, we or a person, has this Corefile answer the zone. */
export function servesZone(text: string, zone: string): boolean {
  const corefile = parseCorefile(text);
  const name = normalizeZone(zone);
  const hasOption = findSites(corefile, PLUGIN).some(({ directive }) =>
    findOption(corefile, directive)?.args.some((arg) => normalizeZone(arg.text) === name),
  );
  const keys = corefile.blocks.filter(isServerBlock).flatMap((block) => block.keys.map(parseKey));
  return hasOption || keys.some((key) => key.zone === name);
}

/** Whether it reads ServiceImports for any zone, and so needs the permission to. */
export function readsImports(text: string): boolean {
  const corefile = parseCorefile(text);
  return findSites(corefile, PLUGIN).some(
    ({ directive }) => (findOption(corefile, directive)?.args.length ?? 0) > 0,
  );
}

/** Whether CoreDNS takes up a changed Corefile by itself. */
export function reloadsItself(text: string): boolean {
  return findSites(parseCorefile(text), "reload").length > 0;
}

interface Insertion {
  readonly at: number;
  readonly text: string;
}

function applyInsertions(text: string, insertions: readonly Insertion[]): string {
  // From behind, so that no place moves before its turn; at one place the first comes first.
  const ordered = [...insertions].reverse().sort((a, b) => b.at - a.at);
  return ordered.reduce((rest, { at, text }) => rest.slice(0, at) + text + rest.slice(at), text);
}

function addZone(text: string, zone: string): string {
  const corefile = parseCorefile(text);
  const sites = findSites(corefile, PLUGIN);
  if (sites.length === 0) throw missingPlugin(corefile);
  const targets = chooseTargets(corefile, sites, zone);
  const directives = [...new Set(targets.map(({ site }) => site.directive))];
  // Options that stand in a snippet may belong to several plugins.
  const extended = new Set<Directive>();
  return applyInsertions(
    text,
    directives.flatMap((directive) => {
      const own = targets.filter(({ site }) => site.directive === directive);
      return planDirective(corefile, { directive, targets: own, zone, extended });
    }),
  );
}

interface Target {
  readonly site: Site;
  /** Where the zone has to be added to the block's keys. */
  readonly missing: ServerKey | undefined;
}

/** One block for each transport and port at which a kubernetes plugin answers. */
function chooseTargets(
  corefile: Corefile,
  sites: readonly Site[],
  zone: string,
): readonly Target[] {
  const keys = corefile.blocks
    .filter(isServerBlock)
    .flatMap((block) => block.keys.map((word) => ({ ...parseKey(word), block })));
  const places = new Set(sites.flatMap((site) => site.keys.map((key) => key.at)));
  return [...places].map((at) => {
    const covering = keys
      .filter((key) => key.at === at && key.isKnown && isInZone(zone, key.zone))
      .sort((a, b) => b.zone.length - a.zone.length)[0];
    const host = sites.find(({ block }) => block === covering?.block);
    if (host === undefined && covering?.zone === zone) throw alreadyServed(zone, covering);
    const site = host ?? sites.find((other) => other.keys.some((key) => key.at === at));
    const key = site?.keys.find((own) => own.at === at);
    if (site === undefined || key === undefined) throw new CorefileError("No block listens there.");
    // Without zones of its own the plugin answers those of its block: the zone has to be one of them.
    const suffices = site.directive.args.length > 0 || covering?.zone === zone;
    if (host !== undefined && suffices) return { site, missing: undefined };
    if (site.keys.some((own) => !own.isKnown)) throw undecided(site, zone);
    return { site, missing: key };
  });
}

function planDirective(
  corefile: Corefile,
  work: {
    directive: Directive;
    targets: readonly Target[];
    zone: string;
    extended: Set<Directive>;
  },
): readonly Insertion[] {
  const { directive, targets, zone, extended } = work;
  const additions: Addition[] = [];
  const insertions: Insertion[] = [];
  const isZone = ({ text }: { text: string }): boolean => normalizeZone(text) === zone;
  const last = directive.args.at(-1) ?? directive.name;
  if (directive.args.length > 0 && !directive.args.some(isZone)) {
    additions.push("zone");
    insertions.push({ at: last.end, text: ` ${zone}` });
  }
  const option = findOption(corefile, directive);
  if (option !== undefined && !option.args.some(isZone) && !extended.has(option)) {
    extended.add(option);
    additions.push("argument");
    insertions.push({ at: (option.args.at(-1) ?? option.name).end, text: ` ${zone}` });
  }
  if (option === undefined) additions.push("option");
  for (const { site, missing } of targets) {
    const end = site.block.keys.at(-1)?.end;
    if (missing === undefined || end === undefined) continue;
    const key = missing.render(zone);
    additions.push(`key:${key}`);
    insertions.push({ at: end, text: ` ${key}` });
  }
  if (additions.length === 0) return [];
  for (const kind of CACHE_KINDS) {
    const missing = findMissingExceptions(corefile, directive, { kind, zone });
    const lines = missing.filter((line) => !extended.has(line));
    for (const line of lines) {
      extended.add(line);
      insertions.push({ at: (line.args.at(-1) ?? line.name).end, text: ` ${zone}` });
    }
    if (lines.length > 0) additions.push(`cache:${kind}`);
  }
  const lines = option === undefined ? [`${OPTION} ${zone}`] : [];
  return [...insertions, openBlock(corefile.text, { directive, additions, lines, zone })];
}

/** The comment, and the option when there is none yet, as the first lines of the plugin's block. */
function openBlock(
  text: string,
  work: {
    directive: Directive;
    additions: readonly Addition[];
    lines: readonly string[];
    zone: string;
  },
): Insertion {
  const { directive, zone } = work;
  const newline = newlineOf(text);
  const outer = indentOf(text, directive.name.start);
  const first = directive.lines[0]?.name;
  const isOnOwnLine = first !== undefined && directive.braces?.open.line !== first.line;
  const inner = isOnOwnLine ? indentOf(text, first.start) : `${outer}${outer || "    "}`;
  const render = (...more: readonly Addition[]): string =>
    [renderMarker(zone, [...work.additions, ...more]), ...work.lines]
      .map((line) => `${newline}${inner}${line}`)
      .join("");
  if (directive.braces === undefined) {
    const { end } = directive.args.at(-1) ?? directive.name;
    return { at: end, text: ` {${render("braces")}${newline}${outer}}` };
  }
  const { open, close } = directive.braces;
  const next = first ?? close;
  if (next.line > open.line) return { at: findLineEnd(text, open.end), text: render() };
  return { at: open.end, text: `${render("break")}${newline}${outer}` };
}

function findOption(corefile: Corefile, directive: Directive): Directive | undefined {
  return expandLines(corefile, directive.lines).findLast((line) => line.name.text === OPTION);
}

function missingPlugin(corefile: Corefile): CorefileError {
  const files = listImportedFiles(corefile);
  const where =
    files.length === 0 ? "" : `, and what it imports from ${files.join(", ")} is out of sight`;
  return new CorefileError(
    `No server block of the Corefile has a kubernetes plugin${where}: add the zone by hand where that plugin is configured.`,
  );
}

function undecided(site: Site, zone: string): CorefileError {
  const names = site.block.keys.map(({ text }) => text).join(" ");
  return new CorefileError(
    `Which zones the server block ${names} answers is decided by environment variables: add ${zone} to its keys by hand, then run this again.`,
  );
}
