// Contract suite: a TCP relay before a server, so that a test can cut connections the same way for both servers.

import { connect, createServer, type Socket } from "node:net";

export interface Relay {
  readonly port: number;
  /** How many connections it has taken. */
  connections(): number;
  /** Resets every connection; new ones are taken as before. */
  cut(): void;
  close(): Promise<void>;
}

export async function openRelay(target: URL): Promise<Relay> {
  const sockets = new Set<Socket>();
  let taken = 0;
  const server = createServer((inbound) => {
    taken += 1;
    const outbound = connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [inbound, outbound],
      [outbound, inbound],
    ] as const) {
      sockets.add(from);
      from.pipe(to);
      from.on("error", () => to.destroy());
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  if (address === null || typeof address === "string") {
    throw new Error("the relay has no port");
  }
  const cut = (): void => {
    for (const socket of sockets) {
      socket.resetAndDestroy();
    }
  };
  return {
    port: address.port,
    connections: () => taken,
    cut,
    close: async () => {
      cut();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}
