// CLI: names `isthmus dns enable` and `isthmus dns disable` and their flags. What they do is loaded when asked for.

import type { Command } from "commander";
import type { CliContext } from "./context.ts";
import type { EnableFlags, SwitchFlags } from "./dnsEnable.ts";
import { collect } from "./repeated.ts";
import { yamlOption } from "./sourceFlags.ts";

/** Beside whatever `isthmus dns` itself does. */
export function addSwitchCommands(dns: Command, context: CliContext): void {
  withPlace(dns.command("enable"))
    .description(
      "have the cluster's CoreDNS answer the clusterset's names; run again it changes nothing",
    )
    .option(
      "--server <address[:port]>",
      "have CoreDNS forward the zone to `isthmus dns` there; repeat it for each; absent: CoreDNS answers by itself, from 1.12.2 on",
      collect,
      [],
    )
    .option("--coredns-version <version>", "absent: from the tag of the Deployment's image")
    .option("--service-account <name>", "of CoreDNS; absent: from the Deployment")
    .action(async (flags: EnableFlags) => {
      const { enableDns } = await import("./dnsEnable.ts");
      await enableDns(context, flags);
    });
  withPlace(dns.command("disable"))
    .description("take away what `isthmus dns enable` added to CoreDNS, and nothing else")
    .action(async (flags: SwitchFlags) => {
      const { disableDns } = await import("./dnsEnable.ts");
      await disableDns(context, flags);
    });
}

function withPlace(command: Command): Command {
  return command
    .option("--kubeconfig <file>", "kubeconfig of the cluster; absent: $KUBECONFIG, ~/.kube/config")
    .option("--context <name>", "context of the kubeconfig; absent: its current one")
    .option("--zone <name>", "the clusterset's zone", "clusterset.local")
    .option("--dry-run", "print what would change, and change nothing", false)
    .addOption(yamlOption())
    .option("--namespace <name>", "of CoreDNS", "kube-system")
    .option("--config-map <name>", "with CoreDNS's configuration", "coredns")
    .option("--config-key <key>", "of the Corefile in it", "Corefile")
    .option("--deployment <name>", "of CoreDNS", "coredns");
}
