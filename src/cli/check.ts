// CLI: `isthmus check`: everything that Isthmus needs in and between clusters, group by group: what was found and what to do. With
// --wait: until nothing fails.

import pc from "picocolors";
import { Problem } from "../api/problem.ts";
import type { CheckReport } from "../core/check/checkup.ts";
import { CHECKS, type CheckResult, type CheckState, groupOf } from "../core/check/result.ts";
import { count, sentence } from "../core/clusterset/explanation.ts";
import { sleep } from "../ports/clock.ts";
import { lookForChecks } from "./checkLook.ts";
import { type CliContext, tellOnce } from "./context.ts";
import { parseDuration } from "./duration.ts";
import { type OpenObserver, withObserver } from "./observer.ts";
import type { SourceFlags } from "./source.ts";
import { plain } from "./terminal.ts";

export interface CheckFlags extends SourceFlags {
  /** False: `--no-hub`. */
  readonly hub: boolean;
  readonly output: "table" | "short" | "json";
  readonly wait: boolean;
  readonly timeout: string;
}

const AGAIN_MS = 2_000;
/** So many clusters are named one by one; of more, how many. */
const CLUSTERS_NAMED = 4;
/** Of one check that went well in different words; of more, that it went well. */
const SENTENCES_SHOWN = 3;

/** The groups, in the order of the checks, as people read them. */
const TITLES: Readonly<Record<string, string>> = {
  api: "API servers",
  crds: "CustomResourceDefinitions",
  rbac: "Permissions",
  identity: "Identity",
  leases: "Leases",
  clock: "Clocks",
  cidrs: "Address ranges",
  dns: "DNS",
  proxy: "kube-proxy",
  orphans: "Orphans",
  versions: "Versions",
};

export async function runCheck(context: CliContext, flags: CheckFlags): Promise<void> {
  const timeoutMs = parseDuration(flags.timeout, "--timeout");
  const { output, ...rest } = flags;
  await withObserver(context, rest, async (observer) => {
    const report = await checkUntilWell(context, { observer, isPatient: flags.wait, timeoutMs });
    for (const line of render(report, output, context)) context.out(line);
    if (report.well) return;
    const { fail } = report.counts;
    const codes = new Set(
      report.checks.flatMap(({ code, state }) => (state === "fail" ? code : [])),
    );
    const again = flags.wait ? ` after ${flags.timeout}` : "";
    throw new Problem(
      "NotWell",
      `${count(fail, "check")} failed${again}: ${[...codes].join(", ")}`,
      {
        hint: "docs/check.md has a section for each.",
      },
    );
  });
}

async function checkUntilWell(
  context: CliContext,
  task: {
    readonly observer: OpenObserver;
    readonly isPatient: boolean;
    readonly timeoutMs: number;
  },
): Promise<CheckReport> {
  const { clock, signal } = context;
  const untilMs = clock.monotonic() + task.timeoutMs;
  const tell = tellOnce(context);
  for (;;) {
    const { report } = await lookForChecks(context, task.observer);
    const isOver = report.well || !task.isPatient || clock.monotonic() + AGAIN_MS > untilMs;
    if (isOver) return report;
    const first = report.checks.find(({ state }) => state === "fail");
    if (first !== undefined) tell(`waiting: ${describeShort(first)}`);
    await sleep(clock, AGAIN_MS, signal);
  }
}

function render(
  report: CheckReport,
  output: CheckFlags["output"],
  { color }: Pick<CliContext, "color">,
): readonly string[] {
  switch (output) {
    case "json":
      return [JSON.stringify(report, undefined, 2)];
    case "short":
      return renderShort(report, color);
    case "table":
      return renderTable(report, color);
    default:
      return output satisfies never;
  }
}

function renderTable(report: CheckReport, color: boolean): readonly string[] {
  const { bold } = pc.createColors(color);
  const groups = [...new Set(report.checks.map(({ code }) => groupOf(code)))];
  const total = new Set(report.checks.flatMap(({ cluster }) => cluster ?? [])).size;
  return [
    ...groups.flatMap((group) => [
      bold(TITLES[group] ?? group),
      ...gather(report.checks.filter(({ code }) => groupOf(code) === group)).flatMap((gathered) =>
        renderGathered(gathered, { total, color }),
      ),
      "",
    ]),
    summarize(report, color),
  ];
}

