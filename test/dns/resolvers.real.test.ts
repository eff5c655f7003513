// Real resolvers against our server: dig, kdig and nslookup; glibc and musl with a pod's resolv.conf; Node's own dns module.
// All of it in namespaces of its own: port 53 and /etc/resolv.conf of the machine are not touched.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buildClients, openRoom, requireTool, type Room } from "./resolvers.ts";
import { CROWD, DB, OLD, WEB } from "./roomWorld.ts";

const TIMEOUT_MS = 180_000;
/** As a kubelet writes it; ours, or CoreDNS with a stub zone in front of ours. */
const podConf = (server: string): string =>
  `search shop.svc.cluster.local svc.cluster.local cluster.local\nnameserver ${server}\noptions ndots:5\n`;
const OURS = "127.0.0.1";
const STUB = "127.0.0.2";

let room: Room;
let clients: ReturnType<typeof buildClients>;

beforeAll(async () => {
  clients = buildClients();
  room = await openRoom();
}, TIMEOUT_MS);
afterAll(async () => {
  await room?.close();
  clients?.remove();
}, TIMEOUT_MS);

/** Standard output of a tool that must go well. */
async function run(file: string, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await room.run(file, args);
  expect(code, `${file} ${args.join(" ")} said: ${stdout}${stderr}`).toBe(0);
  return stdout;
}

const lines = (text: string): readonly string[] => text.split("\n").filter((line) => line !== "");

describe.each(["dig", "kdig"] as const)("%s", (tool) => {
  const ask = (...args: readonly string[]): Promise<string> => run(requireTool(tool), ...args);
  const at = `@${OURS}`;

  test("gets addresses, over UDP and TCP, IPv4 and IPv6", async () => {
    for (const way of [[at], [at, "+tcp"], ["@::1"], ["@::1", "+tcp"]]) {
      expect(lines(await ask(...way, "+short", WEB.name, "A"))).toEqual([WEB.v4]);
      expect(lines(await ask(...way, "+short", WEB.name, "AAAA"))).toEqual([WEB.v6]);
    }
  });

  test("is told with authority, whatever the case it asked in (R82)", async () => {
    const said = await ask(at, "wEb.sHop.SVC.clusterSET.local", "A");
    expect(said).toMatch(/flags: [^;]*\baa\b/iu);
    expect(said).toMatch(/\sIN\s+A\s+10\.201\.0\.7$/mu);
  });

  test("gets one SRV record for a port that is TCP and UDP, with the addresses beside it (R76)", async () => {
    const said = await ask(at, WEB.name, "SRV");
    const [answer = "", additional = ""] = said.split(/^;; ADDITIONAL.*$/mu);
    expect(answer.match(/\sIN\s+SRV\s/gu)?.length).toBeGreaterThanOrEqual(1);
    expect(answer).toMatch(/IN\s+SRV\s+0 \d+ 42 web\.shop\.svc\.clusterset\.local\.$/mu);
    expect(additional).toContain(WEB.v4);
    expect(additional).toContain(WEB.v6);
  });

  test("is denied what is not there with the zone's SOA, and told NODATA where a name has no such record", async () => {
    const denied = await ask(at, "nobody.shop.svc.clusterset.local", "A");
    expect(denied).toMatch(/status: NXDOMAIN/u);
    expect(denied).toMatch(/^clusterset\.local\.\s+5\s+IN\s+SOA\s/mu);
    const empty = await ask(at, OLD.name, "AAAA");
    expect(empty).toMatch(/status: NOERROR/u);
    expect(empty).toMatch(/^clusterset\.local\.\s+5\s+IN\s+SOA\s/mu);
  });

  test("takes TC as the sign to ask again over TCP, and then gets all", async () => {
    expect(lines(await ask(at, "+short", CROWD.name, "A"))).toHaveLength(CROWD.size);
    const cut = await ask(at, "+ignore", "+bufsize=512", CROWD.name, "A");
    expect(cut).toMatch(/flags:? [^;]*\btc\b/iu);
  });

  test("gets the pods of a headless service, each by its cluster", async () => {
    const pods = Object.entries(DB.pods);
    const all = lines(await ask(at, "+short", DB.name, "A")).toSorted();
    expect(all).toEqual(pods.map(([, address]) => address).toSorted());
    for (const [name, address] of pods) {
      expect(lines(await ask(at, "+short", name, "A"))).toEqual([address]);
    }
  });

  test("is refused a transfer, and other classes", async () => {
    const { stdout, stderr } = await room.run(requireTool(tool), [at, "clusterset.local", "AXFR"]);
    expect(`${stdout}${stderr}`).toMatch(/Transfer failed|REFUSED/u);
    const chaos = await room.run(requireTool(tool), [at, "version.bind", "CH", "TXT"]);
    expect(chaos.stdout).toMatch(/status: (?:REFUSED|NOTIMP)/u);
  });

  test("gets the same through CoreDNS's stub zone, and what is not ours through ours", async () => {
    expect(lines(await ask(`@${STUB}`, "+short", WEB.name, "A"))).toEqual([WEB.v4]);
    expect(await ask(at, "nobody.shop.svc.cluster.local", "A")).toMatch(/status: NXDOMAIN/u);
  });
});

