// Demo: the network of three clusters, played on loopback. Addresses of pods and Services in, sockets that really listen there out.
// Linux has all of 127.0.0.0/8; a machine that has 127.0.0.1 alone plays each address as a port of it.

import { createServer, type Server } from "node:net";
import { Problem } from "../../api/problem.ts";

export interface Place {
  readonly host: string;
  readonly port: number;
}

/** Of one cluster. */
export interface Ranges {
  readonly pods: string;
  readonly services: string;
  /** For its DNS server. */
  readonly dns: string;
  /** The nth pod's, from 1 to 200. */
  readonly podAddress: (nth: number) => string;
}

export interface Network {
  /** That all pods and virtual IPs have: above 1023, because nobody but root may listen below. */
  readonly port: number;
  /** Every address of 127.0.0.0/8 can be listened on; false: `locate` says which port stands for one. */
  readonly isWhole: boolean;
  /** Of the cluster with that number, from 0. */
  rangesOf(cluster: number): Ranges;
  listen(server: Server, at: Place): Promise<void>;
  /** Where to connect to for that address. */
  locate(at: Place): Place;
  close(): Promise<void>;
}

export const LOCALHOST = "127.0.0.1";

/** The second octet of the first cluster: another demo on the machine takes another ten. */
const DECADES = [101, 111, 121, 131, 141, 151, 161, 171, 181, 191, 201, 211, 221, 231, 241];
const PORTS = [8080, 8088, 8880, 18_080, 28_080];

export async function openNetwork(options: { readonly isWhole?: boolean } = {}): Promise<Network> {
  const isWhole = options.isWhole ?? (await hasLoopbackRange());
  const { first, port, claim } = isWhole ? await claimRanges() : UNCLAIMED;
  /** On a machine with one address: which port stands for an address and port. */
  const played = new Map<string, Place>();
  return {
    port,
    isWhole,
    rangesOf(cluster) {
      const prefix = `127.${first + cluster}`;
      return {
        pods: `${prefix}.1.0/24`,
        services: `${prefix}.96.0/20`,
        dns: isWhole ? `${prefix}.0.53` : LOCALHOST,
        podAddress: (nth) => `${prefix}.1.${nth}`,
      };
    },
    async listen(server, at) {
      if (isWhole) {
        await listenAt(server, at);
        return;
      }
      // The same port again for an address that comes back: somebody may have it on the screen.
      await listenAt(server, played.get(keyOf(at)) ?? { host: LOCALHOST, port: 0 });
      const address = server.address();
      if (address === null || typeof address === "string") throw new Error("a server without port");
      played.set(keyOf(at), { host: LOCALHOST, port: address.port });
    },
    locate: (at) => (isWhole ? at : (played.get(keyOf(at)) ?? at)),
    close: () => (claim === undefined ? Promise.resolve() : closeServer(claim)),
  };
}

/** Cuts no connection: who serves some closes them first. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
  });
}

const UNCLAIMED = { first: DECADES[0] ?? 101, port: PORTS[0] ?? 8080, claim: undefined };

/** One listener is held for as long as the demo runs: it keeps the next demo, and ranges that somebody uses, apart. */
async function claimRanges(): Promise<{
  readonly first: number;
  readonly port: number;
  readonly claim: Server;
}> {
  // The port comes last: one that is taken on all addresses at once is taken in every ten.
  for (const port of PORTS) {
    for (const first of DECADES) {
      const claim = createServer((socket) => socket.destroy());
      try {
        await listenAt(claim, { host: `127.${first}.0.1`, port });
        return { first, port, claim };
      } catch (error) {
        if (!isCode(error, "EADDRINUSE")) throw error;
      }
    }
  }
  throw new Problem("PortInUse", `none of the ports ${PORTS.join(", ")} is free on loopback`, {
    hint: "Stop what listens on one of them, such as other demos that still run.",
  });
}

async function hasLoopbackRange(): Promise<boolean> {
  const probe = createServer();
  try {
    await listenAt(probe, { host: "127.101.0.1", port: 0 });
    return true;
  } catch (error) {
    if (isCode(error, "EADDRNOTAVAIL")) return false;
    throw error;
  } finally {
    if (probe.listening) await closeServer(probe);
  }
}

function listenAt(server: Server, { host, port }: Place): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

function keyOf({ host, port }: Place): string {
  return `${host}:${port}`;
}