/** What is said of several clusters in the same words. */
interface Gathered {
  readonly result: CheckResult;
  readonly clusters: readonly string[];
}

function gather(results: readonly CheckResult[]): readonly Gathered[] {
  const found = new Map<string, { result: CheckResult; clusters: string[] }>();
  for (const result of results) {
    const key = JSON.stringify([result.code, result.state, result.found, result.next]);
    const same = found.get(key) ?? { result, clusters: [] };
    same.clusters.push(...(result.cluster === undefined ? [] : [result.cluster]));
    found.set(key, same);
  }
  return collapse([...found.values()]);
}

/** Fifty clusters that are well, each in words of its own, are one line. */
function collapse(gathered: readonly Gathered[]): readonly Gathered[] {
  const isMany = ({ result: { code, state } }: Gathered): boolean =>
    state === "pass" &&
    gathered.filter(({ result }) => result.code === code && result.state === state).length >
      SENTENCES_SHOWN;
  const many = new Map<string, Gathered>();
  for (const one of gathered.filter(isMany)) {
    const { code } = one.result;
    const clusters = [...(many.get(code)?.clusters ?? []), ...one.clusters];
    many.set(code, { result: { ...one.result, found: sentence(`${CHECKS[code]}.`) }, clusters });
  }
  const first = new Set<string>();
  return gathered.flatMap((one) => {
    const { code } = one.result;
    if (!isMany(one)) return [one];
    if (first.has(code)) return [];
    first.add(code);
    return many.get(code) ?? [];
  });
}

function renderGathered(
  { result, clusters }: Gathered,
  { total, color }: { readonly total: number; readonly color: boolean },
): readonly string[] {
  const { bold, dim } = pc.createColors(color);
  const { state, code, found, next, doc } = result;
  const who = clusters.length === 0 ? "" : `${bold(plain(nameSome(clusters, total)))}: `;
  const line = `  ${markOf(state, color)}  ${code.padEnd(19)}  ${who}${plain(found)}`;
  if (state === "pass") return [line];
  return [
    line,
    ...(next === undefined ? [] : [`        ${dim("→")} ${plain(next)}`]),
    `          ${dim(`See ${doc}`)}`,
  ];
}

function nameSome(clusters: readonly string[], total: number): string {
  if (clusters.length > 1 && clusters.length === total)
    return total === 2 ? "both" : `all ${total}`;
  if (clusters.length <= CLUSTERS_NAMED) return clusters.join(", ");
  const named = clusters.slice(0, CLUSTERS_NAMED - 1).join(", ");
  return `${named} and ${clusters.length - CLUSTERS_NAMED + 1} more`;
}

function markOf(state: CheckState, color: boolean): string {
  const { green, red, yellow } = pc.createColors(color);
  switch (state) {
    case "pass":
      return green("ok  ");
    case "warn":
      return yellow("warn");
    case "fail":
      return red("FAIL");
    default:
      return state satisfies never;
  }
}

/** What is not as it should be, a line each. */
function renderShort(report: CheckReport, color: boolean): readonly string[] {
  const lines = report.checks
    .filter(({ state }) => state !== "pass")
    .map((result) => `${markOf(result.state, color)}  ${describeShort(result)}`);
  return [...lines, summarize(report, color)];
}

function describeShort({ code, cluster, found, next, doc }: CheckResult): string {
  const who = cluster === undefined ? "" : ` ${cluster}`;
  return plain(`${code}${who}: ${found}${next === undefined ? "" : ` → ${next}`} See ${doc}`);
}

function summarize({ well, counts }: CheckReport, color: boolean): string {
  const { green, red } = pc.createColors(color);
  const { pass, warn, fail } = counts;
  const verdict = well ? green("Nothing fails") : red(`${count(fail, "check")} failed`);
  return `${verdict}; ${count(warn, "warning")}, ${pass} ok.`;
}
