import { describe, expect, test } from "vitest";
import { aDnsWorld, anImport, aSlice, renderQuery } from "../../test/dnsWorld.ts";

const Z = "clusterset.local";
const SOA = `${Z} 5 SOA ns.dns.${Z} hostmaster.${Z} 7 7200 1800 86400 5`;
const NXDOMAIN = ["NXDOMAIN"];
const NODATA = ["NODATA"];

describe("the zone itself", () => {
  const world = aDnsWorld([], { zone: { nsAddresses: ["192.0.2.53", "2001:db8::53"] } });

  test("N1: the version of the schema", () => {
    expect(world.ask(`dns-version.${Z} TXT`)).toBe(
      `NOERROR aa rd\ndns-version.${Z} 28800 TXT "1.0.0"`,
    );
  });

  test("has a SOA and a name server with its addresses", () => {
    expect(world.ask(`${Z} SOA`)).toBe(`NOERROR aa rd\n${SOA}`);
    expect(world.ask(`${Z} NS`)).toBe(
      [
        "NOERROR aa rd",
        `${Z} 5 NS ns.dns.${Z}`,
        `additional: ns.dns.${Z} 5 A 192.0.2.53`,
        `additional: ns.dns.${Z} 5 AAAA 2001:db8::53`,
      ].join("\n"),
    );
    expect(world.records(`ns.dns.${Z} A`)).toEqual([`ns.dns.${Z} 5 A 192.0.2.53`]);
    expect(world.records(`ns.dns.${Z} AAAA`)).toEqual([`ns.dns.${Z} 5 AAAA 2001:db8::53`]);
  });

  test("has a name server even if nobody said where it is", () => {
    const silent = aDnsWorld([]);
    expect(silent.ask(`${Z} NS`)).toBe(`NOERROR aa rd\n${Z} 5 NS ns.dns.${Z}`);
    expect(silent.records(`ns.dns.${Z} A`)).toEqual(NODATA);
  });

  test.each([Z, `svc.${Z}`, `dns.${Z}`, `dns-version.${Z}`])(
    "R79: %s A is NODATA with a SOA",
    (name) => {
      expect(world.ask(`${name} A`)).toBe(`NOERROR aa rd\nauthority: ${SOA}`);
    },
  );

  test.each([`x.${Z}`, `dns-version.x.${Z}`, `x.svc.${Z}`, `web.x.svc.${Z}`, `svc.svc.${Z}`])(
    "R79: %s is NXDOMAIN with a SOA, whatever the type",
    (name) => {
      for (const type of ["A", "AAAA", "SRV", "TXT", "SOA", "NS", "ANY"]) {
        expect(world.ask(`${name} ${type}`)).toBe(`NXDOMAIN aa rd\nauthority: ${SOA}`);
      }
    },
  );
});

