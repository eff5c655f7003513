import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { aDnsWorld, anImport, aSlice, renderQuery } from "../../test/dnsWorld.ts";

const Z = "clusterset.local";
const web = `web.prod.svc.${Z}`;
const db = `db.prod.svc.${Z}`;
const hundred = Array.from({ length: 100 }, (_, at) => `10.1.0.${at}`);
const services = [
  { serviceImport: anImport("prod/web", { ips: ["10.9.0.1"] }), slices: [] },
  { serviceImport: anImport("prod/db"), slices: [aSlice("east", "prod/db", hundred)] },
  {
    serviceImport: anImport("prod/trio"),
    slices: [aSlice("east", "prod/trio", ["10.1.0.1", "10.1.0.2", "10.1.0.3"])],
  },
];
const world = aDnsWorld(services);
const SOA = `${Z} 5 SOA ns.dns.${Z} hostmaster.${Z} 7 7200 1800 86400 5`;

describe("what is not for us", () => {
  test("another zone is refused", () => {
    for (const name of ["example.org", "local", `x${Z}`, ".", "web.prod.svc.cluster.local"]) {
      expect(world.ask(`${name} A`)).toBe("REFUSED rd");
      expect(world.answerer.lastZone).toBe(-1);
    }
  });

  test("another zone is left to the caller where there is somebody to forward to", () => {
    const forwarding = aDnsWorld(services, { limits: { forwards: true } });
    const out = Buffer.alloc(512);
    const query = renderQuery("example.org", "A");
    expect(forwarding.answerer.answer(query, query.length, out, false)).toBe(-1);
    expect(out.every((byte) => byte === 0)).toBe(true);
    expect(forwarding.records(`${web} A`)).toEqual([`${web} 5 A 10.9.0.1`]);
  });

  test("other classes and zone transfers are refused", () => {
    expect(world.ask(`${web} A`, { class: 3 })).toBe("REFUSED rd");
    expect(world.ask(`${Z} AXFR`, { isTcp: true })).toBe("REFUSED rd");
    expect(world.ask(`${Z} IXFR`)).toBe("REFUSED rd");
  });

  test("before the first sync, our own zones fail instead of denying what may exist", () => {
    const early = aDnsWorld(services, { isSynced: false });
    for (const name of [Z, web, `nothing.${Z}`]) expect(early.ask(`${name} A`)).toBe("SERVFAIL rd");
    expect(early.ask("example.org A")).toBe("REFUSED rd");
    early.table.markSynced();
    expect(early.records(`${web} A`)).toEqual([`${web} 5 A 10.9.0.1`]);
  });
});

describe("several zones", () => {
  const zones = [Z, "svc.example.org", `eu.${Z}`];
  const many = aDnsWorld(services, { zone: { zones } });

  test.each(zones)("%s has all the names", (zone) => {
    expect(many.records(`web.prod.svc.${zone} A`)).toEqual([`web.prod.svc.${zone} 5 A 10.9.0.1`]);
    expect(many.answerer.lastZone).toBe(zones.indexOf(zone));
    expect(many.ask(`x.${zone} A`)).toContain(
      `authority: ${zone} 5 SOA ns.dns.${zone} hostmaster.${zone} `,
    );
    expect(many.ask(`web.prod.svc.${zone} SRV`)).toContain(
      `SRV 0 100 80 web.prod.svc.${zone}\nadditional: web.prod.svc.${zone} 5 A 10.9.0.1`,
    );
  });
});

describe("the header", () => {
  test("id, opcode and RD come back; the other flags, which mean nothing in a query, do not", () => {
    const packet = world.exchange(renderQuery(web, "A", { flags: 0x07b0 }));
    expect(packet).toMatchObject({ id: 0x1234, flag_rd: true, flag_ad: false, flag_cd: false });
    expect(packet).toMatchObject({ flag_tc: false, flag_ra: false });
    expect(world.ask("example.org A", { flags: 0x0700 })).toBe("REFUSED rd");
    expect(world.ask(`${web} A`, { flags: 0 })).toBe(`NOERROR aa\n${web} 5 A 10.9.0.1`);
  });

  test("R77: what we say of our own zones is authoritative", () => {
    for (const name of [web, db, Z, `x.${Z}`]) expect(world.ask(`${name} A`)).toMatch(/^\w+ aa/);
  });

  test("opcodes other than QUERY are not implemented, and not read", () => {
    for (const opcode of [1, 2, 4, 5, 15]) {
      const packet = world.exchange(renderQuery(web, "A", { flags: opcode << 11 }));
      expect(packet).toMatchObject({ rcode: "NOTIMP", questions: [] });
    }
  });

  test("an answer is not answered", () => {
    expect(world.exchange(renderQuery(web, "A", { flags: 0x8100 }))).toBeUndefined();
  });

  test("counters learn zone, type and rcode of each", () => {
    const { answerer } = world;
    world.ask(`${web} SRV`);
    expect(answerer).toMatchObject({ lastZone: 0, lastType: 33, lastRcode: 0 });
    world.ask(`x.${Z} A`);
    expect(answerer).toMatchObject({ lastZone: 0, lastType: 1, lastRcode: 3 });
    world.ask("example.org A");
    expect(answerer).toMatchObject({ lastZone: -1, lastType: 1, lastRcode: 5 });
    world.exchange(Buffer.alloc(20));
    expect(answerer).toMatchObject({ lastZone: -1, lastType: 0, lastRcode: 1 });
  });
});

