// Trust suite: what else the holder of a join token tries to make with it.

import { beforeAll, describe, expect, test } from "vitest";
import { CONFIG_MAP, POD, SECRET } from "../../src/api/builtin.ts";
import { ENDPOINT_SHARE, SERVICE_SHARE } from "../../src/api/hubshare.ts";
import {
  CLAIM_ANNOTATION,
  type ClusterId,
  HUB_NAMESPACE,
  memberNamespace,
} from "../../src/api/names.ts";
import type { KubeObject, ObjectMeta } from "../../src/api/object.ts";
import {
  CLUSTER_ROLE,
  CLUSTER_ROLE_BINDING,
  RESOURCE_QUOTA,
  ROLE,
  ROLE_BINDING,
  type Role,
  type RoleBinding,
  roleRef,
} from "../../src/api/rbac.ts";
import { renderMember } from "../../src/hub/manifest/member.ts";
import {
  JOIN_POLICY,
  JOIN_ROLE,
  joinAccount,
  MEMBER_ROLE,
  QUOTA_POLICY,
} from "../../src/hub/manifest/names.ts";
import { resourceOf } from "../../src/hub/manifest/resource.ts";
import { renderMemberTokenRequest } from "../../src/hub/manifest/tokenrequest.ts";
import { unique } from "../contract/objects.ts";
import { eventually } from "../scenarios/poll.ts";
import { aNamespace, anEndpointShare, aServiceShare, withMetadata } from "./attacks.ts";
import { RBAC, refusalOf, refuserOf, refusersOf, requireRefuser, THERE } from "./refusal.ts";
import { aClaim, aCluster, DECLARED, type TrustHub, type TrustToken } from "./trustHub.ts";

