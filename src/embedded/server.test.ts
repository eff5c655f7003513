// The server itself: who gets in, where it listens, what is left when it is closed.

import { once } from "node:events";
import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import {
  added,
  call,
  openWatch,
  PATH,
  ScriptedCluster,
  ScriptedWatch,
  serve,
} from "../../test/edge.ts";
import { isProblem } from "../api/problem.ts";
import { explainListenError } from "./server.ts";

function decode(text: string): string {
  return Buffer.from(text, "base64").toString();
}

function countHandles(): number {
  return process.getActiveResourcesInfo().filter((name) => /TCP|TLS|Server/.test(name)).length;
}

/** However it ends: a reset is an end, too. */
function untilClosed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.on("error", () => {});
    socket.on("close", () => resolve());
  });
}

describe("credentials", () => {
  test("a request without any is answered with 401 and a Status", async () => {
    const cluster = new ScriptedCluster();
    const { status, body } = await call(await serve(cluster), PATH, { bearer: null });
    expect({ status, body }).toEqual({
      status: 401,
      body: {
        kind: "Status",
        apiVersion: "v1",
        metadata: {},
        status: "Failure",
        message: "Unauthorized",
        reason: "Unauthorized",
        code: 401,
      },
    });
    expect(cluster.requests).toEqual([]);
  });

  test.each(["", "wrong", "0".repeat(64)])("the token %j is refused", async (bearer) => {
    expect((await call(await serve(), PATH, { bearer })).status).toBe(401);
  });

  test("a prefix of the token is refused", async () => {
    const server = await serve();
    expect((await call(server, PATH, { bearer: server.token.slice(0, -1) })).status).toBe(401);
  });

  test("the token of one server is refused by another", async () => {
    const [one, other] = [await serve(), await serve()];
    expect((await call(one, PATH, { bearer: other.token })).status).toBe(401);
  });

  test("a client certificate of the server's own authority is enough", async () => {
    const server = await serve();
    const { certPem: cert, keyPem: key } = server.client!;
    expect((await call(server, PATH, { bearer: null, cert, key })).status).toBe(200);
  });

  test("a client certificate of another authority is refused", async () => {
    const [server, other] = [await serve(), await serve()];
    const { certPem: cert, keyPem: key } = other.client!;
    expect((await call(server, PATH, { bearer: null, cert, key })).status).toBe(401);
  });

  test("a resumed TLS session without a certificate proves nothing", async () => {
    const server = await serve();
    const { hostname, port } = new URL(server.url);
    const options = { host: hostname, port: Number(port), ca: server.caPem };
    const first = connectTls(options);
    first.write(`GET /livez HTTP/1.1\r\nHost: x\r\n\r\n`);
    const [session] = await once(first, "session");
    first.destroy();
    const second = connectTls({ ...options, session });
    second.end(`GET ${PATH} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    const [answer] = await once(second, "data");
    expect(second.isSessionReused()).toBe(true);
    expect(String(answer)).toMatch(/^HTTP\/1\.1 401 /);
    second.destroy();
  });

  test.each(["/livez", "/readyz", "/healthz", "/version"])(
    "%s is open to everyone, but not to a wrong token",
    async (path) => {
      const server = await serve();
      expect((await call(server, path, { bearer: null })).status).toBe(200);
      expect((await call(server, path, { bearer: "wrong" })).status).toBe(401);
    },
  );

  test("plain HTTP asks for the token as well", async () => {
    const server = await serve(new ScriptedCluster(), { tls: false });
    const authorization = `Bearer ${server.token}`;
    expect((await fetch(`${server.url}${PATH}`)).status).toBe(401);
    expect((await fetch(`${server.url}${PATH}`, { headers: { authorization } })).status).toBe(200);
    expect(parse(server.kubeconfig()).users[0].user).toEqual({ token: server.token });
  });

  test("the kubeconfig names the server, its authority and a client certificate", async () => {
    const server = await serve();
    const { clusters, users, contexts, ...rest } = parse(server.kubeconfig());
    expect(clusters[0].cluster.server).toBe(server.url);
    expect(decode(clusters[0].cluster["certificate-authority-data"])).toBe(server.caPem);
    expect(decode(users[0].user["client-certificate-data"])).toBe(server.client?.certPem);
    expect(decode(users[0].user["client-key-data"])).toBe(server.client?.keyPem);
    expect(contexts[0].context).toEqual({ cluster: "scripted", user: "scripted" });
    expect(rest["current-context"]).toBe("scripted");
  });
});

describe("the server itself", () => {
  test("a port in use is one clear sentence that names the port", async () => {
    const server = await serve();
    const port = Number(new URL(server.url).port);
    const error = await serve(new ScriptedCluster(), { port }).catch((reason: unknown) => reason);
    expect(isProblem(error, "PortInUse") && error.message).toBe(
      `port ${port} on 127.0.0.1 is already in use`,
    );
    expect(isProblem(error) && error.hint).toMatch(/another port/);
  });

  // By its function: who runs tests as root may listen everywhere.
  test("a port that only root may have is one clear sentence too", () => {
    const refused = Object.assign(new Error("listen EACCES"), { code: "EACCES" });
    const error = explainListenError(refused, "127.0.0.1", 80);
    expect(isProblem(error, "ArgumentInvalid") && error.message).toBe(
      "this user may not listen on port 80 of 127.0.0.1",
    );
  });

  test("closing ends watches and idle, half-open and silent connections, and frees the port", async () => {
    const watch = new ScriptedWatch([added("one")]);
    const server = await serve(new ScriptedCluster(() => watch.answer()));
    const port = Number(new URL(server.url).port);
    const client = await openWatch(server);
    await client.lines.next();
    const silent = connectTcp(port, "127.0.0.1");
    await once(silent, "connect");
    const idle = connectTls({ port, host: "127.0.0.1", ca: server.caPem });
    await once(idle, "secureConnect");
    const gone = Promise.all([untilClosed(silent), untilClosed(idle)]);

    await server.close();
    await gone;
    expect(await client.lines.next()).toEqual({ done: true, value: undefined });
    expect(watch.stops).toBe(1);
    const again = await serve(new ScriptedCluster(), { port });
    expect(new URL(again.url).port).toBe(String(port));
  });

  test("closing twice is closing once", async () => {
    const server = await serve();
    await Promise.all([server.close(), server.close()]);
    await expect(call(server, "/livez")).rejects.toThrow("ECONNREFUSED");
  });

  test("closing leaves no handle open", async () => {
    const before = countHandles();
    const watch = new ScriptedWatch([added("one")]);
    const server = await serve(new ScriptedCluster(() => watch.answer()));
    const client = await openWatch(server);
    await client.lines.next();
    expect(countHandles()).toBeGreaterThan(before);
    await server.close();
    await client.lines.next();
    await expect.poll(countHandles, { interval: 5, timeout: 60_000 }).toBe(before);
  });
});
