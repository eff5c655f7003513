// Layout: how large a fleet is in; which namespaces each cluster has, who exports which service and with which endpoints out.
// Pure. What every cluster must hold in the end follows from it alone.

import { podPrefix } from "../world.ts";

export interface Size {
  readonly clusters: number;
  readonly services: number;
  /** Of each service, over all clusters that export it. */
  readonly endpoints: number;
  /** In how many clusters each namespace exists, beside the one that has all. */
  readonly spread: number;
}

export interface Export {
  readonly cluster: number;
  readonly namespace: string;
  readonly name: string;
  /** Addresses of each slice, as they are to be at present. */
  readonly slices: string[][];
}

export interface Layout {
  readonly size: Size;
  /** Has every namespace, imports everything, exports nothing. */
  readonly whole: number;
  readonly namespaces: readonly string[];
  /** Namespaces of each cluster. */
  readonly homes: readonly ReadonlySet<string>[];
  readonly exports: readonly Export[];
  /** An address of that cluster that no endpoint has had. */
  readonly nextAddress: (cluster: number) => string;
}

export const SERVICES_PER_NAMESPACE = 10;
/** As the endpoint slice controller fills them. */
const ENDPOINTS_PER_SLICE = 100;
const HOSTS = 250;
const MOST_ENDPOINTS = HOSTS * HOSTS;

export function planLayout(size: Size): Layout {
  const { clusters, services, endpoints, spread } = size;
  const whole = clusters - 1;
  if (clusters < 2 || spread < 1 || spread > whole) {
    throw new RangeError(`a namespace cannot be in ${spread} of ${whole} clusters`);
  }
  const namespaces = Array.from(
    { length: Math.max(1, Math.ceil(services / SERVICES_PER_NAMESPACE)) },
    (_, index) => `team-${index}`,
  );
  const homes = Array.from({ length: clusters }, () => new Set<string>());
  const homesOf = namespaces.map((namespace, index) => {
    const found = Array.from({ length: spread }, (_, at) => (index * spread + at) % whole);
    for (const cluster of [...found, whole]) homes[cluster]?.add(namespace);
    return found;
  });
  const used = Array.from({ length: clusters }, () => 0);
  const nextAddress = (cluster: number): string => {
    const host = used[cluster] ?? 0;
    if (host >= MOST_ENDPOINTS) throw new RangeError(`cluster ${cluster} has no address left`);
    used[cluster] = host + 1;
    return `${podPrefix(cluster)}.${Math.floor(host / HOSTS)}.${(host % HOSTS) + 1}`;
  };
  const exports = Array.from({ length: services }, (_, index): Export[] => {
    const place = index % namespaces.length;
    const turn = Math.floor(index / namespaces.length);
    const around = homesOf[place] ?? [];
    const sources = Math.min(countSources(index), spread);
    return Array.from({ length: sources }, (__, at) => {
      const cluster = around[(turn + at) % spread] ?? 0;
      const count = Math.floor(endpoints / sources) + (at < endpoints % sources ? 1 : 0);
      const addresses = Array.from({ length: count }, () => nextAddress(cluster));
      return {
        cluster,
        namespace: namespaces[place] ?? "",
        name: `service-${index}`,
        slices: chunk(addresses, ENDPOINTS_PER_SLICE),
      };
    });
  }).flat();
  return { size, whole, namespaces, homes, exports, nextAddress };
}

/** Most services are exported by one cluster, one in ten by two, one in fifty by three. */
function countSources(service: number): number {
  if (service % 50 === 7) return 3;
  return service % 10 === 3 ? 2 : 1;
}

function chunk<T>(all: readonly T[], length: number): T[][] {
  const chunks: T[][] = [];
  for (let at = 0; at < all.length; at += length) chunks.push(all.slice(at, at + length));
  return chunks;
}