export function testJoinReach(hubOf: () => TrustHub): void {
  let hub: TrustHub;
  /** Counted for `cluster`, which has its namespace and its Role: what is refused is refused for its content. */
  let token: TrustToken;
  let cluster: ClusterId;
  const claim = aClaim();

  beforeAll(async () => {
    hub = hubOf();
    token = await hub.token({ uses: 2 });
    cluster = aCluster();
    await hub.register(token, cluster, claim, (objects) =>
      objects.filter(({ kind }) => kind === "Namespace" || kind === "Role"),
    );
  });

  const create = (object: KubeObject, by = token) =>
    by.client.create(resourceOf(object), object, { dryRun: true });
  /** What `isthmus join` would create for the cluster, by kind; the second of two in the hub's namespace. */
  const expected = (kind: string, of: ClusterId = cluster): KubeObject =>
    renderMember({ cluster: of, claim, spec: DECLARED, joinToken: token.name }).findLast(
      (object) => object.kind === kind,
    )!;
  describe("the rest of the hub", () => {
    test("makes no other namespace", async () => {
      const right = expected("Namespace");
      const names = ["kube-evil", "default-2", HUB_NAMESPACE, `x-${cluster}`];
      const refusers = await refusersOf([
        ...names.map((name) => create(withMetadata(right, { name }))),
        create(aNamespace(memberNamespace(cluster))),
        create(withMetadata(right, { labels: {} })),
        create(withMetadata(right, { labels: { ...right.metadata.labels, more: "x" } })),
        create(withMetadata(right, { annotations: {} })),
        create(withMetadata(right, { annotations: { [CLAIM_ANNOTATION]: "guess" } })),
        create(withMetadata(right, { finalizers: ["example.com/for-ever"] })),
        create({ ...right, spec: { finalizers: ["example.com/for-ever"] } } as KubeObject),
        create(
          withMetadata(right, {
            ownerReferences: [{ apiVersion: "v1", kind: "Namespace", name: "a", uid: "a" }],
          }),
        ),
      ]);
      expect(refusers).toEqual([JOIN_POLICY]);
    });

    test("binds nobody to anything but what a member has", async () => {
      const inside = renderMember({ cluster, claim, spec: {}, joinToken: token.name }).find(
        ({ kind }) => kind === "RoleBinding",
      ) as RoleBinding;
      const everywhere = expected("ClusterRoleBinding") as RoleBinding;
      const self = [
        {
          kind: "ServiceAccount" as const,
          namespace: HUB_NAMESPACE,
          name: joinAccount(token.name),
        },
      ];
      const change = (object: RoleBinding, fields: Partial<RoleBinding>) =>
        create({ ...object, ...fields });
      // What the token does not hold itself, the API server does not let it hand on.
      const beyond = await refusersOf(
        ["cluster-admin", "edit", "isthmus-agent"].map((name) =>
          change(everywhere, { roleRef: roleRef("ClusterRole", name) }),
        ),
      );
      for (const refuser of beyond) expect(refuser).toMatch(/^(403 .*not currently held|404 )/s);
      // What it holds or may bind is still bound in one way only.
      const within = await refusersOf([
        change(everywhere, { roleRef: roleRef("ClusterRole", MEMBER_ROLE) }),
        change(everywhere, { roleRef: roleRef("ClusterRole", JOIN_ROLE) }),
        change(everywhere, { subjects: self }),
        change(everywhere, { subjects: [...everywhere.subjects, ...self] }),
        create(withMetadata(everywhere, { name: unique("trust-") })),
        change(inside, { subjects: self }),
        create(withMetadata(inside, { namespace: "kube-system" })),
        create(withMetadata(inside, { namespace: HUB_NAMESPACE })),
        create(withMetadata(inside, { name: unique("trust-") })),
      ]);
      expect(within).toEqual([JOIN_POLICY]);
    });

    test("makes no role but for the Lease of the cluster", async () => {
      const role = expected("Role") as Role;
      const [hear, speak] = role.rules as [Role["rules"][number], Role["rules"][number]];
      const rules = (...changed: Role["rules"]) =>
        create({ ...role, rules: changed } as KubeObject);
      const refusers = await refusersOf([
        rules(hear, { ...speak, resourceNames: [aCluster()] }),
        rules(hear, { apiGroups: speak.apiGroups, resources: speak.resources, verbs: speak.verbs }),
        rules({ ...hear, verbs: ["get", "list", "watch", "update"] }, speak),
        rules(hear, speak, hear),
        rules(),
        create(withMetadata(role, { name: unique("trust-") })),
      ]);
      expect(refusers).toEqual([JOIN_POLICY]);
      const secrets = { apiGroups: [""], resources: ["secrets"], verbs: ["get"] };
      const { by } = await refusalOf(rules(hear, speak, secrets));
      expect(by).toMatch(/^403 .*not currently held/s);
      expect(await refuserOf(create(withMetadata(role, { namespace: "kube-system" })))).toBe(RBAC);
    });

    test("makes no other Lease, account, quota or member", async () => {
      const kinds = ["Lease", "ServiceAccount", "ResourceQuota", "ClusterMember"].map((kind) =>
        expected(kind),
      );
      const account = expected("ServiceAccount");
      const lease = expected("Lease");
      const quota = expected("ResourceQuota");
      const refusers = await refusersOf([
        ...kinds.map((object) => create(withMetadata(object, { name: unique("x-") }))),
        ...kinds.map((object) => create(withMetadata(object, { finalizers: ["a.b/c"] }))),
        ...kinds.map((object) => create(withMetadata(object, { labels: {} }))),
        ...kinds.map((object) =>
          create(withMetadata(object, { labels: { ...object.metadata.labels, more: "x" } })),
        ),
        ...kinds.map((object) => create(withMetadata(object, { annotations: { a: "b" } }))),
        create({ ...account, secrets: [{ name: "any" }] } as KubeObject),
        create({ ...account, imagePullSecrets: [{ name: "any" }] } as KubeObject),
        create(withMetadata(account, { namespace: "kube-system" })),
        create({ ...lease, spec: { holderIdentity: "a" } } as KubeObject),
        create({ ...quota, spec: { hard: {} } } as KubeObject),
        create({ ...quota, spec: { hard: { pods: "0" } } } as KubeObject),
      ]);
      expect(refusers).toEqual([JOIN_POLICY]);
    });

    test("owns nothing to somebody else's namespace", async () => {
      const owner = { apiVersion: "v1", kind: "Namespace", name: "kube-system", uid: "a" };
      const own = { ...owner, name: memberNamespace(cluster) };
      const owned = ["ClusterRoleBinding", "Role", "RoleBinding", "Lease"].map((k) => expected(k));
      const withOwners = (...ownerReferences: NonNullable<ObjectMeta["ownerReferences"]>) =>
        refusersOf(owned.map((object) => create(withMetadata(object, { ownerReferences }))));
      expect(await withOwners(own)).toEqual(["nobody", THERE]);
      expect(await withOwners(owner)).toEqual([JOIN_POLICY]);
      expect(await withOwners(own, { ...own, uid: "b" })).toEqual([JOIN_POLICY]);
      expect(await withOwners({ ...own, blockOwnerDeletion: true })).toEqual([JOIN_POLICY]);
    });

    test("makes nothing else at all", async () => {
      const { client } = token;
      const metadata = { namespace: memberNamespace(cluster), name: "evil" };
      const attempts = [
        client.create(POD, {
          apiVersion: "v1",
          kind: "Pod",
          metadata,
          spec: { containers: [{ name: "a", image: "a" }] },
        }),
        client.create(SECRET, { apiVersion: "v1", kind: "Secret", metadata }),
        client.create(CONFIG_MAP, { apiVersion: "v1", kind: "ConfigMap", metadata }),
        client.create(ENDPOINT_SHARE, anEndpointShare(metadata.namespace)),
        client.create(CLUSTER_ROLE, {
          apiVersion: "rbac.authorization.k8s.io/v1",
          kind: "ClusterRole",
          metadata: { name: unique("trust-") },
          rules: [],
        }),
        client.delete(CLUSTER_ROLE_BINDING, { name: "cluster-admin" }),
        client.delete(ROLE, { namespace: HUB_NAMESPACE, name: joinAccount(token.name) }),
        client.delete(ROLE_BINDING, { namespace: HUB_NAMESPACE, name: "any" }),
        client.delete(RESOURCE_QUOTA, { namespace: metadata.namespace, name: "any" }),
      ];
      expect(await refusersOf(attempts)).toEqual([RBAC]);
    });

    test("a cluster that joined without its quota shares nothing", async () => {
      const [own, id, secret] = [await hub.token(), aCluster(), aClaim()];
      const isQuota = ({ kind }: KubeObject) => kind === RESOURCE_QUOTA.kind;
      await hub.register(own, id, secret, (all) => all.filter((object) => !isQuota(object)));
      const credential = await hub.tokenFrom(renderMemberTokenRequest(id, secret), own.client);
      const client = hub.as(credential);
      const share = aServiceShare(memberNamespace(id));
      await eventually("the member has its permissions", () =>
        requireRefuser(client.create(SERVICE_SHARE, share), QUOTA_POLICY),
      );
      const quota = renderMember({ cluster: id, claim: secret, spec: {}, joinToken: own.name });
      await hub.createAs(own, quota.find(isQuota)!);
      const made = await eventually("it has one now", () => client.create(SERVICE_SHARE, share));
      expect(made.metadata.name).toBe("shop.web");
    });
  });
}
