// CLI: `isthmus gather`: everything that helps somebody else to understand a clusterset in one archive: what is checked and found,
// the objects concerned, logs of agents. Of Secrets only the credential of the hub is read, to ask the hub; none is kept.

import { resolve } from "node:path";
import type { Pod } from "../api/builtin.ts";
import { SYSTEM_NAMESPACE } from "../api/names.ts";
import { Problem } from "../api/problem.ts";
import { VERSION } from "../api/version.ts";
import { gatherObjects } from "../controllers/gather.ts";
import { count } from "../core/clusterset/explanation.ts";
import { viewStatus } from "../core/clusterset/health.ts";
import { idOf, type Observation, type Sighting } from "../core/clusterset/sighting.ts";
import { viewClusterset } from "../core/clusterset/view.ts";
import { formatTime } from "../ports/clock.ts";
import { lookForChecks } from "./checkLook.ts";
import type { CliContext } from "./context.ts";
import {
  type Bundle,
  createBundle,
  requireFree,
  type Target,
  writeBundle,
} from "./gatherBundle.ts";
import { describe, type Opened, withObserver } from "./observer.ts";
import type { SourceFlags } from "./source.ts";
import { plain } from "./terminal.ts";

export interface GatherFlags extends SourceFlags {
  /** False: `--no-hub`. */
  readonly hub: boolean;
  /** False: `--no-logs`. */
  readonly logs: boolean;
  readonly file?: string;
  readonly folder?: string;
}

const PODS_MAX = 20;
const LOG_LINES = 2_000;
const LOG_BYTES = 1024 * 1024;

export async function runGather(context: CliContext, flags: GatherFlags): Promise<void> {
  const target = chooseTarget(context, flags);
  requireFree(target);
  const bundle = createBundle();
  const say = (line: string): void => context.error(`gathering: ${plain(line)}`);
  const { kubeconfig, context: contexts, hub } = flags;
  await withObserver(context, { kubeconfig, context: contexts, hub }, async (observer) => {
    say("checks, and what clusters and hub show");
    const { observation, report } = await lookForChecks(context, observer);
    bundle.addData("check.json", report);
    addViews(bundle, observation);
    addHub(bundle, observation);
    const names = nameFolders(observation.sightings);
    for (const [at, opened] of observer.opened.entries()) {
      const sighting = observation.sightings[at];
      const folder = names[at];
      if (sighting === undefined || folder === undefined) continue;
      if (sighting.isSilent === true) {
        bundle.leaveOut(`${folder}: ${sighting.problems[0] ?? "it did not answer."}`);
        continue;
      }
      say(`objects of ${idOf(sighting)}${flags.logs ? ", and logs of its agents" : ""}`);
      addSighting(bundle, folder, sighting);
      await addCluster(context, { bundle, opened, folder, hasLogs: flags.logs });
    }
  });
  const versions = { isthmus: VERSION, node: process.version, gatheredAt: nowOf(context) };
  bundle.addData("versions.json", versions);
  bundle.addText("README.txt", renderReadme(context, bundle));
  writeBundle(target, bundle.files, context.clock.now());
  context.out(`${target.path}: ${count(bundle.files.length, "file")}, readable by you only.`);
  for (const sentence of bundle.leftOut) context.error(`not in it: ${sentence}`);
  context.error(
    "Look through it before you pass it on: names and addresses of services and nodes are in it.",
  );
}

function chooseTarget(context: CliContext, { file, folder }: GatherFlags): Target {
  if (file !== undefined && folder !== undefined) {
    throw new Problem("ArgumentInvalid", "give --file or --folder, not both");
  }
  if (folder !== undefined) return { kind: "folder", path: resolve(folder) };
  const time = nowOf(context).replaceAll(/[-:]/g, "");
  return { kind: "file", path: resolve(file ?? `isthmus-${time}.tar.gz`) };
}

function nowOf({ clock }: CliContext): string {
  return formatTime(clock.now());
}

/** The same as the reading commands print with -o json. */
function addViews(bundle: Bundle, observation: Observation): void {
  const { clusters, services } = viewClusterset(observation);
  bundle.addData("status.json", viewStatus(observation));
  bundle.addData("get-clusters.json", { clusters });
  bundle.addData("get-exports.json", { exports: services.flatMap(({ exports }) => exports) });
  bundle.addData("get-imports.json", { imports: services.flatMap(({ imports }) => imports) });
}

function addHub(bundle: Bundle, { hub }: Observation): void {
  if (hub === undefined) return;
  if (hub.problem !== undefined) bundle.leaveOut(`the hub: ${hub.problem}`);
  const { server, reader, members, leases, serviceShares, endpointShares } = hub;
  bundle.addData("hub/hub.json", { server, reader });
  bundle.addData("hub/clustermembers.json", members);
  bundle.addData("hub/leases.json", leases);
  bundle.addData("hub/serviceshares.json", serviceShares);
  bundle.addData("hub/endpointshares.json", endpointShares);
}

