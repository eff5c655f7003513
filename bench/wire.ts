// Bench: HTTP to one API server with nothing around it but TLS and a token, for floors. No retries, no errors worth reading.
// Counts its writes.

import { Agent } from "undici";
import { FIELD_MANAGER } from "../src/api/names.ts";
import type { KubeObject, Resource } from "../src/api/object.ts";
import { buildPath } from "../src/kube/path.ts";
import type { Access } from "./access.ts";

export interface Wire {
  readonly id: string;
  writes(): number;
  /** Server-side apply, of the object or of its status; the answer as bytes. */
  apply(resource: Resource, object: KubeObject, subresource?: "status"): Promise<Buffer>;
  create(resource: Resource, object: KubeObject): Promise<Buffer>;
  replace(resource: Resource, object: KubeObject): Promise<Buffer>;
  remove(resource: Resource, target: Target): Promise<void>;
  /** All objects, parsed. */
  list<T extends KubeObject>(resource: Resource<T>, namespace?: string): Promise<List<T>>;
  /** What is there first, then what changes. Resolves when the server has accepted the watch. */
  follow<T extends KubeObject>(
    resource: Resource<T>,
    namespace: string,
    onEvent: (event: WireEvent<T>) => void,
  ): Promise<void>;
}

export interface Target {
  readonly namespace: string;
  readonly name: string;
}

export interface List<T> {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly T[];
}

export interface WireEvent<T> {
  /** INITIAL: it was there before the watch. */
  readonly type: "INITIAL" | "ADDED" | "MODIFIED" | "DELETED";
  readonly object: T;
}

const WRITER = `fieldManager=${FIELD_MANAGER}`;
const JSON_TYPE = "application/json";

export async function openWire({ id, server, authority, token }: Access): Promise<Wire> {
  const agent = new Agent({ connect: { ca: authority }, bodyTimeout: 0 });
  const headers = { accept: JSON_TYPE, authorization: `Bearer ${token}` };
  let writes = 0;

  async function get(path: string) {
    const answer = await agent.request({ origin: server, method: "GET", path, headers });
    if (answer.statusCode !== 200) throw new Error(`GET ${path}: ${answer.statusCode}`);
    return answer.body;
  }

  async function write(
    method: "POST" | "PUT" | "PATCH" | "DELETE",
    path: string,
    object?: KubeObject,
  ): Promise<Buffer> {
    writes += 1;
    const type = method === "PATCH" ? "application/apply-patch+yaml" : JSON_TYPE;
    const answer = await agent.request({
      origin: server,
      method,
      path,
      headers: { ...headers, "content-type": type },
      ...(object !== undefined && { body: JSON.stringify(object) }),
    });
    const bytes = Buffer.from(await answer.body.arrayBuffer());
    if (answer.statusCode > 201) throw new Error(`${method} ${path}: ${bytes.toString("utf8")}`);
    return bytes;
  }

  async function list<T extends KubeObject>(
    resource: Resource<T>,
    namespace?: string,
  ): Promise<List<T>> {
    const path = buildPath(resource, namespace === undefined ? {} : { namespace });
    return JSON.parse(await (await get(path)).text());
  }

  await (await get("/version")).dump();
  return {
    id,
    writes: () => writes,
    apply: (resource, object, subresource) =>
      write(
        "PATCH",
        `${buildPath(resource, { ...targetOf(object), ...(subresource && { subresource }) })}?${WRITER}&force=true`,
        object,
      ),
    create: (resource, object) =>
      write(
        "POST",
        `${buildPath(resource, { namespace: targetOf(object).namespace })}?${WRITER}`,
        object,
      ),
    replace: (resource, object) =>
      write("PUT", `${buildPath(resource, targetOf(object))}?${WRITER}`, object),
    async remove(resource, target) {
      await write("DELETE", buildPath(resource, target));
    },
    list,
    async follow<T extends KubeObject>(
      resource: Resource<T>,
      namespace: string,
      onEvent: (event: WireEvent<T>) => void,
    ) {
      const { metadata, items } = await list(resource, namespace);
      for (const object of items) onEvent({ type: "INITIAL", object });
      const path = buildPath(resource, { namespace });
      const body = await get(`${path}?watch=true&resourceVersion=${metadata.resourceVersion}`);
      let rest = "";
      body.setEncoding("utf8").on("data", (chunk: string) => {
        const lines = (rest + chunk).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) onEvent(JSON.parse(line));
      });
    },
  };
}

function targetOf({ metadata: { namespace = "", name = "" } }: KubeObject): Target {
  return { namespace, name };
}
