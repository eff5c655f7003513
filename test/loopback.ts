// Test double: a scripted HTTP(S) server on loopback and a directory that goes away with the test.

import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { createServer as createTlsServer, type ServerOptions } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

export interface Loopback {
  readonly url: string;
  readonly port: number;
  readonly server: Server;
  /** Every request so far, in order of arrival. */
  readonly requests: readonly IncomingMessage[];
}

/** Closed, with all its connections, when the test ends. */
export async function serve(listener: RequestListener, tls?: ServerOptions): Promise<Loopback> {
  const requests: IncomingMessage[] = [];
  const record: RequestListener = (request, response) => {
    requests.push(request);
    listener(request, response);
  };
  const server = tls === undefined ? createServer(record) : createTlsServer(tls, record);
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`,
    port,
    server,
    requests,
  };
}

/** What the promise rejects with; watched from now on, so that it may be awaited later. */
export function rejectionOf(promise: unknown): Promise<unknown> {
  return Promise.resolve(promise).then(
    () => {
      throw new Error("it did not reject");
    },
    (error: unknown) => error,
  );
}

/** Removed when the test ends. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "isthmus-test-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return directory;
}
