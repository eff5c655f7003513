import { describe, expect, test } from "vitest";
import { aDnsWorld, anImport, aSlice } from "../../test/dnsWorld.ts";

const Z = "clusterset.local";
const NXDOMAIN = ["NXDOMAIN"];
const NODATA = ["NODATA"];
const REGIONS: Readonly<Record<string, string>> = { east: "eu", west: "eu", far: "us" };
const regionOf = (cluster: string) => REGIONS[cluster];

const service = {
  serviceImport: anImport("prod/db"),
  slices: [
    aSlice("east", "prod/db", ["10.1.0.1 zone=eu-1a host=db-0", "10.1.0.2 zone=eu-1b"]),
    aSlice("west", "prod/db", ["10.2.0.1 zone=eu-1a"], ["http 8080/TCP", "admin 9090/TCP"]),
    aSlice("far", "prod/db", ["10.3.0.1 zone=us-1a", "10.3.0.2 zone=Rack.7", "10.3.0.3"]),
    aSlice("far", "prod/db", ["fd03::1 zone=us-1a"]),
  ],
};
const db = `db.prod.svc.${Z}`;

describe("names of one zone or region", () => {
  const world = aDnsWorld([service], { zone: { regionOf } });
  const inZone = `db.prod.svc.eu-1a._zone.${Z}`;
  const inRegion = `db.prod.svc.us._region.${Z}`;

  test("have the endpoints there, of all clusters", () => {
    expect(world.records(`${inZone} A`)).toEqual([
      `${inZone} 5 A 10.1.0.1`,
      `${inZone} 5 A 10.2.0.1`,
    ]);
    expect(world.records(`${inZone} AAAA`)).toEqual(NODATA);
    expect(world.records(`${inRegion} A`)).toHaveLength(3);
    expect(world.records(`${inRegion} AAAA`)).toEqual([`${inRegion} 5 AAAA fd03::1`]);
  });

  test("have SRV records that lead to the endpoints' usual names", () => {
    expect(world.ask(`_http._tcp.${inZone} SRV`)).toBe(
      [
        "NOERROR aa rd",
        `_http._tcp.${inZone} 5 SRV 0 50 8080 db-0.east.${db}`,
        `_http._tcp.${inZone} 5 SRV 0 50 8080 10-2-0-1.west.${db}`,
        `additional: db-0.east.${db} 5 A 10.1.0.1`,
        `additional: 10-2-0-1.west.${db} 5 A 10.2.0.1`,
      ].join("\n"),
    );
    expect(world.records(`_admin._tcp.${inZone} SRV`)).toHaveLength(1);
    expect(world.records(`_admin._tcp.db.prod.svc.eu-1b._zone.${Z} SRV`)).toEqual(NXDOMAIN);
    expect(world.records(`${inZone} SRV`)).toHaveLength(3);
  });

  test.each([
    `_zone.${Z}`,
    `_region.${Z}`,
    `eu-1a._zone.${Z}`,
    `svc.eu-1a._zone.${Z}`,
    `prod.svc.eu-1a._zone.${Z}`,
    `_tcp.db.prod.svc.eu-1a._zone.${Z}`,
  ])("exist all the way up: %s is NODATA", (name) => {
    expect(world.records(`${name} A`)).toEqual(NODATA);
    expect(world.records(`${name} ANY`)).toEqual(NODATA);
  });

  test.each([
    `nowhere._zone.${Z}`,
    `db.prod.svc.nowhere._zone.${Z}`,
    `us._zone.${Z}`,
    `_udp.db.prod.svc.eu-1a._zone.${Z}`,
    `rack.7._zone.${Z}`,
    `7._zone.${Z}`,
    `db.prod.svc.eu-1a.${Z}`,
    `db-0.east.db.prod.svc.eu-1a._zone.${Z}`,
  ])("and nothing else does: %s is NXDOMAIN", (name) => {
    expect(world.records(`${name} A`)).toEqual(NXDOMAIN);
  });

  test("go when the last endpoint there goes, and not before", () => {
    const other = { ...service, serviceImport: anImport("prod/other") };
    const world = aDnsWorld([service, other], { zone: { regionOf } });
    world.table.replace({ owner: "service/prod/db", names: [] });
    expect(world.records(`${inZone} A`)).toEqual(NXDOMAIN);
    expect(world.records(`prod.svc.eu-1a._zone.${Z} A`)).toEqual(NODATA);
    world.table.replace({ owner: "service/prod/other", names: [] });
    expect(world.records(`prod.svc.eu-1a._zone.${Z} A`)).toEqual(NXDOMAIN);
    expect(world.records(`_zone.${Z} A`)).toEqual(NXDOMAIN);
    expect(world.table.size).toBe(6);
  });

  test("are not there for services with a virtual IP, which is in no zone", () => {
    const world = aDnsWorld([
      { ...service, serviceImport: anImport("prod/db", { ips: ["10.9.0.1"] }) },
    ]);
    expect(world.records(`${inZone} A`)).toEqual(NXDOMAIN);
    expect(world.records(`_zone.${Z} A`)).toEqual(NXDOMAIN);
  });
});

