// Bench: HTTP to one API server with nothing around it but TLS and a token, for floors. No retries, no errors worth reading.

import { Agent } from "undici";
import type { Resource } from "../src/api/object.ts";
import { FIELD_MANAGER } from "../src/api/names.ts";
import { buildPath } from "../src/kube/path.ts";
import type { Access } from "./pair.ts";

export interface Wire {
  readonly id: string;
  /** Server-side apply; the answer as bytes. */
  apply(resource: Resource, target: Target, body: string): Promise<Buffer>;
  /** Resolves when the server has accepted the watch; events are the lines of its answer. */
  watch(resource: Resource, namespace: string, onLine: (line: string) => void): Promise<void>;
}

export interface Target {
  readonly namespace: string;
  readonly name: string;
  readonly subresource?: "status";
}

const APPLY_QUERY = `?fieldManager=${FIELD_MANAGER}&force=true`;

export async function openWire({ id, server, authority, token }: Access): Promise<Wire> {
  const agent = new Agent({ connect: { ca: authority }, bodyTimeout: 0 });
  const headers = { accept: "application/json", authorization: `Bearer ${token}` };
  const patchHeaders = { ...headers, "content-type": "application/apply-patch+yaml" };
  const get = (path: string) =>
    agent.request({ origin: server, method: "GET", path, headers }).then((answer) => {
      if (answer.statusCode !== 200) throw new Error(`GET ${path}: ${answer.statusCode}`);
      return answer.body;
    });
  await (await get("/version")).dump();
  return {
    id,
    async apply(resource, target, body) {
      const path = buildPath(resource, target) + APPLY_QUERY;
      const answer = await agent.request({
        origin: server,
        method: "PATCH",
        path,
        headers: patchHeaders,
        body,
      });
      const bytes = Buffer.from(await answer.body.arrayBuffer());
      if (answer.statusCode > 201) throw new Error(`PATCH ${path}: ${bytes.toString("utf8")}`);
      return bytes;
    },
    async watch(resource, namespace, onLine) {
      const path = buildPath(resource, { namespace });
      const list: { metadata: { resourceVersion: string } } = JSON.parse(
        await (await get(`${path}?limit=1`)).text(),
      );
      const { resourceVersion } = list.metadata;
      const body = await get(`${path}?watch=true&resourceVersion=${resourceVersion}`);
      let rest = "";
      body.setEncoding("utf8").on("data", (chunk: string) => {
        const lines = (rest + chunk).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) onLine(line);
      });
    },
  };
}
