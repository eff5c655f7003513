// Watch: when each member was last heard in, how far its endpoints may be used out, looked at once a second. Central and
// agents watch by the same rules (src/core/liveness.ts); only an agent is a member itself.

import type { ClusterId } from "../api/names.ts";
import {
  DEFAULT_LIVENESS,
  judgeLiveness,
  type Judged,
  type Liveness,
  type LivenessPolicy,
  type MemberContact,
  NOTHING_JUDGED,
  overlayDrain,
} from "../core/liveness.ts";
import type { Clock, Timer } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";

export interface LivenessWatchOptions {
  /** Everybody whose heartbeats are expected, `self` included: as `Hub.members` has them. */
  readonly contacts: () => readonly MemberContact[];
  /** The member that watches, if it is one. */
  readonly self?: ClusterId;
  /** Known at any time, before the first look as well. */
  readonly isDrained?: (cluster: ClusterId) => boolean;
  readonly policy?: LivenessPolicy;
  readonly clock: Clock;
  /** Somebody's liveness is another: imports have to be looked at again. */
  readonly onChange: () => void;
  readonly log: Log;
}

export interface LivenessWatch {
  /** Live, unless known otherwise. */
  livenessOf(cluster: ClusterId): Liveness;
  stop(): Promise<void>;
}

const LOOK_EVERY_MS = 1_000;
const WELL: ReadonlySet<Liveness> = new Set(["live", "drained"]);

export function watchLiveness(options: LivenessWatchOptions): LivenessWatch {
  const { clock, log, contacts, self, policy = DEFAULT_LIVENESS } = options;
  const { isDrained = () => false } = options;
  let isStopped = false;
  let judged: Judged = NOTHING_JUDGED;

  function livenessOf(cluster: ClusterId): Liveness {
    return overlayDrain(judged.liveness.get(cluster) ?? "live", isDrained(cluster));
  }

  function look(): void {
    const input = { contacts: contacts(), policy, nowMs: clock.monotonic() };
    const now = judgeLiveness(self === undefined ? input : { ...input, self }, judged);
    const before = judged.liveness;
    const changed = [...now.liveness].filter(
      ([source, is]) => (before.get(source) ?? "live") !== is,
    );
    judged = now;
    for (const [source, liveness] of changed) {
      // The agent's own log has its own cluster on every line.
      log[WELL.has(liveness) ? "info" : "warn"]("liveness changed", { source, liveness });
    }
    if (changed.length > 0) options.onChange();
  }

  function lookLater(): Timer {
    return clock.schedule(LOOK_EVERY_MS, () => {
      look();
      if (!isStopped) next = lookLater();
    });
  }

  let next = lookLater();
  return {
    livenessOf,
    async stop() {
      isStopped = true;
      next.cancel();
    },
  };
}
