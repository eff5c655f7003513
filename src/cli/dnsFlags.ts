// CLI: the flags of `isthmus dns` as typed in, what the server is to do out. Whatever cannot be meant is a sentence that says what can.

import { isIP, isIPv6 } from "node:net";
import { availableParallelism } from "node:os";
import { LABEL_MAX_LENGTH, parseClusterId } from "../api/names.ts";
import { Problem } from "../api/problem.ts";
import type { Random } from "../ports/clock.ts";
import type { ZoneOptions } from "../dns/records.ts";
import { type Endpoint, formatEndpoint } from "../dns/responder.ts";
import type { ServerConfig } from "../dns/server.ts";

export interface DnsFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly listen: readonly string[];
  readonly zone: readonly string[];
  readonly ttl: string;
  readonly headless: "all" | "near";
  readonly order: "rotate" | "stable";
  readonly clusterId?: string;
  readonly inZone?: string;
  readonly inRegion?: string;
  readonly node?: string;
  readonly clusterRegion: readonly string[];
  readonly nsAddress: readonly string[];
  readonly forward: readonly string[];
  readonly maxUdpSize: string;
  readonly processes: string;
  readonly rateLimit: string;
  readonly maxTcpConnections: string;
  readonly metricsAddress: string;
  readonly logLevel: string;
}

export interface DnsSettings {
  readonly server: ServerConfig;
  /** All of the zone but where the clients are, which the cluster may have to be asked. */
  readonly zone: Omit<ZoneOptions, "here">;
  readonly processes: number;
}

const DEFAULT_LISTEN = "127.0.0.1:1053";
const DEFAULT_ZONE = "clusterset.local";
const LISTEN_MAX = 16;
const ZONES_MAX = 8;
/** Room for the longest service, namespace and cluster in front of it. */
const ZONE_LENGTH_MAX = 200;
const TCP_IDLE_MS = 10_000;

export function parseDnsFlags(
  flags: DnsFlags,
  { random, nowMs }: { readonly random: Random; readonly nowMs: number },
): DnsSettings {
  const listen = few("--listen", orDefault(flags.listen, DEFAULT_LISTEN), LISTEN_MAX);
  const zones = parseZones(orDefault(flags.zone, DEFAULT_ZONE));
  const ttlSeconds = parseNumber("--ttl", flags.ttl, { min: 0, max: 86_400 });
  const regions = parseRegions(flags.clusterRegion);
  return {
    processes: parseProcesses(flags.processes),
    zone: {
      zones,
      ttlSeconds,
      headless: flags.headless,
      regionOf: (cluster) => regions.get(cluster),
      nsAddresses: flags.nsAddress.map((text) => requireAddress("--ns-address", text)),
    },
    server: {
      zones,
      ttlSeconds,
      // Seconds: after a restart it goes on above what it was, as long as there is less than one change a second.
      serial: Math.floor(nowMs / 1_000) % 2 ** 32,
      seed: Math.floor(random() * 2 ** 32),
      listen: parseListen(listen),
      maxUdpSize: parseNumber("--max-udp-size", flags.maxUdpSize, { min: 512, max: 4_096 }),
      order: flags.order,
      forward: few("--forward", flags.forward, LISTEN_MAX).map((text) =>
        parseEndpoint("--forward", text, 53),
      ),
      answersPerSecond: parseNumber("--rate-limit", flags.rateLimit, { min: 0, max: 1_000_000 }),
      maxTcpConnections: parseNumber("--max-tcp-connections", flags.maxTcpConnections, {
        min: 1,
        max: 100_000,
      }),
      tcpIdleMs: TCP_IDLE_MS,
    },
  };
}

function orDefault(given: readonly string[], fallback: string): readonly string[] {
  return given.length === 0 ? [fallback] : given;
}

function few(flag: string, values: readonly string[], most: number): readonly string[] {
  if (values.length <= most) return values;
  throw new Problem("ArgumentInvalid", `${flag} is given ${values.length} times`, {
    hint: `At most ${most} are taken.`,
  });
}

function parseListen(texts: readonly string[]): readonly Endpoint[] {
  const endpoints = texts.map((text) => parseEndpoint("--listen", text));
  const seen = new Set<string>();
  for (const endpoint of endpoints) {
    const text = formatEndpoint(endpoint);
    if (seen.has(text) && endpoint.port !== 0) {
      throw new Problem("ArgumentInvalid", `--listen ${text} is given twice`);
    }
    seen.add(text);
  }
  return endpoints;
}

