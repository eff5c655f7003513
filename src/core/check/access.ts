// Check: what may not be done in a cluster in, whether people, central and the agent can work there out.

import { count } from "../clusterset/explanation.ts";
import type { AccessFacts, Answer } from "./inspection.ts";
import { cannotTell, type CheckResult, fail, pass, warn } from "./result.ts";

const SHOWN = 3;

export function checkAccess(cluster: string, facts: AccessFacts): readonly CheckResult[] {
  return [
    checkReader(cluster, facts.reader),
    facts.agent === undefined
      ? checkCentral(cluster, facts.central)
      : checkAgent(cluster, facts.agent),
  ];
}

function checkReader(cluster: string, denied: Answer<readonly string[]>): CheckResult {
  if (!denied.isRead) return cannotTell("rbac/reader", denied, { cluster });
  if (denied.value.length === 0) {
    return pass("rbac/reader", {
      cluster,
      found:
        "You may list exports, imports, Services, EndpointSlices and namespaces, and read the Secret of the hub. What else is hidden from you is told where it is missing.",
    });
  }
  return warn("rbac/reader", {
    cluster,
    found: `You may not ${listDenied(denied.value)}: what depends on it is not told below.`,
    next: "Ask for the ClusterRole view, with examples/rbac.yaml applied, or run this as an administrator.",
  });
}

function checkCentral(cluster: string, denied: Answer<readonly string[]>): CheckResult {
  if (!denied.isRead) return cannotTell("rbac/central", denied, { cluster });
  if (denied.value.length === 0) {
    return pass("rbac/central", {
      cluster,
      found: "isthmus central could work here with your identity.",
    });
  }
  return warn("rbac/central", {
    cluster,
    found: `isthmus central could not work here with your identity: it may not ${listDenied(denied.value)}.`,
    next: "That matters only if central is given this kubeconfig. Then bind the ClusterRole isthmus-central of examples/rbac.yaml to it.",
  });
}

function checkAgent(cluster: string, denied: Answer<readonly string[]>): CheckResult {
  if (!denied.isRead) return cannotTell("rbac/agent", denied, { cluster });
  if (denied.value.length === 0) {
    const found = "The ServiceAccount isthmus-system/isthmus-agent may do all that the agent does.";
    return pass("rbac/agent", { cluster, found });
  }
  return fail("rbac/agent", {
    cluster,
    found: `The ServiceAccount isthmus-system/isthmus-agent may not ${listDenied(denied.value)}.`,
    next: 'Run "isthmus join" again, which puts its roles back, or apply examples/rbac.yaml and bind isthmus-agent. An agent that runs with another identity does not need this.',
  });
}

export function listDenied(denied: readonly string[]): string {
  const shown = denied.slice(0, SHOWN).join(", ");
  const more = denied.length - SHOWN;
  return more > 0 ? `${shown} and ${count(more, "more thing")}` : shown;
}
