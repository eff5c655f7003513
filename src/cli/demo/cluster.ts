// Demo: one cluster as people know it: an API server, pods that answer, virtual IPs that balance, a DNS server. All of it can lose its
// power and come back, with everything that its API server held.

import { MEMBER_CRDS } from "../../api/crds.ts";
import { installCrds } from "../../controllers/crd.ts";
import { startFeed } from "../../dns/feed.ts";
import { createDnsServer, type ServerConfig } from "../../dns/server.ts";
import type { Fault } from "../../embedded/fault.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Log } from "../../ports/log.ts";
import type { CliContext } from "../context.ts";
import { startEmbeddedCluster } from "../embeddedCluster.ts";
import { startKubelet } from "./kubelet.ts";
import { startKubeProxy } from "./kubeproxy.ts";
import type { Network, Place, Ranges } from "./network.ts";

export interface DemoCluster {
  readonly name: string;
  readonly url: string;
  readonly kubeconfigPath: string;
  readonly client: KubeClient;
  readonly ranges: Ranges;
  /** Of its DNS server. */
  readonly dns: Place;
  /** Every pod that there is answers. */
  isSettled(): boolean;
  /** Where connections to that virtual IP go at present; undefined when it takes none. */
  backendsOf(at: Place): readonly Place[] | undefined;
  /** Its API server, its pods, its virtual IPs and its DNS server answer nobody. */
  cutPower(): Promise<void>;
  restorePower(): Promise<void>;
  stop(): Promise<void>;
}

export interface DemoClusterOptions {
  readonly name: string;
  readonly kubeconfigPath: string;
  readonly network: Network;
  readonly ranges: Ranges;
  readonly log: Log;
}

const ZONE = "clusterset.local";
const TTL_SECONDS = 5;
/** As `isthmus dns` has by default; the others in case that somebody has that one on all addresses. */
const DNS_PORTS = [1053, 2053, 5053, 10_053];

type Part = { stop(): Promise<void> };

export async function startDemoCluster(
  context: CliContext,
  options: DemoClusterOptions,
): Promise<DemoCluster> {
  const { clock, random } = context;
  const { name, kubeconfigPath, network, ranges, log } = options;
  const addresses = { serviceCidrs: [ranges.services], takesLoopback: true };
  const embedded = await startEmbeddedCluster(context, { name, kubeconfigPath, addresses });
  const { client } = embedded;
  let powered: Powered | undefined;
  let outage: Fault | undefined;

  async function stop(): Promise<void> {
    await powered?.stop();
    await embedded.stop();
  }

  try {
    await installCrds({ store: client, crds: MEMBER_CRDS, clock });
    const ports = network.isWhole ? DNS_PORTS : [0];
    powered = await powerUp(ports);
    const { dns } = powered;
    return {
      name,
      url: embedded.url,
      kubeconfigPath,
      client,
      ranges,
      dns,
      isSettled: () => powered?.isSettled() ?? false,
      backendsOf: (at) => powered?.backendsOf(at),
      async cutPower() {
        outage ??= embedded.faults.add({ disconnect: true, dropWatches: true });
        await powered?.stop();
        powered = undefined;
      },
      async restorePower() {
        outage?.remove();
        outage = undefined;
        powered ??= await powerUp([dns.port]);
      },
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }

  /** Everything that runs beside the API server. */
  async function powerUp(dnsPorts: readonly number[]): Promise<Powered> {
    const shared = { store: client, network, clock, random, log };
    const parts: Part[] = [];
    const stopParts = async (): Promise<void> => {
      await Promise.all(parts.splice(0).map((part) => part.stop()));
    };
    try {
      const kubelet = startKubelet({ ...shared, cluster: name, ranges });
      parts.push(kubelet);
      const proxy = startKubeProxy(shared);
      parts.push(proxy);
      const { dns, part } = await startDns({ context, client, host: ranges.dns, dnsPorts, log });
      parts.push(part);
      return {
        dns,
        isSettled: () => kubelet.isSettled(),
        backendsOf: (at) => proxy.backendsOf(at),
        stop: stopParts,
      };
    } catch (error) {
      await stopParts();
      throw error;
    }
  }
}

type Powered = Pick<DemoCluster, "dns" | "isSettled" | "backendsOf" | "stop">;

/** The product's own DNS server, in this process. */
async function startDns(options: {
  readonly context: CliContext;
  readonly client: KubeClient;
  readonly host: string;
  readonly dnsPorts: readonly number[];
  readonly log: Log;
}): Promise<{ readonly dns: Place; readonly part: Part }> {
  const { context, client, log } = options;
  const { clock, random } = context;
  let failure: unknown;
  for (const port of options.dnsPorts) {
    const config = describeServer({ host: options.host, port }, context);
    const server = createDnsServer(config, { clock, log });
    try {
      const [dns] = await server.open();
      if (dns === undefined) throw new Error("a DNS server without an address");
      const feed = startFeed({
        store: client,
        zone: {
          zones: [ZONE],
          ttlSeconds: TTL_SECONDS,
          headless: "all",
          here: {},
          regionOf: () => undefined,
        },
        serial: config.serial,
        onChange: (change) => server.replace(change),
        onSynced: () => server.markSynced(),
        clock,
        random,
        log,
      });
      const stop = async (): Promise<void> => {
        await feed.stop();
        await server.close();
      };
      return { dns, part: { stop } };
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

function describeServer(at: Place, { clock, random }: CliContext): ServerConfig {
  return {
    zones: [ZONE],
    ttlSeconds: TTL_SECONDS,
    serial: Math.floor(clock.now() / 1_000) % 2 ** 32,
    seed: Math.floor(random() * 2 ** 32),
    listen: [at],
    maxUdpSize: 1_232,
    order: "rotate",
    forward: [],
    answersPerSecond: 0,
    maxTcpConnections: 100,
    tcpIdleMs: 10_000,
  };
}
