// CLI: `isthmus dashboard`, and the same page out of an agent, central or the demo: clusters in, a page that shows them live out,
// until it is stopped. On loopback for whoever is on the machine; elsewhere for who has the token.

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { Problem } from "../api/problem.ts";
import type { Settings } from "../api/settings.ts";
import type { LivenessPolicy } from "../core/liveness.ts";
import { readAsset } from "../dashboard/assets.ts";
import type { FeedSource } from "../dashboard/clusterFeed.ts";
import { type RunningFeed, startFeed } from "../dashboard/feed.ts";
import { isLoopback } from "../dashboard/gate.ts";
import type { HubAccess } from "../dashboard/gathering.ts";
import { serveDashboard } from "../dashboard/server.ts";
import { createClient, type KubeClient } from "../kube/client.ts";
import type { ClusterConfig } from "../kube/connection.ts";
import type { Log } from "../ports/log.ts";
import { chooseConfig } from "./cluster.ts";
import { type CliContext, untilStopped } from "./context.ts";
import { renderHubConfig } from "./hubConfig.ts";
import { parseAddress } from "./metrics.ts";
import { describe } from "./observer.ts";
import { requireGuarded } from "./settingRules.ts";
import { flagsOf, readSources, type Source } from "./source.ts";

/** Of a process that has other work to do. */
type DashboardPlace = Pick<Settings["agent"], "dashboardAddress" | "dashboardTokenFile">;

export interface DashboardOptions {
  readonly address: string;
  /** Undefined: nothing is demanded on loopback, and nothing else is served. */
  readonly token?: string | undefined;
  readonly sources: readonly FeedSource[];
  readonly asksHub: boolean;
  readonly mode: string;
  readonly policy?: LivenessPolicy;
  readonly heartbeatMs?: number;
  readonly onDefect: (error: unknown) => void;
}

export interface Dashboard {
  readonly url: string;
  readonly feed: RunningFeed;
  close(): Promise<void>;
}

const USER_AGENT = "isthmus-dashboard";
const TOKEN_MIN_LENGTH = 16;

export async function runDashboard(
  context: CliContext,
  flags: Settings["dashboard"],
): Promise<void> {
  const { clock, out, error, signal } = context;
  const given = readToken(flags.tokenFile);
  const isOpen = !isLoopback(parseAddress(flags.address).host);
  const token = given ?? (isOpen ? randomBytes(24).toString("base64url") : undefined);
  const named = readSources(flags);
  const clients: KubeClient[] = [];
  const sources = (named.length > 0 ? named : [{ name: "" }]).map((source: Source) => {
    const config = chooseConfig(context, flagsOf(source));
    const client = createClient(config, { clock, userAgent: USER_AGENT });
    clients.push(client);
    return describeSource(context, { ...source, config, client });
  });
  try {
    const dashboard = await openDashboard(context, {
      address: flags.address,
      token,
      sources,
      asksHub: flags.hub,
      mode: "isthmus dashboard",
      onDefect: (defect) => error(`This is a defect, please report it: ${String(defect)}`),
    });
    try {
      out(`The dashboard is at ${dashboard.url}`);
      if (token !== undefined && given === undefined) {
        error(
          `Others can reach it, so it wants a token. This is not said again:\n  ${dashboard.url}?token=${token}`,
        );
      } else if (token !== undefined) error("It wants the token of --token-file.");
      out("Ctrl-C ends it.");
      await untilStopped(signal);
    } finally {
      await dashboard.close();
    }
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
}

/** Watches and serves until it is closed. */
export async function openDashboard(
  context: CliContext,
  options: DashboardOptions,
): Promise<Dashboard> {
  const { clock, random } = context;
  const { host, port } = parseAddress(options.address);
  const { token, policy, heartbeatMs, sources, mode } = options;
  const openHub = (access: HubAccess) => {
    const config = renderHubConfig(context, access.credential, access.tokens);
    const store = createClient(config, { clock, userAgent: USER_AGENT });
    return {
      store,
      describe: (error: unknown) => describe(error, { config }, clock.now()),
      close: () => store.close(),
    };
  };
  const feed = startFeed({
    sources,
    ...(options.asksHub && { openHub }),
    mode,
    onDefect: options.onDefect,
    ...(policy === undefined ? {} : { policy }),
    ...(heartbeatMs === undefined ? {} : { heartbeatMs }),
    clock,
    random,
  });
  try {
    const place = { host, port, ...(token === undefined ? {} : { token }) };
    const server = await serveDashboard({ ...place, feed, assets: readAsset, clock });
    return {
      url: server.url,
      feed,
      async close() {
        await server.close();
        await feed.stop();
      },
    };
  } catch (error) {
    await feed.stop();
    throw error;
  }
}

/** For a process that has other work to do. Absent address: nothing is served. */
export async function openBeside(
  context: CliContext,
  { dashboardAddress: address, dashboardTokenFile }: DashboardPlace,
  options: Pick<DashboardOptions, "sources" | "asksHub" | "mode"> & { readonly log: Log },
): Promise<Pick<Dashboard, "close">> {
  const { log, ...rest } = options;
  if (address === undefined) return { close: () => Promise.resolve() };
  requireGuarded(address, dashboardTokenFile);
  const token = readToken(dashboardTokenFile);
  const onDefect = (error: unknown): void => {
    log.error("dashboard has a defect", { error: String(error) });
  };
  const dashboard = await openDashboard(context, { ...rest, address, token, onDefect });
  log.info("dashboard is served", { url: dashboard.url });
  return dashboard;
}

export function describeSource(
  { clock }: CliContext,
  source: Pick<Source, "name" | "givenId"> & {
    readonly config: ClusterConfig;
    readonly client: KubeClient;
  },
): FeedSource {
  const { config, client, givenId } = source;
  const guess = config.source.kind === "kubeconfig" ? config.source.context : undefined;
  return {
    name: source.name === "" ? (guess ?? config.server) : source.name,
    givenId,
    guess,
    store: client,
    describe: (error) => describe(error, { config }, clock.now()),
  };
}

function readToken(file: string | undefined): string | undefined {
  if (file === undefined) return undefined;
  let token: string;
  try {
    token = readFileSync(file, "utf8").trim();
  } catch (cause) {
    const hint = "Check that it is a file and that this user may read it.";
    throw new Problem("ArgumentInvalid", `the token file ${file} cannot be read`, { hint, cause });
  }
  if (/^[\x21-\x7e]+$/.test(token) && token.length >= TOKEN_MIN_LENGTH) return token;
  throw new Problem("ArgumentInvalid", `the token file ${file} holds no good token`, {
    hint: `Put at least ${TOKEN_MIN_LENGTH} letters and digits on one line, such as "openssl rand -hex 24" prints.`,
  });
}
