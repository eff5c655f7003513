import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { encodeAnswer } from "./answer.ts";
import { createUdpPort } from "./udpport.ts";

type Listener = (nonce: string, from: RemoteInfo, socket: Socket) => void;

async function aServer(listener: Listener, at: { address?: string; port?: number } = {}) {
  const socket = createSocket("udp4");
  socket.on("message", (message, from) => {
    listener(message.toString().replace("who ", ""), from, socket);
  });
  socket.bind(at.port ?? 0, at.address ?? "127.0.0.1");
  await once(socket, "listening");
  onTestFinished(() => void socket.close());
  return socket.address().port;
}

function aPort() {
  const port = createUdpPort(4);
  onTestFinished(() => port.close());
  return port;
}

function answerTo(nonce: string): string {
  return encodeAnswer({ cluster: "west", pod: "web-0", from: "", nonce });
}

const never = new AbortController().signal;

test("an answer that comes late is not taken for that of the next request", async () => {
  const held: string[] = [];
  const givenUp = new AbortController();
  const port = await aServer((nonce, from, socket) => {
    held.push(nonce);
    if (held.length === 1) givenUp.abort();
    else for (const one of held) socket.send(answerTo(one), from.port, from.address);
  });
  const udp = aPort();
  const address = "127.0.0.1";
  await expect(udp.ask({ address, port, nonce: "1", signal: givenUp.signal })).rejects.toThrow(
    "nobody waits",
  );
  expect(await udp.ask({ address, port, nonce: "2", signal: never })).toBe(answerTo("2"));
});

test("the source port stays the same when the address changes and comes back", async () => {
  const seen: { readonly by: string; readonly port: number }[] = [];
  const echo: Listener = (nonce, from, socket) => {
    seen.push({ by: socket.address().address, port: from.port });
    socket.send(answerTo(nonce), from.port, from.address);
  };
  const port = await aServer(echo);
  await aServer(echo, { address: "127.0.0.2", port });
  const udp = aPort();
  const asked = ["127.0.0.1", "127.0.0.2", "127.0.0.1", "127.0.0.1"];
  for (const address of asked) await udp.ask({ address, port, nonce: "1", signal: never });
  expect(seen.map(({ by }) => by)).toEqual(asked);
  expect(new Set(seen.map((one) => one.port)).size).toBe(1);
});

test("an answer from another address than the one asked is none", async () => {
  const elsewhere = createSocket("udp4");
  elsewhere.bind(0, "127.0.0.2");
  await once(elsewhere, "listening");
  onTestFinished(() => void elsewhere.close());
  const port = await aServer((nonce, from, socket) => {
    elsewhere.send(answerTo(nonce), from.port, from.address, () =>
      socket.send("from where it was asked", from.port, from.address),
    );
  });
  const asked = aPort().ask({ address: "127.0.0.1", port, nonce: "1", signal: never });
  expect(await asked).toBe("from where it was asked");
});

test("after a refusal the same port asks again", async () => {
  const udp = aPort();
  const closed = createSocket("udp4");
  closed.bind(0, "127.0.0.1");
  await once(closed, "listening");
  const { port } = closed.address();
  await new Promise<void>((resolve) => closed.close(resolve));
  const ask = () => udp.ask({ address: "127.0.0.1", port, nonce: "1", signal: never });
  await expect(ask()).rejects.toMatchObject({ code: "ECONNREFUSED" });
  await aServer((nonce, from, socket) => socket.send(answerTo(nonce), from.port, from.address), {
    port,
  });
  expect(await ask()).toBe(answerTo("1"));
});
