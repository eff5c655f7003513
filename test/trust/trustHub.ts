// Trust suite: a real API server as the hub, and everybody who talks to it with a credential of his own: administrator,
// members, holders of join tokens. Takes everything back at the end but what all hubs share.

import { randomBytes } from "node:crypto";
import { LEASE, type Lease } from "../../src/api/builtin.ts";
import { HUB_CRDS } from "../../src/api/crds.ts";
import type { ClusterMember } from "../../src/api/isthmus.ts";
import { JOIN_TOKEN } from "../../src/api/jointoken.ts";
import { ENDPOINT_SHARE, SERVICE_SHARE } from "../../src/api/hubshare.ts";
import {
  type ClusterId,
  FIELD_MANAGER,
  HUB_NAMESPACE,
  memberNamespace,
} from "../../src/api/names.ts";
import type { KubeObject, Resource } from "../../src/api/object.ts";
import {
  CLUSTER_ROLE,
  CLUSTER_ROLE_BINDING,
  type Role,
  roleRef,
  type TokenRequest,
} from "../../src/api/rbac.ts";
import { installCrds } from "../../src/controllers/crd.ts";
import { renderHub } from "../../src/hub/manifest/hub.ts";
import {
  renderJoinProbes,
  renderJoinToken,
  renderJoinTokenRemoval,
} from "../../src/hub/manifest/jointoken.ts";
import { renderMember, renderRemoval } from "../../src/hub/manifest/member.ts";
import {
  JOIN_POLICY,
  MEMBER_ACCOUNT,
  MEMBER_POLICY,
  USES_POLICY,
} from "../../src/hub/manifest/names.ts";
import { type Removal, resourceOf } from "../../src/hub/manifest/resource.ts";
import {
  renderJoinTokenRequest,
  renderMemberTokenRequest,
  type TokenOrder,
} from "../../src/hub/manifest/tokenrequest.ts";
import { createClient, type KubeClient } from "../../src/kube/client.ts";
import { systemClock } from "../../src/kube/clock.ts";
import { directConfig, loadKubeconfig } from "../../src/kube/config.ts";
import { isStoreError } from "../../src/ports/store.ts";
import { unique } from "../contract/objects.ts";
import { eventually } from "../scenarios/poll.ts";
import { aServiceShare } from "./attacks.ts";
import { requireRefuser } from "./refusal.ts";

export interface Holder {
  readonly client: KubeClient;
}

export interface TrustMember extends Holder {
  readonly cluster: ClusterId;
  readonly namespace: string;
}

export interface TrustToken extends Holder {
  readonly name: string;
}

export const DECLARED: ClusterMember["spec"] = { podCIDRs: ["10.1.0.0/16", "fd00:1::/64"] };
const SHARES: readonly Resource[] = [SERVICE_SHARE, ENDPOINT_SHARE];
const TOKEN_SECONDS = 3_600;

export function aClaim(): string {
  return randomBytes(32).toString("hex");
}

export function aCluster(): ClusterId {
  return unique("trust-") as ClusterId;
}

export class TrustHub {
  readonly admin: KubeClient;
  readonly #undo: (() => Promise<unknown>)[] = [];

  constructor(kubeconfigPath: string) {
    const config = loadKubeconfig({ paths: [kubeconfigPath], env: {}, home: "/nonexistent" });
    this.admin = createClient(config, { clock: systemClock });
    this.#undo.push(() => this.admin.close());
  }

  /** As `isthmus hub init` does, and until the policies are in force. */
  async init(): Promise<void> {
    await installCrds({ store: this.admin, crds: HUB_CRDS, clock: systemClock });
    const writing = { fieldManager: FIELD_MANAGER, force: true };
    for (const object of renderHub()) await this.admin.apply(resourceOf(object), object, writing);
    const { client, namespace } = await this.member();
    const labelled = aServiceShare(namespace, { labels: { a: "b" } });
    await eventually("members are held to their own", () =>
      requireRefuser(client.create(SERVICE_SHARE, labelled, { dryRun: true }), MEMBER_POLICY),
    );
  }

  /** A cluster that an administrator of the hub registered. */
  async member(cluster = aCluster(), spec = DECLARED): Promise<TrustMember> {
    this.forget(cluster);
    for (const object of renderMember({ cluster, claim: aClaim(), spec })) {
      await this.admin.create(resourceOf(object), object);
    }
    return this.memberAs(cluster, await this.tokenFrom(renderMemberTokenRequest(cluster)));
  }

  /** Until it can do what it is for: permissions spread a moment after they were given. */
  async memberAs(cluster: ClusterId, token: string): Promise<TrustMember> {
    const client = this.as(token);
    const namespace = memberNamespace(cluster);
    await eventually("the member can read the hub", () => client.list(SERVICE_SHARE));
    await eventually("the member can publish", () =>
      client.create(SERVICE_SHARE, aServiceShare(namespace), { dryRun: true }),
    );
    return { cluster, namespace, client };
  }

  /** Everything of the cluster goes at the end, whoever made it. */
  forget(cluster: ClusterId): void {
    this.#undo.push(() => this.evict(cluster));
  }

