// Test tool: what the demo has on the screen in, what a person would read off it out; and the demo's world asked the way that the
// screen says.

import { Resolver } from "node:dns/promises";
import { connect } from "node:net";
import { onTestFinished } from "vitest";
import { createClient, type KubeClient } from "../src/kube/client.ts";
import { systemClock } from "../src/kube/clock.ts";
import { loadKubeconfig } from "../src/kube/config.ts";

export interface Place {
  readonly host: string;
  readonly port: number;
}

function find(screen: string, pattern: RegExp): string {
  const found = pattern.exec(screen)?.[1];
  if (found === undefined) throw new Error(`${pattern} is not on the screen:\n${screen}`);
  return found;
}

function findPlace(text: string, pattern: RegExp): Place {
  const [, host = "", port = ""] = pattern.exec(text) ?? [];
  if (host === "") throw new Error(`${pattern} is not on the screen:\n${text}`);
  return { host, port: Number(port) };
}

/** Of the API server of a cluster. */
export function readServer(screen: string, cluster: string): Place {
  return findPlace(screen, new RegExp(`^ +${cluster} +https://([\\d.]+):(\\d+) `, "m"));
}

/** Of the DNS server of edge. */
export function readDns(screen: string): Place {
  return findPlace(screen, /dig \+short @([\d.]+) -p (\d+) /);
}

/** Where curl is to go. */
export function readUrl(screen: string): Place {
  return findPlace(screen, /curl http:\/\/([\d.]+):(\d+)$/m);
}

/** Of the page. */
export function readDashboard(screen: string): string {
  return find(screen, /Watch it in a browser, if you like: (\S+)/);
}

/** Arguments of the command to explain the shop with, as a shell hands them over. */
export function readExplain(screen: string): readonly string[] {
  const [, verb = "", names = ""] =
    /^ +isthmus (explain \S+) --kubeconfig=\{(\S+)\}\.yaml$/m.exec(screen) ?? [];
  const files = names.split(",").map((name) => `--kubeconfig=${name}.yaml`);
  return [...verb.split(" "), ...files];
}

/** The row of the import as `kubectl get` of that cluster showed it last. */
export function readVirtualIp(screen: string, cluster: string): string {
  const table = screen.slice(screen.lastIndexOf(`${cluster} $ kubectl get serviceimports`));
  return find(table, /^ +checkout +ClusterSetIP +\["([\d.]+)"\]/m);
}

/** Who answered how often, the last time that it was counted. */
export function readCounts(screen: string): Readonly<Record<string, number>> {
  const counted = screen.slice(screen.lastIndexOf("requests in edge"));
  const text = find(counted, /^requests in edge, each a new connection: (.*)$/m);
  return Object.fromEntries(
    text.split(", ").map((one) => {
      const [who = "", count] = one.split(" ");
      return [who, Number(count)];
    }),
  );
}

/** With the kubeconfig that the commands on the screen name. */
export function connectTo(screen: string, cluster: string): KubeClient {
  const folder = find(screen, /--kubeconfig (\S+)\/edge\.yaml/);
  const config = loadKubeconfig({ paths: [`${folder}/${cluster}.yaml`], env: {}, home: folder });
  const client = createClient(config, { clock: systemClock });
  onTestFinished(() => client.close());
  return client;
}

/** Undefined when there is no such name. */
export async function resolve({ host, port }: Place, name: string): Promise<string | undefined> {
  const resolver = new Resolver({ tries: 6 });
  resolver.setServers([`${host}:${port}`]);
  return (await resolver.resolve4(name).catch(() => []))[0];
}

export function canConnect(place: Place): Promise<boolean> {
  return new Promise((settle) => {
    const socket = connect(place);
    socket.on("connect", () => settle(true));
    socket.on("error", () => settle(false));
    socket.on("close", () => socket.destroy());
    socket.on("connect", () => socket.destroy());
  });
}
