// CLI: `isthmus explain <service>`: why a service can be used or not, from its exports to every endpoint.

import pc from "picocolors";
import { Problem } from "../api/problem.ts";
import { explainService } from "../core/clusterset/explain.ts";
import type { Explanation, Verdict } from "../core/clusterset/explanation.ts";
import { idOf, isBlind } from "../core/clusterset/sighting.ts";
import { parseServiceName } from "../core/clusterset/servicename.ts";
import { splitServiceKey } from "../api/names.ts";
import type { CliContext } from "./context.ts";
import { chooseNamespace, type ReadingFlags, requireSight, withObserver } from "./observer.ts";
import { printData, warnOf } from "./printing.ts";
import { plain, plainLines } from "./terminal.ts";

/** Of the endpoints of one source; -o json has them all. */
const ENDPOINTS_SHOWN = 10;

export async function runExplain(
  context: CliContext,
  text: string,
  flags: ReadingFlags,
): Promise<void> {
  await withObserver(context, flags, async (observer) => {
    const fallback = chooseNamespace(flags, observer.defaultNamespace) ?? observer.defaultNamespace;
    const parsed = parseServiceName(text, fallback);
    if (!parsed.ok) throw new Problem("ArgumentInvalid", parsed.problem);
    const service = parsed.value;
    const { namespace } = splitServiceKey(service);
    const observation = await observer.look({ namespace });
    requireSight(observation);
    const explained = explainService(observation, service);
    if (explained === undefined) {
      warnOf(
        context,
        observation.sightings.flatMap(({ name, problems }) =>
          problems.map((problem) => `${name}: ${problem}`),
        ),
      );
      const answered = observation.sightings.filter((sighting) => !isBlind(sighting));
      const asked = answered.map(idOf).join(", ");
      throw new Problem(
        "NothingFound",
        `nobody exports or imports ${service}, as far as ${asked} can tell`,
        {
          hint: `Check the spelling and the namespace with "isthmus get exports -A", name other clusters with --kubeconfig or --context, or export it with a ServiceExport "${splitServiceKey(service).name}" where the Service is.`,
        },
      );
    }
    if (!printData(context, flags.output, { data: explained, names: [service] })) {
      for (const line of renderTree(explained, {
        color: context.color,
        isWide: flags.output === "wide",
      }))
        context.out(line);
    }
    if (explained.verdict === "bad") {
      const where = explained.usable.flatMap(({ cluster, verdict }) =>
        verdict === "bad" ? cluster : [],
      );
      const message =
        where.length === 0
          ? `${service} cannot be used`
          : `${service} cannot be used in ${where.join(", ")}`;
      throw new Problem("NotWell", message, {
        hint: 'Look for the lines marked "BAD" above; an arrow says what to do.',
      });
    }
  });
}

interface Line {
  readonly depth: number;
  readonly what: string;
  readonly mark: string;
  readonly verdict: Verdict;
  readonly why: string;
  readonly next: string | undefined;
}

/** Aligned columns: what, verdict, why; an arrow in front of what to do. */
export function renderTree(
  root: Explanation,
  style: { readonly color: boolean; readonly isWide: boolean },
): readonly string[] {
  const { bold, dim, green, red, yellow } = pc.createColors(style.color);
  const paint = { good: green, bad: red, unknown: yellow };
  const lines = root.parts.flatMap((part) => flatten(part, { depth: 0, parent: root, ...style }));
  const width = Math.max(...lines.map(({ depth, what }) => depth * 2 + what.length));
  const body = lines.flatMap(({ depth, what, mark, verdict, why, next }) => {
    const head = `${" ".repeat(depth * 2)}${what}`.padEnd(width);
    const [first = "", ...more] = why.split("\n");
    const blank = " ".repeat(width);
    return [
      ...(depth === 0 ? [""] : []),
      `${depth === 0 ? bold(head) : head}   ${paint[verdict](mark.padEnd(3))}   ${first}`.trimEnd(),
      ...more.map((line) => `${blank}         ${line}`),
      ...(next === undefined ? [] : [`${blank}   ${dim("→")}     ${next}`]),
    ];
  });
  return [`${bold(plain(root.what))}: ${plain(root.why)}`, ...body];
}

interface Place {
  readonly depth: number;
  readonly parent: Explanation;
  readonly isWide: boolean;
}

function flatten(node: Explanation, { depth, parent, isWide }: Place): readonly Line[] {
  const { what, verdict, why, next } = node;
  const areEndpoints = parent.what.startsWith("from ") || parent.what === "endpoints";
  const mark = areEndpoints ? markEndpoint(node) : MARKS[verdict];
  const line = {
    depth,
    what: plain(what),
    mark,
    verdict,
    why: plainLines(why),
    next: next === undefined ? undefined : plain(next),
  };
  const listsEndpoints = what.startsWith("from ") || what === "endpoints";
  // Who is out comes first: that is what people look for.
  const ordered = listsEndpoints
    ? node.parts.toSorted((a, b) => Number(a.verdict === "good") - Number(b.verdict === "good"))
    : node.parts;
  const shown = listsEndpoints && !isWide ? ordered.slice(0, ENDPOINTS_SHOWN) : ordered;
  const left = ordered.length - shown.length;
  const rest: readonly Line[] =
    left === 0
      ? []
      : [
          {
            depth: depth + 1,
            what: "…",
            mark: "",
            verdict: "good",
            why: `${left} more; -o wide shows all.`,
            next: undefined,
          },
        ];
  const inner = shown.flatMap((part) => flatten(part, { depth: depth + 1, parent: node, isWide }));
  return [line, ...inner, ...rest];
}

const MARKS: Readonly<Record<Verdict, string>> = { good: "ok", bad: "BAD", unknown: "?" };

function markEndpoint({ verdict, inUse }: Explanation): string {
  if (verdict === "unknown" && inUse === undefined) return MARKS.unknown;
  return (inUse ?? verdict === "good") ? "in" : "out";
}
