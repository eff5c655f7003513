// Bench: what a process needs to reach the servers of a measurement, and where on them it finds what is measured.

import { type ClusterId, memberNamespace } from "../src/api/names.ts";
import { createClient, type KubeClient } from "../src/kube/client.ts";
import { systemClock } from "../src/kube/clock.ts";

/** Plain data, to be handed to a child process. */
export interface Access {
  readonly id: string;
  readonly server: string;
  readonly authority: string;
  readonly token: string;
}

/** The one that exports, and where the hub has its shares. */
export const SOURCE = "a" as ClusterId;
export const SHARES = memberNamespace(SOURCE);
/** The namespace of all that is measured. */
export const SPACE = "bench";

/** Longer than the minute after which a server says itself that it was too slow. */
const SILENCE_MS = 90_000;

export function connect({ server, authority, token }: Access): KubeClient {
  return createClient(
    {
      server,
      source: { kind: "given" },
      namespace: "default",
      tls: { authority: { data: authority } },
      auth: { kind: "token", token },
      disableCompression: true,
    },
    { clock: systemClock, requestSilenceMs: SILENCE_MS },
  );
}
