// Built-in behaviour: which Service addresses and node ports are taken, and a free one. Follows storage; never writes.

import type { IPFamily, Service } from "../../api/builtin.ts";
import type { KubeObject } from "../../api/object.ts";
import type { Random } from "../../ports/clock.ts";
import {
  type Address,
  formatAddress,
  isInside,
  parseAddress,
  parseRange,
  type Range,
} from "../address.ts";
import type { ObjectKey, Storage } from "../storage.ts";

const FIRST_NODE_PORT = 30_000;
const LAST_NODE_PORT = 32_767;
const RANDOM_ATTEMPTS = 32;

export class ServiceAllocator {
  readonly ranges: ReadonlyMap<IPFamily, Range>;
  readonly primary: IPFamily;
  readonly #random: Random;
  readonly #addresses = new Map<string, ObjectKey>();
  readonly #nodePorts = new Map<number, ObjectKey>();

  constructor(options: {
    readonly cidrs: readonly string[];
    readonly random: Random;
    readonly storage: Storage;
  }) {
    const ranges = options.cidrs.map(parseRange);
    const [first] = ranges;
    if (first === undefined) throw new RangeError("a cluster needs a range for its Services");
    this.primary = first.family;
    this.ranges = new Map(ranges.map((range) => [range.family, range]));
    if (this.ranges.size !== ranges.length) {
      throw new RangeError("a cluster has at most one Service range of each family");
    }
    this.#random = options.random;
    options.storage.onChange((change) => {
      if (change.resource !== "services") return;
      if (change.previous !== undefined) this.#forget(change.previous);
      if (change.type !== "DELETED") this.#remember(change.key, change.object);
    });
  }

  get isDual(): boolean {
    return this.ranges.size === 2;
  }

  /** Why the address cannot be had; undefined when it can. */
  refuseAddress(text: string, family: IPFamily): string | undefined {
    const address = parseAddress(text);
    const range = this.ranges.get(family);
    if (address === undefined || range === undefined || !isInside(range, address)) {
      return "the provided network does not match the current range";
    }
    const offset = address.value - range.first;
    if (offset === 0n || (family === "IPv4" && offset === range.size - 1n)) {
      return `the provided IP (${text}) is not in the valid range. The range of valid IPs is ${range.text}`;
    }
    return this.#addresses.has(formatAddress(address))
      ? "provided IP is already allocated"
      : undefined;
  }

  /** The first address belongs to the API server itself. */
  firstAddress(family: IPFamily): string {
    const range = this.ranges.get(family);
    return range === undefined ? "" : formatAddress({ family, value: range.first + 1n });
  }

  /** Undefined when the range is full. */
  chooseAddress(family: IPFamily): string | undefined {
    const range = this.ranges.get(family);
    if (range === undefined) return undefined;
    const usable = range.size - (family === "IPv4" ? 2n : 1n);
    // The low end is left to those who ask for an address by name, as long as the rest suffices.
    const band = clamp(range.size / 16n, 16n, 256n);
    const low = usable > band ? band : 0n;
    const span = usable - low;
    const at = (offset: bigint): string | undefined => {
      const address: Address = { family, value: range.first + 1n + offset };
      const text = formatAddress(address);
      return this.#addresses.has(text) ? undefined : text;
    };
    for (let attempt = 0; attempt < RANDOM_ATTEMPTS; attempt++) {
      const chosen = at(low + BigInt(Math.floor(this.#random() * Number(span))));
      if (chosen !== undefined) return chosen;
    }
    for (let step = 0n; step < usable && step <= BigInt(this.#addresses.size); step++) {
      const chosen = at((low + step) % usable);
      if (chosen !== undefined) return chosen;
    }
    return undefined;
  }

  /** `held` are the ports that the Service has already. */
  refuseNodePort(port: number, held: ReadonlySet<number>): string | undefined {
    if (port < FIRST_NODE_PORT || port > LAST_NODE_PORT) {
      return `provided port is not in the valid range. The range of valid ports is ${FIRST_NODE_PORT}-${LAST_NODE_PORT}`;
    }
    return this.#nodePorts.has(port) && !held.has(port)
      ? "provided port is already allocated"
      : undefined;
  }

  chooseNodePort(taken: ReadonlySet<number>): number | undefined {
    const span = LAST_NODE_PORT - FIRST_NODE_PORT + 1;
    const start = Math.floor(this.#random() * span);
    for (let step = 0; step < span; step++) {
      const port = FIRST_NODE_PORT + ((start + step) % span);
      if (!this.#nodePorts.has(port) && !taken.has(port)) return port;
    }
    return undefined;
  }

  #remember(key: ObjectKey, object: KubeObject): void {
    for (const address of addressesOf(object)) this.#addresses.set(address, key);
    for (const port of nodePortsOf(object)) this.#nodePorts.set(port, key);
  }

  #forget(object: KubeObject): void {
    for (const address of addressesOf(object)) this.#addresses.delete(address);
    for (const port of nodePortsOf(object)) this.#nodePorts.delete(port);
  }
}

function addressesOf(object: KubeObject): string[] {
  return ((object as Service).spec?.clusterIPs ?? [])
    .map(parseAddress)
    .filter((address) => address !== undefined)
    .map(formatAddress);
}

export function nodePortsOf(object: KubeObject): number[] {
  return ((object as Service).spec?.ports ?? [])
    .map(({ nodePort }) => nodePort ?? 0)
    .filter((port) => port !== 0);
}

function clamp(value: bigint, low: bigint, high: bigint): bigint {
  if (value < low) return low;
  return value > high ? high : value;
}
