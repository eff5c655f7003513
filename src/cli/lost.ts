// CLI: the members of a hub in, those that were not heard for so long out. Members' clocks are compared with ours only to find who
// is worth a second look: whoever renews its Lease meanwhile lives, whatever its clock says.

import type { ClusterId } from "../api/names.ts";
import { listMembers } from "../controllers/departure.ts";
import { list } from "../core/clusterset/explanation.ts";
import { sleep } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import type { CliContext } from "./context.ts";
import { WATCH_MS } from "./leaseWatch.ts";

export async function listLost(
  { clock, signal, error: tell }: Pick<CliContext, "clock" | "signal" | "error">,
  hub: Store,
  lostForMs: number,
): Promise<readonly ClusterId[]> {
  const members = await listMembers(hub, signal);
  const quiet = members.filter(({ heardAtMs }) => clock.now() - heardAtMs > lostForMs);
  if (quiet.length === 0) return [];
  const names = quiet.map(({ cluster }) => cluster);
  tell(
    `Watching for ${WATCH_MS / 1_000} s whether ${list(names)} ${names.length === 1 ? "is" : "are"} heard …`,
  );
  await sleep(clock, WATCH_MS, signal);
  const after = await listMembers(hub, signal);
  const isStill = (cluster: ClusterId, heardAtMs: number): boolean =>
    after.some((each) => each.cluster === cluster && each.heardAtMs === heardAtMs);
  return quiet.flatMap(({ cluster, heardAtMs }) => (isStill(cluster, heardAtMs) ? [cluster] : []));
}
