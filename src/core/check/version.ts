// Check: versions of API servers and of agents in, whether they go together out.

import { VERSION } from "../../api/version.ts";
import type { ClustersetView } from "../clusterset/view.ts";
import { list } from "../clusterset/explanation.ts";
import { compareText } from "../order.ts";
import type { Answer } from "./inspection.ts";
import { cannotTell, type CheckResult, fail, pass, warn } from "./result.ts";

/** Below: no server-side apply. Isthmus cannot write there. */
const NEEDED_MINOR = 22;
/** Below: rules of the definitions are not enforced, and nobody has tried. */
const TRIED_MINOR = 29;
/** Below: no ValidatingAdmissionPolicies, which hold members to what is theirs. */
const HUB_MINOR = 30;

export function checkKubernetes(
  cluster: string,
  version: Answer<string>,
  isHub: boolean,
): CheckResult {
  const code = "versions/kubernetes";
  if (!version.isRead) return cannotTell(code, version, { cluster });
  const parsed = parseMinor(version.value);
  if (parsed === undefined) {
    const found = `Its API server calls itself "${version.value}", which is no version of Kubernetes.`;
    return warn(code, { cluster, found, next: "Compare it with what docs/check.md asks for." });
  }
  const needed = isHub ? HUB_MINOR : NEEDED_MINOR;
  const about = `Its API server is Kubernetes ${version.value}`;
  if (parsed.major === 1 && parsed.minor < needed) {
    return fail(code, {
      cluster,
      found: `${about}; ${isHub ? "a hub" : "a member"} needs 1.${needed} or newer.`,
      next: "Upgrade the cluster.",
    });
  }
  if (parsed.major === 1 && parsed.minor < TRIED_MINOR) {
    return warn(code, {
      cluster,
      found: `${about}; nobody has tried Isthmus with anything older than 1.${TRIED_MINOR}.`,
      next: "Upgrade the cluster, or try it out before you rely on it.",
    });
  }
  return pass(code, { cluster, found: `${about}.` });
}

/** Agents that are two minor versions apart have never met in a test. */
export function checkAgents({ clusters }: ClustersetView): readonly CheckResult[] {
  const agents = clusters.flatMap(({ id, version }) =>
    version === undefined ? [] : [{ id, version, parsed: parseMinor(version) }],
  );
  if (agents.length === 0) return [];
  const code = "versions/agents";
  const own = parseMinor(VERSION);
  const minors = [...agents.map(({ parsed }) => parsed), own].flatMap((parsed) => parsed ?? []);
  const versions = [...new Set(agents.map(({ version }) => version))].toSorted(compareText);
  const apart = findDistance(minors);
  if (apart > 1) {
    const named = agents.map(({ id, version }) => `${id} ${version}`);
    return [
      warn(code, {
        found: `Versions are more than one minor version apart: agents of ${list(named)}; this isthmus is ${VERSION}.`,
        next: "Bring the oldest up first, one minor version at a time.",
      }),
    ];
  }
  const said =
    versions.length === 1 ? `of version ${versions[0]}` : `of versions ${list(versions)}`;
  return [pass(code, { found: `All agents are ${said}, this isthmus of ${VERSION}.` })];
}

interface Minor {
  readonly major: number;
  readonly minor: number;
}

/** A new major version is as far away as can be. */
function findDistance(minors: readonly Minor[]): number {
  const majors = new Set(minors.map(({ major }) => major));
  if (majors.size > 1) return Number.POSITIVE_INFINITY;
  const numbers = minors.map(({ minor }) => minor);
  return numbers.length === 0 ? 0 : Math.max(...numbers) - Math.min(...numbers);
}

/** Of "v1.36.3+k3s1", "1.29.4-gke.100", "0.1.0". */
function parseMinor(text: string): Minor | undefined {
  const match = /^v?(\d{1,5})\.(\d{1,5})(?:[.+-]|$)/.exec(text);
  return match === null ? undefined : { major: Number(match[1]), minor: Number(match[2]) };
}
