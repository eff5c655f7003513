// CLI: `isthmus join`: makes a cluster a member of a hub, with a join token or with the hub administrator's kubeconfig.

import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { MEMBER_CRDS } from "../api/crds.ts";
import type { KubeObject } from "../api/object.ts";
import { Problem } from "../api/problem.ts";
import { carryOutJoin } from "../controllers/join.ts";
import { type JoinPlan, planJoin } from "../controllers/joinplan.ts";
import type { HubDoor } from "../controllers/register.ts";
import { parseCidr } from "../core/address.ts";
import { mergeRanges } from "../core/ranges.ts";
import { POD_CIDRS_MAX, SERVICE_CIDRS_MAX, ZONES_MAX } from "../core/topology.ts";
import { type HubCredential, renderCredential } from "../hub/credential.ts";
import { renderAgentAccess } from "../hub/local.ts";
import { renderMember } from "../hub/manifest/member.ts";
import { isServer, parseTicket, type Ticket } from "../hub/ticket.ts";
import { readPem } from "../kube/pem.ts";
import type { Store } from "../ports/store.ts";
import { type Cluster, type Clusters, withClusters } from "./cluster.ts";
import type { CliContext } from "./context.ts";
import { printPlaced, printYaml, warn } from "./output.ts";

export interface JoinFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly token?: string;
  readonly hubKubeconfig?: string;
  readonly hubContext?: string;
  readonly hubServer?: string;
  readonly clusterId?: string;
  readonly clusterset?: string;
  readonly podCidr: readonly string[];
  readonly serviceCidr: readonly string[];
  readonly region?: string;
  readonly zone: readonly string[];
  readonly allowOverlap: boolean;
  readonly output?: string;
}

/** The hub as the joining side was told of it. */
interface Entrance {
  readonly server: string;
  readonly ca?: string;
  readonly door: HubDoor;
  readonly admin?: Store;
}

export async function runJoin(context: CliContext, flags: JoinFlags): Promise<void> {
  const { clock, signal } = context;
  const ticket = await readTicket(context, flags);
  const given = readGiven(flags);
  await withClusters(context, async (clusters) => {
    const cluster = clusters.open(flags);
    const entrance = await enter(clusters, flags, ticket);
    const { server, ca, door, admin } = entrance;
    const connections = new Map<string, Store>();
    /** As the cluster itself: only with its own token does the hub answer. */
    const connect = (credential: HubCredential): Store => {
      const { token = "" } = credential;
      const known = connections.get(token);
      if (known !== undefined) return known;
      const { store } = clusters.reach({ ...credential, token });
      connections.set(token, store);
      return store;
    };
    const plan = await planJoin({
      store: cluster.store,
      hub: { server, ...(ca !== undefined && { ca }) },
      ...(admin !== undefined && { admin }),
      connect,
      ...(flags.clusterId !== undefined && { clusterId: flags.clusterId }),
      ...(flags.clusterset !== undefined && { clusterset: flags.clusterset }),
      given,
      allowOverlap: flags.allowOverlap,
      newClaim: () => randomBytes(32).toString("hex"),
      signal,
    });
    if (!plan.isMember) warn(context, plan.doubts);
    if (flags.output === "yaml") {
      printPlan(context, plan, entrance);
      return;
    }
    if (!plan.isMember) {
      const title = `${plan.cluster} joins the hub at ${server} and declares:`;
      printDeclared(context, plan, title);
    }
    const result = await carryOutJoin({ store: cluster.store, door, connect, clock, signal }, plan);
    if (result.isDeclaredAnew) printDeclared(context, plan, `${plan.cluster} declares now:`);
    if (!plan.isMember || result.isDeclaredAnew) context.out("");
    printPlaced(context, result.placed);
    warn(context, result.warnings);
    context.out("");
    context.out(
      plan.isMember
        ? `${plan.cluster} is a member of the hub at ${server} already; what it needs is in place.`
        : `${plan.cluster} is a member now.`,
    );
    context.out(`Its agent does the rest, one for the cluster: isthmus agent${cite(flags)}`);
  });
}

async function readTicket(context: CliContext, flags: JoinFlags): Promise<Ticket | undefined> {
  const hasHub = flags.hubKubeconfig !== undefined || flags.hubContext !== undefined;
  if ((flags.token === undefined) !== hasHub) {
    const message =
      "how to reach the hub is to be said once: with --token, or with --hub-kubeconfig or --hub-context";
    const hint = "isthmus hub token, on the hub, prints the line with the token.";
    throw new Problem("ArgumentInvalid", message, { hint });
  }
  if (flags.token === undefined) return undefined;
  if (flags.hubServer !== undefined) {
    const hint =
      "Make a token for another address: isthmus hub token --server https://…, on the hub.";
    throw new Problem("ArgumentInvalid", "--hub-server does not go with --token", { hint });
  }
  const parsed = parseTicket(await readToken(context, flags.token));
  if (parsed.ok) return parsed.value;
  throw new Problem("JoinTokenInvalid", `the join token cannot be read. ${parsed.problem}`);
}

