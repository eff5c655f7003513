// CLI: the settings of `isthmus dns` in, what the server is to do out. Whatever cannot be meant is a sentence that says what can.

import { isIP, isIPv6 } from "node:net";
import { availableParallelism } from "node:os";
import { LABEL_MAX_LENGTH, parseClusterId } from "../api/names.ts";
import { Problem } from "../api/problem.ts";
import type { Settings } from "../api/settings.ts";
import type { Random } from "../ports/clock.ts";
import type { ZoneOptions } from "../dns/records.ts";
import { type Endpoint, formatEndpoint } from "../dns/responder.ts";
import type { ServerConfig } from "../dns/server.ts";

export interface DnsSettings {
  readonly server: ServerConfig;
  /** All of the zone but where the clients are, which the cluster may have to be asked. */
  readonly zone: Omit<ZoneOptions, "here">;
  readonly processes: number;
}

/** Room for the longest service, namespace and cluster in front of it. */
const ZONE_LENGTH_MAX = 200;
const TCP_IDLE_MS = 10_000;

export function parseDnsSettings(
  settings: Settings["dns"],
  { random, nowMs }: { readonly random: Random; readonly nowMs: number },
): DnsSettings {
  const zones = parseZones(settings.zone);
  const regions = parseRegions(settings.clusterRegion);
  const { ttl: ttlSeconds, processes } = settings;
  return {
    // More than the machine has cores helps nobody; each takes some 100 MB.
    processes: processes === "auto" ? Math.min(availableParallelism(), 64) : processes,
    zone: {
      zones,
      ttlSeconds,
      headless: settings.headless,
      regionOf: (cluster) => regions.get(cluster),
      nsAddresses: parseAddresses(settings.nsAddress),
    },
    server: {
      zones,
      ttlSeconds,
      // Seconds: after a restart it goes on above what it was, as long as there is less than one change a second.
      serial: Math.floor(nowMs / 1_000) % 2 ** 32,
      seed: Math.floor(random() * 2 ** 32),
      listen: parseListen(settings.listen),
      maxUdpSize: settings.maxUdpSize,
      order: settings.order,
      forward: parseForward(settings.forward),
      answersPerSecond: settings.rateLimit,
      maxTcpConnections: settings.maxTcpConnections,
      tcpIdleMs: TCP_IDLE_MS,
    },
  };
}

export function parseListen(texts: readonly string[]): readonly Endpoint[] {
  const endpoints = texts.map((text) => parseEndpoint(text));
  const seen = new Set<string>();
  for (const endpoint of endpoints) {
    const text = formatEndpoint(endpoint);
    if (seen.has(text) && endpoint.port !== 0) {
      throw new Problem("ArgumentInvalid", `${text} is given twice`);
    }
    seen.add(text);
  }
  return endpoints;
}

export function parseForward(texts: readonly string[]): readonly Endpoint[] {
  return texts.map((text) => parseEndpoint(text, 53));
}

/** "192.0.2.1:53", "[2001:db8::1]:53"; without a port only where there is a usual one. */
function parseEndpoint(text: string, usualPort?: number): Endpoint {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([0-9.]+))(?::(\d{1,5}))?$/.exec(text);
  const bare = isIPv6(text) && usualPort !== undefined ? text : undefined;
  const host = bare ?? match?.[1] ?? match?.[2] ?? "";
  const port = match?.[3] === undefined ? usualPort : Number(match[3]);
  const isRight = isIP(host) !== 0 && port !== undefined && port <= 65_535;
  // Nobody can be asked at port 0.
  if (isRight && (usualPort === undefined || port > 0)) return { host, port };
  const example = usualPort === undefined ? "0.0.0.0:53 or [::]:53" : "10.96.0.10 or [fd00::a]:53";
  throw new Problem("ArgumentInvalid", `"${text}" is no address`, {
    hint: `Give an IP address${usualPort === undefined ? " and a port" : ""}, such as ${example}. Names cannot be used here.`,
  });
}

export function parseAddresses(texts: readonly string[]): readonly string[] {
  const wrong = texts.find((text) => isIP(text) === 0 || text.includes("%"));
  if (wrong === undefined) return texts;
  throw new Problem("ArgumentInvalid", `"${wrong}" is no address`, {
    hint: "Give an IPv4 or IPv6 address, such as 192.0.2.53.",
  });
}

export function parseZones(texts: readonly string[]): readonly string[] {
  const zones = texts.map(parseZone);
  for (const zone of zones) {
    const around = zones.find((other) => other !== zone && zone.endsWith(`.${other}`));
    const isTwice = zones.indexOf(zone) !== zones.lastIndexOf(zone);
    if (around === undefined && !isTwice) continue;
    const message = isTwice
      ? `the zone ${zone} is given twice`
      : `the zone ${zone} is inside the zone ${around}`;
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

export function parseRegions(texts: readonly string[]): ReadonlyMap<string, string> {
  const regions = new Map<string, string>();
  for (const text of texts) {
    const equals = text.indexOf("=");
    const cluster = parseClusterId(text.slice(0, Math.max(0, equals)));
    const region = text.slice(equals + 1);
    if (equals < 0 || region === "" || !cluster.ok) {
      throw new Problem("ArgumentInvalid", `"${text}" says no cluster's region`, {
        hint: "Give id=region, such as east-1=eu-west.",
      });
    }
    const before = regions.get(cluster.value);
    if (before !== undefined && before !== region) {
      throw new Problem("ArgumentInvalid", `cluster ${cluster.value} cannot be in two regions`, {
        hint: `Give ${cluster.value}= only once.`,
      });
    }
    regions.set(cluster.value, region);
  }
  return regions;
}
