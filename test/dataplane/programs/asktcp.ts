// Measuring over TCP: a new connection for every request, its name resolved anew.

import { connect } from "node:net";
import { judgeAnswer, MAX_BYTES } from "./answer.ts";
import type { Attempt, AttemptOptions } from "./ask.ts";
import { RequestError } from "./failure.ts";

export function createTcpAttempt({ name, port, resolver }: AttemptOptions): Attempt {
  return {
    async run({ nonce, progress, late }) {
      progress("answer from the name server");
      const address = await resolver.resolve(name);
      late.throwIfAborted();
      progress("connection", address);
      const socket = connect({ host: address, port });
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
