// One request and its answer: what clients see when they are wrong, and what they may ask for.

import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { call, object, PATH, ScriptedCluster, serve } from "../../../test/edge.ts";
import { Disconnected } from "../fault.ts";

const JSON_BODY = { "Content-Type": "application/json" };

describe("request bodies", () => {
  test("a body of 3 MiB passes, one byte more is answered with 413", async () => {
    const cluster = new ScriptedCluster();
    const server = await serve(cluster);
    const limit = 3 * 1024 * 1024;
    const fits = JSON.stringify("x".repeat(limit - 2));
    const post = { method: "POST", headers: JSON_BODY };
    expect((await call(server, PATH, { ...post, body: fits })).status).toBe(200);
    const { status, body } = await call(server, PATH, { ...post, body: `${fits} ` });
    expect({ status, reason: body["reason"], message: body["message"] }).toEqual({
      status: 413,
      reason: "RequestEntityTooLarge",
      message: "Request entity too large: limit is 3145728",
    });
    expect(cluster.requests).toHaveLength(1);
  });

  test.each([
    ["application/json", '{"a'],
    ["application/json", ""],
    ["application/yaml", "a: [1"],
    ["application/yaml", "a: 1\na: 2\n"],
    ["application/vnd.kubernetes.protobuf", "{}"],
  ])("a broken body of %s (%j) is answered with 400", async (type, body) => {
    const cluster = new ScriptedCluster();
    const answer = await call(await serve(cluster), PATH, {
      method: "POST",
      headers: { "Content-Type": type },
      body,
    });
    expect(answer.status).toBe(400);
    expect(answer.body["reason"]).toBe("BadRequest");
    expect(cluster.requests).toEqual([]);
  });

  test("a body nested 500 levels deep passes, one level more is answered with 400", async () => {
    const cluster = new ScriptedCluster();
    const server = await serve(cluster);
    const post = async (levels: number) => {
      const body = `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
      return (await call(server, PATH, { method: "POST", headers: JSON_BODY, body })).status;
    };
    expect([await post(500), await post(501), await post(200_000)]).toEqual([200, 400, 400]);
    expect(cluster.requests).toHaveLength(1);
  });

  test.each([
    ["POST", "text/plain"],
    ["PATCH", "application/vnd.kubernetes.protobuf"],
    ["PUT", "application/merge-patch+json"],
    ["PATCH", "application/json"],
    ["PATCH", ""],
  ])("%s of %j is answered with 415", async (method, type) => {
    const answer = await call(await serve(), PATH, {
      method,
      headers: type === "" ? {} : { "Content-Type": type },
      body: "{}",
    });
    expect(answer.status).toBe(415);
    expect(answer.body["reason"]).toBe("UnsupportedMediaType");
  });

  test.each([
    ["POST", "application/json; charset=utf-8", '{"a":{"b":[1]}}'],
    ["POST", "application/yaml", "a:\n  b: [1]\n"],
    ["PATCH", "application/apply-patch+yaml", "a: {b: [1]}"],
    ["PATCH", "application/merge-patch+json", '{"a":{"b":[1]}}'],
  ])("%s of %s reaches the cluster as plain JSON", async (method, type, body) => {
    const cluster = new ScriptedCluster();
    await call(await serve(cluster), `${PATH}?dryRun=All`, {
      method,
      headers: { "Content-Type": type },
      body,
    });
    const [request] = cluster.requests;
    expect(request?.body).toEqual({ a: { b: [1] } });
    expect(request?.contentType).toBe(method === "PATCH" ? type : "application/json");
    expect(request?.path).toBe(PATH);
    expect(request?.query.get("dryRun")).toBe("All");
  });

  test.each(["/apis/none.example.dev/v1/things", `${PATH}/x/token`])(
    "%s, which nobody serves, is for the cluster to refuse, whatever is sent there",
    async (path) => {
      const cluster = new ScriptedCluster();
      await call(await serve(cluster), path, {
        method: "POST",
        headers: { "Content-Type": "application/vnd.kubernetes.protobuf" },
        body: "k8s",
      });
      expect(cluster.requests.map((request) => [request.path, request.body])).toEqual([
        [path, undefined],
      ]);
    },
  );

  test("what kubectl sends as protobuf reaches the cluster as JSON", async () => {
    const cluster = new ScriptedCluster();
    const namespace = "azhzAAoPCgJ2MRIJTmFtZXNwYWNlEhoKEgoCcTESABoAIgAqADIAOABCABIAGgIKABoAIgA=";
    await call(await serve(cluster), PATH, {
      method: "POST",
      headers: { "Content-Type": "application/vnd.kubernetes.protobuf" },
      body: Buffer.from(namespace, "base64"),
    });
    expect(cluster.requests[0]).toMatchObject({
      contentType: "application/json",
      body: { kind: "Namespace", metadata: { name: "q1" } },
    });
  });

  test("a DELETE may come without options", async () => {
    const cluster = new ScriptedCluster();
    expect((await call(await serve(cluster), PATH, { method: "DELETE" })).status).toBe(200);
    expect(cluster.requests[0]).not.toHaveProperty("body");
  });
});

describe("answers", () => {
  test.each([
    "application/vnd.kubernetes.protobuf",
    "application/json;as=Table;v=v9;g=meta.k8s.io",
    "text/html, application/json;q=0",
  ])("Accept: %s is answered with 406", async (Accept) => {
    const { status, body } = await call(await serve(), PATH, { headers: { Accept } });
    expect({ status, reason: body["reason"] }).toEqual({ status: 406, reason: "NotAcceptable" });
  });

  test("JSON is chosen where protobuf was preferred", async () => {
    const Accept = "application/vnd.kubernetes.protobuf,application/json";
    const { headers, body } = await call(await serve(), PATH, { headers: { Accept } });
    expect(headers["content-type"]).toBe("application/json");
    expect(body["kind"]).toBe("ConfigMap");
  });

  test("YAML is sent where it is asked for", async () => {
    const Accept = "application/yaml";
    const { headers, bytes } = await call(await serve(), PATH, { headers: { Accept } });
    expect(headers["content-type"]).toBe("application/yaml");
    expect(parse(bytes.toString())).toEqual({ kind: "ConfigMap", metadata: { name: "x" } });
  });

  test("a table or bare metadata is sent where it is asked for, with JSON to fall back on", async () => {
    const server = await serve();
    const kindFor = async (as: string): Promise<unknown> => {
      const Accept = `application/json;as=${as};v=v1;g=meta.k8s.io,application/json`;
      return (await call(server, PATH, { headers: { Accept } })).body["kind"];
    };
    expect(await kindFor("Table")).toBe("Table");
    expect(await kindFor("PartialObjectMetadata")).toBe("PartialObjectMetadata");
    expect(await kindFor("Unheard")).toBe("ConfigMap");
  });

  test("a refusal stays a Status where a table was asked for", async () => {
    const status = { kind: "Status", status: "Failure", code: 404 };
    const server = await serve(
      new ScriptedCluster(() => ({ kind: "object", status: 404, body: status })),
    );
    const Accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    expect((await call(server, PATH, { headers: { Accept } })).body).toEqual(status);
  });

  test("warnings and the time to wait become headers", async () => {
    const server = await serve(
      new ScriptedCluster(() => ({
        ...object({}),
        kind: "object",
        status: 429,
        body: {},
        warnings: ['unknown field "spec.größe"', "two\nlines"],
        retryAfterSeconds: 7,
      })),
    );
    const { headers } = await call(server, PATH);
    expect(Buffer.from(String(headers["warning"]), "latin1").toString()).toBe(
      '299 - "unknown field \\"spec.größe\\"", 299 - "two lines"',
    );
    expect(headers["retry-after"]).toBe("7");
  });

  test("large answers are compressed for clients that can, small ones never", async () => {
    const large = object({ kind: "ConfigMap", data: { text: "x".repeat(200_000) } });
    const server = await serve(
      new ScriptedCluster(({ query }) => (query.has("large") ? large : object({}))),
    );
    const gzip = { headers: { "Accept-Encoding": "gzip" } };
    const zipped = await call(server, `${PATH}?large`, gzip);
    expect(zipped.headers["content-encoding"]).toBe("gzip");
    expect(zipped.bytes.length).toBeLessThan(10_000);
    expect(zipped.body["kind"]).toBe("ConfigMap");
    expect((await call(server, `${PATH}?large`)).headers).not.toHaveProperty("content-encoding");
    expect((await call(server, PATH, gzip)).headers).not.toHaveProperty("content-encoding");
    const refused = await call(server, `${PATH}?large`, {
      headers: { "Accept-Encoding": "br, gzip;q=0" },
    });
    expect(refused.headers).not.toHaveProperty("content-encoding");
  });

  test("pretty breaks the lines", async () => {
    const server = await serve();
    expect((await call(server, `${PATH}?pretty=true`)).bytes.toString()).toContain('\n  "kind"');
    expect((await call(server, PATH)).bytes.toString().trim()).not.toContain("\n");
  });

  test("a failure inside the cluster is a Status, and the server goes on", async () => {
    let failing = true;
    const server = await serve(
      new ScriptedCluster(() => {
        if (failing) throw new Error("boom");
        return object({});
      }),
    );
    const { status, body } = await call(server, PATH);
    expect({ status, message: body["message"] }).toEqual({
      status: 500,
      message: "Internal error occurred: boom",
    });
    failing = false;
    expect((await call(server, PATH)).status).toBe(200);
  });

  test("an injected disconnection cuts the connection without an answer", async () => {
    const server = await serve(
      new ScriptedCluster(() => {
        throw new Disconnected();
      }),
    );
    await expect(call(server, PATH)).rejects.toThrow("socket hang up");
  });

  test("methods that Kubernetes does not know are answered with 405", async () => {
    expect((await call(await serve(), PATH, { method: "PROPFIND" })).status).toBe(405);
  });

  test("addresses outside the API are answered with 404", async () => {
    expect((await call(await serve(), "/metrics")).status).toBe(404);
  });
});
