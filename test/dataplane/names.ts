// Data plane: `isthmus dns` in a cluster as its users run it: a Deployment behind a Service, which resolves the names of the
// clusterset beside the cluster's own DNS.

import { SERVICE } from "../../src/api/builtin.ts";
import type { MemberName } from "./plan.ts";
import type { Shop } from "./shop.ts";
import type { CallerOptions } from "./traffic.ts";
import { aDeployment, aService, DEPLOYMENT } from "./workload.ts";

const NAME = "names";
const PORT = 53;
const HEALTH_PORT = 9403;

/** Answers the addresses of the Service, once it is ready. */
export async function serveNames(
  shop: Shop,
  id: MemberName,
): Promise<NonNullable<CallerOptions["dns"]>> {
  const { namespace } = shop;
  const { plan, kubeconfigPath } = shop.cluster(id);
  const ports = [
    { name: "dns", protocol: "UDP", port: PORT },
    { name: "dns-tcp", protocol: "TCP", port: PORT },
  ] as const;
  const service = await shop.store(id).create(SERVICE, aService(namespace, NAME, { ports }));
  const args = [
    ["dns", "--kubeconfig", kubeconfigPath, "--metrics-address", `:${HEALTH_PORT}`],
    ["--listen", `0.0.0.0:${PORT}`, "--listen", `[::]:${PORT}`],
  ].flat();
  const container = {
    name: "dns",
    image: "isthmus",
    args,
    readinessProbe: { httpGet: { path: "/readyz", port: HEALTH_PORT } },
  };
  const node = plan.name;
  await shop.store(id).create(DEPLOYMENT, aDeployment({ namespace, name: NAME, node, container }));
  await shop.podsAreReady(id, NAME, 1);
  const [four = "", six = ""] = service.spec?.clusterIPs ?? [];
  return { 4: four, 6: six };
}