test("dig gets its question back letter by letter (0x20)", async () => {
  const said = await run(requireTool("dig"), `@${OURS}`, "wEb.sHop.SVC.clusterSET.local", "A");
  expect(said).toMatch(/^;wEb\.sHop\.SVC\.clusterSET\.local\.\s+IN\s+A$/mu);
});

test("dig is told BADVERS when it speaks a version of EDNS that does not exist", async () => {
  const said = await run(requireTool("dig"), `@${OURS}`, "+edns=1", "+noednsneg", WEB.name, "A");
  expect(said).toMatch(/status: BADVERS/u);
});

describe("nslookup of BIND", () => {
  const ask = (...args: readonly string[]): Promise<string> =>
    run(requireTool("nslookup"), ...args, OURS);

  test("finds both families", async () => {
    const said = await ask(WEB.name);
    expect(said).toContain(`Address: ${WEB.v4}`);
    expect(said).toContain(`Address: ${WEB.v6}`);
  });

  test("prints SRV records and nothing that looks like more of them, because answers are authoritative (R77)", async () => {
    const said = await ask("-type=SRV", WEB.name);
    expect(said.match(/service = \d+ \d+ 42 web\.shop\.svc\.clusterset\.local\./gu)).toHaveLength(
      1,
    );
    expect(said).not.toContain("internet address");
    const all = await ask("-type=SRV", DB.name);
    expect(all.match(/service = \d+ \d+ 5432 /gu)).toHaveLength(3);
    expect(all).not.toContain("internet address");
  });

  test("says NXDOMAIN for what must not exist (N9)", async () => {
    const { code, stdout } = await room.run(requireTool("nslookup"), [`east.${DB.name}`, OURS]);
    expect(code).toBe(1);
    expect(stdout).toContain("NXDOMAIN");
  });
});

