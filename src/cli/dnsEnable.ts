// CLI: `isthmus dns enable` and `isthmus dns disable`: has a cluster's CoreDNS answer a clusterset zone, and undoes it.

import { isIP } from "node:net";
import { CONFIG_MAP } from "../api/builtin.ts";
import { Problem } from "../api/problem.ts";
import {
  ACCESS_NAME,
  type CoreDnsPlace,
  type CoreDnsVersion,
  findKeeper,
  hasMulticluster,
  parseCoreDnsVersion,
  readDeployed,
  renderAccess,
  servesImports,
} from "../dns/coredns.ts";
import {
  disableZone,
  enableZone,
  readsImports,
  reloadsItself,
  servesZone,
} from "../dns/corefile.ts";
import type { ZoneSource } from "../dns/corefile.ts";
import {
  type CorefileChange,
  grantAccess,
  planCorefile,
  revokeAccess,
  writeCorefile,
} from "../dns/switchover.ts";
import type { Store } from "../ports/store.ts";
import { type ClusterFlags, withClusters } from "./cluster.ts";
import type { CliContext } from "./context.ts";
import { renderDiff } from "./diff.ts";
import { printYaml, warn } from "./output.ts";

export interface SwitchFlags extends ClusterFlags, CoreDnsPlace {
  readonly zone: string;
  readonly dryRun: boolean;
  readonly output?: "yaml";
}

export interface EnableFlags extends SwitchFlags {
  readonly server: readonly string[];
  readonly corednsVersion?: string;
  readonly serviceAccount?: string;
}

export async function enableDns(context: CliContext, flags: EnableFlags): Promise<void> {
  const zone = parseZone(flags.zone);
  const servers = flags.server.map(parseServer);
  await withClusters(context, async (clusters) => {
    const { store } = clusters.open(flags);
    const { signal } = context;
    const deployed = await readDeployed(store, flags, signal);
    const name = flags.serviceAccount ?? deployed?.serviceAccount;
    const source = chooseSource({ flags, servers, deployed, zone });
    const edit = (text: string): string => enableZone(text, zone, source);
    const isOwn = source.kind === "multicluster";
    if (isOwn && name === undefined) throw missingDeployment(flags);
    if (isOwn && !(await servesImports(store, signal))) throw missingImports();
    const account = { namespace: flags.namespace, name: name ?? "" };
    const { role, binding } = renderAccess(account);
    if (flags.output === "yaml") {
      const change = await planCorefile(store, { place: flags, edit, signal });
      const access = isOwn ? [role, binding] : [];
      const unused = isOwn || readsImports(change.edited) ? "" : `; ${NAME_UNUSED}`;
      const title = `${FOR_KUBECTL}${unused}: isthmus dns enable.`;
      printYaml(context, title, [...access, renderCorefile(flags, change)]);
      return;
    }
    if (flags.dryRun) {
      const change = await planCorefile(store, { place: flags, edit, signal });
      printChange(context, flags, change);
      if (isOwn) printYaml(context, "would be applied", [role, binding]);
      return;
    }
    // Refused edits are known before anything is written.
    await planCorefile(store, { place: flags, edit, signal });
    if (isOwn) await grantAccess(store, account, signal);
    const change = await writeCorefile(store, { place: flags, edit, signal });
    if (!isOwn) await revokeUnused(store, change, signal);
    printChange(context, flags, change);
    tellKeeper(context, flags, change);
    const who = isOwn ? "CoreDNS answers" : `CoreDNS forwards to ${servers.join(", ")}`;
    context.out(
      change.edited === change.text
        ? `${zone} was enabled already: ${who} it.`
        : `${zone} is enabled: ${who} it as soon as it has read the Corefile again.`,
    );
    tellReload(context, flags, change);
  });
}

export async function disableDns(context: CliContext, flags: SwitchFlags): Promise<void> {
  const zone = parseZone(flags.zone);
  await withClusters(context, async (clusters) => {
    const { store } = clusters.open(flags);
    const { signal } = context;
    const edit = (text: string): string => disableZone(text, zone);
    const work = { place: flags, edit, signal };
    if (flags.output === "yaml") {
      const change = await planCorefile(store, work);
      const unused = readsImports(change.edited) ? "" : `; ${NAME_UNUSED}`;
      const title = `${FOR_KUBECTL}${unused}: isthmus dns disable.`;
      printYaml(context, title, [renderCorefile(flags, change)]);
      return;
    }
    const change = await (flags.dryRun ? planCorefile(store, work) : writeCorefile(store, work));
    printChange(context, flags, change);
    if (servesZone(change.edited, zone)) {
      warn(context, [
        `the Corefile still answers ${zone}, by lines that \`isthmus dns enable\` did not add: they are left as they are.`,
      ]);
    }
    if (flags.dryRun) {
      if (!readsImports(change.edited)) {
        context.out(
          `ClusterRole and ClusterRoleBinding ${ACCESS_NAME} would be removed if present.`,
        );
      }
      return;
    }
    await revokeUnused(store, change, signal);
    tellKeeper(context, flags, change);
    context.out(
      change.edited === change.text ? `${zone} was not enabled.` : `${zone} is disabled.`,
    );
    tellReload(context, flags, change);
  });
}

