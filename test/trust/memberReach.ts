// Trust suite: how far a captured member reaches with its own credential, beyond its shares: Leases, credentials, the rest
// of the hub.

import { beforeAll, describe, expect, test } from "vitest";
import {
  VALIDATING_ADMISSION_POLICY,
  VALIDATING_ADMISSION_POLICY_BINDING,
} from "../../src/api/admissionpolicy.ts";
import {
  CONFIG_MAP,
  LEASE,
  NAMESPACE,
  POD,
  SECRET,
  SERVICE_ACCOUNT,
} from "../../src/api/builtin.ts";
import { SERVICE_SHARE } from "../../src/api/hubshare.ts";
import { CLUSTER_MEMBER } from "../../src/api/isthmus.ts";
import { JOIN_TOKEN } from "../../src/api/jointoken.ts";
import { CLUSTER_LABEL, HUB_NAMESPACE, memberNamespace } from "../../src/api/names.ts";
import type { Resource } from "../../src/api/object.ts";
import {
  CLUSTER_ROLE_BINDING,
  RESOURCE_QUOTA,
  ROLE,
  ROLE_BINDING,
  roleRef,
} from "../../src/api/rbac.ts";
import { MEMBER_BINDING, MEMBER_POLICY } from "../../src/hub/manifest/names.ts";
import {
  renderMemberTokenRequest,
  renderTokenRequest,
} from "../../src/hub/manifest/tokenrequest.ts";
import { isStoreError } from "../../src/ports/store.ts";
import { unique } from "../contract/objects.ts";
import { eventually } from "../scenarios/poll.ts";
import { aNamespace, anAccount, aServiceShare, BAGGAGE, patchAs } from "./attacks.ts";
import { RBAC, refuserOf, refusersOf } from "./refusal.ts";
import { type TrustHub, type TrustMember } from "./trustHub.ts";