describe("malformed messages", () => {
  const good = renderQuery(web, "A", { edns: {} });
  const withBytes = (...changes: readonly (readonly [number, number])[]) => {
    const query = Buffer.from(good);
    for (const [at, byte] of changes) query[at] = byte;
    return query;
  };

  test("less than a header is not answered", () => {
    for (let length = 0; length < 12; length += 1) {
      expect(world.exchange(good.subarray(0, length))).toBeUndefined();
    }
  });

  test("a message that ends too early is a format error, wherever that is", () => {
    for (let length = 12; length < good.length; length += 1) {
      expect(world.exchange(good.subarray(0, length))?.rcode).toBe("FORMERR");
    }
  });

  test.each([
    ["no question", withBytes([5, 0])],
    ["two questions", withBytes([5, 2])],
    ["a name that points at itself", withBytes([12, 0xc0], [13, 12])],
    ["a name that points into the header", withBytes([12, 0xc0], [13, 0])],
    ["a label of an unknown kind", withBytes([12, 0x40])],
    [
      "a label of 64 bytes",
      Buffer.concat([
        good.subarray(0, 11),
        Buffer.from([0, 64]),
        Buffer.alloc(64, "a"),
        Buffer.from([0, 0, 1, 0, 1]),
      ]),
    ],
    ["more records than there are", withBytes([11, 2])],
    ["records in other sections that are not there", withBytes([9, 9])],
    [
      "an OPT record that is not of the root",
      Buffer.concat([good.subarray(0, -11), Buffer.from([1, 97]), good.subarray(-11)]),
    ],
    ["two OPT records", Buffer.concat([withBytes([11, 2]), good.subarray(-11)])],
    ["a record that says it is longer than the message", withBytes([good.length - 1, 1])],
  ])("%s is a format error", (_, query) => {
    expect(world.exchange(query)?.rcode).toBe("FORMERR");
  });

  test("R82: a name of 255 bytes is read, one of 256 is a format error", () => {
    const name = (last: number) =>
      `${"a".repeat(63)}.${"b".repeat(63)}.${"c".repeat(63)}.${"d".repeat(last)}`;
    expect(world.ask(`${name(61)} A`)).toBe("REFUSED rd");
    const long = [63, 63, 63, 62].map((size) => Buffer.from([size, ...Buffer.alloc(size, "a")]));
    const tail = Buffer.from([0, 0, 1, 0, 1]);
    const query = Buffer.concat([renderQuery(".", "A").subarray(0, 12), ...long, tail]);
    expect(world.exchange(query)?.rcode).toBe("FORMERR");
  });

  test("any bytes are answered within the limit, or not at all", () => {
    const out = Buffer.alloc(65_535);
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 600 }),
      fc.uint8Array({ maxLength: 600 }).map((tail) => Buffer.concat([good.subarray(0, 12), tail])),
      fc.uint8Array({ maxLength: 600 }).map((tail) => Buffer.concat([good, tail])),
    );
    fc.assert(
      fc.property(bytes, fc.boolean(), (query, isTcp) => {
        const length = world.answerer.answer(query, query.length, out, isTcp);
        expect(length === 0 || length >= 12).toBe(true);
        expect(length).toBeLessThanOrEqual(isTcp ? 65_535 : 1232);
      }),
    );
  });

  test("a record besides OPT, and bytes behind the message, do no harm", () => {
    const tsig = Buffer.from([0xc0, 12, 0, 250, 0, 255, 0, 0, 0, 0, 0, 2, 9, 9]);
    expect(
      world.exchange(Buffer.concat([withBytes([11, 2]), tsig, Buffer.alloc(40)])),
    ).toMatchObject({
      rcode: "NOERROR",
      answers: [{ data: "10.9.0.1" }],
    });
  });
});

