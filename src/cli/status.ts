// CLI: `isthmus status`: is everything well, and if not, what is not and what to do. With --wait: until it is.

import pc from "picocolors";
import { Problem } from "../api/problem.ts";
import type { Finding, StatusView } from "../core/clusterset/health.ts";
import { viewStatus } from "../core/clusterset/health.ts";
import { type ClustersetView, viewClusterset } from "../core/clusterset/view.ts";
import { sleep } from "../ports/clock.ts";
import { type CliContext, tellOnce } from "./context.ts";
import { parseDuration } from "./duration.ts";
import { chooseNamespace, type Observer, type ReadingFlags, withObserver } from "./observer.ts";
import { printData } from "./printing.ts";
import { plain } from "./terminal.ts";

export interface StatusFlags extends ReadingFlags {
  readonly wait: boolean;
  readonly timeout: string;
}

const AGAIN_MS = 2_000;
/** Who has more than that has one cause, or needs a program. */
const FINDINGS_SHOWN = 30;

export async function runStatus(context: CliContext, flags: StatusFlags): Promise<void> {
  const timeoutMs = parseDuration(flags.timeout, "--timeout");
  await withObserver(context, flags, async (observer) => {
    const { status, view } = await lookUntilWell(context, { observer, flags, timeoutMs });
    const subjects = status.findings.filter(({ verdict }) => verdict === "bad");
    const names = [...new Set(subjects.map(({ about, subject }) => `${about}/${subject}`))];
    if (!printData(context, flags.output, { data: status, names })) {
      for (const line of renderStatus(status, view, context)) context.out(line);
    }
    if (!status.well) {
      const again = flags.wait ? ` after ${flags.timeout}` : "";
      throw new Problem("NotWell", `not all is well${again}: ${describeCounts(status)}`, {
        hint: 'For one service, "isthmus explain <service>" goes down to every endpoint.',
      });
    }
  });
}

export async function lookUntilWell(
  context: CliContext,
  task: { readonly observer: Observer; readonly flags: StatusFlags; readonly timeoutMs: number },
): Promise<{ readonly status: StatusView; readonly view: ClustersetView }> {
  const { observer, flags, timeoutMs } = task;
  const { clock, signal } = context;
  const untilMs = clock.monotonic() + timeoutMs;
  const tell = tellOnce(context);
  for (;;) {
    const namespace = chooseNamespace(flags, undefined);
    const observation = await observer.look({ namespace, watchesLeases: true });
    const status = viewStatus(observation);
    const isOver = status.well || !flags.wait || clock.monotonic() + AGAIN_MS > untilMs;
    if (isOver) return { status, view: viewClusterset(observation) };
    const first = status.findings.find(({ verdict }) => verdict === "bad");
    const line = first === undefined ? "" : `waiting: ${renderFinding(first)}`;
    tell(line);
    await sleep(clock, AGAIN_MS, signal);
  }
}

function renderFinding(
  { subject, what, why }: Finding,
  emphasize: (text: string) => string = (text) => text,
): string {
  return `${emphasize(plain(subject))}, ${plain(what)}: ${plain(why)}`;
}

export function renderStatus(
  status: StatusView,
  view: ClustersetView,
  { color }: Pick<CliContext, "color">,
): readonly string[] {
  const { bold, dim, green, red, yellow } = pc.createColors(color);
  const { clusters, services, findings } = status;
  const mark = (isWell: boolean): string => (isWell ? green("ok ") : red("BAD"));
  const hub = view.hub === undefined ? [] : [renderHub(view.hub, mark)];
  const lines = findings
    .slice(0, FINDINGS_SHOWN)
    .flatMap((finding) => [
      `${finding.verdict === "bad" ? red("BAD") : yellow("?  ")}   ${renderFinding(finding, bold)}`,
      ...(finding.next === undefined ? [] : [`      ${dim("→")} ${plain(finding.next)}`]),
    ]);
  const more = findings.length - FINDINGS_SHOWN;
  return [
    ...hub,
    `clusters   ${mark(clusters.well === clusters.total)}   ${clusters.well} of ${clusters.total} well${listClusters(view, findings)}`,
    `services   ${mark(services.well === services.total)}   ${services.well} of ${services.total} well`,
    ...(lines.length === 0 ? [] : ["", ...lines]),
    ...(more > 0 ? [`      ${more} more; -o json has them all.`] : []),
  ];
}

function renderHub(
  { server, members, problem }: NonNullable<ClustersetView["hub"]>,
  mark: (isWell: boolean) => string,
): string {
  const counted = members === 1 ? "1 member" : `${members} members`;
  return problem === undefined
    ? `hub        ${mark(true)}   ${plain(server)}, ${counted}`
    : `hub        ${mark(false)}   ${plain(server)}`;
}

function listClusters({ clusters }: ClustersetView, findings: readonly Finding[]): string {
  const bad = new Set(
    findings.flatMap(({ subject, verdict }) => (verdict === "bad" ? subject : [])),
  );
  const named = clusters.map(({ id, liveness }) => {
    if (!bad.has(id)) return liveness === "drained" ? `${id} drained` : id;
    return liveness === "live" || liveness === "unknown" ? `${id} not well` : `${id} ${liveness}`;
  });
  return named.length === 0 ? "" : `: ${plain(named.join(", "))}`;
}

function describeCounts({ clusters, services, findings }: StatusView): string {
  const parts = [
    ...(findings.some(({ about }) => about === "hub") ? ["the hub"] : []),
    ...(clusters.well === clusters.total
      ? []
      : [`${clusters.total - clusters.well} of ${clusters.total} clusters`]),
    ...(services.well === services.total
      ? []
      : [`${services.total - services.well} of ${services.total} services`]),
  ];
  return parts.join(", ");
}