  async evict(cluster: ClusterId): Promise<void> {
    const namespace = memberNamespace(cluster);
    for (const resource of SHARES) {
      const { items } = await this.admin.list(resource, { namespace });
      for (const { metadata } of items) {
        await this.admin.delete(resource, { namespace, name: metadata.name! });
      }
    }
    await this.#remove(renderRemoval(cluster));
  }

  async lease({ cluster }: TrustMember): Promise<Lease> {
    return (await this.admin.get(LEASE, { namespace: HUB_NAMESPACE, name: cluster }))!;
  }

  /** A join token that is held to its limits already. */
  async token(options: { uses?: number; expiresAt?: string } = {}): Promise<TrustToken> {
    const { uses = 1, expiresAt = "2126-01-02T03:04:05Z" } = options;
    const name = unique("t");
    this.#undo.push(() => this.#remove(renderJoinTokenRemoval(name)));
    for (const object of renderJoinToken({ name, uses, expiresAt })) {
      await this.admin.create(resourceOf(object), object);
    }
    const client = this.as(await this.tokenFrom(renderJoinTokenRequest(name, TOKEN_SECONDS)));
    await eventually("the token can read its record", async () => {
      if ((await this.record({ name, client })) === undefined) throw new Error("no record");
    });
    const [stray, uncounted] = renderJoinProbes(name).map(
      (probe) => () => client.create(resourceOf(probe), probe, { dryRun: true }),
    );
    await eventually("the token is confined", () => requireRefuser(stray!(), JOIN_POLICY));
    await eventually("its uses are counted", () => requireRefuser(uncounted!(), USES_POLICY));
    return { name, client };
  }

  record({ name, client }: TrustToken) {
    return client.get(JOIN_TOKEN, { namespace: HUB_NAMESPACE, name });
  }

  /** Counts one more use of the token, as every join does first. */
  async count(token: TrustToken, cluster: ClusterId): Promise<void> {
    const record = (await this.record(token))!;
    const clusters = [...(record.status?.clusters ?? []), cluster];
    const status = { clusters };
    await token.client.replace(JOIN_TOKEN, { ...record, status }, { subresource: "status" });
  }

  /** Registers a cluster as `isthmus join` does; `objects` may leave some out or change them. */
  async register(
    token: TrustToken,
    cluster: ClusterId,
    claim: string,
    alter: (objects: readonly KubeObject[]) => readonly KubeObject[] = (objects) => objects,
  ): Promise<void> {
    this.forget(cluster);
    await this.count(token, cluster);
    const objects = renderMember({ cluster, claim, spec: DECLARED, joinToken: token.name });
    for (const object of alter(objects)) await this.createAs(token, object);
  }

  /** Until the hub knows that the token was counted for the cluster. */
  createAs({ client }: Holder, object: KubeObject): Promise<KubeObject> {
    return eventually(`${object.kind} is created`, () =>
      client.create(resourceOf(object), object).catch((error: unknown) => {
        if (isStoreError(error, "AlreadyExists")) return object;
        throw error;
      }),
    );
  }

  /** The token that the administrator, or somebody else, is given. */
  async tokenFrom(order: TokenOrder, client: KubeClient = this.admin): Promise<string> {
    const { status, body } = await client.request("POST", order.path, { body: order.body });
    const token = (body as TokenRequest).status?.token;
    if (token === undefined) throw new Error(`${order.path}: ${status} ${JSON.stringify(body)}`);
    return token;
  }

  as(token: string): KubeClient {
    const { server, tls } = this.admin.config;
    const config = directConfig({
      server,
      tls: tls.authority === undefined ? {} : { authority: tls.authority },
      auth: { kind: "token", token },
    });
    const client = createClient(config, { clock: systemClock });
    this.#undo.push(() => client.close());
    return client;
  }

  /** More than a member has: the mistake of an administrator. */
  async grant({ namespace }: TrustMember, rules: Role["rules"]): Promise<void> {
    const ref = { name: unique("trust-") };
    const { group } = CLUSTER_ROLE;
    const subjects = [{ kind: "ServiceAccount" as const, namespace, name: MEMBER_ACCOUNT }];
    this.#undo.push(() =>
      this.#remove([
        { resource: CLUSTER_ROLE_BINDING, ref },
        { resource: CLUSTER_ROLE, ref },
      ]),
    );
    const metadata = ref;
    const apiVersion = `${group}/v1`;
    await this.admin.create(CLUSTER_ROLE, { apiVersion, kind: "ClusterRole", metadata, rules });
    await this.admin.create(CLUSTER_ROLE_BINDING, {
      apiVersion,
      kind: "ClusterRoleBinding",
      metadata,
      roleRef: roleRef("ClusterRole", ref.name),
      subjects,
    });
  }

  onClose(undo: () => Promise<unknown>): void {
    this.#undo.push(undo);
  }

  async #remove(removals: readonly Removal[]): Promise<void> {
    for (const { resource, ref } of removals) await this.admin.delete(resource, ref);
  }

  /** Everything is tried, whatever fails. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (const undo of this.#undo.toReversed()) {
      await undo().catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw new AggregateError(failures, "something was left behind");
  }
}
