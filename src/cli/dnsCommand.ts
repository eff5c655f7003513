// CLI: names `isthmus dns` and its flags. It is loaded when asked for.

import { type Command, Option } from "commander";
import type { CliContext } from "./context.ts";
import type { DnsFlags } from "./dnsFlags.ts";
import { LOG_LEVELS } from "./log.ts";
import { collect } from "./repeated.ts";

/** Answers the command, for those below it. */
export function addDnsCommand(program: Command, context: CliContext): Command {
  const dns = program
    .command("dns")
    .description("answer DNS queries for the services that a cluster imports");
  addSource(dns);
  addAnswers(dns);
  addPlace(dns);
  addLimits(dns);
  return dns.action(async (flags: DnsFlags) => {
    const { runDns } = await import("./dns.ts");
    await runDns(context, flags);
  });
}

function addSource(dns: Command): void {
  dns
    .option(
      "--kubeconfig <file>",
      "kubeconfig of the cluster; absent: the pod's own identity, $KUBECONFIG, ~/.kube/config",
    )
    .option("--context <name>", "context of the kubeconfig; absent: its current one")
    .option(
      "--listen <address:port>",
      "where to answer, UDP and TCP; repeat it for more; absent: 127.0.0.1:1053",
      collect,
      [],
    )
    .option(
      "--metrics-address <address:port>",
      "where to answer /metrics, /healthz and /readyz; port 0 takes a free one",
      "127.0.0.1:9403",
    )
    .addOption(
      new Option("--log-level <level>", "how much to say").choices(LOG_LEVELS).default("info"),
    );
}

function addAnswers(dns: Command): void {
  dns
    .option(
      "--zone <name>",
      "zone to answer for; repeat it for more; absent: clusterset.local",
      collect,
      [],
    )
    .option("--ttl <seconds>", "how long answers may be kept", "5")
    .addOption(
      new Option("--order <order>", "rotate: another record first each time; stable: the same")
        .choices(["rotate", "stable"])
        .default("rotate"),
    )
    .option(
      "--ns-address <ip>",
      "address of the zones' name server; repeat it for more; absent: none is told",
      collect,
      [],
    )
    .option(
      "--forward <ip[:port]>",
      "server to ask for other zones; repeat it for more; absent: they are refused",
      collect,
      [],
    );
}

function addPlace(dns: Command): void {
  dns
    .addOption(
      new Option(
        "--headless <policy>",
        "all: every ready endpoint; near: those of this cluster, else zone, else region, else all",
      )
        .choices(["all", "near"])
        .default("all"),
    )
    .option(
      "--cluster-id <id>",
      "cluster that the clients are in; absent: as its ClusterProperty says",
    )
    .option("--node <name>", "Node whose labels tell the zone and region of the clients")
    .option("--in-zone <zone>", "topology zone of the clients; absent: as the Node says")
    .option("--in-region <region>", "region of the clients; absent: as the Node says")
    .option(
      "--cluster-region <id=region>",
      "region of another cluster; repeat it for each",
      collect,
      [],
    );
}

function addLimits(dns: Command): void {
  dns
    .option("--processes <count>", "processes that answer; auto: one for each core", "1")
    .option("--max-udp-size <bytes>", "largest answer over UDP", "1232")
    .option(
      "--rate-limit <answers>",
      "UDP answers per second to one network (/24, /56); 0: no limit",
      "0",
    )
    .option("--max-tcp-connections <count>", "open at a time; the quietest makes room", "1000");
}
