// Trust suite: what the holder of a join token tries with it, and what it is for.

import { beforeAll, describe, expect, test } from "vitest";
import { LEASE, NAMESPACE, SECRET, SERVICE_ACCOUNT } from "../../src/api/builtin.ts";
import { ENDPOINT_SHARE, SERVICE_SHARE } from "../../src/api/hubshare.ts";
import { CLUSTER_MEMBER, type ClusterMember } from "../../src/api/isthmus.ts";
import { JOIN_TOKEN } from "../../src/api/jointoken.ts";
import {
  CLAIM_ANNOTATION,
  CLAIM_PROOF_ANNOTATION,
  type ClusterId,
  HUB_NAMESPACE,
  JOIN_TOKEN_LABEL,
  memberNamespace,
} from "../../src/api/names.ts";
import type { KubeObject } from "../../src/api/object.ts";
import { renderJoinTokenRemoval } from "../../src/hub/manifest/jointoken.ts";
import { renderMember } from "../../src/hub/manifest/member.ts";
import { JOIN_POLICY, joinAccount, USES_POLICY } from "../../src/hub/manifest/names.ts";
import { resourceOf } from "../../src/hub/manifest/resource.ts";
import {
  renderMemberTokenRequest,
  renderTokenRequest,
} from "../../src/hub/manifest/tokenrequest.ts";
import { unique } from "../contract/objects.ts";
import { eventually } from "../scenarios/poll.ts";
import { anAccount, anEndpointShare, aServiceShare, withMetadata } from "./attacks.ts";
import {
  RBAC,
  refusalOf,
  refuserOf,
  refusersOf,
  requireRefuser,
  SCHEMA,
  THERE,
} from "./refusal.ts";
import { aClaim, aCluster, DECLARED, type TrustHub, type TrustToken } from "./trustHub.ts";

const FAR = "2126-01-02T03:04:05Z";
const PAST = "2001-01-02T03:04:05Z";

