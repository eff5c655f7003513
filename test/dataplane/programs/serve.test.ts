import { Agent, get, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { type Says, startNameServer } from "../nameServer.ts";
import { createAsker } from "./ask.ts";
import { readBackendOrders } from "./ports.ts";
import { type Backend, type ServeOptions, startBackend } from "./serve.ts";
import type { FlowProtocol } from "./tally.ts";

const HERE: Says = { 4: ["127.0.0.1"], 6: ["::1"] };
const PROTOCOLS = ["tcp", "udp", "http"] as const;

function aBackend(wishes: Pick<ServeOptions, "drainMs" | "lingerMs"> & Partial<ServeOptions>) {
  const ports = { tcp: 0, udp: 0, http: 0 };
  return startBackend({ cluster: "west", pod: "web-0", ports, quietMs: 0, ...wishes });
}

async function askOnce(protocol: FlowProtocol, backend: Backend) {
  const { address: dns } = await startNameServer(HERE);
  const port = backend.ports[protocol];
  const asker = createAsker(
    { protocol, family: 4 },
    { name: "web", port, dns, timeoutMs: 30_000, connectMs: 30_000 },
  );
  onTestFinished(() => asker.close());
  return asker.ask();
}

function getHttp(port: number, agent: Agent): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get({ host: "127.0.0.1", port, agent, path: "/?nonce=1" }, (response) => {
      response.resume().on("end", () => resolve(response));
    }).on("error", reject);
  });
}

test("while it drains it serves as before, and tells connections that are kept open to close", async () => {
  const backend = await aBackend({ drainMs: 60_000, lingerMs: 0 });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  const before = await getHttp(backend.ports.http, agent);
  void backend.drain();
  const after = await getHttp(backend.ports.http, agent);
  expect(before.headers.connection).toBe("keep-alive");
  expect(after.headers.connection).toBe("close");
  for (const protocol of PROTOCOLS) {
    expect(await askOnce(protocol, backend)).toHaveProperty("pod", "web-0");
  }
});

test("when it has drained, nobody is let in any more", async () => {
  const backend = await aBackend({ drainMs: 0, lingerMs: 0 });
  await backend.drain();
  for (const protocol of PROTOCOLS) {
    expect(await askOnce(protocol, backend)).toMatchObject({ reason: "refused" });
  }
});

test("who is asked until the end of its time serves on, until nobody asks or all its time is over", async () => {
  const ALWAYS = 60_000;
  const asked = await aBackend({ drainMs: 0, drainAtMostMs: ALWAYS, quietMs: ALWAYS, lingerMs: 0 });
  const left = await aBackend({ drainMs: 0, drainAtMostMs: ALWAYS, quietMs: 1, lingerMs: 0 });
  const hasty = await aBackend({ drainMs: 0, drainAtMostMs: 1, quietMs: ALWAYS, lingerMs: 0 });
  for (const backend of [asked, left, hasty]) {
    expect(await askOnce("udp", backend)).toHaveProperty("pod", "web-0");
  }
  void asked.drain();
  for (const backend of [left, hasty]) {
    await backend.drain();
    expect(await askOnce("udp", backend)).toMatchObject({ reason: "refused" });
  }
  expect(await askOnce("udp", asked)).toHaveProperty("pod", "web-0");
});

test("a connection without a request does not keep it from ending", async () => {
  const backend = await aBackend({ drainMs: 0, lingerMs: 10 });
  const idle = [backend.ports.tcp, backend.ports.http].map((port) => connect(port, "127.0.0.1"));
  onTestFinished(() => idle.forEach((socket) => socket.destroy()));
  await Promise.all(idle.map((socket) => once(socket, "connect")));
  await expect(backend.drain()).resolves.toBeUndefined();
});

test("a backend knows who it is and where to listen, and says what it does not understand", () => {
  const environment = { NODE_NAME: "west", POD_NAME: "web-0" };
  expect(readBackendOrders(environment)).toMatchObject({
    cluster: "west",
    pod: "web-0",
    ports: { tcp: 7000, udp: 7001, http: 8080 },
    drainMs: 4000,
  });
  expect(readBackendOrders({ DRAIN_MS: "0" })).toMatchObject({ drainMs: 0, drainAtMostMs: 0 });
  expect(readBackendOrders({ DRAIN_AT_MOST_MS: "9000" })).toMatchObject({ drainAtMostMs: 9000 });
  expect(() => readBackendOrders({ DRAIN_MS: "soon" })).toThrow(/milliseconds/);
});

test("a backend says that it is going unless it was told to stay ready", () => {
  expect(readBackendOrders({})).toMatchObject({ staysReady: false });
  expect(readBackendOrders({ STAYS_READY: "false" })).toMatchObject({ staysReady: false });
  expect(readBackendOrders({ STAYS_READY: "true" })).toMatchObject({ staysReady: true });
});
