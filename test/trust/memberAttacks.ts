// Trust suite: what a captured member tries with its own credential. Beside each refusal stands what the same member may do
// in the same place, so that none is refused for another reason than the one under test.

import { beforeAll, describe, expect, test } from "vitest";
import { LEASE, NAMESPACE } from "../../src/api/builtin.ts";
import { ENDPOINT_SHARE, SERVICE_SHARE } from "../../src/api/hubshare.ts";
import { CLUSTER_MEMBER } from "../../src/api/isthmus.ts";
import { HUB_NAMESPACE } from "../../src/api/names.ts";
import type { KubeObject } from "../../src/api/object.ts";
import { ROLE_BINDING, roleRef } from "../../src/api/rbac.ts";
import { renderMember } from "../../src/hub/manifest/member.ts";
import { MEMBER_POLICY, MEMBER_ROLE } from "../../src/hub/manifest/names.ts";
import { resourceOf } from "../../src/hub/manifest/resource.ts";
import { renderMemberTokenRequest } from "../../src/hub/manifest/tokenrequest.ts";
import { unique } from "../contract/objects.ts";
import { eventually } from "../scenarios/poll.ts";
import { anEndpointShare, aServiceShare, BAGGAGE, patchAs } from "./attacks.ts";
import { RBAC, refuserOf, refusersOf, requireRefuser, SCHEMA } from "./refusal.ts";
import { aClaim, aCluster, DECLARED, type TrustHub, type TrustMember } from "./trustHub.ts";

const BY_POLICY = MEMBER_POLICY;
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
      const member = { namespace: good.namespace, name: good.cluster };
      expect(await refuserOf(evil.client.delete(CLUSTER_MEMBER, member))).toBe(BY_POLICY);
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
      expect(await refuserOf(patchAs(evil.client, memberPath(evil), { spec: wide }))).toBe(RBAC);
      expect(
        await refuserOf(patchAs(evil.client, memberPath(evil), { metadata: { finalizers } })),
      ).toBe(RBAC);
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
      expect(await refuserOf(patchAs(evil.client, `${memberPath(good)}/status`, status))).toBe(
        RBAC,
      );
      expect(
        await refuserOf(
          evil.client.delete(CLUSTER_MEMBER, { namespace: good.namespace, name: good.cluster }),
        ),
      ).toBe(RBAC);
    });

    test("speaks for itself only even where an administrator gave it too much", async () => {
      const [evil, good] = [await hub.member(), await hub.member()];
      await hub.grant(evil, [
        {
          apiGroups: ["isthmus.dev"],
          resources: ["clustermembers", "clustermembers/status"],
          verbs: ["create", "update", "patch", "delete"],
        },
        {
          apiGroups: ["coordination.k8s.io"],
          resources: ["leases"],
          verbs: ["create", "update", "patch", "delete"],
        },
      ]);
      const { client, namespace, cluster } = evil;
      const own = (await client.get(CLUSTER_MEMBER, { namespace, name: cluster }))!;
      const wide = { ...own, spec: { podCIDRs: ["0.0.0.0/0"] } };
      await eventually("the permissions are in force", () =>
        requireRefuser(client.replace(CLUSTER_MEMBER, wide), BY_POLICY),
      );
      const twin = { namespace, name: good.cluster };
      const { apiVersion, kind } = own;
      await hub.admin.create(CLUSTER_MEMBER, { apiVersion, kind, metadata: twin, spec: {} });
      const path = `/apis/isthmus.dev/v1alpha1/namespaces/${namespace}/clustermembers/${good.cluster}`;
      const theirs = await hub.lease(good);
      const ghost = { namespace: HUB_NAMESPACE, name: unique("ghost-") };
      const attempts = [
        client.create(CLUSTER_MEMBER, { apiVersion, kind, metadata: ghost, spec: {} }),
        patchAs(evil.client, `${path}/status`, { status: { agentVersion: "evil" } }),
        client.delete(CLUSTER_MEMBER, twin),
        client.replace(LEASE, { ...theirs, spec: { holderIdentity: "evil" } }),
        client.delete(LEASE, { namespace: HUB_NAMESPACE, name: good.cluster }),
        client.create(LEASE, { ...theirs, metadata: ghost }),
        client.create(LEASE, { ...theirs, metadata: { namespace, name: cluster } }),
      ];
      expect(await refusersOf(attempts)).toEqual([BY_POLICY]);
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
}
