// CLI: exports in; waits until each is valid and ready, tells what it waits for, and why not when its time is up.

import type { Condition } from "../api/object.ts";
import { Problem } from "../api/problem.ts";
import { sleep } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { type CliContext, tellOnce } from "./context.ts";
import { readExport, type Wanted } from "./exportTarget.ts";
import { warn } from "./output.ts";
import { plain } from "./terminal.ts";

const AGAIN_MS = 500;
const UNJUDGED =
  "Nobody has looked at it yet. Is isthmus central running with this cluster, or the agent of the cluster?";

export async function waitUntilReady(
  context: CliContext,
  task: {
    readonly store: Store;
    readonly wanted: readonly Wanted[];
    readonly timeoutMs: number;
  },
): Promise<void> {
  const untilMs = context.clock.monotonic() + task.timeoutMs;
  const failures: string[] = [];
  for (const wanted of task.wanted) {
    const verdict = await waitForOne(context, { store: task.store, wanted, untilMs });
    if (verdict.why !== undefined) failures.push(`${wanted.key}: ${plain(verdict.why)}`);
    else context.out(`${wanted.key}: valid and ready.`);
    if (verdict.conflict !== undefined) warn(context, [`${wanted.key}: ${verdict.conflict}`]);
  }
  if (failures.length === 0) return;
  throw new Problem("NotWell", `not exported yet: ${failures.join(" ")}`, {
    hint: "The export stays, and goes on when what is wrong is mended. isthmus explain says more; isthmus unexport takes it back.",
  });
}

interface Verdict {
  /** Why it is not ready; absent: it is. */
  readonly why?: string;
  readonly conflict?: string;
  /** Waiting does not help. */
  readonly isFinal: boolean;
}

async function waitForOne(
  context: CliContext,
  task: { readonly store: Store; readonly wanted: Wanted; readonly untilMs: number },
): Promise<Verdict> {
  const { clock, signal } = context;
  const tell = tellOnce(context);
  for (;;) {
    const found = await readExport(task.store, task.wanted.ref, signal);
    const verdict: Verdict =
      found === undefined
        ? { why: "Somebody has deleted the export.", isFinal: true }
        : judge(found.status?.conditions ?? []);
    const isLate = clock.monotonic() + AGAIN_MS > task.untilMs;
    if (verdict.why === undefined || verdict.isFinal || isLate) return verdict;
    const line = `waiting: ${task.wanted.key}: ${plain(verdict.why)}`;
    tell(line);
    await sleep(clock, AGAIN_MS, signal);
  }
}

/**
 * That a namespace is denied stays so. Whatever else makes an export invalid was looked at before: the condition tells of the
 * time before that, and is about to change.
 */
function judge(conditions: readonly Condition[]): Verdict {
  const of = (wanted: string): Condition | undefined =>
    conditions.find(({ type }) => type === wanted);
  const valid = of("Valid");
  if (valid === undefined) return { why: UNJUDGED, isFinal: false };
  if (valid.status !== "True") {
    return { why: valid.message, isFinal: valid.reason === "NamespaceDenied" };
  }
  const ready = of("Ready");
  if (ready?.status !== "True") return { why: ready?.message ?? UNJUDGED, isFinal: false };
  const conflict = of("Conflict");
  return conflict?.status === "True"
    ? { conflict: conflict.message, isFinal: true }
    : { isFinal: true };
}
