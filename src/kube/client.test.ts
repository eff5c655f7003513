// The client against scripted servers: what it sends, what it makes of the answers, what it never does.

import { getEventListeners } from "node:events";
import type { RequestListener } from "node:http";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { settle } from "../../test/clock.ts";
import { rejectionOf, serve, temporaryDirectory } from "../../test/loopback.ts";
import { NAMESPACE, SERVICE } from "../api/builtin.ts";
import {
  aService,
  always,
  connect,
  connectToSilence,
  notFound,
  SECRET,
  sendJson,
} from "../../test/connect.ts";

describe("requests", () => {
  it("carry the verbs, paths, queries and bodies of the Kubernetes API", async () => {
    const bodies: string[] = [];
    const server = await serve((request, response) => {
      request.setEncoding("utf8");
      request.on("data", (text: string) => {
        bodies[server.requests.length - 1] = text;
      });
      request.on("end", () => sendJson(response, 200, aService("b")));
    });
    const { client } = connect(server);
    const object = aService("b");
    const ref = { namespace: "a", name: "b" };
    await client.get(SERVICE, ref);
    await client.create(SERVICE, object, { dryRun: true, fieldManager: "m" });
    await client.replace(SERVICE, object, { subresource: "status" });
    await client.apply(SERVICE, object, { fieldManager: "m", force: true });
    await client.delete(SERVICE, ref, { uid: "u", propagationPolicy: "Foreground" });
    const base = "/api/v1/namespaces/a/services";
    expect(server.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      `GET ${base}/b`,
      `POST ${base}?dryRun=All&fieldManager=m`,
      `PUT ${base}/b/status`,
      `PATCH ${base}/b?force=true&fieldManager=m`,
      `DELETE ${base}/b`,
    ]);
    expect(server.requests[3]?.headers["content-type"]).toBe("application/apply-patch+yaml");
    expect(JSON.parse(bodies[1]!)).toEqual(object);
    expect(JSON.parse(bodies[4]!)).toEqual({
      apiVersion: "v1",
      kind: "DeleteOptions",
      preconditions: { uid: "u" },
      propagationPolicy: "Foreground",
    });
  });

  it("carry identity, impersonation and user agent, and ask for no compression", async () => {
    const server = await serve(always(200, aService("b")));
    const { client } = connect(
      server,
      {
        auth: { kind: "basic", username: "me", password: "pw" },
        impersonation: {
          user: "jane",
          uid: "7",
          groups: ["dev", "ops"],
          extra: { Scope: ["a", "b"] },
        },
      },
      { userAgent: "test/1" },
    );
    await client.get(SERVICE, { namespace: "a", name: "b" });
    expect(server.requests[0]?.headers).toMatchObject({
      authorization: `Basic ${Buffer.from("me:pw").toString("base64")}`,
      "impersonate-user": "jane",
      "impersonate-uid": "7",
      "impersonate-group": "dev, ops",
      "impersonate-extra-scope": "a, b",
      "user-agent": "test/1",
      "accept-encoding": "identity",
    });
  });

  it("keep the server's own path, reuse the connection, and stop at close", async () => {
    const server = await serve(always(200, aService("b")));
    const url = `${server.url}/k8s/clusters/c-1`;
    const { client } = connect(server, { server: url });
    await client.get(NAMESPACE, { name: "x" });
    // The pool takes note of a free connection one turn of the loop later.
    await settle();
    await client.get(NAMESPACE, { name: "y" });
    expect(server.requests[0]?.url).toBe("/k8s/clusters/c-1/api/v1/namespaces/x");
    expect(server.requests[0]?.socket === server.requests[1]?.socket).toBe(true);
    await client.close();
    await expect(client.get(NAMESPACE, { name: "z" })).rejects.toMatchObject({
      code: "Unreachable",
    });
  });

  it("of any kind pass through request(), whatever the status", async () => {
    const server = await serve((request, response) => {
      if (request.url === "/healthz") response.end("ok");
      else sendJson(response, 404, notFound());
    });
    const { client } = connect(server);
    expect(await client.request("GET", "/healthz")).toMatchObject({ status: 200, body: "ok" });
    expect(await client.request("POST", "/x", { query: { a: 1 }, body: {} })).toMatchObject({
      status: 404,
      body: notFound(),
    });
    expect(server.requests[1]?.url).toBe("/x?a=1");
  });
});

