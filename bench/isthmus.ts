// Bench: Isthmus in a process of its own, as in real life. Connected beforehand, started when the bench says so; its writes
// are counted on their way to the API servers.

import { startCentral } from "../src/controllers/central.ts";
import { createPolicy } from "../src/core/policy.ts";
import { createLog } from "../src/cli/log.ts";
import { systemClock, systemRandom } from "../src/kube/clock.ts";
import { NAMESPACE } from "../src/api/builtin.ts";
import type { Store } from "../src/ports/store.ts";
import { processorMs, serveParent } from "./child.ts";
import { connect } from "./pair.ts";

export interface IsthmusReport {
  readonly writes: number;
  /** Since the start of central. */
  readonly cpuMs: number;
}

let writes = 0;
let startedAtMs = 0;

serveParent(
  (access) =>
    Promise.all(
      access.map(async (one) => {
        const client = connect(one);
        await client.get(NAMESPACE, { name: "default" });
        return { name: one.id, givenId: one.id, store: countWrites(client) };
      }),
    ),
  (members, message) => {
    if (message !== "start") {
      return { writes, cpuMs: processorMs() - startedAtMs } satisfies IsthmusReport;
    }
    startedAtMs = processorMs();
    startCentral({
      members,
      policy: createPolicy({}),
      clock: systemClock,
      random: systemRandom,
      log: createLog("warn", (line) => process.stderr.write(`${line}\n`)),
    });
    return "started";
  },
);

function countWrites(store: Store): Store {
  return {
    get: store.get.bind(store),
    list: store.list.bind(store),
    watch: store.watch.bind(store),
    create(resource, object, options) {
      // Nothing changes by it: central asks once which families the cluster has.
      if (options?.dryRun !== true) writes += 1;
      return store.create(resource, object, options);
    },
    replace(resource, object, options) {
      writes += 1;
      return store.replace(resource, object, options);
    },
    apply(resource, object, options) {
      writes += 1;
      return store.apply(resource, object, options);
    },
    delete(resource, ref, options) {
      writes += 1;
      return store.delete(resource, ref, options);
    },
  };
}
