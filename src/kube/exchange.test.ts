// The fence: what a client may write is asked when a request is put on the socket, wherever it waited until then.

import { writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect as connectTcp, type Socket } from "node:net";
import { join } from "node:path";
import { Client } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import { settle, VirtualClock } from "../../test/clock.ts";
import { aService, always, connect, sendJson } from "../../test/connect.ts";
import { type Loopback, rejectionOf, serve, temporaryDirectory } from "../../test/loopback.ts";
import { SERVICE } from "../api/builtin.ts";
import { exchange } from "./exchange.ts";

const REF = { namespace: "a", name: "b" };
const REFUSAL = { name: "StoreError", code: "Unavailable", status: 0 };

/** A door that tests open and close. */
function aFence() {
  const fence = { isOpen: true };
  return { fence, mayWrite: () => fence.isOpen };
}

/** A proxy that takes CONNECT and opens no tunnel before it is told to. */
async function serveSlowProxy(to: Loopback) {
  let isOpen = false;
  const waiting: (() => void)[] = [];
  const sockets: Socket[] = [];
  let knock: () => void;
  const asked = new Promise<void>((resolve) => {
    knock = resolve;
  });
  const proxy = createServer().on("connect", (_, socket: Socket) => {
    const tunnel = (): void => {
      const onward = connectTcp(to.port, "127.0.0.1");
      sockets.push(socket, onward);
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      socket.pipe(onward).pipe(socket);
    };
    if (isOpen) tunnel();
    else waiting.push(tunnel);
    knock();
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => proxy.close(resolve));
  });
  const { port } = proxy.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    open() {
      isOpen = true;
      for (const tunnel of waiting) tunnel();
    },
  };
}

describe("a client with a fence", () => {
  it("writes and reads as any other while it may", async () => {
    let received = "";
    const server = await serve((request, response) => {
      request.setEncoding("utf8").on("data", (text: string) => (received += text));
      request.on("end", () => sendJson(response, 200, aService("b")));
    });
    const { client } = connect(server, {}, { mayWrite: () => true });
    expect(await client.create(SERVICE, aService("b"))).toEqual(aService("b"));
    expect(JSON.parse(received)).toEqual(aService("b"));
    expect(await client.delete(SERVICE, REF)).toBe(true);
  });

  it("refuses every verb that writes, dry runs too, when it may not, and goes on reading", async () => {
    const server = await serve(always(200, aService("b")));
    const { client } = connect(server, {}, { mayWrite: () => false });
    const object = aService("b");
    const writes = [
      client.create(SERVICE, object),
      client.create(SERVICE, object, { dryRun: true }),
      client.replace(SERVICE, object),
      client.apply(SERVICE, object, { fieldManager: "m" }),
      client.delete(SERVICE, REF),
      client.request("POST", "/x", { body: {} }),
    ];
    for (const write of writes) await expect(write).rejects.toMatchObject(REFUSAL);
    expect(await client.get(SERVICE, REF)).toEqual(object);
    expect(server.requests.map(({ method }) => method)).toEqual(["GET"]);
  });

  it("says that it no longer leads and that nothing was written", async () => {
    const server = await serve(always(200, aService("b")));
    const { client } = connect(server, {}, { mayWrite: () => false });
    await expect(client.delete(SERVICE, REF)).rejects.toThrow(
      "this process is no longer the leader; nothing was written (DELETE /api/v1/namespaces/a/services/b)",
    );
  });

  it("keeps the connection of what it refused", async () => {
    const { fence, mayWrite } = aFence();
    const server = await serve(always(200, aService("b")));
    const { client } = connect(server, {}, { mayWrite });
    await client.create(SERVICE, aService("b"));
    await settle();
    fence.isOpen = false;
    await rejectionOf(client.create(SERVICE, aService("b")));
    fence.isOpen = true;
    await client.create(SERVICE, aService("b"));
    const sockets = new Set(server.requests.map(({ socket }) => socket));
    expect({ requests: server.requests.length, sockets: sockets.size }).toEqual({
      requests: 2,
      sockets: 1,
    });
  });

  it("sends nothing of a write that waited for its connection while the fence closed", async () => {
    const { fence, mayWrite } = aFence();
    let bytes = 0;
    const server = await serve(always(200, aService("b")));
    server.server.on("connection", (socket: Socket) => {
      socket.on("data", (chunk: Buffer) => (bytes += chunk.length));
    });
    const proxy = await serveSlowProxy(server);
    const { client } = connect(server, { proxyUrl: proxy.url }, { mayWrite });
    const failures = [
      rejectionOf(client.create(SERVICE, aService("b"))),
      rejectionOf(client.delete(SERVICE, REF)),
    ];
    await proxy.asked;
    fence.isOpen = false;
    proxy.open();
    for (const failure of failures) expect(await failure).toMatchObject(REFUSAL);
    expect({ requests: server.requests.length, bytes }).toEqual({ requests: 0, bytes: 0 });
  });

  it("sends nothing when the fence closed while credentials were renewed", async () => {
    const { fence, mayWrite } = aFence();
    const file = join(temporaryDirectory(), "token");
    writeFileSync(file, "old");
    const server = await serve((_, response) => {
      fence.isOpen = false;
      writeFileSync(file, "new");
      sendJson(response, 401, { kind: "Status", reason: "Unauthorized", code: 401 });
    });
    const { client } = connect(server, { auth: { kind: "tokenFile", file } }, { mayWrite });
    await expect(client.create(SERVICE, aService("b"))).rejects.toMatchObject(REFUSAL);
    expect(server.requests).toHaveLength(1);
  });
});

describe("a fenced exchange", () => {
  it("refuses what was queued behind a stalled request when the fence closed", async () => {
    const { fence, mayWrite } = aFence();
    let answer!: ServerResponse;
    let arrive: () => void;
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve;
    });
    const server = await serve((_, response) => {
      answer = response;
      arrive();
    });
    // One connection, one request at a time: the second has to wait its turn.
    const single = new Client(server.url);
    onTestFinished(() => single.destroy());
    const post = (path: string): Promise<string> => {
      let text = "";
      return exchange(single, {
        request: { method: "POST", path, body: "something" },
        attempted: `POST ${path}`,
        open: () => ({ take: (chunk) => (text += chunk.toString()), end: () => text }),
        clock: new VirtualClock(),
        silenceMs: 1_000,
        mayWrite,
        toError: (error) => error,
      }).then(({ end }) => end());
    };
    const first = post("/1");
    await arrived;
    const second = rejectionOf(post("/2"));
    fence.isOpen = false;
    answer.end("done");
    expect(await first).toBe("done");
    expect(await second).toMatchObject(REFUSAL);
    expect(server.requests.map(({ url }) => url)).toEqual(["/1"]);
  });
});
