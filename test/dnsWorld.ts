// A DNS server without sockets, for tests: Kubernetes objects in, answers in the words of a zone file out. Answers are read by
// dns-packet, which knows nothing of how they were written.

import { type DecodedPacket, type DecodedRecord, decode } from "dns-packet";
import type { EndpointSlice } from "../src/api/builtin.ts";
import type { ServiceImport } from "../src/api/mcs.ts";
import { SERVICE_NAME_LABEL, SOURCE_CLUSTER_LABEL } from "../src/api/names.ts";
import { type Answerer, type AnswerLimits, createAnswerer } from "../src/dns/answer.ts";
import { encodeName } from "../src/dns/name.ts";
import type { ZoneOptions } from "../src/dns/records.ts";
import { renderNamespace, renderService, renderZone } from "../src/dns/render.ts";
import { createTable, type Table } from "../src/dns/table.ts";
import { TYPE } from "../src/dns/wire.ts";

export const ZONE: ZoneOptions = {
  zones: ["clusterset.local"],
  ttlSeconds: 5,
  headless: "all",
  here: {},
  regionOf: () => undefined,
};

/** "http 80/TCP", "80/UDP" for one without a name, "http any/TCP" for one without a number. */
function parsePort(text: string) {
  const [, name, number, protocol] = /^(?:(\S+) )?(\d+|any)\/(TCP|UDP|SCTP)$/.exec(text) ?? [];
  return {
    ...(name === undefined ? {} : { name }),
    ...(number === "any" ? {} : { port: Number(number) }),
    protocol: protocol as "TCP" | "UDP" | "SCTP",
  };
}

/** `key` is "namespace/name". Without ips it is headless. */
export function anImport(
  key: string,
  { ips, ports = ["http 80/TCP"] }: { ips?: readonly string[]; ports?: readonly string[] } = {},
): ServiceImport {
  const [namespace = "", name = ""] = key.split("/");
  return {
    apiVersion: "multicluster.x-k8s.io/v1beta1",
    kind: "ServiceImport",
    metadata: { namespace, name },
    spec: {
      type: ips === undefined ? "Headless" : "ClusterSetIP",
      ports: ports.map(parsePort).map((port) => ({ port: 0, ...port })),
      ...(ips === undefined ? {} : { ips: [...ips] }),
    },
  };
}

/** Endpoints are "10.0.0.1", with more words in any order: "host=pod-0", "zone=eu-1a", "unready", "unknown". */
export function aSlice(
  cluster: string,
  key: string,
  endpoints: readonly string[],
  ports: readonly string[] = ["http 8080/TCP"],
): EndpointSlice {
  const [namespace = "", name = ""] = key.split("/");
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      namespace,
      name: `${name}-${cluster}`,
      labels: { [SERVICE_NAME_LABEL]: name, [SOURCE_CLUSTER_LABEL]: cluster },
    },
    addressType: endpoints[0]?.includes(":") === true ? "IPv6" : "IPv4",
    ports: ports.map(parsePort),
    endpoints: endpoints.map((text) => {
      const [address = "", ...words] = text.split(" ");
      const valueOf = (word: string) =>
        words.find((one) => one.startsWith(`${word}=`))?.slice(word.length + 1);
      const [hostname, zone] = [valueOf("host"), valueOf("zone")];
      return {
        addresses: [address],
        ...(words.includes("unknown") ? {} : { conditions: { ready: !words.includes("unready") } }),
        ...(hostname === undefined ? {} : { hostname }),
        ...(zone === undefined ? {} : { zone }),
      };
    }),
  };
}

export interface Service {
  readonly serviceImport: ServiceImport;
  readonly slices: readonly EndpointSlice[];
}

export interface DnsWorld {
  readonly table: Table;
  readonly answerer: Answerer;
  /** "web.prod.svc.clusterset.local A": the answer as dig would print it, one line per record. */
  ask(question: string, how?: AskOptions): string;
  /** The records of the answer section alone, sorted; or the status, when it is empty. */
  records(question: string, how?: AskOptions): readonly string[];
  exchange(query: Uint8Array, isTcp?: boolean): DecodedPacket | undefined;
}

export interface AskOptions extends QueryOptions {
  readonly isTcp?: boolean;
}

