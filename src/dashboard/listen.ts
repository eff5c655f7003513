// A server and an address in, a server that listens out, or a sentence why it cannot.

import type { Server } from "node:http";
import { Problem } from "../api/problem.ts";

/** Resolves when it listens; rejects with a Problem that says what to do. */
export function listenAt(
  server: Server,
  { host, port }: { readonly host: string; readonly port: number },
  whenTaken: string,
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      if (cause.code === "EADDRINUSE") {
        const message = `port ${port} of ${host === "" ? "this machine" : host} is taken`;
        reject(new Problem("PortInUse", message, { hint: whenTaken, cause }));
        return;
      }
      const hint = "Give an address of this machine and a port that this user may have.";
      const message = `nothing can listen on ${host}:${port} (${cause.code ?? cause.message})`;
      reject(new Problem("ArgumentInvalid", message, { hint, cause }));
    });
    // Without a host Node takes whatever families the machine has.
    if (host === "") server.listen(port, resolve);
    else server.listen(port, host, resolve);
  });
}