describe("a ClusterSetIP service", () => {
  const serviceImport = anImport("prod/web", {
    ips: ["10.9.0.1", "fd09::1"],
    ports: ["http 80/TCP", "dns 53/UDP", "dns-tcp 53/TCP"],
  });
  const slices = [aSlice("east", "prod/web", ["10.1.0.1 host=pod-0"])];
  const world = aDnsWorld([{ serviceImport, slices }]);
  const web = `web.prod.svc.${Z}`;

  test("N2, N3: has the addresses of its import", () => {
    expect(world.ask(`${web} A`)).toBe(`NOERROR aa rd\n${web} 5 A 10.9.0.1`);
    expect(world.ask(`${web} AAAA`)).toBe(`NOERROR aa rd\n${web} 5 AAAA fd09::1`);
  });

  test("N4: has an SRV record for each named port, with the port of the import", () => {
    expect(world.ask(`_dns._udp.${web} SRV`)).toBe(
      [
        "NOERROR aa rd",
        `_dns._udp.${web} 5 SRV 0 50 53 ${web}`,
        `additional: ${web} 5 A 10.9.0.1`,
        `additional: ${web} 5 AAAA fd09::1`,
      ].join("\n"),
    );
    expect(world.records(`_http._tcp.${web} SRV`)).toEqual([
      `_http._tcp.${web} 5 SRV 0 50 80 ${web}`,
    ]);
    expect(world.records(`_dns._tcp.${web} SRV`)).toEqual(NXDOMAIN);
  });

  test("R76: asked for SRV at its bare name, gives every port once, whatever the protocols", () => {
    expect(world.records(`${web} SRV`)).toEqual([
      `${web} 5 SRV 0 16 53 ${web}`,
      `${web} 5 SRV 0 16 80 ${web}`,
    ]);
  });

  test("like CoreDNS, has its addresses at the names of its ports too", () => {
    expect(world.records(`_http._tcp.${web} A`)).toEqual([`_http._tcp.${web} 5 A 10.9.0.1`]);
  });

  test("N6, N9: has no names for its endpoints, nor for its clusters", () => {
    expect(world.records(`pod-0.east.${web} A`)).toEqual(NXDOMAIN);
    for (const type of ["A", "AAAA", "SRV", "TXT", "ANY"]) {
      expect(world.records(`east.${web} ${type}`)).toEqual(NXDOMAIN);
    }
  });

  test("R78: answers with its IP when nobody is behind it", () => {
    const lonely = aDnsWorld([{ serviceImport, slices: [] }]);
    expect(lonely.records(`${web} A`)).toEqual([`${web} 5 A 10.9.0.1`]);
  });

  test("R79: is NODATA for a family that it does not have, and while it has no IP", () => {
    const ports = ["http 80/TCP"];
    const old = aDnsWorld([
      { serviceImport: anImport("prod/web", { ips: ["10.9.0.1"], ports }), slices },
    ]);
    for (const type of ["AAAA", "SOA", "NS", "TXT"]) {
      expect(old.ask(`${web} ${type}`)).toBe(`NOERROR aa rd\nauthority: ${SOA}`);
    }
    const young = aDnsWorld([{ serviceImport: anImport("prod/web", { ips: [], ports }), slices }]);
    expect(young.records(`${web} A`)).toEqual(NODATA);
    expect(young.records(`_http._tcp.${web} SRV`)).toEqual(NODATA);
  });

  test("R75: a port without a name has no SRV name, but stands at the bare name", () => {
    const plain = aDnsWorld([
      { serviceImport: anImport("prod/web", { ips: ["10.9.0.1"], ports: ["80/TCP"] }), slices },
    ]);
    expect(plain.records(`${web} SRV`)).toEqual([`${web} 5 SRV 0 100 80 ${web}`]);
    expect(plain.records(`_tcp.${web} SRV`)).toEqual(NXDOMAIN);
  });

  test("resolves without any port (CoreDNS does not, R80)", () => {
    const bare = aDnsWorld([
      { serviceImport: anImport("prod/web", { ips: ["10.9.0.1"], ports: [] }), slices },
    ]);
    expect(bare.records(`${web} A`)).toEqual([`${web} 5 A 10.9.0.1`]);
    expect(bare.records(`${web} SRV`)).toEqual(NODATA);
  });

  test("does not take another's name when its own has a dot", () => {
    const dotted = aDnsWorld([
      { serviceImport: anImport("prod/east.web", { ips: ["10.9.0.2"] }), slices: [] },
      { serviceImport, slices },
    ]);
    expect(dotted.records(`east.${web} A`)).toEqual(NXDOMAIN);
  });

  test("R82: is found in any letter case, and the question comes back as it was asked", () => {
    expect(world.ask(`wEb.PROD.svc.ClusterSet.LOCAL A`)).toBe(
      "NOERROR aa rd\nwEb.PROD.svc.ClusterSet.LOCAL 5 A 10.9.0.1",
    );
  });

  test("R79: its namespace exists, deeper and other names do not", () => {
    expect(world.records(`prod.svc.${Z} A`)).toEqual(NODATA);
    expect(world.records(`other.svc.${Z} A`)).toEqual(NXDOMAIN);
    expect(world.records(`a.b.c.${web} A`)).toEqual(NXDOMAIN);
    expect(world.records(`web.prod.pod.${Z} A`)).toEqual(NXDOMAIN);
    expect(world.records(`web.prod.${Z} A`)).toEqual(NXDOMAIN);
  });

  test("R84: the suffixes of a search path get NXDOMAIN, not NODATA", () => {
    const zone = { zones: [Z, "cluster.local"] };
    const searched = aDnsWorld([{ serviceImport, slices }], { zone });
    expect(searched.records(`${web}.prod.svc.cluster.local A`)).toEqual(NXDOMAIN);
    expect(searched.records(`${web}.svc.cluster.local A`)).toEqual(NXDOMAIN);
    expect(searched.records(`${web}.cluster.local A`)).toEqual(NXDOMAIN);
  });
});

