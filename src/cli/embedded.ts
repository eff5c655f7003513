// CLI: `isthmus embedded`: one embedded cluster until Ctrl-C.

import { Problem } from "../api/problem.ts";
import { type CliContext, untilStopped } from "./context.ts";
import { startEmbeddedCluster } from "./embeddedCluster.ts";

export async function runEmbedded(
  context: CliContext,
  options: { readonly name: string; readonly port: string; readonly kubeconfig?: string },
): Promise<void> {
  const cluster = await startEmbeddedCluster(context, {
    name: parseName(options.name),
    port: parsePort(options.port),
    ...(options.kubeconfig === undefined ? {} : { kubeconfigPath: options.kubeconfig }),
  });
  try {
    context.out(
      `Embedded cluster "${cluster.name}" at ${cluster.url}: for trying things out, never for production.`,
    );
    context.out("");
    context.out(`  kubectl --kubeconfig ${cluster.kubeconfigPath} get all -A`);
    context.out("");
    context.out("Ctrl-C ends it; nothing is kept.");
    await untilStopped(context.signal);
  } finally {
    await cluster.stop();
  }
}

/** It becomes a file name and a context's name. */
function parseName(text: string): string {
  if (/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text)) return text;
  const message = `"${text}" is not a name: use up to 63 lower-case letters, digits and hyphens.`;
  throw new Problem("ArgumentInvalid", message);
}

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new Problem("ArgumentInvalid", `"${text}" is not a port: give a number from 0 to 65535.`);
}