describe("EDNS", () => {
  test("is answered when it is spoken, and only then", () => {
    expect(world.ask(`${web} A`, { edns: {} })).toBe(
      `NOERROR aa rd\n${web} 5 A 10.9.0.1\nadditional: OPT 1232 version 0 rcode 0`,
    );
    expect(world.ask(`${web} A`)).not.toContain("OPT");
    for (const question of [`x.${Z} A`, "example.org A"]) {
      expect(world.ask(question, { edns: {} })).toMatch(
        /\nadditional: OPT 1232 version 0 rcode 0$/,
      );
    }
  });

  test("an OPT record where none belongs is passed over", () => {
    const query = renderQuery(web, "A", { edns: {} });
    query.set([0, 1, 0, 0, 0, 0], 6);
    expect(world.exchange(query)).toMatchObject({ rcode: "NOERROR", additionals: [] });
  });

  test("a version that we do not know is BADVERS, whatever is asked", () => {
    for (const question of [`${web} A`, `x.${Z} A`, "example.org A"]) {
      expect(world.ask(question, { edns: { version: 1 } })).toBe(
        "NOERROR rd\nadditional: OPT 1232 version 0 rcode 1",
      );
      expect(world.answerer.lastRcode).toBe(16);
    }
  });

  test("DNSSEC-OK comes back and changes nothing; options are passed over", () => {
    expect(world.ask(`${web} A`, { edns: { isDo: true } })).toBe(
      `NOERROR aa rd\n${web} 5 A 10.9.0.1\nadditional: OPT 1232 version 0 rcode 0 do`,
    );
    const cookie = Buffer.from([0, 10, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8]);
    const query = Buffer.concat([renderQuery(web, "A", { edns: {} }), cookie]);
    query[query.length - 13] = cookie.length;
    expect(world.exchange(query)).toMatchObject({
      rcode: "NOERROR",
      additionals: [{ options: [] }],
    });
  });
});

describe("answers that do not fit", () => {
  const sizeOf = (size: number | undefined, type = "A", isTcp = false) => {
    const query = renderQuery(db, type, size === undefined ? {} : { edns: { size } });
    const out = Buffer.alloc(65_535);
    return world.answerer.answer(query, query.length, out, isTcp);
  };

  test("are cut at a whole record and say so", () => {
    const answer = world.ask(`${db} A`);
    expect(answer).toMatch(/^NOERROR aa tc rd\n/);
    // 12 + 30 + 4 bytes of header and question, 16 for each record.
    expect(answer.split("\n")).toHaveLength(1 + Math.floor((512 - 46) / 16));
  });

  test.each([
    [undefined, 512],
    [0, 512],
    [600, 600],
    [1232, 1232],
    [4096, 1232],
    [65_535, 1232],
  ])("a client that takes %s bytes gets at most %s over UDP", (size, limit) => {
    for (const type of ["A", "SRV"]) {
      expect(sizeOf(size, type)).toBeLessThanOrEqual(limit);
      expect(sizeOf(size, type)).toBeGreaterThan(limit - 100);
    }
  });

  test("are not cut while the last byte fits, and lose one record where it does not", () => {
    // Header and question, 34 records and OPT.
    expect([sizeOf(46 + 34 * 16 + 11), sizeOf(46 + 34 * 16 + 10)]).toEqual([601, 585]);
    const thirty = aDnsWorld([
      {
        serviceImport: anImport("prod/db"),
        slices: [aSlice("e", "prod/db", hundred.slice(0, 30))],
      },
    ]);
    const lines = (size: number) => thirty.ask(`${db} A`, { edns: { size } }).split("\n");
    const whole = 46 + 30 * 16 + 11;
    expect([lines(whole)[0], lines(whole).length]).toEqual(["NOERROR aa rd", 32]);
    expect([lines(whole - 1)[0], lines(whole - 1).length]).toEqual(["NOERROR aa tc rd", 31]);
  });

  test("are whole over TCP", () => {
    for (const type of ["A", "SRV"]) {
      const packet = world.exchange(renderQuery(db, type, { edns: {} }), true);
      expect(packet).toMatchObject({ flag_tc: false });
      expect(packet?.answers).toHaveLength(100);
      expect(packet?.additionals).toHaveLength(type === "SRV" ? 101 : 1);
    }
  });

  test("lose the addresses of targets before they lose a record, and do not call that a loss", () => {
    const trio = `trio.prod.svc.${Z}`;
    expect(world.ask(`${trio} SRV`)).toMatch(
      /^NOERROR aa rd(\n[^:]* SRV [^:]*){3}(\nadditional: .*){3}$/,
    );
    const packet = world.exchange(renderQuery(db, "SRV", { edns: { size: 1232 } }));
    expect(packet?.additionals).toHaveLength(1);
    const six = Array.from({ length: 6 }, (_, at) => `10.1.0.${at}`);
    const tight = aDnsWorld([
      { serviceImport: anImport("prod/db"), slices: [aSlice("east", "prod/db", six)] },
    ]);
    const answer = tight.ask(`${db} SRV`);
    expect(answer).toMatch(/^NOERROR aa rd\n/);
    expect(answer.match(/ SRV /g)).toHaveLength(6);
    expect(answer).not.toContain("additional");
  });

  test("are as large as a message can be when even TCP is too small, and say so", () => {
    const thousands = Array.from({ length: 5000 }, (_, at) => `10.1.${at >> 8}.${at & 255}`);
    const vast = aDnsWorld(
      [{ serviceImport: anImport("prod/db"), slices: [aSlice("east", "prod/db", thousands)] }],
      { limits: { order: "rotate" } },
    );
    for (let time = 0; time < 2; time += 1) {
      const [status, ...records] = vast.ask(`${db} A`, { isTcp: true }).split("\n");
      expect(status).toBe("NOERROR aa tc rd");
      expect(records.every((one) => one.startsWith(`${db} 5 A 10.1.`))).toBe(true);
      expect(new Set(records).size).toBe(Math.floor((65_535 - 46) / 16));
    }
  });

  test("never exceed what a small limit allows, which is never below 512", () => {
    const small = aDnsWorld(services, { limits: { maxUdpSize: 100 } });
    const out = Buffer.alloc(65_535);
    const query = renderQuery(db, "A", { edns: { size: 4096 } });
    expect(small.answerer.answer(query, query.length, out, false)).toBeLessThanOrEqual(512);
    expect(small.answerer.answer(query, query.length, Buffer.alloc(511), false)).toBe(0);
  });
});

