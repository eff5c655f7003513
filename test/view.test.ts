// Observe: what one cluster's view answers while news and answers cross.

import { expect, test } from "vitest";
import { NAMESPACE } from "../src/api/builtin.ts";
import { MEMBER_CRDS } from "../src/api/crds.ts";
import { SERVICE_EXPORT } from "../src/api/mcs.ts";
import { serviceKey } from "../src/api/names.ts";
import { createFreshness } from "../src/runtime/freshness.ts";
import { VirtualClock } from "./clock.ts";
import { seededRandom } from "./embedded.ts";
import { anExport } from "./scenarios/objects.ts";
import { EmbeddedCluster } from "../src/embedded/cluster.ts";
import { installCrds } from "../src/controllers/crd.ts";
import { createClusterView } from "../src/controllers/view.ts";

test("an export that is gone stays gone, though a status written before is answered after the news", async () => {
  const clock = new VirtualClock();
  const random = seededRandom(1);
  const store = new EmbeddedCluster({ name: "east", clock, random }).store();
  const installed = installCrds({ store, crds: MEMBER_CRDS, clock });
  await clock.advance(1_000);
  await installed;
  await store.create(NAMESPACE, {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name: "shop" },
  });
  const written = await store.create(SERVICE_EXPORT, anExport("shop", "web"));
  const exportFreshness = createFreshness({ clock });
  const view = createClusterView({
    store,
    clock,
    random,
    exportFreshness,
    importFreshness: createFreshness({ clock }),
    onExport: () => undefined,
    onImport: () => undefined,
    onNamespace: () => undefined,
    onError: (_, { error }) => {
      throw error;
    },
  });
  await clock.advance(1_000);
  const service = serviceKey({ namespace: "shop", name: "web" });
  expect(view.serviceExport(service)).toBeDefined();

  await store.delete(SERVICE_EXPORT, { namespace: "shop", name: "web" });
  await clock.advance(1_000);
  exportFreshness.wrote(service, SERVICE_EXPORT, written);
  expect(view.serviceExport(service)).toBeUndefined();
  await view.stop();
});