describe("answers", () => {
  it("leave no listener on the caller's signal", async () => {
    const { client } = connect(await serve(always(200, aService("b"))));
    const { signal } = new AbortController();
    await client.get(NAMESPACE, { name: "b" }, { signal });
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  it("that an object is absent are undefined, and false for a delete", async () => {
    const { client } = connect(await serve(always(404, notFound("b"))));
    expect(await client.get(SERVICE, { namespace: "a", name: "b" })).toBeUndefined();
    expect(await client.delete(SERVICE, { namespace: "a", name: "b" })).toBe(false);
  });

  it("that the kind is unknown are an error", async () => {
    const server = await serve((_, response) =>
      response.writeHead(404, { "content-type": "text/plain" }).end("404 page not found"),
    );
    const { client } = connect(server);
    await expect(client.get(NAMESPACE, { name: "b" })).rejects.toMatchObject({ code: "NotFound" });
    await expect(client.delete(NAMESPACE, { name: "b" })).rejects.toMatchObject({
      code: "NotFound",
    });
  });

  it("with a list get kinds, lose managedFields, and come page by page", async () => {
    const item = (name: string) => ({
      metadata: { name, managedFields: [{}] },
      spec: { ports: [] },
    });
    const server = await serve((request, response) => {
      const isFirst = !request.url?.includes("continue=");
      const metadata = isFirst ? { resourceVersion: "5", continue: "n" } : { resourceVersion: "5" };
      sendJson(response, 200, { metadata, items: isFirst ? [item("a")] : null });
    });
    const { client } = connect(server);
    const first = await client.list(SERVICE, { limit: 1, labelSelector: "x=y" });
    expect(first).toEqual({
      resourceVersion: "5",
      continue: "n",
      items: [{ apiVersion: "v1", kind: "Service", metadata: { name: "a" }, spec: { ports: [] } }],
    });
    const last = await client.list(SERVICE, { namespace: "a", continue: "n" });
    expect(last).toEqual({ resourceVersion: "5", items: [] });
    expect(server.requests.map(({ url }) => url)).toEqual([
      "/api/v1/services?limit=1&labelSelector=x%3Dy",
      "/api/v1/namespaces/a/services?continue=n",
    ]);
  });

  it("with 429 carry Retry-After and are not retried", async () => {
    const server = await serve((_, response) =>
      response.writeHead(429, { "retry-after": "7" }).end("slow down"),
    );
    const { client } = connect(server);
    await expect(client.list(SERVICE)).rejects.toMatchObject({
      code: "TooManyRequests",
      status: 429,
      retryAfterSeconds: 7,
    });
    expect(server.requests).toHaveLength(1);
  });

  it("that are not JSON are refused, even with status 200", async () => {
    const server = await serve((_, response) =>
      response.writeHead(200, { "content-type": "text/html" }).end("<html>log in</html>"),
    );
    const { client } = connect(server);
    await expect(client.list(SERVICE)).rejects.toMatchObject({
      code: "Internal",
      cause: { code: "ServerNotKubernetes" },
    });
  });

  it("that are too large are cut off", async () => {
    const server = await serve(always(200, { text: "x".repeat(5000) }));
    const { client } = connect(server, {}, { maxBodyBytes: 4000 });
    await expect(client.list(SERVICE)).rejects.toMatchObject({ code: "TooLarge" });
  });

  it("may be compressed when we ask for it, within the same bound", async () => {
    const list = { metadata: { resourceVersion: "1" }, items: [] as unknown[] };
    let text = JSON.stringify(list);
    const server = await serve((request, response) => {
      expect(request.headers["accept-encoding"]).toBe("gzip");
      response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" });
      response.end(gzipSync(text));
    });
    const { client } = connect(server, {}, { compression: true, maxBodyBytes: 4000 });
    expect(await client.list(SERVICE)).toEqual({ items: [], resourceVersion: "1" });
    text = JSON.stringify({ ...list, bomb: "x".repeat(100_000) });
    await expect(client.list(SERVICE)).rejects.toMatchObject({ code: "TooLarge" });
  });

  it("that never come are given up after a minute of silence", async () => {
    const { client, clock, arrived } = await connectToSilence();
    const failure = rejectionOf(client.list(SERVICE));
    await arrived;
    await clock.advance(60_000);
    expect(await failure).toMatchObject({ code: "Timeout" });
    expect(clock.pendingTimers).toBe(0);
  });

  it("are no longer waited for after an abort, whose reason is the error", async () => {
    const { client, clock, arrived } = await connectToSilence();
    const controller = new AbortController();
    const reason = new Error("enough");
    const failure = rejectionOf(client.list(SERVICE, { signal: controller.signal }));
    await arrived;
    controller.abort(reason);
    expect(await failure).toBe(reason);
    await expect(client.list(SERVICE, { signal: controller.signal })).rejects.toBe(reason);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe("credentials", () => {
  function requireToken(token: () => string): RequestListener {
    return (request, response) => {
      if (request.headers.authorization === `Bearer ${token()}`) {
        sendJson(response, 200, aService("b"));
      } else sendJson(response, 401, { kind: "Status", reason: "Unauthorized", code: 401 });
    };
  }

  it("from a rotated file are read again after a 401, and the request is sent once more", async () => {
    const file = join(temporaryDirectory(), "token");
    writeFileSync(file, "old");
    let wanted = "old";
    const server = await serve(requireToken(() => wanted));
    const { client } = connect(server, { auth: { kind: "tokenFile", file } });
    await client.create(SERVICE, aService("b"));
    writeFileSync(file, "new");
    wanted = "new";
    expect(await client.create(SERVICE, aService("b"))).toEqual(aService("b"));
    expect(server.requests).toHaveLength(3);
  });

  it("that stay refused give one Unauthorized, after at most two requests, without the token", async () => {
    const file = join(temporaryDirectory(), "token");
    writeFileSync(file, SECRET);
    const server = await serve((_, response) => {
      writeFileSync(file, `${SECRET}-${server.requests.length}`);
      sendJson(response, 401, { kind: "Status", reason: "Unauthorized", code: 401 });
    });
    const { client } = connect(server, { auth: { kind: "tokenFile", file } });
    const error: unknown = await rejectionOf(client.list(SERVICE));
    expect(error).toMatchObject({ code: "Unauthorized", status: 401 });
    expect(JSON.stringify(error) + String(error)).not.toContain(SECRET);
    expect(server.requests).toHaveLength(2);
  });

  it("that are fixed are not tried twice", async () => {
    const server = await serve(requireToken(() => "other"));
    const { client } = connect(server, { auth: { kind: "token", token: SECRET } });
    await expect(client.list(SERVICE)).rejects.toMatchObject({ code: "Unauthorized" });
    expect(server.requests).toHaveLength(1);
  });

  it("that cannot be had are an Unauthorized with the problem as its cause", async () => {
    const server = await serve(always(200, {}));
    const { client } = connect(server, { auth: { kind: "tokenFile", file: "/not/there" } });
    await expect(client.list(SERVICE)).rejects.toMatchObject({
      name: "StoreError",
      code: "Unauthorized",
      cause: { code: "CredentialFileUnreadable" },
    });
    expect(server.requests).toHaveLength(0);
  });

  it("that no header can hold are a BadRequest that does not show them", async () => {
    const server = await serve(always(200, {}));
    const { client } = connect(server, { auth: { kind: "token", token: `${SECRET}\n` } });
    const error: unknown = await rejectionOf(client.list(SERVICE));
    expect(error).toMatchObject({ code: "BadRequest" });
    expect(String(error) + JSON.stringify(error)).not.toContain(SECRET);
  });
});
