// CoreDNS, switching: a Corefile in, the same with a server block that forwards a clusterset zone to `isthmus dns` out. Pure.

import { renderMarker } from "./corefileMarker.ts";
import {
  alreadyServed,
  expandLines,
  findSites,
  isServerBlock,
  parseKey,
  type ServerKey,
} from "./corefileServer.ts";
import {
  type Block,
  type Corefile,
  CorefileError,
  newlineOf,
  parseCorefile,
} from "./corefileSyntax.ts";

/** The same text where such a block is there already. */
export function addStub(text: string, zone: string, servers: readonly string[]): string {
  const corefile = parseCorefile(text);
  const blocks = corefile.blocks.filter(isServerBlock);
  const serving = blocks.filter((block) => block.keys.some((key) => parseKey(key).zone === zone));
  for (const block of serving) {
    const forward = block.lines.find((line) => line.name.text === "forward");
    const targets = forward?.args.slice(1).map(({ text }) => text);
    if (targets?.join() === servers.join()) return text;
    throw alreadyServed(zone, ...block.keys.map(parseKey));
  }
  if (blocks.some((block) => block.braces === undefined)) {
    throw new CorefileError(
      "The Corefile has one server block without braces, which leaves no room for another: put its lines in braces first.",
    );
  }
  const newline = newlineOf(text);
  const neighbours = listNeighbours(corefile);
  const keys = neighbours.map(({ key }) => key.render(zone));
  const block = [
    renderMarker(zone, ["block"]),
    `${(keys.length === 0 ? [`${zone}:53`] : keys).join(" ")} {`,
    "    errors",
    // Where the others listen at some addresses only, one that listens at all would be in their way.
    ...findBinds(corefile, neighbours[0]?.block).map((line) => `    ${line}`),
    `    forward . ${servers.join(" ")}`,
    "}",
  ].join(newline);
  const isWhole = text === "" || text.endsWith("\n");
  return isWhole ? `${text}${block}${newline}` : `${text}${newline}${block}`;
}

interface Neighbour {
  readonly key: ServerKey;
  readonly block: Block;
}

/** One key for each place where the cluster's own names are answered; failing that, where anything is. */
function listNeighbours(corefile: Corefile): readonly Neighbour[] {
  const blocks = corefile.blocks.filter(isServerBlock);
  const all = blocks.flatMap((block) => block.keys.map((word) => ({ key: parseKey(word), block })));
  const hosts = new Set(findSites(corefile, "kubernetes").map((site) => site.block));
  const sites = all.filter(({ block }) => hosts.has(block));
  const roots = all.filter(({ key }) => key.zone === "");
  const near = (sites.length > 0 ? sites : roots).filter(({ key }) => key.at.startsWith("dns://"));
  return near.filter(({ key }, index) => near.findIndex((one) => one.key.at === key.at) === index);
}

function findBinds(corefile: Corefile, block: Block | undefined): readonly string[] {
  return expandLines(corefile, block?.lines ?? [])
    .filter(({ name }) => name.text === "bind")
    .map(({ name, args, braces }) =>
      corefile.text.slice(name.start, (braces?.close ?? args.at(-1) ?? name).end),
    );
}
