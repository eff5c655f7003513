// CLI: a hub with Leases that look old in, the same with what became of them while we watched out: whether one is renewed
// shows only in its changing. A hub that stumbles meanwhile costs time, not the command.

import type { Lease } from "../api/builtin.ts";
import { listLeases } from "../controllers/sight.ts";
import { list } from "../core/clusterset/explanation.ts";
import type { HubSighting } from "../core/clusterset/sighting.ts";
import { parseTime, sleep } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { runBounded } from "../runtime/bounded.ts";
import type { CliContext } from "./context.ts";

/** A Lease of this age is worth watching. Only a reason to look twice: clocks of clusters are not compared. */
const DOUBTFUL_MS = 15_000;
/** Longer than an agent takes from one renewal to the next. */
export const WATCH_MS = 13_000;
const WATCH_EVERY_MS = 1_000;
/** With a hub that does not always answer. */
const BOUND_MS = 15_000;

/** Until every doubtful one has been renewed, or has had the time to. `tell` gets a line for people. */
export async function watchLeases(
  { clock, signal }: Pick<CliContext, "clock" | "signal">,
  watched: {
    readonly store: Store;
    readonly hub: HubSighting;
    readonly tell: (line: string) => void;
  },
): Promise<HubSighting> {
  const { store, hub, tell } = watched;
  const beganMs = clock.monotonic();
  const elapsed = (): number => clock.monotonic() - beganMs;
  const before = hub.leases;
  const isDoubtful = ({ spec }: Lease): boolean => {
    const renewedMs = parseTime(spec?.renewTime);
    return renewedMs !== undefined && Math.abs(clock.now() - renewedMs) >= DOUBTFUL_MS;
  };
  let pending = before.filter(isDoubtful);
  if (pending.length === 0) return hub;
  const names = pending.map(({ metadata }) => metadata.name ?? "");
  tell(
    `watching for up to ${WATCH_MS / 1_000} s whether ${list(names)} ${names.length === 1 ? "is" : "are"} heard`,
  );
  let leases = before;
  // Of the last answer: who did not answer has not shown that nobody was heard.
  let seenMs = 0;
  while (pending.length > 0 && seenMs < WATCH_MS && elapsed() + WATCH_EVERY_MS <= BOUND_MS) {
    await sleep(clock, WATCH_EVERY_MS, signal);
    try {
      const boundMs = Math.max(1, BOUND_MS - elapsed());
      leases = await runBounded({ clock, boundMs, stop: signal }, (bound) =>
        listLeases(store, bound),
      );
    } catch {
      signal.throwIfAborted();
      continue;
    }
    seenMs = elapsed();
    const now = new Map(leases.map(({ metadata, spec }) => [metadata.name, spec?.renewTime]));
    pending = pending.filter(({ metadata, spec }) => now.get(metadata.name) === spec?.renewTime);
  }
  return { ...hub, leases, before: { leases: before, elapsedMs: seenMs } };
}
