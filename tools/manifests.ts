// `npm run manifests`: the chart in, manifests/*.yaml out, for those who do not use Helm. They are what the tests compare the chart with,
// too: a change of a template shows in them.

import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import { Helm, type Values } from "../test/chart/helm.ts";

export const MANIFEST_FOLDER = fileURLToPath(new URL("../manifests/", import.meta.url));

const NAMESPACE = { namespace: { create: true } };
const NO_AGENT = { agent: { enabled: false } };

/** File name → the values that it is rendered with. Each can be applied by itself, and beside the others. */
const MANIFESTS: Readonly<Record<string, Values>> = {
  "agent.yaml": NAMESPACE,
  "hub.yaml": { ...NO_AGENT, hub: { enabled: true } },
  "central.yaml": {
    ...NAMESPACE,
    ...NO_AGENT,
    central: {
      enabled: true,
      kubeconfigSecret: "isthmus-kubeconfigs",
      kubeconfigs: { east: "east.yaml", west: "west.yaml" },
    },
  },
  "dns.yaml": { ...NAMESPACE, ...NO_AGENT, dns: { enabled: true } },
  "dashboard.yaml": {
    ...NAMESPACE,
    ...NO_AGENT,
    dashboard: { enabled: true, tokenSecret: { name: "isthmus-dashboard-token" } },
  },
  "policies.yaml": { ...NO_AGENT, policies: { enabled: true } },
  "people.yaml": { ...NO_AGENT, peopleRoles: { enabled: true } },
  "monitoring.yaml": {
    ...NAMESPACE,
    ...NO_AGENT,
    monitoring: {
      podMonitor: { enabled: true },
      rules: { enabled: true },
      grafanaDashboard: { enabled: true },
    },
  },
};

/** File name → content. */
export async function renderManifests(helm: Helm): Promise<ReadonlyMap<string, string>> {
  const files = new Map<string, string>();
  for (const [name, values] of Object.entries(MANIFESTS)) {
    const text = await helm.render(values);
    const told = stringify(values)
      .trimEnd()
      .split("\n")
      .map((line) => `#   ${line}\n`);
    const head =
      "# Rendered from charts/isthmus by `npm run manifests`; do not edit. With these values:\n";
    files.set(name, `${head}${told.join("")}${text.trimEnd()}\n`);
  }
  return files;
}

async function main(): Promise<void> {
  const helm = await Helm.open();
  try {
    const files = await renderManifests(helm);
    mkdirSync(MANIFEST_FOLDER, { recursive: true });
    for (const name of readdirSync(MANIFEST_FOLDER)) rmSync(join(MANIFEST_FOLDER, name));
    for (const [name, text] of files) writeFileSync(join(MANIFEST_FOLDER, name), text);
  } finally {
    await helm.close();
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
