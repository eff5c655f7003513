// `isthmus demo` as a newcomer meets it: a real process that tells its story, what is on the screen beside what the API servers,
// the DNS server and the virtual IPs say, and what is left when it was ended in the middle.

import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ENDPOINT_SLICE } from "../src/api/builtin.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT } from "../src/api/mcs.ts";
import { SERVICE_NAME_LABEL, SOURCE_CLUSTER_LABEL } from "../src/api/names.ts";
import type { CliContext } from "../src/cli/context.ts";
import { runDemo } from "../src/cli/demo.ts";
import type { DashboardState } from "../src/dashboard/state.ts";
import type { KubeClient } from "../src/kube/client.ts";
import { systemClock, systemRandom } from "../src/kube/clock.ts";
import { bundleCommand, type CommandProcess } from "./commandProcess.ts";
import {
  canConnect,
  connectTo,
  type Place,
  readCounts,
  readDashboard,
  readDns,
  readExplain,
  readServer,
  readUrl,
  readVirtualIp,
  resolve,
} from "./demoScreen.ts";
import { temporaryDirectory } from "./loopback.ts";

const isthmus = bundleCommand();

const CHECKOUT = { namespace: "shop", name: "checkout" };
const NAME = "checkout.shop.svc.clusterset.local";
const TITLES = [
  "1. Three clusters",
  '2. east has a Service "checkout", and exports it',
  "3. west exports a Service of the same name",
  "4. west moves its Service to port",
  "5. west moves it back",
  "6. west loses its power",
  "7. west has its power back",
  "8. east takes its export back",
];

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}

async function fetchText({ host, port }: Place): Promise<string> {
  const response = await fetch(`http://${host}:${port}`, { headers: { connection: "close" } });
  return response.text();
}

/** Endpoints of the shop by the cluster that they are of. */
async function listEndpoints(client: KubeClient): Promise<Readonly<Record<string, string[]>>> {
  const labelSelector = `${SERVICE_NAME_LABEL}=checkout`;
  const { items } = await client.list(ENDPOINT_SLICE, { namespace: "shop", labelSelector });
  return Object.fromEntries(
    items.map(({ metadata, endpoints }) => [
      metadata.labels?.[SOURCE_CLUSTER_LABEL] ?? "",
      endpoints
        .filter(({ conditions }) => conditions?.ready !== false)
        .flatMap((one) => one.addresses),
    ]),
  );
}

test("with --script the demo tells the whole story without waiting, ends by itself and leaves nothing", async () => {
  const temp = temporaryDirectory();
  const run = isthmus(["demo", "--script"], temp);
  expect(await run.exit).toBe(0);
  const screen = run.output();
  const places = TITLES.map((title) => screen.indexOf(title));
  expect(places).not.toContain(-1);
  expect(places).toEqual(places.toSorted((a, b) => a - b));
  expect(screen).toMatch(/First "answered from another cluster": \d+\.\d s after the demo started/);
  const shown = screen.slice(screen.indexOf("has followed it all, and shows:"));
  expect(shown).toContain("clusters: east live, edge live, west live");
  expect(shown).toContain("shop/checkout well, exported by west, used in east, edge and west");
  for (const kind of ["exported 2", "conflict", "resolved", "lost", "failover", "returned"]) {
    expect(shown).toContain(kind);
  }
  expect(screen).toContain("That is all.");
  expect(screen).not.toContain("Press Enter");
  expect(screen).not.toContain("\u001B");
  expect(readdirSync(temp)).toEqual([]);
});

