// The fewest HTTP needed before there is a client to trust: a kubeconfig of ours in, status and body of a GET out.

import { readFile } from "node:fs/promises";
import { Agent, request } from "undici";

export interface Reader {
  /** Status 0 when nobody answers. */
  get(path: string): Promise<{ readonly status: number; readonly body: string }>;
  getJson(path: string): Promise<unknown>;
  close(): Promise<void>;
}

/** Only for kubeconfigs that this folder wrote: JSON, one user with a client certificate. */
export async function openReader(
  kubeconfigPath: string,
  { connectMs = 60_000, answerMs = 60_000 } = {},
): Promise<Reader> {
  const config = JSON.parse(await readFile(kubeconfigPath, "utf8"));
  const { server, "certificate-authority-data": ca } = config.clusters[0].cluster;
  const { "client-certificate-data": cert, "client-key-data": key } = config.users[0].user;
  const dispatcher = new Agent({
    connect: { ca: decode(ca), cert: decode(cert), key: decode(key), timeout: connectMs },
    headersTimeout: answerMs,
  });
  const get: Reader["get"] = async (path) => {
    try {
      const answer = await request(`${server}${path}`, { dispatcher });
      return { status: answer.statusCode, body: await answer.body.text() };
    } catch (error) {
      return { status: 0, body: String(error) };
    }
  };
  return {
    get,
    async getJson(path) {
      const { status, body } = await get(path);
      if (status !== 200) throw new Error(`GET ${path} answered ${status}: ${body}`);
      return JSON.parse(body);
    },
    close: () => dispatcher.destroy(),
  };
}

function decode(text: unknown): string {
  return Buffer.from(String(text), "base64").toString();
}
