// CLI: `isthmus hub token`: hands out join tokens, lists them, takes them back.

import { NAMESPACE } from "../api/builtin.ts";
import { HUB_NAMESPACE } from "../api/names.ts";
import type { KubeObject } from "../api/object.ts";
import { Problem } from "../api/problem.ts";
import {
  createJoinToken,
  deleteJoinToken,
  isExpired,
  listJoinTokens,
  sweepJoinTokens,
} from "../controllers/jointoken.ts";
import { renderJoinToken, renderJoinTokenRemoval } from "../hub/manifest/jointoken.ts";
import { joinAccount } from "../hub/manifest/names.ts";
import { encodeTicket, isLoopbackServer, isServer } from "../hub/ticket.ts";
import { readPem } from "../kube/pem.ts";
import { formatTime } from "../ports/clock.ts";
import { isStoreError } from "../ports/store.ts";
import { type Cluster, type ClusterFlags, type Clusters, withClusters } from "./cluster.ts";
import type { CliContext } from "./context.ts";
import { formatDuration, parseDuration } from "./duration.ts";
import { printYaml, renderDoomed, warn } from "./output.ts";
import { renderRows } from "./table.ts";

export interface HubFlags extends ClusterFlags {
  readonly output?: string;
}

export interface TokenFlags extends HubFlags {
  readonly server?: string;
  readonly ttl: string;
  readonly uses: string;
}

/** On the hub's namespace: the address that members use, when it is not that of the administrator's kubeconfig. */
export const SERVER_ANNOTATION = "isthmus.dev/server";
const USES_MAX = 250;
const TTL_MAX_MS = 30 * 86_400_000;

export async function hubToken(context: CliContext, flags: TokenFlags): Promise<void> {
  if (flags.output === "yaml") {
    printTokenYaml(context, flags);
    return;
  }
  const { signal } = context;
  await withClusters(context, async (clusters) => {
    const hub = clusters.open(flags);
    const namespace = await requireHub(hub.store, signal);
    const remembered = namespace.metadata.annotations?.[SERVER_ANNOTATION];
    await handOut(context, clusters, { hub, flags, remembered }).catch(refuseNoHub);
  });
}

/** Makes one, and prints the line to join with. */
export async function handOut(
  context: CliContext,
  clusters: Clusters,
  given: {
    readonly hub: Cluster;
    readonly flags: TokenFlags;
    readonly remembered: string | undefined;
  },
): Promise<void> {
  const { hub, flags, remembered } = given;
  const { clock, signal } = context;
  const { ttlMs, uses } = readLimits(flags);
  const server = flags.server ?? remembered ?? hub.config.server;
  requireServer(server);
  const { authority, insecure } = hub.config.tls;
  const ca = await readPem(authority);
  const reach = { server: hub.config.server, ...(ca !== undefined && { ca }) };
  const name = drawName(context);
  const tokens = { store: hub.store, requestToken: hub.requestToken, clock, signal };
  const swept = await sweepJoinTokens(tokens);
  const token = await createJoinToken(tokens, {
    name,
    uses,
    ttlMs,
    connect: (secret) => clusters.reach({ ...reach, token: secret }).store,
  });
  const ticket = encodeTicket({ server, ...(ca !== undefined && { ca }), token, name });
  if (flags.output === "token") {
    context.out(ticket);
    return;
  }
  if (swept.length > 0) context.error(`Removed expired join tokens: ${swept.join(", ")}.`);
  if (flags.server === undefined && isLoopbackServer(server)) {
    warn(context, [
      `${server} is reached from this machine only. Clusters elsewhere need another address: isthmus hub init --server https://….`,
    ]);
  }
  if (insecure === true) {
    warn(context, [
      "The kubeconfig does not verify the hub's certificate, but members do: give it the hub's certificate-authority.",
    ]);
  }
  const many = uses === 1 ? "one cluster" : `${uses} clusters`;
  context.out(
    `To join ${many}, within ${formatDuration(ttlMs)}, run this with the kubeconfig of the joining cluster and a NAME for it:`,
  );
  context.out("");
  context.out(`  isthmus join --token ${ticket} --cluster-id NAME`);
}

function printTokenYaml(context: CliContext, flags: TokenFlags): void {
  const { ttlMs, uses } = readLimits(flags);
  const name = drawName(context);
  const expiresAt = formatTime(context.clock.now() + ttlMs);
  printYaml(
    context,
    `On the hub: isthmus hub token. The secret itself is asked for then: kubectl create token ${joinAccount(name)} -n ${HUB_NAMESPACE} --duration ${Math.max(600, Math.ceil(ttlMs / 1000))}s`,
    renderJoinToken({ name, uses, expiresAt }),
  );
}

