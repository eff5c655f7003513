// CLI: `isthmus crds`: prints or installs the CustomResourceDefinitions.

import { CRDS } from "../api/crds.ts";
import { renderCrdYaml } from "../api/yaml.ts";
import { type CrdInstallation, installCrds } from "../controllers/crd.ts";
import { createClient } from "../kube/client.ts";
import { loadKubeconfig } from "../kube/config.ts";
import { describeFailure } from "../kube/failure.ts";
import type { CliContext } from "./context.ts";
import { renderRows } from "./table.ts";

export function printCrds(context: CliContext): void {
  for (const crd of CRDS) context.out(`---\n${renderCrdYaml(crd).trimEnd()}`);
}

export async function installCrdsCommand(
  context: CliContext,
  options: { readonly kubeconfig?: string; readonly context?: string; readonly output?: "yaml" },
): Promise<void> {
  if (options.output === "yaml") {
    printCrds(context);
    return;
  }
  const { clock, env, home, signal } = context;
  const paths = options.kubeconfig === undefined ? undefined : [options.kubeconfig];
  const config = loadKubeconfig({ paths, context: options.context, env, home });
  const client = createClient(config, { clock, userAgent: "isthmus", interactive: true });
  try {
    const installed = await installCrds({ store: client, crds: CRDS, clock, signal });
    const rows = installed.map((one) => [one.name, describeInstallation(one)]);
    for (const line of renderRows(["CRD", "RESULT"], rows)) context.out(line);
  } catch (error) {
    throw describeFailure(error, { config });
  } finally {
    await client.close();
  }
}

export function describeInstallation(installation: CrdInstallation): string {
  switch (installation.outcome) {
    case "created":
    case "unchanged":
      return installation.outcome;
    case "updated":
      return installation.from === undefined ? "updated" : `updated from ${installation.from}`;
    case "kept": {
      const { newer, missing } = installation;
      const lacking = missing.length === 0 ? "" : `, which does not serve ${missing.join(", ")}`;
      return `kept the newer ${newer}${lacking}`;
    }
    default:
      return installation satisfies never;
  }
}
