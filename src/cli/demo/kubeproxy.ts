// Demo: plays kube-proxy in one cluster. Derived Services and their EndpointSlices in, virtual IPs that really listen and spread
// connections over the ready endpoints out. Real clusters have a real one: nothing outside the demo uses this.

import { connect, createServer, type Server, type Socket } from "node:net";
import { ENDPOINT_SLICE, type EndpointSlice, SERVICE, type Service } from "../../api/builtin.ts";
import { KUBE_SERVICE_NAME_LABEL, MANAGED_LABEL } from "../../api/names.ts";
import type { Clock, Random } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { Store } from "../../ports/store.ts";
import { logInformerError } from "../../runtime/complaint.ts";
import { createInformer } from "../../runtime/informer.ts";
import { createQueue } from "../../runtime/queue.ts";
import { closeServer, type Network, type Place } from "./network.ts";

export interface KubeProxyOptions {
  readonly store: Store;
  readonly network: Network;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface KubeProxy {
  /** Where connections to that virtual IP go at present; undefined when it takes none. */
  backendsOf(at: Place): readonly Place[] | undefined;
  /** No virtual IP is left, and no connection. */
  stop(): Promise<void>;
}

interface Listener {
  readonly at: Place;
  readonly server: Server;
  readonly sockets: Set<Socket>;
}

const BACKOFF = { baseMs: 50, capMs: 1_000 };

export function startKubeProxy(options: KubeProxyOptions): KubeProxy {
  const { store, network, clock, random, log } = options;
  /** By Service, then by name of the port. */
  const listening = new Map<string, Map<string, Listener>>();
  const shared = { store, clock, random, retryCapMs: 1_000 };

  const services = createInformer<Service>({
    ...shared,
    resource: SERVICE,
    labelSelector: MANAGED_LABEL,
    onChange: (key) => queue.add(key),
    onError: (error) =>
      logInformerError({ log, message: "Services cannot be read" }, SERVICE, error),
  });
  const slices = createInformer<EndpointSlice>({
    ...shared,
    resource: ENDPOINT_SLICE,
    labelSelector: KUBE_SERVICE_NAME_LABEL,
    indexes: {
      service: ({ metadata }) => [
        `${metadata.namespace}/${metadata.labels?.[KUBE_SERVICE_NAME_LABEL]}`,
      ],
    },
    // Looked up for each connection: nothing to do when they change.
    onChange: () => undefined,
    onError: (error) =>
      logInformerError({ log, message: "slices cannot be read" }, ENDPOINT_SLICE, error),
  });
  const queue = createQueue({
    clock,
    random,
    backoff: BACKOFF,
    keys: () => new Set([...services.keys(), ...listening.keys()]),
    handler: async (key) => {
      await follow(key);
      return "done";
    },
    onFailure: ({ key, error }) => log.warn("virtual IP cannot be served", { key, error }),
    onOverflow: ({ key }) => log.error("there are too many Services", { key }),
  });
  queue.start();

  /** What listens for the Service is what it says. */
  async function follow(key: string): Promise<void> {
    const wanted = placesOf(services.get(key));
    const present = listening.get(key) ?? new Map<string, Listener>();
    for (const [portName, listener] of present) {
      const at = wanted.get(portName);
      if (at?.host === listener.at.host && at.port === listener.at.port) continue;
      present.delete(portName);
      await close(listener);
    }
    listening.set(key, present);
    for (const [portName, at] of wanted) {
      if (present.has(portName)) continue;
      const sockets = new Set<Socket>();
      const server = createServer((socket) => {
        track(sockets, socket);
        forward(socket, { key, portName, sockets });
      });
      await network.listen(server, at);
      present.set(portName, { at, server, sockets });
    }
    if (present.size === 0) listening.delete(key);
  }

  /** One endpoint by chance for each connection, as kube-proxy does; never a second try, as kube-proxy does not. */
  function forward(
    socket: Socket,
    of: {
      readonly key: string;
      readonly portName: string;
      readonly sockets: Set<Socket>;
    },
  ): void {
    const backends = findBackends(slices.byIndex("service", of.key), of.portName);
    const backend = backends[Math.floor(random() * backends.length)];
    if (backend === undefined) {
      socket.resetAndDestroy();
      return;
    }
    const upstream = connect(network.locate(backend));
    track(of.sockets, upstream);
    upstream.on("error", () => socket.resetAndDestroy());
    socket.on("error", () => upstream.destroy());
    upstream.on("close", () => socket.end());
    socket.on("close", () => upstream.destroy());
    socket.pipe(upstream).pipe(socket);
  }

  return {
    backendsOf(at) {
      for (const [key, ports] of listening) {
        for (const [portName, listener] of ports) {
          if (listener.at.host !== at.host || listener.at.port !== at.port) continue;
          return findBackends(slices.byIndex("service", key), portName);
        }
      }
      return undefined;
    },
    async stop() {
      await Promise.all([services.stop(), slices.stop()]);
      await queue.stop();
      const listeners = [...listening.values()].flatMap((ports) => [...ports.values()]);
      await Promise.all(listeners.map(close));
      listening.clear();
    },
  };
}

/** TCP only: nothing in the demo speaks anything else. */
function placesOf(service: Service | undefined): ReadonlyMap<string, Place> {
  const { clusterIP = "None", ports = [] } = service?.spec ?? {};
  if (clusterIP === "None" || clusterIP === "") return new Map();
  return new Map(
    ports
      .filter(({ protocol = "TCP" }) => protocol === "TCP")
      .map(({ name = "", port }) => [name, { host: clusterIP, port }]),
  );
}

function findBackends(slices: readonly EndpointSlice[], portName: string): readonly Place[] {
  return slices.flatMap(({ endpoints, ports = [] }) => {
    const port = ports.find(({ name = "" }) => name === portName)?.port;
    if (port === undefined) return [];
    // A slice without endpoints comes with null.
    return (endpoints ?? [])
      .filter(({ conditions }) => conditions?.ready !== false)
      .flatMap(({ addresses }) => addresses.slice(0, 1).map((host) => ({ host, port })));
  });
}

function track(sockets: Set<Socket>, socket: Socket): void {
  sockets.add(socket);
  socket.on("close", () => sockets.delete(socket));
}

async function close({ server, sockets }: Listener): Promise<void> {
  for (const socket of sockets) socket.destroy();
  await closeServer(server);
}
