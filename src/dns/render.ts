// DNS, how it is said: record sets in, wire bytes ready to copy behind a question out. Names that are part of the question's
// are pointers into it, others are whole; fixed TTLs.

import { encodeInZone, encodeName } from "./name.ts";
import {
  listNamespaceRecords,
  listServiceRecords,
  listZoneRecords,
  type ServiceObjects,
  type ZoneOptions,
} from "./records.ts";
import type {
  AddressSet,
  NamedAddress,
  NamedRecords,
  NameServerSet,
  RecordSet,
  ServerSet,
  TextSet,
} from "./recordSet.ts";
import { RecordWriter } from "./recordWriter.ts";
import type { Change, RenderedAnswer, RenderedName } from "./table.ts";
import { MESSAGE_MAX_BYTES, TYPE } from "./wire.ts";

/** Of a record: a pointer, its head, an IPv4 address. */
const ADDRESS_MIN_BYTES = 16;

const writer = new RecordWriter();

/** Everything that is true whatever services there are: the zone itself, its name server, the schema's version. */
export function renderZone(options: ZoneOptions): Change {
  return { owner: "zone", names: renderNames(listZoneRecords(options), options) };
}

/** `<namespace>.svc.<zone>` exists while the namespace does (R79). */
export function renderNamespace(namespace: string, options: ZoneOptions): Change {
  const names = renderNames(listNamespaceRecords(namespace), options);
  return { owner: namespaceOwner(namespace), names };
}

/** Of one service with the same options: what was rendered last, by name. */
export interface RenderMemory {
  names: ReadonlyMap<string, Remembered>;
}

interface Remembered {
  readonly content: readonly (number | string)[];
  /** One for each zone. */
  readonly rendered: readonly RenderedName[];
}

/** One endpoint of a thousand changes: the names of the others are the very ones that `memory` has of the last time. */
export function renderService(
  objects: ServiceObjects,
  options: ZoneOptions,
  memory?: RenderMemory,
): Change {
  const { namespace = "", name = "" } = objects.serviceImport.metadata;
  const names = renderNames(listServiceRecords(objects, options), options, memory);
  return { owner: serviceOwner(namespace, name), names };
}

/** Never the same text as a namespaceOwner, whatever a namespace is called. */
export function serviceOwner(namespace: string, name: string): string {
  return `service/${namespace}/${name}`;
}

export function namespaceOwner(namespace: string): string {
  return `namespace/${namespace}`;
}

/** Names that would be too long in a zone are left out there, and whatever points at them (R82). */
function renderNames(
  records: readonly NamedRecords[],
  { zones, ttlSeconds }: ZoneOptions,
  memory: RenderMemory = { names: new Map() },
): readonly RenderedName[] {
  const addresses = new Map<AddressSet, RenderedAnswer>();
  // Whoever failed halfway left something here.
  writer.take();
  const renderers = zones.flatMap((text) => {
    const zone = encodeName(text);
    return zone === undefined ? [] : new ZoneRenderer(zone, ttlSeconds, addresses);
  });
  const remembered = new Map<string, Remembered>();
  const names = records.flatMap((one): readonly RenderedName[] => {
    const { name, content } = one;
    const known = memory.names.get(name);
    const isKnown =
      content !== undefined && known !== undefined && isSameContent(content, known.content);
    const rendered = isKnown ? known.rendered : renderAll(renderers, one);
    if (content !== undefined) remembered.set(name, { content, rendered });
    return rendered;
  });
  memory.names = remembered;
  return names;
}

/** The sets are asked for once: they may be made only then, and are known again in the next zone by being the same. */
function renderAll(
  renderers: readonly ZoneRenderer[],
  { name, sets }: NamedRecords,
): readonly RenderedName[] {
  return renderers.flatMap((renderer) => renderer.render({ name, sets }) ?? []);
}

function isSameContent(
  left: readonly (number | string)[],
  right: readonly (number | string)[],
): boolean {
  return left.length === right.length && left.every((one, at) => one === right[at]);
}

