// Policy: who keeps services in step in a cluster in, the condition under which a policy looks at a request out: everybody
// else's. Pure.

import type { ValidatingAdmissionPolicy } from "../api/admissionpolicy.ts";
import { SYSTEM_NAMESPACE } from "../api/names.ts";
import { AGENT_NAME } from "../hub/local.ts";
import { renderCel } from "../hub/policy/cel.ts";

type MatchCondition = NonNullable<ValidatingAdmissionPolicy["spec"]["matchConditions"]>[number];

/** As the API server names them. */
export interface Controllers {
  /** Absent, and without groups: the agent that `isthmus join` prepares. */
  readonly users?: readonly string[];
  readonly groups?: readonly string[];
}

/** Nobody is in it: whoever may impersonate groups takes it on when he means it. */
export const BREAK_GLASS_GROUP = "isthmus.dev:break-glass";

const AGENT_USER = `system:serviceaccount:${SYSTEM_NAMESPACE}:${AGENT_NAME}`;

/**
 * Namespaces are emptied, garbage is collected and stored versions are migrated by the controller manager: by accounts of
 * kube-system, or by itself.
 */
const SYSTEM_USERS = ["system:kube-controller-manager"] as const;
const SYSTEM_GROUPS = ["system:serviceaccounts:kube-system"] as const;

/** For what the controllers alone keep. */
export function unlessKeeper(controllers: Controllers): MatchCondition {
  const { users = [], groups = [] } = controllers;
  const isNamed = users.length + groups.length > 0;
  return unless("not-a-keeper", {
    users: [...(isNamed ? users : [AGENT_USER]), ...SYSTEM_USERS],
    groups: [...groups, ...SYSTEM_GROUPS, BREAK_GLASS_GROUP],
  });
}

/** For what is forbidden to everybody. */
export function unlessBreakGlass(): MatchCondition {
  return unless("not-break-glass", { users: [], groups: [BREAK_GLASS_GROUP] });
}

function unless(name: string, who: Required<Controllers>): MatchCondition {
  const isUser = `request.userInfo.username in ${renderCel(who.users)}`;
  const isInGroup = `request.userInfo.?groups.orValue([]).exists(group, group in ${renderCel(who.groups)})`;
  const known = who.users.length === 0 ? isInGroup : `${isUser} || ${isInGroup}`;
  return { name, expression: `!(${known})` };
}
