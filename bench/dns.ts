// Bench: our DNS server beside CoreDNS (its `kubernetes` plugin with `multicluster`), both answering from the same objects on
// a real API server, asked the same questions by dnsperf in turns. One processor each, then two. Time per question and the
// slowest hundredth at half of what CoreDNS can do. Every name is asked once before, and the answers must be the same.

import { Resolver } from "node:dns/promises";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { requireCoreDns } from "../test/controlplane/binaries.ts";
import { startCluster } from "../test/controlplane/cluster.ts";
import { type Daemons, startDaemons } from "../test/controlplane/daemons.ts";
import { measureLatency, measureThroughput } from "./dnsperf.ts";
import {
  type DnsWorld,
  endpointAddress,
  ENDPOINTS,
  fillDnsWorld,
  headlessName,
  headlessQuestions,
  vipAddress,
  vipName,
  vipQuestions,
  ZONE,
} from "./dnsworld.ts";
import { connect, SPACE } from "./access.ts";
import { accessOf, prepare } from "./fleet.ts";
import { type BenchOptions, type BenchResult, compareRounds, type Row } from "./table.ts";

interface Server {
  readonly port: number;
}

interface Servers {
  readonly ours: Server;
  readonly coredns: Server;
}

type Kind = "vip" | "headless";

interface Round {
  readonly ours: number;
  readonly coredns: number;
}

interface Measured {
  readonly throughput: readonly Round[];
  readonly latency: readonly Round[];
}

/** 1.8 and 10 times the questions in the same time. */
const GOALS = { vip: 0.555, headless: 0.1 } as const;
const LATENCY_GOAL = 1;
const SERVER_CORE = "0";
const CLIENT_CORE = "1";
const BOTH_CORES = "0,1";
const READY_MS = 60_000;
const ISTHMUS = fileURLToPath(new URL("../src/bin/isthmus.ts", import.meta.url));
const REPOSITORY = fileURLToPath(new URL("../", import.meta.url));

export async function runDnsBench({ quick, rounds }: BenchOptions): Promise<BenchResult> {
  const world: DnsWorld = quick ? { vips: 100, headless: 20 } : { vips: 1_000, headless: 100 };
  const seconds = quick ? 3 : 8;
  const cluster = await startCluster({ name: "dns", controllerManager: false });
  const daemons = await startDaemons();
  const client = connect(accessOf(cluster));
  try {
    await prepare(client);
    await fillDnsWorld(client, world);
    const { folder } = daemons;
    const questions = { vip: join(folder, "vip.txt"), headless: join(folder, "headless.txt") };
    writeFileSync(questions.vip, vipQuestions(world));
    writeFileSync(questions.headless, headlessQuestions(world));
    const rows: Row[] = [];
    for (const cores of [1, 2] as const) {
      const servers = await startServers(daemons, cluster.kubeconfigPath, cores);
      await expectAnswers(servers, world);
      const client = cores === 1 ? CLIENT_CORE : BOTH_CORES;
      for (const kind of ["vip", "headless"] as const) {
        const load = { questionsPath: questions[kind], seconds, core: client };
        rows.push(...rowsOf(kind, cores, await measure(servers, load, rounds)));
      }
      await daemons.stop("coredns", "SIGKILL");
      await daemons.stop("isthmus", "SIGTERM");
    }
    return { title: titleOf(world), rows };
  } finally {
    await client.close();
    await daemons.end();
    await cluster.stop();
  }
}

function titleOf({ vips, headless }: DnsWorld): string {
  return `DNS: time per question, ours ÷ CoreDNS, ${vips} virtual IPs and ${headless} headless services of ${ENDPOINTS} endpoints`;
}

async function measure(
  { ours, coredns }: Servers,
  load: { readonly questionsPath: string; readonly seconds: number; readonly core: string },
  rounds: number,
): Promise<Measured> {
  const throughput: Round[] = [];
  const latency: Round[] = [];
  for (let round = 0; round < rounds; round++) {
    const fast = await measureThroughput({ ...load, ...ours });
    const theirs = await measureThroughput({ ...load, ...coredns });
    throughput.push({ ours: fast.microsEach, coredns: theirs.microsEach });
    const rate = theirs.perSecond / 2;
    latency.push({
      ours: await measureLatency({ ...load, ...ours, rate }),
      coredns: await measureLatency({ ...load, ...coredns, rate }),
    });
  }
  return { throughput, latency };
}