export function testJoinAttacks(hubOf: () => TrustHub): void {
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
  const writeRecord = async (by: TrustToken, clusters: readonly string[], name = by.name) => {
    const record = (await hub.admin.get(JOIN_TOKEN, { namespace: HUB_NAMESPACE, name }))!;
    return by.client.replace(
      JOIN_TOKEN,
      { ...record, status: { clusters } },
      { subresource: "status" },
    );
  };

  describe("what it is for", () => {
    test("a token registers a cluster, and who registered it gets the credential", async () => {
      const [own, id, secret] = [await hub.token(), aCluster(), aClaim()];
      await hub.register(own, id, secret);
      const credential = await hub.tokenFrom(renderMemberTokenRequest(id, secret), own.client);
      const member = await hub.memberAs(id, credential);
      await member.client.create(SERVICE_SHARE, aServiceShare(member.namespace));
      await member.client.create(ENDPOINT_SHARE, anEndpointShare(member.namespace));
      const lease = { namespace: HUB_NAMESPACE, name: id };
      const found = await eventually("it may renew its Lease", () =>
        member.client.get(LEASE, lease),
      );
      await member.client.replace(LEASE, { ...found!, spec: { holderIdentity: "agent-0" } });
      const ref = { namespace: member.namespace, name: id };
      expect((await member.client.get(CLUSTER_MEMBER, ref))?.spec).toEqual(DECLARED);
    });

    test("what lies outside the member's namespace may belong to it", async () => {
      const { uid } = (await hub.admin.get(NAMESPACE, { name: memberNamespace(cluster) }))!
        .metadata;
      const objects = renderMember({
        cluster,
        claim,
        spec: DECLARED,
        joinToken: token.name,
        namespaceUid: uid!,
      }).filter(({ metadata }) => metadata.ownerReferences !== undefined);
      expect(objects.map(({ kind }) => kind)).toEqual([
        "ClusterRoleBinding",
        "Role",
        "RoleBinding",
        "Lease",
      ]);
      const refusers = await refusersOf(objects.map((object) => create(object)));
      expect(refusers).toEqual(["nobody", THERE]);
    });

    test("every object that a join takes is accepted from this token for this cluster", async () => {
      const objects = renderMember({ cluster, claim, spec: DECLARED, joinToken: token.name });
      const refusers = await refusersOf(objects.map((object) => create(object)));
      expect(refusers).toEqual([THERE, "nobody"]);
    });
  });

  describe("its limits", () => {
    test("joins no more clusters than its uses", async () => {
      const own = await hub.token({ uses: 2 });
      const [first, second, third] = [aCluster(), aCluster(), aCluster()];
      await hub.count(own, first);
      await hub.count(own, second);
      expect(await refuserOf(hub.count(own, third))).toBe(JOIN_POLICY);
      const swapped = writeRecord(own, [first, third]);
      expect(await refuserOf(swapped)).toBe(JOIN_POLICY);
      expect(await refuserOf(writeRecord(own, []))).toBe(JOIN_POLICY);
      expect((await hub.record(own))?.status?.clusters).toEqual([first, second]);
    });

    test("joins no cluster that it was not counted for", async () => {
      const other = aCluster();
      const objects = renderMember({
        cluster: other,
        claim,
        spec: DECLARED,
        joinToken: token.name,
      }).filter(
        // A RoleBinding is refused earlier, for want of its Role.
        ({ kind, metadata }) =>
          metadata.namespace !== memberNamespace(other) && kind !== "RoleBinding",
      );
      const refusers = await refusersOf(objects.map((object) => create(object)));
      expect(refusers).toEqual([USES_POLICY]);
      // Without the label, or under the name of another token, nobody would count.
      const relabelled = (change: Readonly<Record<string, string>>) =>
        objects.map((object) => {
          const { [JOIN_TOKEN_LABEL]: _, ...labels } = object.metadata.labels!;
          return create(withMetadata(object, { labels: { ...labels, ...change } }));
        });
      expect(await refusersOf(relabelled({}))).toEqual([JOIN_POLICY]);
      expect(await refusersOf(relabelled({ [JOIN_TOKEN_LABEL]: "x" }))).toEqual([JOIN_POLICY]);
    });

    test("joins nothing after it has expired", async () => {
      const [late, id] = [await hub.token({ expiresAt: PAST }), aCluster()];
      await hub.count(late, id);
      const object = renderMember({ cluster: id, claim, spec: {}, joinToken: late.name })[0]!;
      await eventually("it is refused for its time alone", async () => {
        const { by, says } = await refusalOf(create(object, late));
        if (by !== USES_POLICY || !says.includes("has expired")) throw new Error(`${by}: ${says}`);
      });
      const before = await hub.token({ expiresAt: FAR });
      await hub.count(before, id);
      const same = renderMember({ cluster: id, claim, spec: {}, joinToken: before.name })[0]!;
      await eventually("one in time is not", () => create(same, before));
      expect(await refuserOf(create(object, late))).toBe(USES_POLICY);
    });

    test("joins nothing once its record is gone, though its credential is still good", async () => {
      const [revoked, id] = [await hub.token(), aCluster()];
      await hub.count(revoked, id);
      const object = renderMember({ cluster: id, claim, spec: {}, joinToken: revoked.name })[0]!;
      await eventually("it could join", () => create(object, revoked));
      await hub.admin.delete(JOIN_TOKEN, { namespace: HUB_NAMESPACE, name: revoked.name });
      await eventually("it cannot any more", () =>
        requireRefuser(create(object, revoked), USES_POLICY),
      );
      expect(await refuserOf(create(object, revoked))).toBe(USES_POLICY);
    });

    test("is nobody once it was removed", async () => {
      const removed = await hub.token();
      for (const { resource, ref } of renderJoinTokenRemoval(removed.name)) {
        await hub.admin.delete(resource, ref);
      }
      const answer = await eventually("its credential is refused", async () => {
        const { status } = await removed.client.request("GET", "/apis/isthmus.dev/v1alpha1");
        if (status !== 401) throw new Error(String(status));
        return status;
      });
      expect(answer).toBe(401);
    });

    test("changes neither its limits nor its record by any other way", async () => {
      const record = (await hub.record(token))!;
      const { client } = token;
      const attempts = [
        client.replace(JOIN_TOKEN, { ...record, spec: { uses: 250, expiresAt: FAR } }),
        client.delete(JOIN_TOKEN, { namespace: HUB_NAMESPACE, name: token.name }),
        client.create(JOIN_TOKEN, { ...record, metadata: { ...record.metadata, name: "more" } }),
        client.list(JOIN_TOKEN, { namespace: HUB_NAMESPACE }),
      ];
      expect(await refusersOf(attempts)).toEqual([RBAC]);
      const spec = { uses: 250, expiresAt: FAR };
      await client.replace(JOIN_TOKEN, { ...record, spec }, { subresource: "status" });
      expect((await hub.record(token))?.spec.uses).toBe(2);
    });

    test("counts for no other token, and reads none", async () => {
      const other = await hub.token();
      const ref = { namespace: HUB_NAMESPACE, name: other.name };
      expect(await refuserOf(token.client.get(JOIN_TOKEN, ref))).toBe(RBAC);
      expect(await refuserOf(writeRecord(token, [aCluster()], other.name))).toBe(RBAC);
    });

    test.each(["Kube", "kube.system", "a".repeat(49), "-a"])("counts no id %s", async (id) => {
      const own = await hub.token();
      expect(await refuserOf(writeRecord(own, [id]))).toBe(SCHEMA);
      await writeRecord(own, ["a".repeat(48)]);
    });

    test("does not live longer by asking for itself", async () => {
      const account = { namespace: HUB_NAMESPACE, name: joinAccount(token.name) };
      const { path, body } = renderTokenRequest({ account, seconds: 3_600 });
      expect(await refuserOf(token.client.request("POST", path, { body }))).toBe(RBAC);
    });
  });

  describe("other members", () => {
    test("a taken id stays with who has it", async () => {
      const [taken, own] = [await hub.member(), await hub.token()];
      await hub.count(own, taken.cluster);
      const objects = renderMember({
        cluster: taken.cluster,
        claim,
        spec: { podCIDRs: ["0.0.0.0/0"] },
        joinToken: own.name,
      });
      const [namespace, ...inside] = objects.filter(
        ({ metadata }) => metadata.namespace !== HUB_NAMESPACE,
      );
      await eventually("the hub knows of the use", async () => {
        const answer = await refuserOf(own.client.create(NAMESPACE, namespace!));
        if (answer !== THERE) throw new Error(answer);
      });
      const within = inside.filter(({ metadata }) => metadata.namespace !== undefined);
      expect(await refusersOf(within.map((object) => create(object, own)))).toEqual([JOIN_POLICY]);
      const { path, body } = renderMemberTokenRequest(taken.cluster, claim);
      expect(await refuserOf(own.client.request("POST", path, { body }))).toBe(JOIN_POLICY);
    });

    test("the credential of a member goes to its claim only, also among holders of one token", async () => {
      const [shared, id, secret] = [await hub.token({ uses: 2 }), aCluster(), aClaim()];
      await hub.register(shared, id, secret);
      const ask = (annotations: Readonly<Record<string, string>>) => {
        const { path, body } = renderMemberTokenRequest(id);
        return shared.client.request("POST", path, {
          body: { ...body, metadata: { annotations } },
        });
      };
      const proof = secret.slice(0, 32);
      const refusers = await refusersOf([
        ask({}),
        ask({ [CLAIM_ANNOTATION]: "" }),
        ask({ [CLAIM_ANNOTATION]: aClaim() }),
        ask({ [CLAIM_ANNOTATION]: proof }),
        ask({ [CLAIM_PROOF_ANNOTATION]: secret }),
      ]);
      expect(refusers).toEqual([JOIN_POLICY]);
      expect(await refuserOf(ask({ [CLAIM_ANNOTATION]: secret }))).toBe("nobody");
    });

    test("a credential for longer than others, or of another account, is not given", async () => {
      const order = renderMemberTokenRequest(cluster, claim);
      const ask = (path: string, expirationSeconds: number) =>
        token.client.request("POST", path, {
          body: { ...order.body, spec: { expirationSeconds } },
        });
      await hub.createAs(token, expected("ServiceAccount"));
      expect(await refuserOf(ask(order.path, 3_600))).toBe("nobody");
      expect(await refuserOf(ask(order.path, 365 * 24 * 3_600))).toBe(JOIN_POLICY);
      const other = { namespace: memberNamespace(cluster), name: unique("other-") };
      await hub.admin.create(SERVICE_ACCOUNT, anAccount(other.namespace, other.name));
      const mighty = { namespace: "kube-system", name: "clusterrole-aggregation-controller" };
      for (const account of [other, mighty]) {
        const { path } = renderTokenRequest({ account, seconds: 3_600 });
        expect(await refuserOf(ask(path, 3_600))).toBe(RBAC);
      }
    });

    test("only who registered a namespace declares its member", async () => {
      const member = expected("ClusterMember") as ClusterMember;
      const annotated = (annotations: Readonly<Record<string, string>>) =>
        create(withMetadata(member, { annotations }));
      const refusers = await refusersOf([
        annotated({}),
        annotated({ [CLAIM_PROOF_ANNOTATION]: "" }),
        annotated({ [CLAIM_PROOF_ANNOTATION]: aClaim().slice(0, 32) }),
        annotated({ [CLAIM_PROOF_ANNOTATION]: claim.slice(0, 31) }),
        annotated({ [CLAIM_PROOF_ANNOTATION]: claim }),
        annotated({ ...member.metadata.annotations, more: "x" }),
      ]);
      expect(refusers).toEqual([JOIN_POLICY]);
    });

    test("an existing member is not altered, and nothing is read or taken away", async () => {
      const { cluster: id, namespace } = await hub.member();
      const { client } = token;
      const ref = { namespace, name: id };
      const member = (await hub.admin.get(CLUSTER_MEMBER, ref))!;
      const attempts = [
        client.replace(CLUSTER_MEMBER, member),
        client.replace(CLUSTER_MEMBER, member, { subresource: "status" }),
        client.delete(CLUSTER_MEMBER, ref),
        client.get(CLUSTER_MEMBER, ref),
        client.delete(NAMESPACE, { name: namespace }),
        client.get(NAMESPACE, { name: namespace }),
        client.list(NAMESPACE),
        client.list(SECRET, { namespace }),
        client.list(SERVICE_SHARE),
        client.create(SERVICE_SHARE, aServiceShare(namespace)),
      ];
      expect(await refusersOf(attempts)).toEqual([RBAC]);
    });

    test("no Lease is renewed or ended with it, though it hands out the permission to", async () => {
      const { cluster: id } = await hub.member();
      const ref = { namespace: HUB_NAMESPACE, name: id };
      const lease = (await hub.admin.get(LEASE, ref))!;
      const renewed = { ...lease, spec: { holderIdentity: "evil" } };
      for (const attempt of [
        token.client.replace(LEASE, renewed),
        token.client.delete(LEASE, ref),
      ].map(refusalOf)) {
        expect(await attempt).toMatchObject({
          by: JOIN_POLICY,
          says: expect.stringContaining("changes and deletes nothing") as string,
        });
      }
    });
  });
}
