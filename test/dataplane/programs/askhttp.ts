// Measuring over HTTP: one connection for as long as both ends want it; its name is resolved when it is opened. A request on it
// that gets no whole answer has failed, also where other clients would quietly ask again on a new one.

import { Agent, get, type IncomingMessage } from "node:http";
import { judgeAnswer, MAX_BYTES } from "./answer.ts";
import type { Attempt, AttemptOptions } from "./ask.ts";
import { describeFailure, RequestError } from "./failure.ts";

export function createHttpAttempt({ name, port, resolver }: AttemptOptions): Attempt {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, maxFreeSockets: 1 });
  let openTo = "";

  function isOpen(): boolean {
    const idle = Object.values(agent.freeSockets).flatMap((sockets) => sockets ?? []);
    return idle.some((socket) => !socket.destroyed && socket.writable);
  }

  return {
    async run({ nonce, progress, late }) {
      const isKept = isOpen();
      if (!isKept) {
        progress("answer from the name server");
        openTo = await resolver.resolve(name);
        late.throwIfAborted();
      }
      const address = openTo;
      progress(isKept ? "answer on the connection kept open" : "connection", address);
      const request = get({
        agent,
        host: address,
        port,
        path: `/?nonce=${encodeURIComponent(nonce)}`,
        headers: { host: name },
        signal: late,
      });
      if (!isKept) request.once("finish", () => progress("answer", address));
      try {
        const text = await new Promise<string>((resolve, reject) => {
          request.on("error", reject);
          request.on("response", (response) => readBody(response, resolve, reject));
          request.on("close", () => {
            reject(new RequestError("reset", "the connection was closed before the answer"));
          });
        });
        return judgeAnswer(text, nonce, address);
      } catch (error) {
        request.destroy();
        if (!isKept) throw error;
        const { reason, what } = describeFailure(error);
        throw new RequestError(reason, `${what}, on the connection kept open`);
      }
    },
    close: () => agent.destroy(),
  };
}

/** Not by a promise: a request is closed right after its answer, and a promise would be told of that first. */
function readBody(
  response: IncomingMessage,
  resolve: (text: string) => void,
  reject: (error: unknown) => void,
): void {
  let read = "";
  response.setEncoding("utf8");
  response.on("data", (chunk: string) => {
    read += chunk;
    if (read.length > MAX_BYTES) reject(new RequestError("wrong answer", "too long"));
  });
  response.on("error", reject);
  response.on("end", () => {
    if (response.statusCode === 200) resolve(read);
    else reject(new RequestError("wrong answer", `HTTP status ${response.statusCode}`));
  });
  response.on("close", () => {
    reject(new RequestError("reset", "the connection was closed within the answer"));
  });
}