describe("near endpoints first", () => {
  const near = (here: { cluster?: string; zone?: string; region?: string }) =>
    aDnsWorld([service], { zone: { regionOf, headless: "near", here } });
  const addresses = (world: ReturnType<typeof near>, type = "A") =>
    world.records(`${db} ${type}`).map((line) => line.split(" ").at(-1));

  test.each([
    ["its own cluster", { cluster: "west", zone: "eu-1b", region: "us" }, ["10.2.0.1"]],
    ["else its zone", { cluster: "none", zone: "eu-1b", region: "us" }, ["10.1.0.2"]],
    ["else its region", { zone: "none", region: "eu" }, ["10.1.0.1", "10.1.0.2", "10.2.0.1"]],
  ])("a client gets %s", (_, here, expected) => {
    expect(addresses(near(here))).toEqual(expected);
  });

  test("else everything, also where nobody said where it is", () => {
    expect(addresses(near({ cluster: "x", zone: "y", region: "z" }))).toHaveLength(6);
    expect(addresses(near({}))).toHaveLength(6);
    expect(addresses(near({ zone: "" }))).toHaveLength(6);
    const slices = [aSlice("east", "prod/db", ["10.1.0.1 zone=", "10.1.0.2"])];
    const blank = aDnsWorld([{ ...service, slices }], { zone: { headless: "near" } });
    expect(addresses(blank)).toHaveLength(2);
  });

  test("R73: both families come from one tier, even if that has only one of them", () => {
    expect(addresses(near({ cluster: "west" }), "AAAA")).toEqual(["NODATA"]);
    expect(addresses(near({ cluster: "far" }), "AAAA")).toEqual(["fd03::1"]);
  });

  test("SRV leads where A leads, but for a port that only others have", () => {
    const world = near({ cluster: "east" });
    expect(world.records(`_http._tcp.${db} SRV`)).toEqual([
      `_http._tcp.${db} 5 SRV 0 50 8080 10-1-0-2.east.${db}`,
      `_http._tcp.${db} 5 SRV 0 50 8080 db-0.east.${db}`,
    ]);
    expect(world.records(`${db} SRV`)).toHaveLength(2);
    expect(world.records(`_admin._tcp.${db} SRV`)).toEqual([
      `_admin._tcp.${db} 5 SRV 0 100 9090 10-2-0-1.west.${db}`,
    ]);
  });

  test("endpoints that are not ready do not keep clients", () => {
    const slices = [
      aSlice("west", "prod/db", ["10.2.0.1 unready"]),
      aSlice("far", "prod/db", ["10.3.0.1"]),
    ];
    const world = aDnsWorld([{ ...service, slices }], {
      zone: { headless: "near", here: { cluster: "west" } },
    });
    expect(addresses(world)).toEqual(["10.3.0.1"]);
  });

  test("N6: whoever asks for an endpoint by its name gets it, near or not", () => {
    const world = near({ cluster: "west" });
    expect(world.records(`db-0.east.${db} A`)).toEqual([`db-0.east.${db} 5 A 10.1.0.1`]);
    expect(world.records(`db.prod.svc.us-1a._zone.${Z} A`)).toHaveLength(1);
  });
});