test("what the demo leaves running is what is on the screen, and can be tried as it says", async () => {
  const temp = temporaryDirectory();
  const run = isthmus(["demo", "--stay"], temp);
  await run.prints("Ctrl-C ends everything.");
  const screen = run.output();
  for (const cluster of ["east", "west", "edge"]) {
    const client = connectTo(screen, cluster);
    const serviceImport = await client.get(SERVICE_IMPORT, CHECKOUT);
    expect(serviceImport?.spec?.ips).toEqual([readVirtualIp(screen, cluster)]);
    expect(Object.keys(await listEndpoints(client))).toEqual(["west"]);
  }
  expect(await resolve(readDns(screen), NAME)).toBe(readVirtualIp(screen, "edge"));
  expect(await fetchText(readUrl(screen))).toMatch(/^checkout-[12] in west\n$/);
  expect(readCounts(screen)).toEqual({ west: 30 });
  const explain = isthmus(readExplain(screen), temp);
  expect(await explain.exit).toBe(0);
  expect(explain.output()).toContain(readVirtualIp(screen, "edge"));

  const page = await fetch(readDashboard(screen));
  expect(page.headers.get("content-type")).toContain("text/html");
  const told = await fetch(new URL("/api/state", readDashboard(screen)));
  const { services, clusters, events } = (await told.json()) as DashboardState;
  expect(clusters.map(({ id }) => id)).toEqual(["east", "edge", "west"]);
  const [checkout] = services;
  for (const { cluster, ips } of checkout!.parts) {
    expect(ips).toEqual([readVirtualIp(screen, cluster)]);
  }
  expect(events.map(({ kind }) => kind)).toContain("failover");

  run.process.kill("SIGINT");
  expect(await run.exit).toBe(0);
  expect(run.output()).toContain("Everything is cleaned up.");
  await expectNothingLeft(run, temp);
});

test("with one loopback address, too, each step shows what the API servers have, until un-exported in the end", async () => {
  const lines: string[] = [];
  const problems: string[] = [];
  const context: CliContext = {
    out: (line) => lines.push(line),
    error: (line) => problems.push(line),
    input: () => Promise.resolve(""),
    color: false,
    interactive: true,
    env: {},
    home: tmpdir(),
    clock: systemClock,
    random: systemRandom,
    signal: new AbortController().signal,
  };
  const screen = (): string => lines.join("\n");
  const endpoints = (): ReturnType<typeof listEndpoints> =>
    listEndpoints(connectTo(screen(), "edge"));
  const conflict = async (cluster: string) => {
    const serviceExport = await connectTo(screen(), cluster).get(SERVICE_EXPORT, CHECKOUT);
    return serviceExport?.status?.conditions?.find(({ type }) => type === "Conflict");
  };
  const checks: readonly (() => Promise<void>)[] = [
    async function threeClusters() {
      for (const cluster of ["east", "west", "edge"]) {
        expect(await canConnect(readServer(screen(), cluster))).toBe(true);
        expect(await connectTo(screen(), cluster).get(SERVICE_IMPORT, CHECKOUT)).toBeUndefined();
      }
      expect(screen()).toContain("no loopback address but 127.0.0.1");
      expect((await fetch(readDashboard(screen()))).status).toBe(200);
    },
    async function exportedFromEast() {
      for (const cluster of ["east", "west", "edge"]) {
        const serviceImport = await connectTo(screen(), cluster).get(SERVICE_IMPORT, CHECKOUT);
        expect(serviceImport?.spec?.ips).toEqual([readVirtualIp(screen(), cluster)]);
      }
      expect(await resolve(readDns(screen()), NAME)).toBe(readVirtualIp(screen(), "edge"));
      expect(readUrl(screen()).host).toBe("127.0.0.1");
      expect(await fetchText(readUrl(screen()))).toMatch(/^checkout-[12] in east\n$/);
      expect(Object.keys(await endpoints())).toEqual(["east"]);
    },
    async function exportedFromWest() {
      const { east = [], west = [] } = await endpoints();
      for (const address of [...east, ...west]) expect(screen()).toContain(address);
      const counts = readCounts(screen());
      expect(Object.keys(counts)).toEqual(["east", "west"]);
      expect(sum(counts)).toBe(30);
    },
    async function conflictInWords() {
      for (const cluster of ["east", "west"]) {
        const { status, reason, message = "" } = (await conflict(cluster)) ?? {};
        expect(screen()).toContain(`Conflict=${status} ${reason}`);
        for (const line of message.split("\n")) expect(screen()).toContain(line);
        expect(status).toBe("True");
      }
      expect(readCounts(screen())).toEqual({ east: 30 });
    },
    async function conflictOver() {
      expect((await conflict("west"))?.status).toBe("False");
      expect(Object.keys(readCounts(screen()))).toEqual(["east", "west"]);
    },
    async function westIsLost() {
      const { west = [] } = await endpoints();
      expect(west).toEqual([]);
      const failed = screen().matchAll(/^ +second \d+: .*failed (\d+)/gm);
      const total = [...failed].reduce((all, [, count]) => all + Number(count), 0);
      expect(screen()).toContain(`${total} requests failed until then`);
      expect(total).toBeGreaterThan(0);
      expect(readCounts(screen())).toEqual({ east: 30 });
      await expect(connectTo(screen(), "west").get(SERVICE_EXPORT, CHECKOUT)).rejects.toThrow(
        "the connection was cut",
      );
    },
    async function westIsBack() {
      expect(Object.keys(await endpoints())).toEqual(["east", "west"]);
      expect(Object.keys(readCounts(screen()))).toEqual(["east", "west"]);
      expect(await connectTo(screen(), "west").get(SERVICE_EXPORT, CHECKOUT)).toBeDefined();
    },
  ];
  const ahead = [...checks];
  await runDemo(context, {
    stays: false,
    hasExplain: false,
    isWhole: false,
    goOn: async () => ahead.shift()!(),
  });
  expect(ahead).toEqual([]);
  expect(readCounts(screen())).toEqual({ west: 30 });
  expect(problems).toEqual([]);
  await expect(canConnect(readServer(screen(), "edge"))).resolves.toBe(false);
  expect(screen()).toContain("clusters: east live, edge live, west live");
});

