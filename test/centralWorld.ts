// Test double: central over embedded clusters, all on one virtual clock, so that faults of minutes take no time and
// every run tells the same story.

import { NAMESPACE } from "../src/api/builtin.ts";
import { MEMBER_CRDS } from "../src/api/crds.ts";
import { type Central, startCentral } from "../src/controllers/central.ts";
import { installCrds } from "../src/controllers/crd.ts";
import { createPolicy, type NamespacePolicy } from "../src/core/policy.ts";
import { EmbeddedCluster } from "../src/embedded/cluster.ts";
import type { Log, LogFields } from "../src/ports/log.ts";
import type { Store } from "../src/ports/store.ts";
import { VirtualClock } from "./clock.ts";
import { seededRandom } from "./embedded.ts";
import { createLine, type Line } from "./scenarios/line.ts";
import { Site } from "./scenarios/site.ts";

export const SHOP = "shop";

interface CentralSite {
  readonly cluster: EmbeddedCluster;
  /** As its users see it: without faults. */
  readonly site: Site;
  /** As central sees it. */
  readonly line: Line;
}

export class CentralWorld {
  readonly clock = new VirtualClock();
  readonly sites: readonly CentralSite[];
  readonly warnings: { readonly message: string; readonly fields: LogFields }[] = [];
  #central: Central | undefined;

  private constructor(ids: readonly string[]) {
    this.sites = ids.map((id, index) => {
      const cluster = new EmbeddedCluster({
        name: id,
        clock: this.clock,
        random: seededRandom(index + 1),
      });
      const line = createLine(cluster.store({ userAgent: "isthmus-central" }), () => true);
      const store = cluster.store({ userAgent: "user" });
      const site = new Site({ id, store, serviceCidrs: ["10.96.0.0/16"] }, line, SHOP);
      return { cluster, site, line };
    });
  }

  static async open(...ids: readonly string[]): Promise<CentralWorld> {
    const world = new CentralWorld(ids);
    for (const { site } of world.sites) {
      await world.during(installCrds({ store: site.store, crds: MEMBER_CRDS, clock: world.clock }));
      await world.createNamespace(site.store, SHOP);
    }
    return world;
  }

  async createNamespace(store: Store, name: string): Promise<void> {
    await store.create(NAMESPACE, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }

  start(namespaces: NamespacePolicy = "wait"): void {
    this.#central = startCentral({
      members: this.sites.map(({ site, line }) => ({
        name: site.id,
        givenId: site.id,
        store: line.store,
      })),
      policy: createPolicy({ namespaces }),
      clock: this.clock,
      random: seededRandom(7),
      log: this.#log(),
    });
  }

  async restart(): Promise<void> {
    await this.during(this.stop());
    this.start();
  }

  /** Lets that much time go by. */
  async pass(seconds: number): Promise<void> {
    await this.clock.advance(seconds * 1_000);
  }

  /** Lets time go by until it has happened. */
  async during<T>(happening: Promise<T>): Promise<T> {
    const state = { ended: false };
    const watched = happening.finally(() => {
      state.ended = true;
    });
    for (let round = 0; !state.ended && round < 1_000; round += 1) await this.clock.advance(20);
    return watched;
  }

  async stop(): Promise<void> {
    await this.#central?.stop();
  }

  #log(): Log {
    const ignore = (): void => undefined;
    const note = (message: string, fields: LogFields = {}): void => {
      this.warnings.push({ message, fields });
    };
    const log: Log = { debug: ignore, info: ignore, warn: note, error: note, with: () => log };
    return log;
  }
}