/** "-" is standard input, "@file" a file: a token on the command line can be seen by others on the machine. */
async function readToken(context: CliContext, text: string): Promise<string> {
  if (text !== "-" && !text.startsWith("@")) return text;
  const where = text === "-" ? "standard input" : text.slice(1);
  let found: string;
  try {
    found = await (text === "-" ? context.input() : readFile(where, "utf8"));
  } catch (cause) {
    if (context.signal.aborted) throw new Problem("Interrupted", "stopped before it was done");
    const why = (cause as NodeJS.ErrnoException).code === "ENOENT" ? ": there is no such file" : "";
    const message = `the join token cannot be read from ${where}${why}`;
    throw new Problem("JoinTokenInvalid", message, { cause });
  }
  if (found.trim() !== "") return found;
  throw new Problem("JoinTokenInvalid", `${where} is empty, and should hold a join token`);
}

async function enter(
  clusters: Clusters,
  flags: JoinFlags,
  ticket: Ticket | undefined,
): Promise<Entrance> {
  if (ticket !== undefined) {
    const { server, ca, name } = ticket;
    const hub = clusters.reach(ticket);
    const door = { ...asDoor(hub), joinToken: name };
    return { server, ...(ca !== undefined && { ca }), door };
  }
  const hub = clusters.open({
    ...(flags.hubKubeconfig !== undefined && { kubeconfig: flags.hubKubeconfig }),
    ...(flags.hubContext !== undefined && { context: flags.hubContext }),
  });
  const server = flags.hubServer ?? hub.config.server;
  if (!isServer(server)) {
    throw new Problem("ArgumentInvalid", `"${server}" cannot be the hub's address for a member`, {
      hint: "Give an https address that the cluster can reach: --hub-server https://hub.example.org:6443.",
    });
  }
  const ca = await readPem(hub.config.tls.authority);
  return { server, ...(ca !== undefined && { ca }), door: asDoor(hub), admin: hub.store };
}

function asDoor(hub: Cluster): HubDoor {
  return { store: hub.store, requestToken: hub.requestToken };
}

function readGiven(flags: JoinFlags) {
  const { region } = flags;
  for (const place of [...(region === undefined ? [] : [region]), ...flags.zone]) {
    if (/^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/.test(place)) continue;
    throw new Problem("ArgumentInvalid", `"${place}" cannot be a region or zone`, {
      hint: "Write it as in the nodes' labels topology.kubernetes.io/region and /zone.",
    });
  }
  if (flags.zone.length > ZONES_MAX) {
    throw new Problem("ArgumentInvalid", `at most ${ZONES_MAX} zones can be given`);
  }
  return {
    podCIDRs: readCidrs(flags.podCidr, "--pod-cidr", POD_CIDRS_MAX),
    serviceCIDRs: readCidrs(flags.serviceCidr, "--service-cidr", SERVICE_CIDRS_MAX),
    ...(region !== undefined && { region }),
    zones: [...new Set(flags.zone)],
  };
}

/** Also several in one, with commas. */
function readCidrs(given: readonly string[], flag: string, most: number): readonly string[] {
  const texts = given.flatMap((text) => text.split(",")).map((text) => text.trim());
  const wrong = texts.find((text) => parseCidr(text) === undefined);
  if (wrong !== undefined) {
    const message = `"${wrong}" is not an address range for ${flag}: write it as 10.1.0.0/16 or fd00:1::/48.`;
    throw new Problem("ArgumentInvalid", message);
  }
  const merged = mergeRanges(texts, Number.POSITIVE_INFINITY);
  if (merged.length <= most) return merged;
  throw new Problem("ArgumentInvalid", `at most ${most} ranges can be given with ${flag}`);
}

function printDeclared(context: CliContext, { spec }: JoinPlan, title: string): void {
  const { region, zones = [] } = spec.topology ?? {};
  context.out(title);
  context.out(`  pods      ${(spec.podCIDRs ?? []).join(", ")}`);
  context.out(`  services  ${(spec.serviceCIDRs ?? []).join(", ")}`);
  if (region !== undefined) context.out(`  region    ${region}`);
  if (zones.length > 0) context.out(`  zones     ${zones.join(", ")}`);
}

const PLACEHOLDER = "(the hub gives it when the cluster joins)";

function printPlan(context: CliContext, plan: JoinPlan, entrance: Entrance): void {
  const { cluster, credential, spec, isMember } = plan;
  const { joinToken } = entrance.door;
  if (!isMember) {
    const registration = {
      cluster,
      claim: credential.claim,
      spec,
      ...(joinToken !== undefined && { joinToken }),
    };
    printYaml(context, `On the hub: isthmus join, as ${cluster}.`, renderMember(registration));
  }
  const local: readonly KubeObject[] = [
    ...MEMBER_CRDS,
    ...renderAgentAccess().map(({ object }) => object),
    ...(isMember ? [] : [renderCredential({ ...credential, token: PLACEHOLDER })]),
    ...plan.properties,
  ];
  printYaml(context, `In the cluster ${cluster}: isthmus join.`, local);
}

function cite({ kubeconfig, context }: JoinFlags): string {
  const flags = { "--kubeconfig": kubeconfig, "--context": context };
  return Object.entries(flags)
    .filter(([, value]) => value !== undefined)
    .map(([flag, value]) => ` ${flag} ${value}`)
    .join("");
}