describe.each(["glibc", "musl"] as const)("getaddrinfo of %s", (library) => {
  const servers = [
    ["ours", OURS],
    ["CoreDNS with ours as a stub zone", STUB],
  ] as const;
  const resolve = async (
    name: string,
    family: "0" | "4" | "6",
    conf: string,
  ): Promise<{ code: number; found: readonly string[] }> => {
    const { code, stdout } = await room.run(clients[library], [name, family], conf);
    return { code, found: lines(stdout).toSorted() };
  };

  describe.each(servers)("asking %s, with a pod's search path and ndots:5 (R84)", (_, server) => {
    const conf = podConf(server);

    test("finds the full name, which has too few dots to be tried first", async () => {
      expect((await resolve(WEB.name, "0", conf)).found).toEqual([WEB.v4, WEB.v6]);
      expect((await resolve(WEB.name, "4", conf)).found).toEqual([WEB.v4]);
      expect((await resolve(WEB.name, "6", conf)).found).toEqual([WEB.v6]);
    });

    test("finds it with a dot at the end, which skips the search", async () => {
      expect((await resolve(`${WEB.name}.`, "0", conf)).found).toEqual([WEB.v4, WEB.v6]);
    });

    test("is content with IPv4 where there is no IPv6", async () => {
      expect((await resolve(OLD.name, "0", conf)).found).toEqual([OLD.v4]);
    });

    test("finds every pod of a headless service, and each by its own name", async () => {
      const pods = Object.entries(DB.pods);
      const all = pods.map(([, address]) => address).toSorted();
      expect((await resolve(DB.name, "4", conf)).found).toEqual(all);
      for (const [name, address] of pods) {
        expect((await resolve(name, "0", conf)).found).toEqual([address]);
      }
    });

    test("learns that a name does not exist, and not that something failed", async () => {
      const { code, found } = await resolve("nobody.shop.svc.clusterset.local", "0", conf);
      expect([code, ...found]).toEqual([1, "EAI_NONAME"]);
    });
  });

  // musl before 1.2.4 knows no TCP and takes the part that came.
  const least = library === "glibc" ? CROWD.size : 10;

  test("finds more than fits into a datagram, or as much of it as the library takes", async () => {
    const { found } = await resolve(CROWD.name, "4", podConf(OURS));
    expect(found.every((address) => address.startsWith("10.8.0."))).toBe(true);
    expect(found.length).toBeGreaterThanOrEqual(least);
  });
});

describe("Node's dns module", () => {
  /** Runs in the room: prints what the expression resolves to. */
  const evaluate = async (expression: string): Promise<unknown> => {
    const script = `const dns = require("node:dns").promises; const resolver = new dns.Resolver();
      resolver.setServers(["${OURS}"]);
      (${expression}).then((value) => console.log(JSON.stringify(value)), (error) => console.log(JSON.stringify(error.code)));`;
    const { stdout } = await room.run(process.execPath, ["-e", script], podConf(OURS));
    return JSON.parse(stdout);
  };

  test("resolves addresses, ports and the schema's version", async () => {
    expect(await evaluate(`resolver.resolve4("${WEB.name}")`)).toEqual([WEB.v4]);
    expect(await evaluate(`resolver.resolve6("${WEB.name}")`)).toEqual([WEB.v6]);
    expect(await evaluate(`resolver.resolveSrv("_tcp._tcp.${WEB.name}")`)).toMatchObject([
      { name: WEB.name, port: 42, priority: 0 },
    ]);
    expect(await evaluate(`resolver.resolveTxt("dns-version.clusterset.local")`)).toEqual([
      ["1.0.0"],
    ]);
    expect(await evaluate(`resolver.resolveSoa("clusterset.local")`)).toMatchObject({
      nsname: "ns.dns.clusterset.local",
      minttl: 5,
    });
    expect(await evaluate(`resolver.resolveNs("clusterset.local")`)).toEqual([
      "ns.dns.clusterset.local",
    ]);
  });

  test("gets a large answer whole", async () => {
    expect(await evaluate(`resolver.resolve4("${CROWD.name}")`)).toHaveLength(CROWD.size);
  });

  test("tells what is not there from what has no such record", async () => {
    expect(await evaluate(`resolver.resolve4("nobody.shop.svc.clusterset.local")`)).toBe(
      "ENOTFOUND",
    );
    expect(await evaluate(`resolver.resolve6("${OLD.name}")`)).toBe("ENODATA");
  });

  test("looks up as programs do, by the C library and its search path", async () => {
    const found = (await evaluate(`dns.lookup("${WEB.name}", { all: true })`)) as {
      address: string;
    }[];
    expect(found.map(({ address }) => address).toSorted()).toEqual([WEB.v4, WEB.v6]);
  });
});

test("a tool that is missing is named with the package that has it", () => {
  const { PATH } = process.env;
  try {
    process.env["PATH"] = "/nowhere";
    expect(() => requireTool("kdig")).toThrow(
      "The tests with real resolvers need kdig: install the Debian package knot-dnsutils.",
    );
  } finally {
    process.env["PATH"] = PATH;
  }
});