function rowsOf(kind: Kind, cores: 1 | 2, { throughput, latency }: Measured): readonly Row[] {
  const about = `${kind === "vip" ? "virtual IP" : "headless"}, ${cores} core${cores === 1 ? "" : "s"}`;
  const sides = {
    unit: "µs",
    ours: ({ ours }: Round) => ours,
    floor: ({ coredns }: Round) => coredns,
  } as const;
  // With two cores the load comes from the same two: shown, but nothing to hold a server to.
  const goals = cores === 1 ? { time: GOALS[kind], p99: LATENCY_GOAL } : {};
  return [
    compareRounds(throughput, {
      ...sides,
      name: `${about}: per question`,
      ...(goals.time !== undefined && { goal: goals.time }),
    }),
    compareRounds(latency, {
      ...sides,
      name: `${about}: p99 at half load`,
      ...(goals.p99 !== undefined && { goal: goals.p99 }),
    }),
  ];
}

async function startServers(
  daemons: Daemons,
  kubeconfigPath: string,
  cores: 1 | 2,
): Promise<Servers> {
  const core = cores === 1 ? SERVER_CORE : BOTH_CORES;
  const [ours, coredns] = [{ port: 15_300 + cores }, { port: 15_310 + cores }];
  const corefile = join(daemons.folder, `Corefile-${cores}`);
  writeFileSync(corefile, renderCorefile(coredns.port, kubeconfigPath));
  await daemons.start({
    name: "coredns",
    file: "/usr/bin/env",
    args: [`GOMAXPROCS=${cores}`, "taskset", "-c", core, await requireCoreDns(), "-conf", corefile],
    log: join(daemons.folder, `coredns-${cores}.log`),
  });
  const options = {
    kubeconfig: kubeconfigPath,
    listen: `127.0.0.1:${ours.port}`,
    "metrics-address": "127.0.0.1:0",
    processes: String(cores),
    // As much in one datagram as CoreDNS sends.
    "max-udp-size": "4096",
  };
  const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  const command = [ISTHMUS, "dns", ...flags];
  await daemons.start({
    name: "isthmus",
    file: "/usr/bin/env",
    args: [
      "-C",
      REPOSITORY,
      "taskset",
      "-c",
      core,
      process.execPath,
      "--import",
      "tsx",
      ...command,
    ],
    log: join(daemons.folder, `isthmus-${cores}.log`),
  });
  return { ours, coredns };
}

function renderCorefile(port: number, kubeconfigPath: string): string {
  return `.:${port} {
  bind 127.0.0.1
  kubernetes ${ZONE} {
    kubeconfig ${kubeconfigPath}
    multicluster ${ZONE}
  }
}
`;
}

/** Both are ready when both know the last of each; then every answer must be right, from both. */
async function expectAnswers(servers: Servers, world: DnsWorld): Promise<void> {
  for (const [name, { port }] of Object.entries(servers)) {
    const resolver = new Resolver({ timeout: 2_000 });
    resolver.setServers([`127.0.0.1:${port}`]);
    const ask = (service: string): Promise<string[]> =>
      resolver.resolve4(`${service}.${SPACE}.svc.${ZONE}`);
    await until(name, () => ask(vipName(world.vips - 1)));
    await until(name, () => ask(headlessName(world.headless - 1)));
    for (let index = 0; index < world.vips; index++) {
      expectSame(name, vipName(index), await ask(vipName(index)), [vipAddress(index)]);
    }
    for (let index = 0; index < world.headless; index++) {
      const expected = Array.from({ length: ENDPOINTS }, (_, at) => endpointAddress(index, at));
      expectSame(name, headlessName(index), await ask(headlessName(index)), expected);
    }
  }
}

function expectSame(
  server: string,
  service: string,
  actual: readonly string[],
  expected: readonly string[],
): void {
  if (actual.toSorted().join() === expected.toSorted().join()) return;
  throw new Error(`${server} answers for ${service}: ${actual.join(", ")}`);
}

async function until(name: string, ask: () => Promise<unknown>): Promise<void> {
  const giveUpAt = performance.now() + READY_MS;
  for (;;) {
    try {
      await ask();
      return;
    } catch (cause) {
      if (performance.now() > giveUpAt) throw new Error(`${name} does not answer.`, { cause });
      await pause(250);
    }
  }
}
