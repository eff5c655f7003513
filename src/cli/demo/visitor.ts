// Demo: somebody in one cluster who uses the shop as anybody would: resolves its name, opens a connection, reads who answered. Every
// request is real, and what fails is counted as failed.

import { Resolver } from "node:dns/promises";
import { get } from "node:http";
import type { DemoCluster } from "./cluster.ts";
import type { Network, Place } from "./network.ts";
import { CHECKOUT_NAME } from "./shop.ts";

export interface Visitor {
  /** Addresses of the shop by the cluster's DNS server; none while it has no name. */
  resolve(): Promise<readonly string[]>;
  /** "checkout-1 in east"; undefined when nobody answered. */
  ask(): Promise<string | undefined>;
  /** Asks that many times, one after the other. */
  count(requests: number): Promise<Tally>;
}

/** Answers by cluster; "failed" for those that nobody gave. */
export type Tally = ReadonlyMap<string, number>;
export const FAILED = "failed";

const ANSWER = /^(\S+) in (\S+)$/;
/** Who is not there refuses at once; who is busy may take long. */
const PATIENCE_MS = 10_000;

export function createVisitor(
  { dns }: Pick<DemoCluster, "dns">,
  options: { readonly network: Network; readonly signal: AbortSignal },
): Visitor {
  const { network, signal } = options;
  // Asked again as stub resolvers do: c-ares gives a server that used to be quick a quarter of a second.
  const resolver = new Resolver({ timeout: PATIENCE_MS, tries: 5 });
  resolver.setServers([`${dns.host}:${dns.port}`]);

  async function resolve(): Promise<readonly string[]> {
    // NXDOMAIN, SERVFAIL and silence are all no address.
    return resolver.resolve4(CHECKOUT_NAME).catch(() => []);
  }

  async function ask(): Promise<string | undefined> {
    signal.throwIfAborted();
    const [host] = await resolve();
    if (host === undefined) return undefined;
    return fetchText(network.locate({ host, port: network.port }), signal);
  }

  return {
    resolve,
    ask,
    async count(requests) {
      const tally = new Map<string, number>();
      for (let nth = 0; nth < requests; nth++) addAnswer(tally, await ask());
      return tally;
    },
  };
}

export function addAnswer(tally: Map<string, number>, answer: string | undefined): void {
  const who = answer === undefined ? FAILED : clusterOf(answer);
  tally.set(who, (tally.get(who) ?? 0) + 1);
}

export function clusterOf(answer: string): string {
  return ANSWER.exec(answer)?.[2] ?? FAILED;
}

/** A connection of its own for each request: virtual IPs spread connections, not requests. */
function fetchText({ host, port }: Place, signal: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve) => {
    const options = { host, port, agent: false, timeout: PATIENCE_MS, signal };
    const request = get(options, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => resolve(response.statusCode === 200 ? text.trim() : undefined));
      response.on("error", () => resolve(undefined));
    });
    request.on("timeout", () => request.destroy());
    request.on("error", () => resolve(undefined));
  });
}