describe("a headless service", () => {
  const serviceImport = anImport("prod/db");
  const ports = ["sql 5432/TCP", "admin 80/TCP"];
  const slices = [
    aSlice("east", "prod/db", ["10.1.0.10 host=db-0", "10.1.0.9", "10.1.0.3 unready"], ports),
    aSlice("west", "prod/db", ["10.2.0.1 host=db-0 unknown"], ["sql 5433/TCP"]),
    aSlice("west", "prod/db", ["fd02::1 host=db-0", "fd02::"], ["sql 5433/TCP"]),
  ];
  const world = aDnsWorld([{ serviceImport, slices }]);
  const db = `db.prod.svc.${Z}`;

  test("N5, R73: has the addresses of all endpoints that are ready, or may be", () => {
    expect(world.records(`${db} A`)).toEqual(
      ["10.1.0.10", "10.1.0.9", "10.2.0.1"].map((ip) => `${db} 5 A ${ip}`),
    );
    expect(world.records(`${db} AAAA`)).toEqual(
      ["fd02::", "fd02::1"].map((ip) => `${db} 5 AAAA ${ip}`),
    );
  });

  test("gives them by cluster and by number when order is to be stable", () => {
    expect(world.ask(`${db} A`)).toBe(
      ["NOERROR aa rd", `${db} 5 A 10.1.0.9`, `${db} 5 A 10.1.0.10`, `${db} 5 A 10.2.0.1`].join(
        "\n",
      ),
    );
    const wide = aDnsWorld([
      {
        serviceImport,
        slices: [aSlice("east", "prod/db", ["192.0.2.1", "10.1.0.1", "172.16.0.1"])],
      },
    ]);
    expect(wide.ask(`${db} A`).match(/(?<= A ).*/g)).toEqual([
      "10.1.0.1",
      "172.16.0.1",
      "192.0.2.1",
    ]);
    const shuffled = aDnsWorld([{ serviceImport, slices: slices.toReversed() }]);
    for (const type of ["A", "AAAA", "SRV"]) {
      expect(shuffled.ask(`${db} ${type}`)).toBe(world.ask(`${db} ${type}`));
    }
  });

  test("N6, R72: has a name for each endpoint: its hostname, else its address, and its cluster", () => {
    expect(world.records(`db-0.east.${db} A`)).toEqual([`db-0.east.${db} 5 A 10.1.0.10`]);
    expect(world.records(`db-0.west.${db} A`)).toEqual([`db-0.west.${db} 5 A 10.2.0.1`]);
    expect(world.records(`db-0.west.${db} AAAA`)).toEqual([`db-0.west.${db} 5 AAAA fd02::1`]);
    expect(world.records(`10-1-0-9.east.${db} A`)).toEqual([`10-1-0-9.east.${db} 5 A 10.1.0.9`]);
    expect(world.records(`fd02--0.west.${db} AAAA`)).toEqual([`fd02--0.west.${db} 5 AAAA fd02::`]);
    expect(world.records(`10-1-0-9.east.${db} AAAA`)).toEqual(NODATA);
    expect(world.records(`10-1-0-3.east.${db} A`)).toEqual(NXDOMAIN);
    expect(world.records(`10-1-0-9.west.${db} A`)).toEqual(NXDOMAIN);
    expect(world.records(`10-1-0-10.east.${db} A`)).toEqual(NXDOMAIN);
  });

  test("N9: has no name for a cluster, of any type", () => {
    for (const type of ["A", "AAAA", "SRV", "TXT", "ANY"]) {
      expect(world.records(`east.${db} ${type}`)).toEqual(NXDOMAIN);
    }
  });

  test("N7, R75: has an SRV record per endpoint and named port, with the port of the endpoint", () => {
    expect(world.ask(`_sql._tcp.${db} SRV`)).toBe(
      [
        "NOERROR aa rd",
        `_sql._tcp.${db} 5 SRV 0 20 5432 10-1-0-9.east.${db}`,
        `_sql._tcp.${db} 5 SRV 0 20 5432 db-0.east.${db}`,
        `_sql._tcp.${db} 5 SRV 0 20 5433 db-0.west.${db}`,
        `_sql._tcp.${db} 5 SRV 0 20 5433 fd02--0.west.${db}`,
        `additional: 10-1-0-9.east.${db} 5 A 10.1.0.9`,
        `additional: db-0.east.${db} 5 A 10.1.0.10`,
        `additional: db-0.west.${db} 5 A 10.2.0.1`,
        `additional: db-0.west.${db} 5 AAAA fd02::1`,
        `additional: fd02--0.west.${db} 5 AAAA fd02::`,
      ].join("\n"),
    );
    expect(world.records(`_admin._tcp.${db} SRV`)).toEqual([
      `_admin._tcp.${db} 5 SRV 0 50 80 10-1-0-9.east.${db}`,
      `_admin._tcp.${db} 5 SRV 0 50 80 db-0.east.${db}`,
    ]);
  });

  test("R76: asked for SRV at the bare name, gives each target and port once", () => {
    const both = ["sql 5432/TCP", "sql-udp 5432/UDP"];
    const dual = aDnsWorld([
      { serviceImport, slices: [aSlice("east", "prod/db", ["10.1.0.9"], both)] },
    ]);
    expect(dual.records(`${db} SRV`)).toEqual([`${db} 5 SRV 0 50 5432 10-1-0-9.east.${db}`]);
    const { answers, additionals } = world.exchange(renderQuery(db, "SRV"), true)!;
    expect([answers.length, additionals.length]).toEqual([6, 5]);
  });

  test("N7: ports of one name and two protocols are two ports", () => {
    const dual = aDnsWorld([
      {
        serviceImport,
        slices: [
          aSlice("east", "prod/db", ["10.1.0.1"], ["dns 53/UDP"]),
          aSlice("west", "prod/db", ["10.2.0.1"], ["dns 5353/TCP"]),
        ],
      },
    ]);
    expect(dual.records(`_dns._udp.${db} SRV`)).toEqual([
      `_dns._udp.${db} 5 SRV 0 100 53 10-1-0-1.east.${db}`,
    ]);
    expect(dual.records(`_dns._tcp.${db} SRV`)).toEqual([
      `_dns._tcp.${db} 5 SRV 0 100 5353 10-2-0-1.west.${db}`,
    ]);
  });

  test("like CoreDNS, has the ports of an endpoint at the endpoint's own name", () => {
    expect(world.records(`db-0.east.${db} SRV`)).toEqual([
      `db-0.east.${db} 5 SRV 0 50 5432 db-0.east.${db}`,
      `db-0.east.${db} 5 SRV 0 50 80 db-0.east.${db}`,
    ]);
  });

  test("R78: does not exist while no endpoint is ready", () => {
    const down = aDnsWorld([
      { serviceImport, slices: [aSlice("east", "prod/db", ["10.1.0.9 unready"])] },
    ]);
    for (const name of [db, `_http._tcp.${db}`, `10-1-0-9.east.${db}`]) {
      expect(down.ask(`${name} A`)).toBe(`NXDOMAIN aa rd\nauthority: ${SOA}`);
    }
  });

  test("has addresses but no SRV records when its ports have no numbers, or there are none", () => {
    for (const ports of [[], ["sql any/TCP"]]) {
      const open = aDnsWorld([
        { serviceImport, slices: [aSlice("east", "prod/db", ["10.1.0.9"], ports)] },
      ]);
      expect(open.records(`${db} A`)).toEqual([`${db} 5 A 10.1.0.9`]);
      expect(open.records(`${db} SRV`)).toEqual(NODATA);
    }
  });

  test("gives no weight below one, however many share a hundred", () => {
    const many = Array.from({ length: 150 }, (_, at) => `10.3.0.${at}`);
    const large = aDnsWorld([{ serviceImport, slices: [aSlice("east", "prod/db", many)] }]);
    const answer = large.records(`_http._tcp.${db} SRV`, { isTcp: true });
    expect(answer).toHaveLength(150);
    expect(answer[0]).toBe(`_http._tcp.${db} 5 SRV 0 1 8080 10-3-0-0.east.${db}`);
  });

  test("passes over what cannot be answered: no cluster, no address, names for addresses", () => {
    const [slice] = slices;
    const anonymous = { ...slice!, metadata: { labels: {} } };
    const named = { ...slice!, addressType: "FQDN" as const };
    const wrong = aSlice("east", "prod/db", ["10.1.0.999", "010.0.0.1"]);
    const world = aDnsWorld([{ serviceImport, slices: [anonymous, named, wrong] }]);
    expect(world.records(`${db} A`)).toEqual(NXDOMAIN);
  });

  test("R72: a hostname that is no label gives way to the address", () => {
    const odd = aDnsWorld([
      {
        serviceImport,
        slices: [aSlice("east", "prod/db", ["10.1.0.9 host=a.b", "10.1.0.8 host=Upper"])],
      },
    ]);
    expect(odd.records(`10-1-0-9.east.${db} A`)).toHaveLength(1);
    expect(odd.records(`a.b.east.${db} A`)).toEqual(NXDOMAIN);
    expect(odd.records(`upper.east.${db} A`)).toEqual([`upper.east.${db} 5 A 10.1.0.8`]);
  });

  test("R82: endpoints whose name would be too long are not pointed at, but keep their addresses", () => {
    const label = (letter: string) => letter.repeat(63);
    const key = `${label("n")}/${label("s")}`;
    const slices = [
      aSlice(label("c"), key, [`10.1.0.1 host=${label("h")}`]),
      aSlice("east", key, ["10.1.0.2"]),
    ];
    const long = aDnsWorld([{ serviceImport: anImport(key), slices }]);
    const name = `${label("s")}.${label("n")}.svc.${Z}`;
    expect(long.records(`${name} A`)).toHaveLength(2);
    expect(long.ask(`${name} SRV`)).toBe(
      [
        "NOERROR aa rd",
        `${name} 5 SRV 0 50 8080 10-1-0-2.east.${name}`,
        `additional: 10-1-0-2.east.${name} 5 A 10.1.0.2`,
      ].join("\n"),
    );
  });
});
