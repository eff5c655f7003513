// Fixture: runs inside network and mount namespaces of its own, where port 53 and /etc/resolv.conf are nobody else's. An embedded
// cluster, our server for it, and a CoreDNS that knows only our zone by a stub block and denies cluster.local:
//
//   127.0.0.1, ::1  port 53    isthmus dns, forwards other zones to 127.0.0.2
//   127.0.0.2       port 53    CoreDNS, forwards clusterset.local to 127.0.0.1
//
// Orders on standard input, answers on standard output, one JSON object per line; ends when the input does.

import { execFile, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { MEMBER_CRDS } from "../../src/api/crds.ts";
import { startEmbeddedCluster } from "../../src/cli/embeddedCluster.ts";
import { runCli } from "../../src/cli/program.ts";
import { installCrds } from "../../src/controllers/crd.ts";
import { enableZone } from "../../src/dns/corefile.ts";
import { systemClock, systemRandom } from "../../src/kube/clock.ts";
import { askOnce } from "./ask.ts";
import type { RoomAnswer, RoomOrder } from "./resolvers.ts";
import { listRoomObjects } from "./roomWorld.ts";

const [coreDnsBinary = ""] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "isthmus-room-"));
const resolvConf = join(folder, "resolv.conf");
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

execFileSync("ip", ["link", "set", "lo", "up"]);
writeFileSync(resolvConf, "nameserver 127.0.0.1\n");
execFileSync("mount", ["--bind", resolvConf, "/etc/resolv.conf"]);

const context = {
  out: () => {},
  error: (line: string) => process.stderr.write(`${line}\n`),
  input: () => Promise.resolve(""),
  color: false,
  interactive: false,
  env: {},
  home: folder,
  clock: systemClock,
  random: systemRandom,
  signal: new AbortController().signal,
};
const kubeconfigPath = join(folder, "kubeconfig.yaml");
const cluster = await startEmbeddedCluster(context, { name: "room", kubeconfigPath });
await installCrds({ store: cluster.client, crds: MEMBER_CRDS, clock: systemClock });
for (const { resource, object } of listRoomObjects()) await cluster.client.create(resource, object);
void runCli(
  [
    ["dns", "--kubeconfig", kubeconfigPath, "--metrics-address", "127.0.0.1:0"],
    ["--listen", "127.0.0.1:53", "--listen", "[::1]:53", "--forward", "127.0.0.2"],
    ["--ns-address", "127.0.0.1", "--log-level", "warn"],
  ].flat(),
  context,
).then((code) => process.exit(code === 0 ? 1 : code));

// As `isthmus dns enable --server` leaves it; everything else it denies, as a cluster's CoreDNS does for names that are not there.
const plain = `.:53 {
    errors
    bind 127.0.0.2
    template ANY ANY cluster.local {
        rcode NXDOMAIN
        authority "cluster.local. 30 IN SOA ns.dns.cluster.local. hostmaster.cluster.local. 1 7200 1800 86400 30"
    }
}
`;
const stub = enableZone(plain, "clusterset.local", { kind: "stub", servers: ["127.0.0.1"] });
const corefile = join(folder, "Corefile");
writeFileSync(corefile, stub);
const coredns = spawn(coreDnsBinary, ["-conf", corefile], { stdio: ["ignore", 2, 2] });
process.once("exit", () => coredns.kill("SIGKILL"));

await Promise.all(["127.0.0.1", "::1", "127.0.0.2"].map(untilReady));
say({ ready: true });

createInterface(process.stdin)
  .on("line", (line) => {
    const order: RoomOrder = JSON.parse(line);
    if (order.resolvConf !== undefined) writeFileSync(resolvConf, order.resolvConf);
    const options = { timeout: 120_000, env: { PATH: process.env["PATH"], LC_ALL: "C" } };
    execFile(order.file, [...order.args], options, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
      say({ id: order.id, code, stdout, stderr });
    });
  })
  .on("close", () => process.exit(0));

async function untilReady(host: string): Promise<void> {
  const question = { name: "nobody.nowhere.svc.clusterset.local", type: "A" } as const;
  for (;;) {
    const reply = await askOnce({ host, port: 53 }, question, { timeoutMs: 500 }).catch(() => {});
    if (reply?.rcode === "NXDOMAIN") return;
    await pause(50);
  }
}

function say(answer: RoomAnswer): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
