// Names that are hashes: text in, a short name out, the same in every cluster and every release.

// oxlint-disable-next-line no-restricted-imports -- a hash is a pure function; only its home is a node module
import { hash } from "node:crypto";
import { type ClusterId, type ServiceKey, splitServiceKey } from "./names.ts";

const BASE32HEX = "0123456789abcdefghijklmnopqrstuv";
export const DIGEST_LENGTH = 10;

/** The Service that holds an import's virtual IP: the name that other MCS tools expect (R60). */
export function derivedServiceName(service: ServiceKey): string {
  return `derived-${digest(service)}`;
}

/** What such names look like; somebody else's Service may be called so, too. */
export const DERIVED_NAME_PATTERN = `^derived-[0-9a-v]{${DIGEST_LENGTH}}$`;

/** One imported slice per source slice, unique in the namespace (R52). Service name and cluster id are labels, so it stays short. */
export function importedSliceName(source: {
  readonly service: ServiceKey;
  readonly cluster: ClusterId;
  readonly slice: string;
}): string {
  const { service, cluster, slice } = source;
  const { name } = splitServiceKey(service);
  return `${name}-${cluster}-${digest(`${service} ${cluster} ${slice}`)}`;
}

/** On the hub, in its cluster's namespace: namespace and name of the service. Neither can hold a dot. */
export function serviceShareName(service: ServiceKey): string {
  const { namespace, name } = splitServiceKey(service);
  return `${namespace}.${name}`;
}

/** On the hub, one per source slice, whose name may be too long to be part of another. */
export function endpointShareName(service: ServiceKey, slice: string): string {
  return `${serviceShareName(service)}.${digest(slice)}`;
}

/** Lower-case base32hex of SHA-256, cut: 50 bits. */
function digest(text: string): string {
  const bytes = hash("sha256", text, "buffer");
  let out = "";
  for (let bit = 0; bit < DIGEST_LENGTH * 5; bit += 5) {
    const pair = ((bytes[bit >> 3] ?? 0) << 8) | (bytes[(bit >> 3) + 1] ?? 0);
    out += BASE32HEX[(pair >> (11 - (bit & 7))) & 31] ?? "";
  }
  return out;
}
