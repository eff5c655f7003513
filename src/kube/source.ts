// Credentials: how a configuration says who we are → where the credentials come from.

import type { Clock } from "../ports/clock.ts";
import type { AuthConfig, ClusterConfig, TokenSupply } from "./connection.ts";
import type { Credential, CredentialSource } from "./credential.ts";
import { createExecCredential } from "./exec.ts";
import { createTokenFile } from "./token.ts";

export function createCredentialSource(
  config: ClusterConfig,
  options: { readonly clock: Clock; readonly interactive?: boolean | undefined },
): CredentialSource {
  const { auth } = config;
  switch (auth.kind) {
    case "tokenFile":
      return createTokenFile(auth.file, options.clock);
    case "exec":
      return createExecCredential(auth.exec, { ...options, config });
    case "supplied":
      return createSuppliedCredential(auth.tokens);
    case "none":
    case "token":
    case "basic": {
      const credential: Credential = { authorization: fixedAuthorization(auth) };
      return {
        current: () => credential,
        refresh: () => Promise.resolve(false),
      };
    }
    default:
      return auth satisfies never;
  }
}

function createSuppliedCredential(tokens: TokenSupply): CredentialSource {
  return {
    current: () => ({ authorization: `Bearer ${tokens.current()}` }),
    async refresh(refused) {
      const token = tokens.current();
      // Renewed since: the request only has to be made again.
      return refused.authorization !== `Bearer ${token}` || tokens.refresh(token);
    },
  };
}

function fixedAuthorization(
  auth: Extract<AuthConfig, { kind: "none" | "token" | "basic" }>,
): string | undefined {
  if (auth.kind === "none") return undefined;
  if (auth.kind === "token") return `Bearer ${auth.token}`;
  return `Basic ${Buffer.from(`${auth.username}:${auth.password}`).toString("base64")}`;
}
