// Member side: the Secret with what a cluster knows of its hub, and back. Pure. Written by `isthmus join`, read by the agent,
// which puts a renewed token into it.

import { SECRET, type Secret } from "../api/builtin.ts";
import {
  type ClusterId,
  MANAGED_LABEL,
  type Parsed,
  parseClusterId,
  SYSTEM_NAMESPACE,
} from "../api/names.ts";
import { apiVersionOf } from "../api/object.ts";
import { isServer } from "./ticket.ts";

export const HUB_SECRET = { namespace: SYSTEM_NAMESPACE, name: "isthmus-hub" } as const;

export interface HubCredential {
  readonly cluster: ClusterId;
  /** The hub's address. */
  readonly server: string;
  /** PEM; absent: an authority that the machine trusts anyway. */
  readonly ca?: string;
  /** Shown to the hub while joining: see renderMember. */
  readonly claim: string;
  /** Absent while the join is not finished. */
  readonly token?: string;
  /** Uid of the cluster's namespace on the hub, once it is known. */
  readonly namespaceUid?: string;
}

const KEYS = {
  cluster: "cluster",
  server: "server",
  ca: "ca.crt",
  claim: "claim",
  token: "token",
  namespaceUid: "namespace-uid",
} as const satisfies Record<keyof HubCredential, string>;

/** `before` is the Secret that is replaced: what others wrote into it stays. */
export function renderCredential(credential: HubCredential, before?: Secret): Secret {
  const ours = Object.entries(KEYS).flatMap(([field, key]) => {
    const value = credential[field as keyof HubCredential];
    return value === undefined ? [] : [[key, Buffer.from(value).toString("base64")] as const];
  });
  const kept = Object.entries(before?.data ?? {}).filter(
    ([key]) => !Object.values<string>(KEYS).includes(key),
  );
  return {
    apiVersion: apiVersionOf(SECRET),
    kind: SECRET.kind,
    ...before,
    metadata: {
      ...before?.metadata,
      ...HUB_SECRET,
      labels: { ...before?.metadata.labels, [MANAGED_LABEL]: "true" },
    },
    type: before?.type ?? "Opaque",
    data: Object.fromEntries([...kept, ...ours]),
  };
}

export function parseCredential(secret: Secret): Parsed<HubCredential> {
  const read = (key: string): string | undefined => {
    const value = secret.data?.[key];
    return value === undefined ? undefined : Buffer.from(value, "base64").toString("utf8").trim();
  };
  const subject = `The Secret ${HUB_SECRET.namespace}/${HUB_SECRET.name}`;
  const cluster = parseClusterId(read(KEYS.cluster) ?? "");
  if (!cluster.ok) {
    return { ok: false, problem: `${subject} names no cluster. ${cluster.problem}` };
  }
  const server = read(KEYS.server) ?? "";
  if (!isServer(server)) {
    return { ok: false, problem: `${subject} has no address of a hub under "${KEYS.server}".` };
  }
  const [ca, token, namespaceUid] = [KEYS.ca, KEYS.token, KEYS.namespaceUid].map(read);
  return {
    ok: true,
    value: {
      cluster: cluster.value,
      server,
      ...(ca !== undefined && ca !== "" && { ca: `${ca}\n` }),
      claim: read(KEYS.claim) ?? "",
      ...(token !== undefined && token !== "" && { token }),
      ...(namespaceUid !== undefined && { namespaceUid }),
    },
  };
}
