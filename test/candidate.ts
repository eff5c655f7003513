// A process that competes for a Lease and, once it leads, writes its name into a ConfigMap as fast as it can. Its work
// never looks at the signal or the trust: only the fence of its client keeps it from writing after a loss.
// Arguments: kubeconfig, namespace, identity. Says what happens in lines on standard output; SIGTERM ends it well.

import { CONFIG_MAP } from "../src/api/builtin.ts";
import { apiVersionOf } from "../src/api/object.ts";
import { createClient } from "../src/kube/client.ts";
import { systemClock, systemRandom } from "../src/kube/clock.ts";
import { loadKubeconfig } from "../src/kube/config.ts";
import type { Log } from "../src/ports/log.ts";
import { isStoreError } from "../src/ports/store.ts";
import { runElected } from "../src/runtime/leader.ts";

/** Requests at the same time: some of them are always on their way to a socket. */
const WRITERS = 8;

const [kubeconfig = "", namespace = "", identity = ""] = process.argv.slice(2);
const config = loadKubeconfig({ paths: [kubeconfig], env: {}, home: "/" });
const log: Log = { debug: ignore, info: say, warn: say, error: say, with: () => log };
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());

const election = createClient(config, { clock: systemClock });
await runElected(
  {
    store: election,
    clock: systemClock,
    random: systemRandom,
    log,
    lease: { namespace, name: "lead" },
    identity,
  },
  async ({ mayWrite }) => {
    const client = createClient(config, { clock: systemClock, mayWrite });
    let count = 0;
    const write = async (): Promise<void> => {
      while (!stop.signal.aborted) {
        count += 1;
        const note = {
          apiVersion: apiVersionOf(CONFIG_MAP),
          kind: CONFIG_MAP.kind,
          metadata: { namespace, name: "note" },
          data: { writer: identity, count: String(count) },
        };
        try {
          await client.apply(CONFIG_MAP, note, { fieldManager: "candidate", force: true });
        } catch (error) {
          if (!isStoreError(error)) throw error;
          say(error.code === "Unavailable" && error.status === 0 ? "refused" : error.message);
          // Only to leave the processor to others: the fence answers at once.
          await new Promise((resolve) => systemClock.schedule(100, () => resolve(undefined)));
        }
      }
    };
    await Promise.all(Array.from({ length: WRITERS }, write));
    await client.close();
  },
  stop.signal,
);
await election.close();

function say(message: string): void {
  process.stdout.write(`${message}\n`);
}

function ignore(): void {}
