// Measuring: a datagram out, the one that answers it in. One source port for its whole life, connected to the address that
// was asked last, so that a refusal is heard and what comes from elsewhere is not. An answer belongs to its number, however late.

import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import type { Family } from "./tally.ts";

export interface UdpPort {
  /** The datagram that answers. Rejects when the kernel says that it failed, or the signal that nobody waits. */
  ask(question: {
    readonly address: string;
    readonly port: number;
    readonly nonce: string;
    readonly signal: AbortSignal;
  }): Promise<string>;
  close(): void;
}

interface Waiting {
  readonly nonce: string;
  readonly resolve: (text: string) => void;
  readonly reject: (error: Error) => void;
}

const ATTEMPTS = 5;

export function createUdpPort(family: Family): UdpPort {
  let opened: Promise<Socket> | undefined;
  let connectedTo: string | undefined;
  let waiting: Waiting | undefined;

  async function open(): Promise<Socket> {
    const socket = await bindForGood(family);
    socket.on("message", (message) => {
      const text = message.toString("utf8");
      if (waiting !== undefined && !isForAnother(text, waiting.nonce)) waiting.resolve(text);
    });
    // Of the datagram sent last: requests go one at a time, and a closed port says so at once.
    socket.on("error", (error) => waiting?.reject(error));
    return socket;
  }

  async function connectTo(socket: Socket, address: string, port: number): Promise<void> {
    const wanted = `${address} ${port}`;
    if (connectedTo === wanted) return;
    if (connectedTo !== undefined) socket.disconnect();
    connectedTo = undefined;
    const connected = once(socket, "connect");
    socket.connect(port, address);
    await connected;
    connectedTo = wanted;
  }

  return {
    async ask({ address, port, nonce, signal }) {
      opened ??= open();
      const socket = await opened;
      await connectTo(socket, address, port);
      signal.throwIfAborted();
      let mine: Waiting | undefined;
      try {
        return await new Promise<string>((resolve, reject) => {
          mine = { nonce, resolve, reject };
          waiting = mine;
          signal.addEventListener("abort", () => reject(new Error("nobody waits")), { once: true });
          socket.send(`who ${nonce}`, (error) => {
            if (error !== null) reject(error);
          });
        });
      } finally {
        if (waiting === mine) waiting = undefined;
      }
    },
    close() {
      void opened?.then((socket) => socket.close());
    },
  };
}

/** A well-formed answer to another request is late and not wrong; anything else is for the one who waits to judge. */
function isForAnother(text: string, nonce: string): boolean {
  try {
    const { nonce: found } = JSON.parse(text) as { readonly nonce?: unknown };
    return typeof found === "string" && found !== nonce;
  } catch {
    return false;
  }
}

/** A port that the kernel chose would be given up with every change of address; one that was asked for is kept. */
async function bindForGood(family: Family): Promise<Socket> {
  for (let attempt = 1; ; attempt += 1) {
    const probe = await bind(family, 0);
    const { port } = probe.address();
    probe.close();
    try {
      return await bind(family, port);
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
    }
  }
}

async function bind(family: Family, port: number): Promise<Socket> {
  const socket = createSocket({ type: family === 4 ? "udp4" : "udp6", ipv6Only: family === 6 });
  const bound = once(socket, "listening");
  socket.bind(port);
  await bound;
  return socket;
}
