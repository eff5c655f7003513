// Measuring over UDP: one socket and one source port for all requests, so that whatever remembers flows on the way is noticed.
// The name is resolved for every request.

import { judgeAnswer } from "./answer.ts";
import type { Attempt, AttemptOptions } from "./ask.ts";
import { createUdpPort } from "./udpport.ts";

export function createUdpAttempt({ flow, name, port, resolver }: AttemptOptions): Attempt {
  const udp = createUdpPort(flow.family);
  return {
    async run({ nonce, progress, late }) {
      progress("answer from the name server");
      const address = await resolver.resolve(name);
      late.throwIfAborted();
      progress("answer", address);
      const text = await udp.ask({ address, port, nonce, signal: late });
      return judgeAnswer(text, nonce, address);
    },
    close: () => udp.close(),
  };
}