describe("order", () => {
  const first = (packets: ReturnType<typeof aDnsWorld>, name: string, type = "A") =>
    packets.exchange(renderQuery(name, type))?.answers[0]?.data;

  test("stable: the same record comes first each time", () => {
    const firsts = Array.from({ length: 20 }, () => first(world, `trio.prod.svc.${Z}`));
    expect(new Set(firsts)).toEqual(new Set(["10.1.0.1"]));
  });

  test("rotating: each comes first as often as any other, also for every second query, and none is lost", () => {
    const rotating = aDnsWorld(services, { limits: { order: "rotate" } });
    const counts = new Map<unknown, number>();
    for (let time = 0; time < 600; time += 1) {
      const packet = rotating.exchange(renderQuery(`trio.prod.svc.${Z}`, "A"));
      expect(packet?.answers.map(({ data }) => data).sort()).toEqual([
        "10.1.0.1",
        "10.1.0.2",
        "10.1.0.3",
      ]);
      const data = packet?.answers[0]?.data;
      counts.set(data, (counts.get(data) ?? 0) + 1);
      first(rotating, `trio.prod.svc.${Z}`, "SRV");
    }
    expect([...counts.values()].every((count) => count > 190 && count < 210)).toBe(true);
  });

  test("rotating: what is cut off changes too, so that every endpoint is heard of over UDP", () => {
    const rotating = aDnsWorld(services, { limits: { order: "rotate" } });
    const seen = new Set<unknown>();
    for (let time = 0; time < 100; time += 1) {
      for (const { data } of rotating.exchange(renderQuery(db, "A"))?.answers ?? []) seen.add(data);
    }
    expect(seen.size).toBe(100);
  });

  test("rotating: SRV records and large answers stay what they are", () => {
    const rotating = aDnsWorld(services, { limits: { order: "rotate" } });
    const whole = world.records(`${db} SRV`, { isTcp: true });
    for (let time = 0; time < 20; time += 1) {
      expect(rotating.records(`${db} SRV`, { isTcp: true })).toEqual(whole);
    }
  });
});

test("ANY is answered with a single record that says why (RFC 8482), where there is anything", () => {
  expect(world.ask(`${web} ANY`)).toBe(`NOERROR aa rd\n${web} 3600 HINFO RFC8482 `);
  expect(world.ask(`prod.svc.${Z} ANY`)).toBe(`NOERROR aa rd\nauthority: ${SOA}`);
  expect(world.ask(`x.${Z} ANY`)).toBe(`NXDOMAIN aa rd\nauthority: ${SOA}`);
});
