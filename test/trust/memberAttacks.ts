// Trust suite: what a captured member tries with its own credential. Beside each refusal stands what the same member may do
// in the same place, so that none is refused for another reason than the one under test.

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
import { ENDPOINT_SHARE, SERVICE_SHARE } from "../../src/api/hubshare.ts";
import { CLUSTER_MEMBER } from "../../src/api/isthmus.ts";
import { JOIN_TOKEN } from "../../src/api/jointoken.ts";
import { HUB_NAMESPACE, memberNamespace } from "../../src/api/names.ts";
import type { KubeObject, ObjectMeta } from "../../src/api/object.ts";
import {
  CLUSTER_ROLE_BINDING,
  RESOURCE_QUOTA,
  ROLE,
  ROLE_BINDING,
  roleRef,
} from "../../src/api/rbac.ts";
import { renderMember } from "../../src/hub/manifest/member.ts";
import { MEMBER_BINDING, MEMBER_POLICY, MEMBER_ROLE } from "../../src/hub/manifest/names.ts";
import { resourceOf } from "../../src/hub/manifest/resource.ts";
import {
  renderMemberTokenRequest,
  renderTokenRequest,
} from "../../src/hub/manifest/tokenrequest.ts";
import { isStoreError } from "../../src/ports/store.ts";
import { unique } from "../contract/objects.ts";
import { eventually } from "../scenarios/poll.ts";
import { aNamespace, anAccount, anEndpointShare, aServiceShare } from "./attacks.ts";
import { RBAC, refuserOf, refusersOf, SCHEMA } from "./refusal.ts";
import { aClaim, aCluster, DECLARED, type TrustHub, type TrustMember } from "./trustHub.ts";

const BY_POLICY = MEMBER_POLICY;
const MERGE = { headers: { "content-type": "application/merge-patch+json" } };
const UID = "00000000-0000-0000-0000-000000000000";

/** Metadata that no share and no Lease may carry. */
const BAGGAGE: Readonly<Record<string, ObjectMeta>> = {
  labels: { labels: { a: "b" } },
  annotations: { annotations: { a: "b".repeat(100_000) } },
  finalizers: { finalizers: ["example.com/for-ever"] },
  owners: { ownerReferences: [{ apiVersion: "v1", kind: "Pod", name: "gone", uid: UID }] },
};