/** "192.0.2.1:53", "[2001:db8::1]:53"; without a port only where there is a usual one. */
function parseEndpoint(flag: string, text: string, usualPort?: number): Endpoint {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+))(?::(\d{1,5}))?$/.exec(text);
  const bare = isIPv6(text) && usualPort !== undefined ? text : undefined;
  const host = bare ?? match?.[1] ?? match?.[2] ?? "";
  const port = match?.[3] === undefined ? usualPort : Number(match[3]);
  const isRight = isIP(host) !== 0 && port !== undefined && port <= 65_535;
  // Nobody can be asked at port 0.
  if (isRight && (usualPort === undefined || port > 0)) return { host, port };
  const example = usualPort === undefined ? "0.0.0.0:53 or [::]:53" : "10.96.0.10 or [fd00::a]:53";
  throw new Problem("ArgumentInvalid", `"${text}" is no address for ${flag}`, {
    hint: `Give an IP address${usualPort === undefined ? " and a port" : ""}, such as ${example}. Names cannot be used here.`,
  });
}

function requireAddress(flag: string, text: string): string {
  if (isIP(text) !== 0 && !text.includes("%")) return text;
  throw new Problem("ArgumentInvalid", `"${text}" is no address for ${flag}`, {
    hint: "Give an IPv4 or IPv6 address, such as 192.0.2.53.",
  });
}

function parseZones(texts: readonly string[]): readonly string[] {
  const zones = few("--zone", texts, ZONES_MAX).map(parseZone);
  for (const zone of zones) {
    const around = zones.find((other) => other !== zone && zone.endsWith(`.${other}`));
    const isTwice = zones.indexOf(zone) !== zones.lastIndexOf(zone);
    if (around === undefined && !isTwice) continue;
    const message = isTwice
      ? `--zone ${zone} is given twice`
      : `--zone ${zone} is inside --zone ${around}`;
    throw new Problem("ArgumentInvalid", message, {
      hint: "Give zones of which none is in another.",
    });
  }
  return zones;
}

function parseZone(text: string): string {
  const zone = text.toLowerCase().replace(/\.$/, "");
  const labels = zone.split(".");
  const isName = labels.every(
    (label) => /^[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?$/.test(label) && label.length <= LABEL_MAX_LENGTH,
  );
  if (isName && zone.length <= ZONE_LENGTH_MAX) return zone;
  throw new Problem("ArgumentInvalid", `"${text}" is no zone`, {
    hint: `Give a DNS name of at most ${ZONE_LENGTH_MAX} characters, such as clusterset.local.`,
  });
}

function parseRegions(texts: readonly string[]): ReadonlyMap<string, string> {
  const regions = new Map<string, string>();
  for (const text of texts) {
    const equals = text.indexOf("=");
    const cluster = parseClusterId(text.slice(0, Math.max(0, equals)));
    const region = text.slice(equals + 1);
    if (equals < 0 || region === "" || !cluster.ok) {
      throw new Problem("ArgumentInvalid", `"${text}" says no cluster's region`, {
        hint: "Give --cluster-region as id=region, such as east-1=eu-west.",
      });
    }
    const before = regions.get(cluster.value);
    if (before !== undefined && before !== region) {
      throw new Problem("ArgumentInvalid", `cluster ${cluster.value} cannot be in two regions`, {
        hint: `Give --cluster-region ${cluster.value}= only once.`,
      });
    }
    regions.set(cluster.value, region);
  }
  return regions;
}

const MOST_PROCESSES = 64;

/** More than the machine has cores helps nobody; each takes some 100 MB. */
function parseProcesses(text: string): number {
  if (text === "auto") return Math.min(availableParallelism(), MOST_PROCESSES);
  return parseNumber("--processes", text, { min: 1, max: MOST_PROCESSES }, ' or "auto"');
}

function parseNumber(
  flag: string,
  text: string,
  { min, max }: { readonly min: number; readonly max: number },
  orElse = "",
): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= min && value <= max) return value;
  throw new Problem("ArgumentInvalid", `"${text}" is nothing that ${flag} takes`, {
    hint: `Give a whole number from ${min} to ${max}${orElse}.`,
  });
}