/** All of it synced, unless it says otherwise. */
export function aDnsWorld(
  services: readonly Service[],
  options: {
    readonly zone?: Partial<ZoneOptions>;
    readonly limits?: Partial<AnswerLimits & { forwards: boolean }>;
    readonly isSynced?: boolean;
  } = {},
): DnsWorld {
  const zone = { ...ZONE, ...options.zone };
  const table = createTable(zone.zones, { ttlSeconds: zone.ttlSeconds, serial: 7 });
  table.replace({ ...renderZone(zone), serial: 7 });
  const namespaces = services.map(({ serviceImport }) => serviceImport.metadata.namespace ?? "");
  for (const one of namespaces) table.replace({ ...renderNamespace(one, zone), serial: 7 });
  for (const one of services) table.replace({ ...renderService(one, zone), serial: 7 });
  if (options.isSynced !== false) table.markSynced();
  const limits = { maxUdpSize: 1232, order: "stable", forwards: false, ...options.limits } as const;
  const answerer = createAnswerer(table, limits);
  const out = Buffer.alloc(65_535);
  const exchange = (query: Uint8Array, isTcp = false): DecodedPacket | undefined => {
    const length = answerer.answer(query, query.length, out, isTcp);
    return length <= 0 ? undefined : decode(out.subarray(0, length));
  };
  const askFor = (question: string, how: AskOptions = {}): DecodedPacket => {
    const [name = "", type = "A"] = question.split(" ");
    const packet = exchange(renderQuery(name, type, how), how.isTcp);
    if (packet === undefined) throw new Error(`${question} was not answered`);
    return packet;
  };
  return {
    table,
    answerer,
    exchange,
    ask: (question, how) => print(askFor(question, how)),
    records(question, how) {
      const packet = askFor(question, how);
      return packet.answers.length === 0
        ? [packet.rcode === "NOERROR" ? "NODATA" : packet.rcode]
        : packet.answers.map(printRecord).sort();
    },
  };
}

export interface QueryOptions {
  readonly edns?: { readonly size?: number; readonly version?: number; readonly isDo?: boolean };
  /** Of the whole, in place of the usual: id 0x1234, RD set. */
  readonly flags?: number;
  readonly class?: number;
}

/** The name goes out in the letter case that it comes in. */
export function renderQuery(name: string, type: string | number, how: QueryOptions = {}): Buffer {
  const wire = encodeName(name);
  if (wire === undefined) throw new Error(`${name} is no name`);
  const cased = Buffer.from(wire);
  for (let at = 0; at < name.length; at += 1) {
    if (/[A-Z]/.test(name[at] ?? "")) cased[at + 1] = name.charCodeAt(at);
  }
  const number = typeof type === "number" ? type : (TYPE as Record<string, number>)[type];
  if (number === undefined) throw new Error(`${type} is no type that the tests know`);
  const { edns, flags = 0x0100 } = how;
  const head = Buffer.from([0x12, 0x34, flags >> 8, flags, 0, 1, 0, 0, 0, 0, 0, edns ? 1 : 0]);
  const tail = Buffer.from([number >> 8, number, 0, how.class ?? 1]);
  return Buffer.concat([head, cased, tail, edns === undefined ? Buffer.alloc(0) : renderOpt(edns)]);
}

function renderOpt({ size = 1232, version = 0, isDo = false }: NonNullable<QueryOptions["edns"]>) {
  return Buffer.from([0, 0, 41, size >> 8, size, 0, version, isDo ? 0x80 : 0, 0, 0, 0]);
}

function print(packet: DecodedPacket): string {
  const flags = [
    ...(packet.flag_aa ? ["aa"] : []),
    ...(packet.flag_tc ? ["tc"] : []),
    ...(packet.flag_rd ? ["rd"] : []),
    ...(packet.flag_ra ? ["ra"] : []),
  ];
  return [
    `${packet.rcode} ${flags.join(" ")}`.trim(),
    ...packet.answers.map(printRecord),
    ...packet.authorities.map((record) => `authority: ${printRecord(record)}`),
    ...packet.additionals.map((record) => `additional: ${printRecord(record)}`),
  ].join("\n");
}

function printRecord(record: DecodedRecord): string {
  if (record.type === "OPT") {
    const { udpPayloadSize, ednsVersion, extendedRcode, flag_do: isDo } = record;
    return `OPT ${udpPayloadSize} version ${ednsVersion} rcode ${extendedRcode}${isDo ? " do" : ""}`;
  }
  return `${record.name} ${record.ttl} ${record.type} ${printData(record)}`;
}

function printData({ data }: DecodedRecord): string {
  if (data === undefined || typeof data === "string") return data ?? "";
  if (Array.isArray(data)) return data.map((text) => JSON.stringify(String(text))).join(" ");
  return Object.values(data).join(" ");
}
