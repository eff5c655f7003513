import { describe, expect, test } from "vitest";
import { isProblem } from "../api/problem.ts";
import { readConfiguration } from "./configuration.ts";
import { parseDnsSettings } from "./dnsFlags.ts";

/** As commander hands them over. */
type Flags = Readonly<Record<string, string | readonly string[]>>;

function parse(flags: Flags = {}) {
  const { settings } = readConfiguration({ env: {} }, "dns", flags);
  return parseDnsSettings(settings, { random: () => 0.5, nowMs: 1_700_000_000_123 });
}

function refusal(flags: Flags): string {
  try {
    parse(flags);
  } catch (error) {
    if (isProblem(error, "ArgumentInvalid")) return `${error.message} ${error.hint ?? ""}`;
    throw error;
  }
  throw new Error("it was taken");
}

describe("the flags of isthmus dns", () => {
  test("left out, mean clusterset.local on a port that anybody may have, for this machine only", () => {
    const { server, zone, processes } = parse();
    expect(processes).toBe(1);
    expect(zone.zones).toEqual(["clusterset.local"]);
    expect(server).toMatchObject({
      listen: [{ host: "127.0.0.1", port: 1_053 }],
      zones: ["clusterset.local"],
      forward: [],
      answersPerSecond: 0,
      serial: 1_700_000_000,
    });
  });

  test("take several addresses and zones of both families, in any case and with a final dot", () => {
    const { server } = parse({
      listen: ["0.0.0.0:53", "[::]:53"],
      zone: ["ClusterSet.Local.", "svc.example"],
      forward: ["10.96.0.10", "[fd00::a]:5353", "fd00::b", "10.0.0.1:54"],
    });
    expect(server.listen).toEqual([
      { host: "0.0.0.0", port: 53 },
      { host: "::", port: 53 },
    ]);
    expect(server.zones).toEqual(["clusterset.local", "svc.example"]);
    expect(server.forward).toEqual([
      { host: "10.96.0.10", port: 53 },
      { host: "fd00::a", port: 5_353 },
      { host: "fd00::b", port: 53 },
      { host: "10.0.0.1", port: 54 },
    ]);
  });

  test("say where other clusters are", () => {
    const { zone } = parse({ clusterRegion: ["east=eu", "west=us=1"] });
    expect(zone.regionOf("east")).toBe("eu");
    expect(zone.regionOf("west")).toBe("us=1");
    expect(zone.regionOf("north")).toBeUndefined();
  });

  test("take as many processes as there are cores", () => {
    expect(parse({ processes: "auto" }).processes).toBeGreaterThan(0);
    expect(parse({ processes: "3" }).processes).toBe(3);
  });

  test.each<[string, Flags, string]>([
    [
      "a name to listen on",
      { listen: ["localhost:53"] },
      'dns.listen (--listen): "localhost:53" is no address',
    ],
    ["no port", { listen: ["127.0.0.1"] }, "a port"],
    ["a port beyond the last", { listen: ["127.0.0.1:65536"] }, "--listen"],
    ["an address of five parts", { listen: ["1.2.3.4.5:53"] }, "--listen"],
    ["an IPv6 address without brackets", { listen: ["::1:53"] }, "[::]:53"],
    ["an address twice", { listen: ["[::1]:53", "[::1]:53"] }, "[::1]:53 is given twice"],
    ["too many addresses", { listen: Array<string>(17).fill("127.0.0.1:0") }, "at most 16"],
    ["an upstream that is a name", { forward: ["dns.example"] }, "--forward"],
    ["an upstream at port 0", { forward: ["10.0.0.1:0"] }, "--forward"],
    ["an empty zone", { zone: [""] }, "dns.zone (--zone)"],
    ["a zone with an empty label", { zone: ["a..b"] }, "is no zone"],
    ["a zone that leaves no room", { zone: [`${"a.".repeat(110)}b`] }, "at most 200"],
    ["a zone twice", { zone: ["a.b", "A.B."] }, "the zone a.b is given twice"],
    ["a zone in a zone", { zone: ["a.b", "b"] }, "the zone a.b is inside the zone b"],
    ["a time that is no number", { ttl: "5s" }, "from 0 to 86400"],
    ["a negative time", { ttl: "-1" }, "--ttl"],
    ["answers that are too small", { maxUdpSize: "511" }, "from 512 to 4096"],
    ["no process", { processes: "0" }, 'from 1 to 64 or "auto"'],
    ["no connection", { maxTcpConnections: "0" }, "--max-tcp-connections"],
    ["half an answer a second", { rateLimit: "0.5" }, "--rate-limit"],
    ["a name server that is a name", { nsAddress: ["ns.example"] }, "--ns-address"],
    ["a cluster without region", { clusterRegion: ["east"] }, "id=region"],
    ["a region without cluster", { clusterRegion: ["=eu"] }, "id=region"],
    ["a cluster in two regions", { clusterRegion: ["east=eu", "east=us"] }, "two regions"],
  ])("refuse %s in a sentence", (_, flags, words) => {
    expect(refusal(flags)).toContain(words);
  });
});
