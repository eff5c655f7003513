// Test helper: a client of a scripted server on a virtual clock, and the answers such a server gives.

import type { RequestListener, ServerResponse } from "node:http";
import { onTestFinished } from "vitest";
import type { Service } from "../src/api/builtin.ts";
import { type ClientOptions, createClient, type KubeClient } from "../src/kube/client.ts";
import { directConfig } from "../src/kube/config.ts";
import type { ClusterConfig } from "../src/kube/connection.ts";
import { VirtualClock } from "./clock.ts";
import { type Loopback, serve } from "./loopback.ts";

export const SECRET = "sup3r-secret-token-value";

export function connect(
  server: Loopback,
  config: Partial<ClusterConfig> = {},
  options: Partial<ClientOptions> = {},
): { client: KubeClient; clock: VirtualClock } {
  const clock = new VirtualClock();
  const client = createClient(directConfig({ server: server.url, ...config }), {
    clock,
    ...options,
  });
  onTestFinished(() => client.close());
  return { client, clock };
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

export function always(status: number, body: unknown): RequestListener {
  return (_, response) => sendJson(response, status, body);
}

export function aService(name: string): Service {
  return { apiVersion: "v1", kind: "Service", metadata: { namespace: "a", name } };
}

export function notFound(name?: string) {
  return {
    kind: "Status",
    status: "Failure",
    reason: "NotFound",
    code: 404,
    details: name === undefined ? {} : { name },
  };
}

/** A client of a server that takes requests and never answers. */
export async function connectToSilence() {
  let arrive: () => void;
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const server = await serve(() => arrive());
  return { ...connect(server), arrived };
}