function readLimits(flags: TokenFlags): { readonly ttlMs: number; readonly uses: number } {
  const ttlMs = parseDuration(flags.ttl, "--ttl");
  if (ttlMs > TTL_MAX_MS) {
    throw new Problem("ArgumentInvalid", "--ttl is at most 30d: a join token is a secret.");
  }
  const uses = Number(flags.uses);
  if (/^\d{1,3}$/.test(flags.uses) && uses >= 1 && uses <= USES_MAX) return { ttlMs, uses };
  const message = `"${flags.uses}" is not a number of clusters for --uses: give one from 1 to ${USES_MAX}.`;
  throw new Problem("ArgumentInvalid", message);
}

const LETTERS = "bcdfghjklmnpqrstvwxz0123456789";

/** Names one token among a few; it is no secret. */
function drawName({ random }: CliContext): string {
  const draw = (): string => LETTERS[Math.floor(random() * LETTERS.length)] ?? "x";
  return Array.from({ length: 6 }, draw).join("");
}

export function requireServer(server: string): void {
  if (isServer(server)) return;
  throw new Problem("ArgumentInvalid", `"${server}" cannot be the hub's address for members`, {
    hint: "Give an https address that other clusters can reach: --server https://hub.example.org:6443.",
  });
}

export async function hubTokenList(context: CliContext, flags: HubFlags): Promise<void> {
  const { clock, signal } = context;
  await withClusters(context, async (clusters) => {
    const { store } = clusters.open(flags);
    const tokens = await listJoinTokens(store, signal).catch(refuseNoHub);
    if (flags.output === "yaml") {
      printYaml(context, "On the hub: join tokens.", tokens);
      return;
    }
    if (flags.output === "json") {
      const all = { apiVersion: "v1", kind: "List", items: tokens };
      context.out(JSON.stringify(all, undefined, 2));
      return;
    }
    if (flags.output === "name") {
      for (const { metadata } of tokens) context.out(metadata.name ?? "");
      return;
    }
    if (tokens.length === 0) {
      context.out("There are no join tokens.");
      return;
    }
    const isWide = flags.output === "wide";
    const rows = tokens.map((token) => {
      const clusters = token.status?.clusters ?? [];
      return [
        token.metadata.name ?? "",
        `${clusters.length} of ${token.spec.uses}`,
        isExpired(token, clock.now()) ? `expired ${token.spec.expiresAt}` : token.spec.expiresAt,
        clusters.join(", "),
        ...(isWide ? [token.metadata.creationTimestamp ?? ""] : []),
      ];
    });
    const titles = ["NAME", "USED", "EXPIRES", "CLUSTERS", ...(isWide ? ["CREATED"] : [])];
    for (const line of renderRows(titles, rows)) context.out(line);
  });
}

export async function hubTokenDelete(
  context: CliContext,
  name: string,
  flags: HubFlags,
): Promise<void> {
  const { signal } = context;
  await withClusters(context, async (clusters) => {
    const { store } = clusters.open(flags);
    await requireHub(store, signal);
    if (flags.output === "yaml") {
      const tokens = await listJoinTokens(store, signal).catch(refuseNoHub);
      if (!tokens.some(({ metadata }) => metadata.name === name)) throw missingToken(name);
      const title = `On the hub, for kubectl delete --ignore-not-found: isthmus hub token delete ${name}.`;
      printYaml(context, title, renderDoomed(renderJoinTokenRemoval(name)));
      return;
    }
    if (!(await deleteJoinToken(store, name, signal))) throw missingToken(name);
    context.out(`Join token ${name} is deleted, and no longer accepted.`);
  });
}

function missingToken(name: string): Problem {
  return new Problem("NothingFound", `the hub has no join token "${name}"`, {
    hint: "isthmus hub token list shows those that it has.",
  });
}

/** Its namespace: what is not there on any other cluster either must not be reported as gone or done. */
export async function requireHub(
  store: Cluster["store"],
  signal: AbortSignal,
): Promise<KubeObject> {
  const namespace = await store.get(NAMESPACE, { name: HUB_NAMESPACE }, { signal });
  if (namespace === undefined) throw hubMissing();
  return namespace;
}

function hubMissing(cause?: unknown): Problem {
  return new Problem("HubMissing", "the cluster is not a hub", {
    hint: "Run isthmus hub init there first, or name the hub with --kubeconfig and --context.",
    cause,
  });
}

export function refuseNoHub(cause: unknown): never {
  throw isStoreError(cause, "NotFound") ? hubMissing(cause) : cause;
}
