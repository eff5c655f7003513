// Dashboard: what clusters know of their hubs in, the token to show to one of these hubs out: only ever one that was meant for it,
// and another cluster's where the first is refused.

import type { HubCredential } from "../hub/credential.ts";

export interface HubTokens {
  current(): string;
  /** Whether there is another one to try. */
  refresh(refused: string): Promise<boolean>;
}

/** A server with another authority is another server. */
export function isSameHub(a: HubCredential, b: HubCredential): boolean {
  return a.server === b.server && a.ca === b.ca;
}

export function createHubTokens(options: {
  /** Of the hub that the tokens are for. */
  readonly hub: HubCredential;
  /** Those of all clusters, whatever their hubs. */
  readonly credentials: () => readonly HubCredential[];
  /** Has every cluster asked again. */
  readonly review: () => Promise<void>;
}): HubTokens {
  const { hub, credentials, review } = options;
  const refused = new Set<string>();
  /** Stays when no cluster has one for this hub any more: it has seen this one. */
  let last = hub.token ?? "";

  function list(): readonly string[] {
    return credentials().flatMap((one) => (isSameHub(one, hub) ? (one.token ?? []) : []));
  }

  function current(): string {
    const tokens = list();
    last = tokens.find((token) => !refused.has(token)) ?? tokens[0] ?? last;
    return last;
  }

  return {
    current,
    async refresh(token) {
      await review();
      refused.add(token);
      if (list().some((one) => !refused.has(one))) return true;
      // From the beginning the next time: who was evicted may have joined again.
      refused.clear();
      return false;
    },
  };
}
