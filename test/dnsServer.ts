// Test tool: a DNS server of ours on loopback with a small world in it, and clients that say exactly the bytes a test wants said.

import { createSocket } from "node:dgram";
import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";
import type { Endpoint as EndpointOfSlice, EndpointSlice } from "../src/api/builtin.ts";
import type { ServiceImport } from "../src/api/mcs.ts";
import { SERVICE_NAME_LABEL, SOURCE_CLUSTER_LABEL } from "../src/api/names.ts";
import type { ZoneOptions } from "../src/dns/records.ts";
import { renderNamespace, renderService, renderZone } from "../src/dns/render.ts";
import type { Endpoint } from "../src/dns/responder.ts";
import { createDnsServer, type DnsServer, type ServerConfig } from "../src/dns/server.ts";
import type { Change } from "../src/dns/table.ts";
import { systemClock } from "../src/kube/clock.ts";
import type { Clock } from "../src/ports/clock.ts";
import type { Log } from "../src/ports/log.ts";

export const ZONE: ZoneOptions = {
  zones: ["clusterset.local"],
  ttlSeconds: 5,
  headless: "all",
  here: {},
  regionOf: () => undefined,
};

export const CONFIG: ServerConfig = {
  zones: ZONE.zones,
  ttlSeconds: 5,
  serial: 1,
  seed: 7,
  listen: [{ host: "127.0.0.1", port: 0 }],
  maxUdpSize: 1_232,
  order: "stable",
  forward: [],
  answersPerSecond: 0,
  maxTcpConnections: 100,
  tcpIdleMs: 10_000,
};

export const WEB = "web.shop.svc.clusterset.local";
export const WEB_IP = "10.96.0.80";
/** A hundred endpoints: more than UDP takes. */
export const BIG = "big.shop.svc.clusterset.local";

export function anImport(name: string, spec: ServiceImport["spec"]): ServiceImport {
  return {
    apiVersion: "multicluster.x-k8s.io/v1beta1",
    kind: "ServiceImport",
    metadata: { namespace: "shop", name },
    ...(spec === undefined ? {} : { spec }),
  };
}

export function aSlice(
  service: string,
  cluster: string,
  endpoints: readonly EndpointOfSlice[],
): EndpointSlice {
  const labels = { [SERVICE_NAME_LABEL]: service, [SOURCE_CLUSTER_LABEL]: cluster };
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { namespace: "shop", name: `${service}-${cluster}`, labels },
    addressType: "IPv4",
    ports: [{ name: "http", port: 80, protocol: "TCP" }],
    endpoints,
  };
}

export function aWebImport(ip = WEB_IP): ServiceImport {
  const ports = [{ name: "http", port: 80, protocol: "TCP" as const }];
  return anImport("web", { type: "ClusterSetIP", ips: [ip], ports });
}

/** The zone, the namespace, a service with a virtual IP and a large headless one. */
export function aWorld(zone: ZoneOptions = ZONE): readonly Change[] {
  const endpoints = Array.from({ length: 100 }, (_, index) => ({
    addresses: [`10.1.0.${index + 1}`],
    hostname: `pod-${index}`,
  }));
  const big = anImport("big", { type: "Headless", ports: [{ name: "http", port: 80 }] });
  return [
    renderZone(zone),
    renderNamespace("shop", zone),
    renderService({ serviceImport: aWebImport(), slices: [] }, zone),
    renderService({ serviceImport: big, slices: [aSlice("big", "east", endpoints)] }, zone),
  ];
}

export const SILENT_LOG: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  with: () => SILENT_LOG,
};

export interface RunningServer {
  readonly server: DnsServer;
  readonly at: Endpoint;
  readonly complaints: readonly string[];
}

/** Synced, with a world in it; closed when the test ends. */
export async function aDnsServer(
  fields: Partial<ServerConfig> = {},
  clock: Clock = systemClock,
): Promise<RunningServer> {
  const complaints: string[] = [];
  const log = { ...SILENT_LOG, error: (message: string) => complaints.push(message) };
  const server = createDnsServer({ ...CONFIG, ...fields }, { clock, log });
  const [at] = await server.open();
  onTestFinished(() => server.close());
  for (const change of aWorld()) server.replace(change);
  server.markSynced();
  return { server, at: at!, complaints };
}

export function encodeQuery(
  name: string,
  fields: { readonly id?: number; readonly type?: number; readonly udpSize?: number } = {},
): Buffer {
  const { id = 0x1234, type = 1, udpSize } = fields;
  const labels = name.split(".").filter((label) => label !== "");
  const opt =
    udpSize === undefined ? [] : [0, 0, 41, udpSize >> 8, udpSize & 255, 0, 0, 0, 0, 0, 0];
  const header = [id >> 8, id & 255, 1, 0, 0, 1, 0, 0, 0, 0, 0, opt.length > 0 ? 1 : 0];
  const question = labels.flatMap((label) => [label.length, ...Buffer.from(label)]);
  const tail = [0, type >> 8, type & 255, 0, 1];
  return Buffer.from([...header, ...question, ...tail, ...opt]);
}

/** Length first, as TCP has it. */
export function frame(...messages: readonly Buffer[]): Buffer {
  return Buffer.concat(
    messages.flatMap((message) => [
      Buffer.from([message.length >> 8, message.length & 255]),
      message,
    ]),
  );
}

/** One datagram, and what comes back. */
export async function askUdp(at: Endpoint, query: Buffer): Promise<Buffer> {
  const client = createSocket("udp4");
  try {
    return await new Promise((resolve, reject) => {
      client.once("message", resolve);
      client.once("error", reject);
      client.send(query, at.port, at.host);
    });
  } finally {
    client.close();
  }
}

/** A TCP client that counts whole answers, and knows how it ended. */
export class TcpClient {
  readonly socket: Socket;
  readonly answers: Buffer[] = [];
  readonly closed: Promise<void>;
  #rest = Buffer.alloc(0);
  #waiting: { readonly count: number; readonly resolve: () => void }[] = [];

  constructor(at: Endpoint) {
    this.socket = connect({ ...at, noDelay: true, allowHalfOpen: true });
    this.closed = new Promise((resolve) => {
      this.socket.on("close", () => resolve());
    });
    this.socket.on("error", () => undefined);
    this.socket.on("data", (chunk: Buffer) => this.#read(chunk));
    this.socket.on("end", () => this.socket.end());
    onTestFinished(() => void this.socket.destroy());
  }

  async connected(): Promise<this> {
    if (this.socket.connecting) {
      await new Promise((resolve) => {
        this.socket.once("connect", resolve);
      });
    }
    return this;
  }

  send(bytes: Buffer): void {
    this.socket.write(bytes);
  }

  /** Resolves when so many whole answers have come; rejects when the connection ends before. */
  async received(count: number): Promise<readonly Buffer[]> {
    const enough = new Promise<true>((resolve) => {
      this.#waiting.push({ count, resolve: () => resolve(true) });
      this.#tell();
    });
    const isEnough = await Promise.race([enough, this.closed.then(() => false)]);
    if (!isEnough) throw new Error(`closed after ${this.answers.length} answers`);
    return this.answers;
  }

  #read(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length >= 2 && this.#rest.length >= 2 + this.#rest.readUInt16BE(0)) {
      const end = 2 + this.#rest.readUInt16BE(0);
      this.answers.push(this.#rest.subarray(2, end));
      this.#rest = this.#rest.subarray(end);
    }
    this.#tell();
  }

  #tell(): void {
    for (const { count, resolve } of this.#waiting) if (this.answers.length >= count) resolve();
  }
}