class ZoneRenderer {
  readonly #zone: Uint8Array;
  readonly #ttlSeconds: number;
  /** The addresses of a name are the same bytes in every zone. */
  readonly #addresses: Map<AddressSet, RenderedAnswer>;
  /** Targets occur again and again: once per port. */
  readonly #names = new Map<string, Uint8Array | undefined>();

  constructor(zone: Uint8Array, ttlSeconds: number, addresses: Map<AddressSet, RenderedAnswer>) {
    this.#zone = zone;
    this.#ttlSeconds = ttlSeconds;
    this.#addresses = addresses;
  }

  render({ name: text, sets }: NamedRecords): RenderedName | undefined {
    const name = this.#encode(text);
    if (name === undefined) return undefined;
    const answers = sets.map((set) => this.#renderSet(set, name));
    const isWhole = answers.every(({ starts }) => starts.length > 0);
    const full = isWhole ? answers : answers.filter(({ starts }) => starts.length > 0);
    return { name, answers: full.length < 2 ? full : full.map((one) => shareBytes(one, full)) };
  }

  #encode(text: string): Uint8Array | undefined {
    if (!this.#names.has(text)) this.#names.set(text, encodeInZone(text, this.#zone));
    return this.#names.get(text);
  }

  #renderSet(set: RecordSet, name: Uint8Array): RenderedAnswer {
    if ("addresses" in set) return this.#renderAddresses(set, name);
    if (set.type === "TXT") writeText(set, name);
    else if (set.type === "NS") this.#writeNameServer(set, name);
    else for (const server of set.servers) this.#writeServer(server, name);
    return this.#finish(TYPE[set.type], name, set.type === "TXT" ? [] : set.additional);
  }

  #renderAddresses(set: AddressSet, name: Uint8Array): RenderedAnswer {
    const known = this.#addresses.get(set);
    if (known !== undefined) return known;
    for (const address of set.addresses) writer.address(name, name, address, this.#ttlSeconds);
    const answer = this.#finish(TYPE[set.type], name, []);
    this.#addresses.set(set, answer);
    return answer;
  }

  #writeServer({ weight, port, target }: ServerSet["servers"][number], name: Uint8Array): void {
    const whole = this.#encode(target);
    if (whole === undefined) return;
    writer.begin(name, name, TYPE.SRV, this.#ttlSeconds);
    // Priority: all the same.
    writer.short(0);
    writer.short(weight);
    writer.short(port);
    // Never compressed (RFC 2782).
    writer.whole(whole);
    writer.finish();
  }

  #writeNameServer({ target }: NameServerSet, name: Uint8Array): void {
    const server = this.#encode(target);
    if (server === undefined) return;
    writer.begin(name, name, TYPE.NS, this.#ttlSeconds);
    writer.compressed(server, name);
    writer.finish();
  }

  #finish(type: number, question: Uint8Array, additional: readonly NamedAddress[]): RenderedAnswer {
    const { bytes: records, starts } = writer.take();
    // Sent only if all of it fits: not even kept where it never will.
    const room = MESSAGE_MAX_BYTES - records.length;
    const some = additional.length * ADDRESS_MIN_BYTES > room ? [] : additional;
    for (const { name: text, address } of some) {
      const name = this.#encode(text);
      if (name !== undefined) writer.address(name, question, address, this.#ttlSeconds);
    }
    const { bytes, starts: addresses } = writer.take();
    return { type, records, starts, additional: bytes, additionalCount: addresses.length };
  }
}

/** Where a name leads to itself, its addresses are there already: one copy of them will do, for as many names as there are pods. */
function shareBytes(answer: RenderedAnswer, all: readonly RenderedAnswer[]): RenderedAnswer {
  if (answer.additionalCount === 0) return answer;
  const twin = all.find(({ records }) => isSameBytes(records, answer.additional));
  return twin === undefined ? answer : { ...answer, additional: twin.records };
}

function isSameBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}

function writeText({ text, ttlSeconds }: TextSet, name: Uint8Array): void {
  writer.begin(name, name, TYPE.TXT, ttlSeconds);
  writer.whole(Uint8Array.of(text.length, ...Buffer.from(text, "latin1")));
  writer.finish();
}