const BY_POLICY = MEMBER_POLICY;
export function testMemberReach(hubOf: () => TrustHub): void {
  let hub: TrustHub;
  let evil: TrustMember;
  let good: TrustMember;

  beforeAll(async () => {
    hub = hubOf();
    [evil, good] = [await hub.member(), await hub.member()];
  });

  const bindingIn = (namespace: string, { namespace: home } = evil) => ({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { namespace, name: unique("trust-") },
    roleRef: roleRef("ClusterRole", "cluster-admin"),
    subjects: [{ kind: "ServiceAccount" as const, namespace: home, name: "agent" }],
  });
  describe("a member and its Lease", () => {
    const renewal = { holderIdentity: "agent-0", renewTime: "2026-01-02T03:04:05.000000Z" };

    test("renews its own and hears the others", async () => {
      const lease = await hub.lease(evil);
      const renewed = await evil.client.replace(LEASE, { ...lease, spec: renewal });
      expect(renewed.spec).toEqual(renewal);
      const { items } = await evil.client.list(LEASE, { namespace: HUB_NAMESPACE });
      expect(items.map(({ metadata }) => metadata.name)).toContain(good.cluster);
    });

    test("renews, changes and ends no other", async () => {
      const lease = await hub.lease(good);
      const ref = { namespace: HUB_NAMESPACE, name: good.cluster };
      const path = `/apis/coordination.k8s.io/v1/namespaces/${HUB_NAMESPACE}/leases/${good.cluster}`;
      expect(await refuserOf(evil.client.replace(LEASE, { ...lease, spec: renewal }))).toBe(RBAC);
      expect(await refuserOf(patchAs(evil.client, path, { spec: renewal }))).toBe(RBAC);
      expect(await refuserOf(evil.client.delete(LEASE, ref))).toBe(RBAC);
      const fresh = { ...lease, metadata: { namespace: HUB_NAMESPACE, name: unique("ghost-") } };
      expect(await refuserOf(evil.client.create(LEASE, fresh))).toBe(RBAC);
      expect(await refuserOf(evil.client.apply(LEASE, fresh, { fieldManager: "evil" }))).toBe(RBAC);
    });

    test.each(Object.entries(BAGGAGE))("puts no %s on it", async (_, baggage) => {
      const lease = await hub.lease(evil);
      const metadata = { ...lease.metadata, ...baggage };
      expect(await refuserOf(evil.client.replace(LEASE, { ...lease, metadata }))).toBe(BY_POLICY);
    });

    test("keeps it small: every member is sent every one", async () => {
      const lease = await hub.lease(evil);
      const hold = (holderIdentity: string) =>
        evil.client.replace(LEASE, { ...lease, spec: { holderIdentity } }, { dryRun: true });
      await hold("a".repeat(253));
      expect(await refuserOf(hold("a".repeat(254)))).toBe(BY_POLICY);
    });

    test("reads no Leases elsewhere", async () => {
      expect(await refuserOf(evil.client.list(LEASE, { namespace: "kube-system" }))).toBe(RBAC);
      expect(await refuserOf(evil.client.list(LEASE))).toBe(RBAC);
      expect(await refuserOf(evil.client.list(LEASE, { namespace: evil.namespace }))).toBe(RBAC);
    });
  });

  describe("a member and its credential", () => {
    test("renews it, for itself and for thirty days at most", async () => {
      const order = renderMemberTokenRequest(evil.cluster);
      const token = await hub.tokenFrom(order, evil.client);
      await hub.as(token).list(SERVICE_SHARE);
      const ask = (spec: object) =>
        evil.client.request("POST", order.path, { body: { ...order.body, spec } });
      expect(await refuserOf(ask({ expirationSeconds: 365 * 24 * 3_600 }))).toBe(BY_POLICY);
      const boundObjectRef = { apiVersion: "v1", kind: "Secret", name: "any" };
      const bound = ask({ expirationSeconds: 3_600, boundObjectRef });
      expect(await refuserOf(bound)).toBe(BY_POLICY);
    });

    test("asks for no other's", async () => {
      for (const account of [
        { namespace: evil.namespace, name: "default" },
        { namespace: good.namespace, name: "agent" },
        { namespace: HUB_NAMESPACE, name: "default" },
        { namespace: "kube-system", name: "namespace-controller" },
      ]) {
        const { path, body } = renderTokenRequest({ account, seconds: 3_600 });
        expect(await refuserOf(evil.client.request("POST", path, { body }))).toBe(RBAC);
      }
    });

    test("is nobody else", async () => {
      for (const user of ["admin", `system:serviceaccount:${good.namespace}:agent`]) {
        const headers = { "impersonate-user": user };
        const path = "/apis/isthmus.dev/v1alpha1/serviceshares";
        expect(await refuserOf(evil.client.request("GET", path, { headers }))).toBe(RBAC);
      }
      const headers = { "impersonate-user": "x", "impersonate-group": "system:masters" };
      expect(await refuserOf(evil.client.request("GET", "/api/v1/secrets", { headers }))).toBe(
        RBAC,
      );
    });
  });

  describe("a member and the rest of the hub", () => {
    test("creates nothing in its own namespace but shares", async () => {
      const { client, namespace } = evil;
      const metadata = { namespace, name: "evil" };
      const attempts = [
        client.create(SERVICE_ACCOUNT, anAccount(namespace, "evil")),
        client.create(SECRET, { apiVersion: "v1", kind: "Secret", metadata }),
        client.create(CONFIG_MAP, { apiVersion: "v1", kind: "ConfigMap", metadata }),
        client.create(POD, {
          apiVersion: "v1",
          kind: "Pod",
          metadata,
          spec: { containers: [{ name: "a", image: "a" }] },
        }),
        client.create(ROLE, {
          apiVersion: "rbac.authorization.k8s.io/v1",
          kind: "Role",
          metadata,
          rules: [],
        }),
        client.create(ROLE_BINDING, bindingIn(namespace)),
        client.create(CLUSTER_ROLE_BINDING, {
          ...bindingIn(namespace),
          kind: "ClusterRoleBinding",
          metadata: { name: unique("trust-") },
        }),
        client.create(RESOURCE_QUOTA, {
          apiVersion: "v1",
          kind: "ResourceQuota",
          metadata,
          spec: { hard: {} },
        }),
      ];
      expect(await refusersOf(attempts)).toEqual([RBAC]);
    });

    test("lifts none of its limits", async () => {
      const { client, namespace } = evil;
      const quota = { namespace, name: MEMBER_BINDING };
      expect(await hub.admin.get(RESOURCE_QUOTA, quota)).toBeDefined();
      expect(await refuserOf(client.delete(RESOURCE_QUOTA, quota))).toBe(RBAC);
      const policy = { name: MEMBER_POLICY };
      expect(await refuserOf(client.delete(VALIDATING_ADMISSION_POLICY, policy))).toBe(RBAC);
      expect(await refuserOf(client.delete(VALIDATING_ADMISSION_POLICY_BINDING, policy))).toBe(
        RBAC,
      );
      expect(
        await refuserOf(
          patchAs(evil.client, `/api/v1/namespaces/${namespace}`, {
            metadata: { labels: { a: "b" } },
          }),
        ),
      ).toBe(RBAC);
    });

    test("reads no secrets, no namespaces and no join tokens", async () => {
      const { client, namespace } = evil;
      const attempts = [
        client.list(SECRET),
        client.list(SECRET, { namespace }),
        client.list(NAMESPACE),
        client.get(NAMESPACE, { name: namespace }),
        client.get(NAMESPACE, { name: good.namespace }),
        client.list(JOIN_TOKEN, { namespace: HUB_NAMESPACE }),
        client.list(SERVICE_ACCOUNT, { namespace: HUB_NAMESPACE }),
        client.list(CONFIG_MAP, { namespace }),
        client.list(ROLE_BINDING, { namespace: HUB_NAMESPACE }),
      ];
      expect(await refusersOf(attempts)).toEqual([RBAC]);
    });

    test("leaves by itself, and takes nobody with it", async () => {
      expect(await refuserOf(evil.client.delete(NAMESPACE, { name: good.namespace }))).toBe(RBAC);
      expect(await refuserOf(evil.client.delete(NAMESPACE, { name: HUB_NAMESPACE }))).toBe(RBAC);
      const { client, cluster, namespace } = await hub.member();
      expect(await client.delete(CLUSTER_MEMBER, { namespace, name: cluster })).toBe(true);
      const lease = { namespace: HUB_NAMESPACE, name: cluster };
      expect(await client.delete(LEASE, lease)).toBe(true);
      expect(await client.delete(NAMESPACE, { name: memberNamespace(cluster) })).toBe(true);
    });

    test("that was evicted leaves no permissions behind", async () => {
      const { cluster, namespace } = await hub.member();
      await hub.evict(cluster);
      const left = async (resource: Resource, where?: string) => {
        const labelSelector = `${CLUSTER_LABEL}=${cluster}`;
        const listing =
          where === undefined ? { labelSelector } : { labelSelector, namespace: where };
        return (await hub.admin.list(resource, listing)).items.map(({ kind }) => kind);
      };
      expect([
        ...(await left(CLUSTER_ROLE_BINDING)),
        ...(await left(ROLE, HUB_NAMESPACE)),
        ...(await left(ROLE_BINDING, HUB_NAMESPACE)),
        ...(await left(LEASE, HUB_NAMESPACE)),
        ...(await left(ROLE_BINDING, namespace)),
        ...(await left(SERVICE_ACCOUNT, namespace)),
        ...(await left(CLUSTER_MEMBER, namespace)),
      ]).toEqual([]);
    });

    test("that was evicted is nobody", async () => {
      const { client, cluster, namespace } = await hub.member();
      await hub.evict(cluster);
      await eventually("its credential is refused", async () => {
        const answer = await client.list(SERVICE_SHARE).catch((error: unknown) => error);
        expect(isStoreError(answer, "Unauthorized")).toBe(true);
      });
      const share = aServiceShare(namespace);
      await expect(client.create(SERVICE_SHARE, share)).rejects.toMatchObject({
        code: "Unauthorized",
      });
    });

    test("makes no namespaces", async () => {
      expect(await refuserOf(evil.client.create(NAMESPACE, aNamespace(unique("trust-"))))).toBe(
        RBAC,
      );
    });
  });
}
