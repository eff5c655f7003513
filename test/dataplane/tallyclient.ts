// Traffic: a wish to a caller's control port in, its tally out. Never tries again: an answer that is lost on its way would be a
// window that nobody has seen.

import { request } from "node:http";
import type { Tally } from "./programs/tally.ts";

const LIMIT_MS = 30_000;
const MAX_BYTES = 4 * 1024 * 1024;

export function fetchTally(options: {
  /** Of whom to speak in errors. */
  readonly caller: string;
  readonly address: string;
  readonly port: number;
  readonly wish: "GET /tally" | "POST /mark";
}): Promise<Tally> {
  const { caller, address, port, wish } = options;
  const [method, path] = wish.split(" ");
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown): void =>
      reject(new Error(`${caller} did not answer ${wish}: its counts are lost.`, { cause }));
    const asked = request({
      host: address,
      port,
      method,
      path,
      agent: false,
      signal: AbortSignal.timeout(LIMIT_MS),
    });
    asked.on("error", fail);
    asked.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("error", fail);
      response.on("data", (chunk: string) => {
        text += chunk;
        if (text.length > MAX_BYTES) response.destroy(new Error("an endless tally"));
      });
      response.on("end", () => {
        if (response.statusCode === 200) resolve(JSON.parse(text) as Tally);
        else fail(new Error(`status ${response.statusCode}: ${text}`));
      });
    });
    asked.end();
  });
}