async function expectNothingLeft(run: CommandProcess, temp: string): Promise<void> {
  await expectNoPort(run.output());
  expectNoProcess(run);
  expect(readdirSync(temp)).toEqual([]);
}

async function expectNoPort(screen: string): Promise<void> {
  const places = ["east", "west", "edge"].map((cluster) => readServer(screen, cluster));
  if (screen.includes("curl ")) places.push(readUrl(screen), readDns(screen));
  for (const place of places)
    expect({ place, is: await canConnect(place) }).toEqual({ place, is: false });
}

/** It was started in a group of its own. */
function expectNoProcess(run: CommandProcess): void {
  expect(() => process.kill(-run.process.pid!, 0)).toThrow(/ESRCH/);
}

test.each([
  ["SIGTERM", "while its clusters start", "Isthmus: one Service"],
  ["SIGTERM", "while two clusters serve", "3. west exports"],
  ["SIGINT", "while a cluster has no power", "second 1:"],
] as const)(
  "a demo that gets %s %s leaves no process, no port and no file",
  async (signal, _, text) => {
    const temp = temporaryDirectory();
    const run = isthmus(["demo", "--stay"], temp);
    await run.prints(text);
    run.process.kill(signal);
    expect(await run.exit).toBe(0);
    expect(run.output()).not.toContain("Ctrl-C ends everything.");
    expectNoProcess(run);
    if (run.output().includes("https://")) await expectNoPort(run.output());
    expect(readdirSync(temp)).toEqual([]);
  },
);

test("a demo that is killed leaves no process and no port, and its folder goes when the next one starts", async () => {
  const temp = temporaryDirectory();
  const run = isthmus(["demo", "--stay"], temp);
  await run.prints("second 1:");
  run.process.kill("SIGKILL");
  await run.exit;
  expectNoProcess(run);
  await expectNoPort(run.output());
  const left = readdirSync(temp);
  expect(left).toEqual([`isthmus-demo-${run.process.pid}-${left[0]?.split("-").at(-1)}`]);
  expect(readdirSync(join(temp, left[0]!)).toSorted()).toEqual([
    "east.yaml",
    "edge.yaml",
    "west.yaml",
  ]);

  const next = isthmus(["demo", "--stay"], temp);
  onTestFinished(() => void next.process.kill("SIGKILL"));
  await next.prints("1. Three clusters");
  expect(readdirSync(temp)).toHaveLength(1);
  expect(readdirSync(temp)).not.toEqual(left);
  next.process.kill("SIGTERM");
  expect(await next.exit).toBe(0);
  expect(readdirSync(temp)).toEqual([]);
});
