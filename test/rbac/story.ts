// Permission suite: central at work in two real clusters as somebody who has certain roles and nothing more.

import { CLUSTER_PROPERTY } from "../../src/api/about.ts";
import { SERVICE_IMPORT } from "../../src/api/mcs.ts";
import { createLog } from "../../src/cli/log.ts";
import { startCentral } from "../../src/controllers/central.ts";
import { createPolicy, type NamespacePolicy } from "../../src/core/policy.ts";
import { systemClock, systemRandom } from "../../src/kube/clock.ts";
import type { Store } from "../../src/ports/store.ts";
import type { SharedCluster } from "../controlplane/setup.ts";
import { createLine } from "../scenarios/line.ts";
import { eventually } from "../scenarios/poll.ts";
import { Site } from "../scenarios/site.ts";
import type { Access } from "./access.ts";
import { createRecorder, type Recorder } from "./recorder.ts";

export interface Member {
  readonly cluster: SharedCluster;
  readonly access: Access;
}

export interface Story {
  readonly roles: readonly string[];
  readonly namespaces?: NamespacePolicy;
  readonly namespace: string;
  /** What users do and see meanwhile, one site per member. */
  readonly tell: (sites: readonly Site[]) => Promise<void>;
}

/** What central asked of the members' API servers. */
export interface Account {
  readonly used: readonly string[];
  readonly refusals: readonly string[];
}

export async function runAs(members: readonly Member[], story: Story): Promise<Account> {
  const { namespace } = story;
  const recorders: Recorder[] = [];
  const sites: Site[] = [];
  for (const { cluster, access } of members) {
    const client = await access.become(story.roles);
    await eventually("the roles are in force", () => client.list(SERVICE_IMPORT, { limit: 1 }));
    const recorder = createRecorder(client);
    recorders.push(recorder);
    // Other tests use the clusters too: what is not in the story's namespace is not shown.
    const line = createLine(recorder.store, (name) => name === namespace);
    const { name: id, serviceCidrs } = cluster;
    sites.push(new Site({ id, serviceCidrs, store: access.admin }, line, namespace));
  }
  const lines: string[] = [];
  const central = startCentral({
    members: sites.map(({ id, line }) => ({
      name: id,
      givenId: id,
      store: withoutProperty(line.store),
    })),
    policy: createPolicy({ namespaces: story.namespaces ?? "wait" }),
    clock: systemClock,
    random: systemRandom,
    log: createLog("warn", (text) => lines.push(text)),
  });
  try {
    await story.tell(sites);
  } catch (error) {
    const refused = recorders.flatMap((recorder) => recorder.refusals());
    if (error instanceof Error) error.message += `\n${[...refused, ...lines].join("\n")}`;
    throw error;
  } finally {
    await central.stop();
  }
  return {
    used: [...new Set(recorders.flatMap((recorder) => recorder.used()))].toSorted(),
    refusals: recorders.flatMap((recorder) => recorder.refusals()),
  };
}

/** Asked for, but not heard: other tests give the clusters other ids for a while. */
function withoutProperty(store: Store): Store {
  return {
    ...store,
    get: async (resource, ref, options) => {
      const object = await store.get(resource, ref, options);
      return resource.plural === CLUSTER_PROPERTY.plural ? undefined : object;
    },
  };
}
