// Client: a request for a ServiceAccount's token in, the token out. A refusal is a StoreError, as of every other verb.

import type { TokenRequest } from "../api/rbac.ts";
import { StoreError } from "../ports/store.ts";
import type { KubeClient } from "./client.ts";
import { toRefusedError } from "./status.ts";

export async function requestToken(
  client: KubeClient,
  order: { readonly path: string; readonly body: TokenRequest },
  options: { readonly nowMs: number; readonly signal?: AbortSignal },
): Promise<string> {
  const { path, body } = order;
  const answer = await client.request("POST", path, {
    body,
    ...(options.signal && { signal: options.signal }),
  });
  const attempted = `POST ${path}`;
  if (answer.status < 200 || answer.status >= 300) {
    throw toRefusedError({ ...answer, attempted, nowMs: options.nowMs });
  }
  const { status } = answer.body as TokenRequest;
  if (status?.token === undefined || status.token === "") {
    throw new StoreError("Internal", `the answer has no token (${attempted})`, {
      status: answer.status,
    });
  }
  return status.token;
}
