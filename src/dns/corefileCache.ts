// CoreDNS, switching: a Corefile and its kubernetes plugin in, the lines that keep its answers out of the cache out. Pure.
//
//   cache 30 {
//       disable success cluster.local        kubeadm: the API server is asked through a watch anyway, and a cache in front of it
//       disable denial cluster.local         would only make what changed look as before, for up to 30 seconds
//   }
//
// A zone that the same plugin answers belongs there as well. Of several lines of one kind the last counts, so another cannot be
// added: the zone becomes one more word of the line that is there.

import { expandLines, findSites, isInZone, normalizeZone } from "./corefileServer.ts";
import type { Corefile, Directive } from "./corefileSyntax.ts";

export const CACHE_KINDS = ["success", "denial"] as const;
export type CacheKind = (typeof CACHE_KINDS)[number];

/** In each block that has the plugin, the line that decides which zones are not cached. Snippets may make it one for several. */
export function findExceptions(
  corefile: Corefile,
  plugin: Directive,
  kind: CacheKind,
): readonly Directive[] {
  const lines = findSites(corefile, plugin.name.text)
    .filter(({ directive }) => directive === plugin)
    .flatMap(({ block }) => {
      const cache = expandLines(corefile, block.lines).find(({ name }) => name.text === "cache");
      const options = expandLines(corefile, cache?.lines ?? []);
      return (
        options.findLast(({ name, args }) => name.text === "disable" && args[0]?.text === kind) ??
        []
      );
    });
  return [...new Set(lines)];
}

/** Those that name a zone of the plugin. None where one names the new zone already: somebody has thought about it. */
export function findMissingExceptions(
  corefile: Corefile,
  plugin: Directive,
  { kind, zone }: { readonly kind: CacheKind; readonly zone: string },
): readonly Directive[] {
  const lines = findExceptions(corefile, plugin, kind);
  const zonesOf = ({ args }: Directive): readonly string[] =>
    args.slice(1).map(({ text }) => normalizeZone(text));
  if (lines.some((line) => zonesOf(line).some((known) => isInZone(zone, known)))) return [];
  const own = new Set(plugin.args.map(({ text }) => normalizeZone(text)));
  return lines.filter((line) => zonesOf(line).some((known) => own.has(known)));
}
