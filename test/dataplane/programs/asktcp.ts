// Measuring over TCP: a new connection for every request, its name resolved anew, from a port that no request before it had.
// Left to itself the kernel takes ports again within seconds, and conntrack remembers for two minutes where it sent a connection
// that was never answered: to a cluster that is gone, whoever gets that port, whatever kube-proxy has learned meanwhile.

import { connect } from "node:net";
import { judgeAnswer, MAX_BYTES } from "./answer.ts";
import type { Attempt, AttemptOptions } from "./ask.ts";
import { RequestError } from "./failure.ts";

/** Below those that the kernel gives away by itself; a family each, because a socket for IPv6 may take both. */
const FIRST_PORT = { 4: 10_000, 6: 20_000 } as const;
/** At ten requests a second, used again after a quarter of an hour. */
const PORTS = 10_000;

export function createTcpAttempt({ flow, name, port, resolver }: AttemptOptions): Attempt {
  let asked = 0;
  return {
    async run({ nonce, progress, late }) {
      progress("answer from the name server");
      const address = await resolver.resolve(name);
      late.throwIfAborted();
      progress("connection", address);
      const localPort = FIRST_PORT[flow.family] + (asked % PORTS);
      asked += 1;
      const socket = connect({ host: address, port, localPort });
      late.addEventListener("abort", () => socket.destroy(), { once: true });
      try {
        const text = await new Promise<string>((resolve, reject) => {
          let read = "";
          socket.setEncoding("utf8");
          socket.on("connect", () => {
            progress("answer", address);
            socket.write(`who ${nonce}\n`);
          });
          socket.on("data", (chunk: string) => {
            read += chunk;
            if (read.includes("\n") || read.length > MAX_BYTES) resolve(read);
          });
          socket.on("error", reject);
          socket.on("close", () => {
            reject(new RequestError("reset", "the connection was closed before the answer"));
          });
        });
        return judgeAnswer(text, nonce, address);
      } finally {
        socket.destroy();
      }
    },
    close() {},
  };
}