function nameFolders(sightings: readonly Sighting[]): readonly string[] {
  const claim = createNames();
  return sightings.map((sighting) => {
    // Who has no id may be called by the path of a kubeconfig.
    const last = idOf(sighting).split("/").at(-1) ?? "";
    return `clusters/${claim(cut(last, 60) || "cluster")}`;
  });
}

/** What a server calls something never leads out of the bundle, and fits into an archive. */
function cut(name: string, length: number): string {
  return name.replaceAll(/[^A-Za-z0-9_-]+/g, "_").slice(0, length);
}

/** One for each, whatever they are called. */
function createNames(): (wanted: string) => string {
  const taken = new Set<string>();
  return (wanted) => {
    let name = wanted;
    for (let again = 2; taken.has(name); again += 1) name = `${wanted}-${again}`;
    taken.add(name);
    return name;
  };
}

function addSighting(bundle: Bundle, folder: string, sighting: Sighting): void {
  const { serviceExports, serviceImports, services, slices, problems } = sighting;
  bundle.addData(`${folder}/serviceexports.json`, serviceExports);
  bundle.addData(`${folder}/serviceimports.json`, serviceImports);
  bundle.addData(`${folder}/services.json`, services);
  bundle.addData(`${folder}/endpointslices.json`, slices);
  for (const problem of problems) bundle.leaveOut(`${folder}: ${problem}`);
}

interface ClusterTask {
  readonly bundle: Bundle;
  readonly opened: Opened;
  readonly folder: string;
  readonly hasLogs: boolean;
}

async function addCluster(context: CliContext, task: ClusterTask): Promise<void> {
  const { bundle, opened, folder, hasLogs } = task;
  const { clock, signal } = context;
  const { cluster } = opened;
  const found = await gatherObjects({
    store: cluster.store,
    clock,
    signal,
    describe: (error) => describe(error, cluster, clock.now()),
  });
  for (const [plural, objects] of found.objects) {
    bundle.addData(`${folder}/${plural}.json`, objects);
  }
  if (found.corefile !== undefined) bundle.addCorefile(`${folder}/Corefile`, found.corefile);
  for (const sentence of found.leftOut) bundle.leaveOut(`${folder}/${sentence}`);
  if (!hasLogs) return;
  if (found.pods.length === 0) {
    bundle.leaveOut(
      `${folder}: logs: there are no pods in ${SYSTEM_NAMESPACE}. If the agent runs elsewhere, add its log by hand.`,
    );
  }
  if (found.pods.length > PODS_MAX) {
    bundle.leaveOut(`${folder}: logs of all but ${PODS_MAX} pods of ${SYSTEM_NAMESPACE}.`);
  }
  const claim = createNames();
  for (const pod of found.pods.slice(0, PODS_MAX)) await addLogs(context, { ...task, claim }, pod);
}

async function addLogs(
  context: CliContext,
  task: ClusterTask & { readonly claim: (wanted: string) => string },
  pod: Pod,
): Promise<void> {
  const { bundle, opened, folder, claim } = task;
  const { namespace = "", name = "" } = pod.metadata;
  for (const { name: container } of pod.spec?.containers ?? []) {
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/log`;
    const place = `${folder}/logs/${claim(`${cut(name, 60)}.${cut(container, 25)}`)}.log`;
    const query = { container, tailLines: LOG_LINES, limitBytes: LOG_BYTES };
    try {
      const { signal } = context;
      const { status, body } = await opened.cluster.request("GET", path, { query, signal });
      // A log of one line in JSON has been read as such.
      const text = typeof body === "string" ? body : JSON.stringify(body);
      if (status === 200) bundle.addText(place, text);
      else bundle.leaveOut(`${place}: the API server answered with ${status}.`);
    } catch (error) {
      context.signal.throwIfAborted();
      bundle.leaveOut(`${place}: ${describe(error, opened.cluster, context.clock.now())}`);
    }
  }
}

function renderReadme(context: CliContext, { files, leftOut }: Bundle): string {
  return [
    `Gathered by isthmus ${VERSION} at ${nowOf(context)}. Start with check.json and status.json.`,
    "",
    "No Secret is in it. Values that looked like passwords, tokens or keys, values of environment variables and most",
    'annotations are "(redacted)". Names and addresses of services, endpoints and nodes are in it.',
    "",
    ...files.map(({ path, body }) => `${String(body.length).padStart(10)}  ${path}`),
    ...(leftOut.length === 0 ? [] : ["", "Not in it:", ...leftOut.map((line) => `- ${line}`)]),
  ].join("\n");
}
