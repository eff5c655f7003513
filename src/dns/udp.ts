// DNS over UDP: datagrams in, datagrams out. One socket; nothing is kept of a query but what waits to be sent, and that is bounded.

import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import { isIPv6 } from "node:net";
import { SAMPLE_EVERY } from "./counters.ts";
import { cutToQuestion, rcodeOf, writeEmptyAnswer } from "./header.ts";
import { type Endpoint, explainListenFailure, type Responder } from "./responder.ts";
import { MESSAGE_MAX_BYTES } from "./wire.ts";

export interface Listener {
  /** As it is bound. */
  readonly at: Endpoint;
  close(): Promise<void>;
}

/** What the kernel keeps while we render a change, as far as it lets us (net.core.rmem_max). */
const RECEIVE_BUFFER_BYTES = 4 * 1_024 * 1_024;
/** Answers that wait because the network does not take them: beyond it nobody waits for them any more. */
const QUEUED_MAX = 256;

export async function listenUdp(responder: Responder, at: Endpoint): Promise<Listener> {
  const isSix = isIPv6(at.host);
  const socket = createSocket({
    type: isSix ? "udp6" : "udp4",
    // 0.0.0.0 and [::] may both be asked for; each gets its own.
    ipv6Only: isSix,
    // Node would look every address up, a turn of the event loop later. They are numbers already.
    lookup: (address, _options, found) => found(null, address, 4),
  });
  const bound = await bind(socket, at);
  try {
    socket.setRecvBufferSize(RECEIVE_BUFFER_BYTES);
  } catch (error) {
    responder.complain("receive buffer stays as it is", error);
  }
  answerDatagrams(socket, responder);
  return {
    at: bound,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

function bind(socket: Socket, at: Endpoint): Promise<Endpoint> {
  return new Promise((resolve, reject) => {
    const onError = (error: Error): void => {
      socket.close();
      reject(explainListenFailure(at, "UDP", error));
    };
    socket.once("error", onError);
    socket.bind({ port: at.port, address: at.host }, () => {
      socket.off("error", onError);
      resolve({ host: at.host, port: socket.address().port });
    });
  });
}

/** Of a socket that is bound. */
export function answerDatagrams(
  socket: Pick<Socket, "on" | "send" | "getSendQueueCount">,
  responder: Responder,
): void {
  const { answerer, counters, limiter, forwarder, clock, complain } = responder;
  let scratch = Buffer.allocUnsafe(MESSAGE_MAX_BYTES);
  let isCopying = false;
  let isOpen = true;
  let seen = 0;

  function receive(query: Buffer, client: RemoteInfo): void {
    counters.received("udp");
    if (client.port === 0) {
      counters.dropped("bad-source");
      return;
    }
    const verdict = limiter === undefined ? "answer" : limiter.judge(client.address);
    if (verdict === "drop") {
      counters.dropped("rate-limit");
      return;
    }
    // What could not be sent at once waits in the very buffer that it was given in.
    const queued = socket.getSendQueueCount();
    if (queued === 0) isCopying = false;
    else if (queued >= QUEUED_MAX) {
      counters.dropped("send-queue");
      return;
    } else if (!isCopying) {
      scratch = Buffer.allocUnsafe(MESSAGE_MAX_BYTES);
      isCopying = true;
    }
    let length = answerer.answer(query, query.length, scratch, false);
    if (length === 0) {
      counters.dropped("no-query");
      return;
    }
    if (length < 0 && verdict === "answer") {
      forward(query, client, answerer.lastType);
      return;
    }
    // Whoever is to come again over TCP need not be asked for now, nor may he be sent what others say.
    if (length < 0) length = writeEmptyAnswer(query, scratch);
    counters.answered(answerer.lastZone, answerer.lastType, answerer.lastRcode);
    if (verdict === "slip") {
      length = cutToQuestion(scratch, length);
      counters.slipped();
    }
    const bytes = isCopying ? Buffer.from(scratch.subarray(0, length)) : scratch;
    socket.send(bytes, 0, length, client.port, client.address);
  }

  function forward(query: Buffer, client: RemoteInfo, type: number): void {
    forwarder?.forward(query, false, (answer) => {
      if (!isOpen || answer.length === 0) return;
      counters.answered(-1, type, rcodeOf(answer));
      socket.send(answer, 0, answer.length, client.port, client.address);
    });
  }

  socket.on("message", (query, client) => {
    const isSampled = ++seen % SAMPLE_EVERY === 0;
    const startMs = isSampled ? clock.monotonic() : 0;
    try {
      receive(query, client);
    } catch (error) {
      counters.dropped("failure");
      complain("query could not be answered", error);
    }
    if (isSampled) counters.took((clock.monotonic() - startMs) / 1_000);
  });
  socket.on("error", (error) => {
    counters.dropped("failure");
    complain("socket failed", error);
  });
  socket.on("close", () => {
    isOpen = false;
  });
}
