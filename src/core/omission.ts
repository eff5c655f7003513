// Import: what was left out while one source's share was read in, one rejection per kind of thing out. A source with a
// thousand bad endpoints is one sentence with a count: what a hostile member makes us say is bounded too.

import type { ClusterId } from "../api/names.ts";
import type { Rejection, RejectionReason } from "./admission.ts";
import { quote } from "./untrusted.ts";

export interface Omissions {
  /** `what` is a noun, `why` a clause about the first of them. */
  leaveOut(what: string, why: string): void;
  /** `given` of them came, no more than `limit` were taken. */
  cut(what: string, given: number, limit: number): void;
  list(): readonly Rejection[];
  /** Nothing of the share can be used. */
  rejectWhole(why: string): Rejection;
}

interface Omission {
  readonly reason: RejectionReason;
  readonly what: string;
  readonly why: string;
  count: number;
}

/** `subject` is what the source shares: a service. */
export function createOmissions(cluster: ClusterId, subject: string): Omissions {
  // One map per share would be made a thousand times at the start and hardly ever used.
  let found: Map<string, Omission> | undefined;
  function add(omission: Omission): void {
    const key = `${omission.reason} ${omission.what}`;
    found ??= new Map();
    const known = found.get(key);
    if (known === undefined) found.set(key, omission);
    else known.count += omission.count;
  }
  return {
    leaveOut: (what, why) => add({ reason: "Malformed", what, why, count: 1 }),
    cut: (what, given, limit) =>
      add({ reason: "TooMany", what, why: `at most ${limit} of them are`, count: given - limit }),
    list: () => [...(found?.values() ?? [])].map((omission) => render(cluster, subject, omission)),
    rejectWhole(why) {
      const message = `Cluster "${cluster}" shares ${quote(subject)} in a form that is not understood here: ${why}. ${advise(cluster)}`;
      return { cluster, reason: "Malformed", count: 1, message };
    },
  };
}

function render(cluster: ClusterId, subject: string, omission: Omission): Rejection {
  const { reason, what, why, count } = omission;
  const subjects = `${what} of ${quote(subject)}`;
  if (reason === "TooMany") {
    const message = `Cluster "${cluster}" shares more ${subjects} than is taken in: ${why}, ${count} are left out. Share fewer in one piece.`;
    return { cluster, reason, count, message };
  }
  const more = count > 1 ? `, and ${count - 1} more` : "";
  const message = `Cluster "${cluster}" shares ${subjects} that cannot be used here: ${why}${more}. ${advise(cluster)}`;
  return { cluster, reason, count, message };
}

function advise(cluster: ClusterId): string {
  return `If "${cluster}" runs a later release of Isthmus, upgrade this cluster too.`;
}
