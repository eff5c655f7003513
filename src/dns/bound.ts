// DNS, bounds: what one service may take up here, whatever its clusters share. Too many in, those that are kept out: the same of
// the same, and taken from the clusters in turn, so that none of them pushes the others out.

/** Addresses of one family. More than fit into any message: 65,535 bytes over TCP, 16 for each. */
export const MOST_ADDRESSES = 4_096;
/** Ports with a name of their own. */
export const MOST_PORTS = 128;
/**
 * SRV records at the names of all ports together: endpoints times ports are what one cluster can make another hold. Once more at
 * those of all endpoints, of all zones, and of all regions.
 */
export const MOST_RECORDS = 32_768;
/** Names of ports in all zones together, or in all regions. */
export const MOST_SCOPED_PORTS = 8_192;

/** One of each source, then the next of each, until there are so many keys; in the order given. */
export function takeInTurns<T>(
  all: readonly T[],
  most: number,
  by: { readonly source: (one: T) => string | undefined; readonly key?: (one: T) => unknown },
): readonly T[] {
  const { source, key = (one) => one } = by;
  if (all.length <= most || new Set(all.map(key)).size <= most) return all;
  const sources = new Map<string | undefined, T[]>();
  for (const one of all) {
    const list = sources.get(source(one));
    if (list === undefined) sources.set(source(one), [one]);
    else list.push(one);
  }
  const kept = new Set<unknown>();
  for (let turn = 0; kept.size < most; turn += 1) {
    for (const list of sources.values()) {
      const one = list[turn];
      if (one !== undefined && kept.size < most) kept.add(key(one));
    }
  }
  return all.filter((one) => kept.has(key(one)));
}