export function testMemberAttacks(hubOf: () => TrustHub): void {
  let hub: TrustHub;
  let evil: TrustMember;
  let good: TrustMember;

  beforeAll(async () => {
    hub = hubOf();
    [evil, good] = [await hub.member(), await hub.member()];
    await good.client.create(SERVICE_SHARE, aServiceShare(good.namespace));
  });

  const bindingIn = (namespace: string, { namespace: home } = evil) => ({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "RoleBinding",
    metadata: { namespace, name: unique("trust-") },
    roleRef: roleRef("ClusterRole", "cluster-admin"),
    subjects: [{ kind: "ServiceAccount" as const, namespace: home, name: "agent" }],
  });
  const leaseOf = async (member: TrustMember) =>
    (await hub.admin.get(LEASE, { namespace: HUB_NAMESPACE, name: member.cluster }))!;
  const patch = (member: TrustMember, path: string, body: unknown) =>
    member.client.request("PATCH", path, { ...MERGE, body });
  const memberPath = (member: TrustMember) =>
    `/apis/isthmus.dev/v1alpha1/namespaces/${member.namespace}/clustermembers/${member.cluster}`;

  describe("a member and its shares", () => {
    test("publishes, changes and withdraws in its own namespace", async () => {
      const member = await hub.member();
      for (const [resource, object] of [
        [SERVICE_SHARE, aServiceShare(member.namespace)],
        [ENDPOINT_SHARE, anEndpointShare(member.namespace)],
      ] as const) {
        const made = await member.client.create<KubeObject>(resource, object);
        await member.client.replace<KubeObject>(resource, made);
        const { namespace, name } = made.metadata as { namespace: string; name: string };
        expect(await member.client.delete(resource, { namespace, name })).toBe(true);
      }
    });

    test("reads the shares of all", async () => {
      const { items } = await evil.client.list(SERVICE_SHARE);
      expect(items.map(({ metadata }) => metadata.namespace)).toContain(good.namespace);
    });

    test("writes none in another's namespace, and takes none away", async () => {
      const ref = { namespace: good.namespace, name: "shop.web" };
      const there = (await hub.admin.get(SERVICE_SHARE, ref))!;
      const other = { name: "shop.other" };
      const attempts = [
        evil.client.create(SERVICE_SHARE, aServiceShare(good.namespace, other)),
        evil.client.create(ENDPOINT_SHARE, anEndpointShare(good.namespace)),
        evil.client.replace(SERVICE_SHARE, there),
        evil.client.apply(SERVICE_SHARE, aServiceShare(good.namespace, other), {
          fieldManager: "evil",
        }),
        evil.client.delete(SERVICE_SHARE, ref),
      ];
      expect(await refusersOf(attempts)).toEqual([RBAC]);
    });

    test("writes none in another's namespace even where an administrator bound it there by mistake", async () => {
      const [evil, good] = [await hub.member(), await hub.member()];
      await good.client.create(SERVICE_SHARE, aServiceShare(good.namespace));
      const name = unique("trust-");
      const ref = { namespace: good.namespace, name };
      hub.onClose(() => hub.admin.delete(ROLE_BINDING, ref));
      await hub.admin.create(ROLE_BINDING, {
        ...bindingIn(good.namespace, evil),
        metadata: ref,
        roleRef: roleRef("ClusterRole", MEMBER_ROLE),
      });
      const share = aServiceShare(good.namespace, { name: "shop.stolen" });
      await eventually("the mistake is in force", async () =>
        expect(await refuserOf(evil.client.create(SERVICE_SHARE, share))).toBe(BY_POLICY),
      );
      const theirs = { namespace: good.namespace, name: "shop.web" };
      expect(await refuserOf(evil.client.delete(SERVICE_SHARE, theirs))).toBe(BY_POLICY);
      expect(await refuserOf(evil.client.delete(NAMESPACE, { name: good.namespace }))).toBe(
        BY_POLICY,
      );
      const { path, body } = renderMemberTokenRequest(good.cluster);
      expect(await refuserOf(evil.client.request("POST", path, { body }))).toBe(BY_POLICY);
      expect(
        await refuserOf(
          evil.client.delete(CLUSTER_MEMBER, { namespace: good.namespace, name: good.cluster }),
        ),
      ).toBe(BY_POLICY);
    });

    test.each(Object.entries(BAGGAGE))("puts no %s on a share", async (_, baggage) => {
      const { client, namespace } = evil;
      const service = aServiceShare(namespace, { ...baggage, name: "shop.bag" });
      const endpoints = anEndpointShare(namespace, ["10.1.0.1"], baggage);
      expect(await refuserOf(client.create(SERVICE_SHARE, service))).toBe(BY_POLICY);
      expect(await refuserOf(client.create(ENDPOINT_SHARE, endpoints))).toBe(BY_POLICY);
      const name = unique("shop.");
      const made = await client.create(SERVICE_SHARE, aServiceShare(namespace, { name }));
      const changed = { ...made, metadata: { ...made.metadata, ...baggage } };
      expect(await refuserOf(client.replace(SERVICE_SHARE, changed))).toBe(BY_POLICY);
    });

    test.each([
      "shop",
      "shop.web.more",
      "-shop.web",
      `${"a".repeat(64)}.web`,
      `shop.${"a".repeat(64)}`,
    ])("names no ServiceShare %s", async (name) => {
      const share = aServiceShare(evil.namespace, { name });
      expect(await refuserOf(evil.client.create(SERVICE_SHARE, share))).toBe(SCHEMA);
    });

    test.each(["shop.web", "shop.web.short", "shop.web.zzzzzzzzzz", "web.0123456789"])(
      "names no EndpointShare %s",
      async (name) => {
        const share = anEndpointShare(evil.namespace, ["10.1.0.1"], { name });
        expect(await refuserOf(evil.client.create(ENDPOINT_SHARE, share))).toBe(SCHEMA);
      },
    );

    test("fills no share beyond its limits", async () => {
      const { client, namespace } = evil;
      const share = (spec: object) => aServiceShare(namespace, { name: "shop.big" }, spec);
      const many = (count: number, value: string) =>
        Object.fromEntries(Array.from({ length: count }, (_, index) => [`key-${index}`, value]));
      const longKey = share({ labels: { ["k".repeat(318)]: "v" } });
      expect(await refuserOf(client.create(SERVICE_SHARE, longKey))).toBe(BY_POLICY);
      const longKeyToo = share({ annotations: { ["k".repeat(5_000)]: "v" } });
      expect(await refuserOf(client.create(SERVICE_SHARE, longKeyToo))).toBe(BY_POLICY);
      for (const spec of [
        { labels: many(65, "v") },
        { annotations: many(65, "v") },
        { annotations: many(1, "v".repeat(4_097)) },
        { ports: Array.from({ length: 101 }, (_, index) => ({ port: index + 1 })) },
      ]) {
        expect(await refuserOf(client.create(SERVICE_SHARE, share(spec)))).toBe(SCHEMA);
      }
      const endpoints = Array.from({ length: 1_001 }, () => "10.1.0.1");
      const crowd = anEndpointShare(namespace, endpoints);
      expect(await refuserOf(client.create(ENDPOINT_SHARE, crowd))).toBe(SCHEMA);
      const fits = share({ labels: many(64, "v"), annotations: many(64, "v") });
      await client.create(SERVICE_SHARE, fits, { dryRun: true });
    });
  });

  describe("a member and its registration", () => {
    test("reports its status", async () => {
      const ref = { namespace: evil.namespace, name: evil.cluster };
      const member = (await evil.client.get(CLUSTER_MEMBER, ref))!;
      const status = { agentVersion: "9.9.9" };
      await evil.client.replace(CLUSTER_MEMBER, { ...member, status }, { subresource: "status" });
      expect((await hub.admin.get(CLUSTER_MEMBER, ref))?.status).toEqual(status);
    });

    test("changes nothing that is declared of it, neither directly nor through its status", async () => {
      const ref = { namespace: evil.namespace, name: evil.cluster };
      const member = (await evil.client.get(CLUSTER_MEMBER, ref))!;
      const wide = { podCIDRs: ["0.0.0.0/0"] };
      const labels = { a: "b" };
      const finalizers = ["example.com/for-ever"];
      const metadata = { ...member.metadata, labels, finalizers };
      expect(await refuserOf(evil.client.replace(CLUSTER_MEMBER, { ...member, spec: wide }))).toBe(
        RBAC,
      );
      expect(await refuserOf(patch(evil, memberPath(evil), { spec: wide }))).toBe(RBAC);
      expect(await refuserOf(patch(evil, memberPath(evil), { metadata: { finalizers } }))).toBe(
        RBAC,
      );
      await evil.client.replace(
        CLUSTER_MEMBER,
        { ...member, metadata, spec: wide, status: { agentVersion: "1" } },
        { subresource: "status" },
      );
      const after = (await hub.admin.get(CLUSTER_MEMBER, ref))!;
      expect(after).toMatchObject({ spec: DECLARED, status: { agentVersion: "1" } });
      expect(after.metadata.labels).toEqual(member.metadata.labels);
      expect(after.metadata.finalizers).toBeUndefined();
    });

    test("writes no long story into its status, which every member reads", async () => {
      const ref = { namespace: evil.namespace, name: evil.cluster };
      const member = (await evil.client.get(CLUSTER_MEMBER, ref))!;
      const tell = (message: string) => {
        const condition = {
          type: "Synced",
          status: "True" as const,
          reason: "Synced",
          message,
          lastTransitionTime: "2026-01-02T03:04:05Z",
        };
        const changed = { ...member, status: { conditions: [condition] } };
        return evil.client.replace(CLUSTER_MEMBER, changed, {
          subresource: "status",
          dryRun: true,
        });
      };
      await tell("a".repeat(1_024));
      expect(await refuserOf(tell("a".repeat(1_025)))).toBe(BY_POLICY);
    });

    test("speaks for no other member", async () => {
      const status = { status: { agentVersion: "evil" } };
      expect(await refuserOf(patch(evil, `${memberPath(good)}/status`, status))).toBe(RBAC);
      expect(
        await refuserOf(
          evil.client.delete(CLUSTER_MEMBER, { namespace: good.namespace, name: good.cluster }),
        ),
      ).toBe(RBAC);
    });

    test("registers no other member, with any of the objects that it takes", async () => {
      const registration = { cluster: aCluster(), claim: aClaim(), spec: DECLARED };
      for (const object of renderMember(registration)) {
        expect(await refuserOf(evil.client.create(resourceOf(object), object))).toBe(RBAC);
      }
      const twin = { namespace: evil.namespace, name: good.cluster };
      const object = { apiVersion: "isthmus.dev/v1alpha1", kind: "ClusterMember", metadata: twin };
      expect(
        await refuserOf(evil.client.create(CLUSTER_MEMBER, { ...object, spec: DECLARED })),
      ).toBe(RBAC);
    });
  });

  describe("a member and its Lease", () => {
    const renewal = { holderIdentity: "agent-0", renewTime: "2026-01-02T03:04:05.000000Z" };

    test("renews its own and hears the others", async () => {
      const lease = await leaseOf(evil);
      const renewed = await evil.client.replace(LEASE, { ...lease, spec: renewal });
      expect(renewed.spec).toEqual(renewal);
      const { items } = await evil.client.list(LEASE, { namespace: HUB_NAMESPACE });
      expect(items.map(({ metadata }) => metadata.name)).toContain(good.cluster);
    });

    test("renews, changes and ends no other", async () => {
      const lease = await leaseOf(good);
      const ref = { namespace: HUB_NAMESPACE, name: good.cluster };
      const path = `/apis/coordination.k8s.io/v1/namespaces/${HUB_NAMESPACE}/leases/${good.cluster}`;
      expect(await refuserOf(evil.client.replace(LEASE, { ...lease, spec: renewal }))).toBe(RBAC);
      expect(await refuserOf(patch(evil, path, { spec: renewal }))).toBe(RBAC);
      expect(await refuserOf(evil.client.delete(LEASE, ref))).toBe(RBAC);
      const fresh = { ...lease, metadata: { namespace: HUB_NAMESPACE, name: unique("ghost-") } };
      expect(await refuserOf(evil.client.create(LEASE, fresh))).toBe(RBAC);
      expect(await refuserOf(evil.client.apply(LEASE, fresh, { fieldManager: "evil" }))).toBe(RBAC);
    });

    test.each(Object.entries(BAGGAGE))("puts no %s on it", async (_, baggage) => {
      const lease = await leaseOf(evil);
      const metadata = { ...lease.metadata, ...baggage };
      expect(await refuserOf(evil.client.replace(LEASE, { ...lease, metadata }))).toBe(BY_POLICY);
    });

    test("keeps it small: every member is sent every one", async () => {
      const lease = await leaseOf(evil);
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
          patch(evil, `/api/v1/namespaces/${namespace}`, { metadata: { labels: { a: "b" } } }),
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
