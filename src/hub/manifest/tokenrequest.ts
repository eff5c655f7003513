// Manifest: whose credential is wanted and for how long in, the request for it out. Pure.

import { SERVICE_ACCOUNT } from "../../api/builtin.ts";
import {
  CLAIM_ANNOTATION,
  type ClusterId,
  HUB_NAMESPACE,
  memberNamespace,
} from "../../api/names.ts";
import type { TokenRequest } from "../../api/rbac.ts";
import { joinAccount, MEMBER_ACCOUNT, MEMBER_TOKEN_SECONDS } from "./names.ts";

export interface TokenOrder {
  /** To POST `body` to. The answer is a TokenRequest whose status has the token. */
  readonly path: string;
  readonly body: TokenRequest;
}

/** API servers give no token for less. */
export const TOKEN_SECONDS_MIN = 600;

/** The claim is for a join token to show; a member that renews its credential, or an administrator, needs none. */
export function renderMemberTokenRequest(cluster: ClusterId, claim?: string): TokenOrder {
  return renderTokenRequest({
    account: { namespace: memberNamespace(cluster), name: MEMBER_ACCOUNT },
    seconds: MEMBER_TOKEN_SECONDS,
    ...(claim !== undefined && { claim }),
  });
}

export function renderJoinTokenRequest(name: string, seconds: number): TokenOrder {
  return renderTokenRequest({
    account: { namespace: HUB_NAMESPACE, name: joinAccount(name) },
    seconds: Math.max(seconds, TOKEN_SECONDS_MIN),
  });
}

export function renderTokenRequest(options: {
  readonly account: { readonly namespace: string; readonly name: string };
  readonly seconds: number;
  readonly claim?: string;
}): TokenOrder {
  const { account, seconds, claim } = options;
  return {
    path: `/api/v1/namespaces/${account.namespace}/${SERVICE_ACCOUNT.plural}/${account.name}/token`,
    body: {
      apiVersion: "authentication.k8s.io/v1",
      kind: "TokenRequest",
      metadata: { ...(claim !== undefined && { annotations: { [CLAIM_ANNOTATION]: claim } }) },
      spec: { expirationSeconds: seconds },
    },
  };
}
