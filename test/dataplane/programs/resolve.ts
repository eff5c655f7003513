// Measuring: a name in, one of its addresses of one family out, or why there is none. Asks one name server, over the same
// family, again for every request: a client that remembers addresses would hide a name that is gone.

import { Resolver } from "node:dns/promises";
import { RequestError } from "./failure.ts";
import type { Family } from "./tally.ts";

export interface NameResolver {
  /** Rejects with a RequestError. Several addresses take turns. */
  resolve(name: string): Promise<string>;
  /** What is being asked for is given up. */
  cancel(): void;
}

/**
 * It asks again when nothing comes back, as every stub resolver does, for as long as a request lasts: c-ares gives a server that
 * used to be quick a quarter of a second, and twice as long each time.
 */
const TRIES = 5;

export function createNameResolver(options: {
  readonly family: Family;
  /** Address, or "address:port" or "[address]:port". */
  readonly server: string;
  readonly timeoutMs: number;
}): NameResolver {
  const { family, server, timeoutMs } = options;
  const resolver = new Resolver({ timeout: Math.floor(timeoutMs / (TRIES + 1)), tries: TRIES });
  resolver.setServers([server]);
  let turn = 0;

  return {
    async resolve(name) {
      const asked = family === 4 ? resolver.resolve4(name) : resolver.resolve6(name);
      const addresses = await asked.catch((error: unknown) => {
        throw toRequestError(error, server);
      });
      turn += 1;
      const address = addresses.toSorted()[turn % addresses.length];
      if (address === undefined) throw new RequestError("no address", "an answer without address");
      return address;
    },
    cancel: () => resolver.cancel(),
  };
}

function toRequestError(error: unknown, server: string): RequestError {
  const code = error instanceof Error && "code" in error ? String(error.code) : String(error);
  if (code === "ENOTFOUND") return new RequestError("name not found", "NXDOMAIN");
  if (code === "ENODATA") return new RequestError("no address", "no address of this family");
  return new RequestError("name server", `${code} from ${server}`);
}
