// CLI: where a hub is and whose tokens are shown to it in, how to connect to it out.

import type { HubCredential } from "../hub/credential.ts";
import { directConfig } from "../kube/config.ts";
import type { ClusterConfig, TokenSupply } from "../kube/connection.ts";
import { chooseProxy } from "../kube/proxy.ts";
import type { CliContext } from "./context.ts";

export function renderHubConfig(
  { env }: Pick<CliContext, "env">,
  { server, ca }: Pick<HubCredential, "server" | "ca">,
  tokens: TokenSupply,
): ClusterConfig {
  return directConfig({
    server,
    tls: ca === undefined ? {} : { authority: { data: ca } },
    auth: { kind: "supplied", tokens },
    proxyUrl: chooseProxy(new URL(server), undefined, env),
  });
}