const FOR_KUBECTL = "For kubectl apply --server-side --force-conflicts";
const NAME_UNUSED = `then kubectl delete --ignore-not-found clusterrole/${ACCESS_NAME} clusterrolebinding/${ACCESS_NAME}`;

/** What is applied takes over this key, and leaves the others. */
function renderCorefile(place: CoreDnsPlace, { edited }: CorefileChange) {
  const { namespace, configMap: name, configKey } = place;
  const data = { [configKey]: edited };
  return { apiVersion: "v1", kind: CONFIG_MAP.kind, metadata: { namespace, name }, data };
}

/** Other zones may still need it. */
async function revokeUnused(
  store: Store,
  { edited }: CorefileChange,
  signal: AbortSignal,
): Promise<void> {
  if (!readsImports(edited)) await revokeAccess(store, signal);
}

function chooseSource(facts: {
  readonly flags: EnableFlags;
  readonly servers: readonly string[];
  readonly deployed:
    | { readonly version: CoreDnsVersion | undefined; readonly image: string }
    | undefined;
  readonly zone: string;
}): ZoneSource {
  const { flags, servers, deployed, zone } = facts;
  if (servers.length > 0) return { kind: "stub", servers };
  const stated = flags.corednsVersion;
  const version = stated === undefined ? deployed?.version : parseCoreDnsVersion(stated);
  if (stated !== undefined && version === undefined) {
    throw new Problem("ArgumentInvalid", `"${stated}" is not a version of CoreDNS such as 1.12.2.`);
  }
  if (stated === undefined && deployed === undefined) throw missingDeployment(flags);
  if (version === undefined) {
    throw new Problem(
      "CoreDnsTooOld",
      `the image ${deployed?.image} does not say which CoreDNS it is`,
      {
        hint: "Say it with --coredns-version, or give --server with the address of `isthmus dns`.",
      },
    );
  }
  if (hasMulticluster(version)) return { kind: "multicluster" };
  const { major, minor, patch } = version;
  throw new Problem(
    "CoreDnsTooOld",
    `CoreDNS ${major}.${minor}.${patch} cannot answer ${zone} itself; that came with 1.12.2`,
    { hint: "Run `isthmus dns` and give its address with --server, or upgrade CoreDNS." },
  );
}

function missingDeployment({ namespace, deployment }: CoreDnsPlace): Problem {
  return new Problem("CoreDnsMissing", `there is no Deployment ${namespace}/${deployment}`, {
    hint: "Name it with --namespace and --deployment, or give --coredns-version and --service-account.",
  });
}

function missingImports(): Problem {
  return new Problem(
    "ServiceImportsMissing",
    "the API server does not serve ServiceImports of version v1alpha1, which CoreDNS reads",
    { hint: "Run `isthmus crds install` first." },
  );
}

function printChange(context: CliContext, flags: SwitchFlags, change: CorefileChange): void {
  const lines = renderDiff(change.text, change.edited);
  const what = `${flags.configKey} of the ConfigMap ${flags.namespace}/${flags.configMap}`;
  if (lines.length > 0) context.out(`${what}:`);
  else if (flags.dryRun) context.out(`${what} would stay as it is.`);
  for (const line of lines) context.out(line);
}

function tellKeeper(context: CliContext, flags: SwitchFlags, change: CorefileChange): void {
  const keeper = findKeeper(change.configMap);
  if (keeper === undefined || change.edited === change.text) return;
  warn(context, [
    `the ConfigMap ${flags.namespace}/${flags.configMap} is kept by ${keeper}, which may undo this: make the same change where that gets it from.`,
  ]);
}

function tellReload(context: CliContext, flags: SwitchFlags, change: CorefileChange): void {
  if (change.edited === change.text) return;
  context.out(
    reloadsItself(change.edited)
      ? "CoreDNS has the reload plugin: it does so by itself, usually within two minutes."
      : `CoreDNS has no reload plugin: run kubectl -n ${flags.namespace} rollout restart deployment ${flags.deployment}`,
  );
}

function parseZone(text: string): string {
  const zone = text.toLowerCase().replace(/\.$/u, "");
  const label = "(?!-)[a-z0-9-]{1,63}(?<!-)";
  const isName = zone.length <= 253 && new RegExp(`^${label}(\\.${label})*$`, "u").test(zone);
  if (isName && zone !== "cluster.local") return zone;
  throw new Problem("ArgumentInvalid", `"${text}" cannot be the zone of a clusterset.`);
}

/** As CoreDNS takes it: an address, never a name. */
function parseServer(text: string): string {
  const [, bracketed, plain, port] = /^(?:\[(.+)\]|([^:]+))(?::(\d+))?$/u.exec(text) ?? [];
  const isPort = port === undefined || (Number(port) > 0 && Number(port) < 65_536);
  if (isIP(text) !== 0 || (isIP(bracketed ?? plain ?? "") !== 0 && isPort)) return text;
  throw new Problem(
    "ArgumentInvalid",
    `"${text}" is not an address such as 10.96.0.53, 10.96.0.53:1053 or [fd00::35]:1053.`,
  );
}
