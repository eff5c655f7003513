// `isthmus hub init`, `hub token` and `join` on real API servers: what they write on both sides, and what they refuse.

import { readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { CLUSTER_PROPERTY } from "../src/api/about.ts";
import { LEASE, NAMESPACE, SECRET } from "../src/api/builtin.ts";
import { MEMBER_CRDS } from "../src/api/crds.ts";
import { CLUSTER_MEMBER } from "../src/api/isthmus.ts";
import { JOIN_TOKEN } from "../src/api/jointoken.ts";
import { type ClusterId, FIELD_MANAGER, HUB_NAMESPACE, memberNamespace } from "../src/api/names.ts";
import type { KubeObject } from "../src/api/object.ts";
import { installCrds } from "../src/controllers/crd.ts";
import { HUB_SECRET } from "../src/hub/credential.ts";
import { renderAgentAccess } from "../src/hub/local.ts";
import { renderMember } from "../src/hub/manifest/member.ts";
import { resourceOf } from "../src/hub/manifest/resource.ts";
import { parseTicket } from "../src/hub/ticket.ts";
import { systemClock } from "../src/kube/clock.ts";
import { mustRefuse, mustRun, runCommand } from "./commandLine.ts";
import { requireKubectl } from "./controlplane/binaries.ts";
import { Kubectl } from "./kubectl.ts";
import {
  asMember,
  type Candidate,
  credentialOf,
  joinArgs,
  type MembershipWorld,
  startMembershipWorld,
} from "./membershipWorld.ts";
import { eventually } from "./scenarios/poll.ts";

const TIMEOUT_MS = 180_000;
const EAST = { namespace: "isthmus-member-east", name: "east" };

let world: MembershipWorld;
let hub: Candidate;
let away: Candidate;

beforeAll(async () => {
  world = await startMembershipWorld("join");
  ({ hub, away } = world);
}, TIMEOUT_MS);
afterEach(() => world.reset(), TIMEOUT_MS);
afterAll(() => world?.stop(), TIMEOUT_MS);

const aToken = (...flags: string[]): Promise<string> => world.aToken(...flags);
const asAdmin = (): readonly string[] => ["--hub-kubeconfig", hub.cluster.kubeconfigPath];

async function kubectlApply({ cluster }: Candidate, manifest: string): Promise<void> {
  const kubectl = await Kubectl.create({
    binary: process.env["KUBECTL"] || (await requireKubectl()),
    kubeconfig: readFileSync(cluster.kubeconfigPath, "utf8"),
    namespace: "default",
  });
  onTestFinished(() => kubectl.remove());
  for (const object of parseYaml(manifest)) {
    const { namespace = "default" } = object.metadata;
    await kubectl.run(["apply", "-n", namespace, "-f", "-"], JSON.stringify(object));
  }
}

function parseYaml(text: string): readonly KubeObject[] {
  return parseAllDocuments(text).map((document) => document.toJS() as KubeObject);
}

describe("hub init", () => {
  test("run again it changes nothing, and says so", async () => {
    const out = await mustRun(["hub", "init", "--no-token", ...hub.at]);
    expect(out).toContain("unchanged");
    expect(out).not.toMatch(/created|updated/);
  });

  test("ends with the exact line to join with, and warns of an address that only this machine reaches", async () => {
    const { code, out, err } = await runCommand(["hub", "init", ...hub.at]);
    expect(code).toBe(0);
    const [, word] = /^ {2}isthmus join --token (\S+) --cluster-id NAME$/m.exec(out)!;
    expect(parseTicket(word!)).toMatchObject({ ok: true, value: { server: hub.cluster.url } });
    expect(err).toContain("reached from this machine only");
  });

  test("remembers the address that members are to use, for every later token", async () => {
    const server = "https://hub.example.org:6443";
    const { err } = await runCommand(["hub", "init", "--no-token", "--server", server, ...hub.at]);
    onTestFinished(async () => {
      await mustRun(["hub", "init", "--no-token", "--server", hub.cluster.url, ...hub.at]);
    });
    expect(err).toBe("");
    expect(parseTicket(await aToken())).toMatchObject({ value: { server } });
  });

  test("-o yaml prints just what it applies: applying it changes nothing", async () => {
    const objects = parseYaml(await mustRun(["hub", "init", "-o", "yaml", ...hub.at]));
    expect(objects.map(({ kind }) => kind)).toContain("ValidatingAdmissionPolicy");
    const others = objects.filter(({ kind }) => kind !== "CustomResourceDefinition");
    expect(objects.length - others.length).toBe(4);
    for (const object of others) {
      const resource = resourceOf(object);
      const { name } = object.metadata as { readonly name: string };
      const before = await hub.admin.get(resource, { name });
      const options = { fieldManager: FIELD_MANAGER, dryRun: true };
      const after = await hub.admin.apply(resource, object, options);
      expect(after.metadata.resourceVersion).toBe(before?.metadata.resourceVersion);
    }
  });

  test("refuses an address that is not https", async () => {
    const err = await mustRefuse(["hub", "init", "--server", "hub.example.org", ...hub.at]);
    expect(err).toContain("ArgumentInvalid");
  });
});

describe("hub token", () => {
  test("on a cluster that is no hub it says so", async () => {
    for (const args of [
      ["hub", "token"],
      ["hub", "token", "list"],
      ["hub", "token", "delete", "abc"],
      ["hub", "evict", "east"],
      ["hub", "evict", "--lost-for", "1h"],
    ]) {
      expect(await mustRefuse([...args, ...away.at])).toContain("HubMissing");
    }
  });

  test("lists what each was used for, and deletes: the holder is refused from then on", async () => {
    const token = await aToken("--uses", "2");
    const ticket = parseTicket(token);
    const { name } = (ticket as { value: { name: string } }).value;
    await mustRun(joinArgs(away, "east", "--token", token));
    const list = await mustRun(["hub", "token", "list", ...hub.at]);
    expect(list).toMatch(new RegExp(`^${name} +1 of 2 .* east$`, "m"));
    await mustRun(["hub", "token", "delete", name, ...hub.at]);
    expect(await mustRefuse(joinArgs(hub, "west", "--token", token))).toContain("JoinTokenRefused");
    expect(await credentialOf(hub)).toBeUndefined();
    expect(await mustRefuse(["hub", "token", "delete", name, ...hub.at])).toContain(name);
    const { items } = await hub.admin.list(JOIN_TOKEN, { fieldSelector: `metadata.name=${name}` });
    expect(items).toEqual([]);
  });

  test("whose time is over is refused, and swept when the next one is made", async () => {
    const token = await aToken("--ttl", "1s");
    await eventually("its time is over", async () => {
      expect(await mustRun(["hub", "token", "list", ...hub.at])).toContain("expired");
    });
    expect(await mustRefuse(joinArgs(away, "east", "--token", token))).toContain(
      "JoinTokenRefused",
    );
    expect(await hub.admin.get(NAMESPACE, { name: "isthmus-member-east" })).toBeUndefined();
    await aToken();
    expect(await mustRun(["hub", "token", "list", ...hub.at])).not.toContain("expired");
  });

  test("refuses limits that make no sense", async () => {
    const wrong = [
      ["--uses", "0"],
      ["--uses", "many"],
      ["--ttl", "1"],
      ["--ttl", "31d"],
    ];
    for (const flags of wrong) {
      expect(await mustRefuse(["hub", "token", ...flags, ...hub.at])).toContain("ArgumentInvalid");
    }
  });
});

describe("join", () => {
  test("registers the cluster with what it declares, installs what its agent needs, and its credential works", {
    timeout: TIMEOUT_MS,
  }, async () => {
    const token = await aToken();
    const flags = ["--token", token, "--region", "eu", "--zone", "eu-1"];
    const out = await mustRun(joinArgs(away, "east", ...flags));
    expect(out).toContain("isthmus agent");
    expect(out).toMatch(/^Namespace +isthmus-system +created$/m);
    expect((await hub.admin.get(CLUSTER_MEMBER, EAST))?.spec).toEqual({
      podCIDRs: ["10.2.0.0/16"],
      serviceCIDRs: [...away.cluster.serviceCidrs],
      topology: { region: "eu", zones: ["eu-1"] },
    });
    expect(await hub.admin.get(LEASE, { namespace: HUB_NAMESPACE, name: "east" })).toBeDefined();
    for (const { resource, object } of renderAgentAccess()) {
      const { namespace, name = "" } = object.metadata;
      const found = await away.admin.get(resource, { ...(namespace && { namespace }), name });
      expect(found).toMatchObject(object);
    }
    const properties = await away.admin.list(CLUSTER_PROPERTY);
    expect(properties.items.map(({ metadata, spec }) => [metadata.name, spec?.value])).toEqual([
      ["cluster.clusterset.k8s.io", "east"],
      ["clusterset.k8s.io", "isthmus"],
    ]);
    const member = await asMember(away);
    expect((await member.list(CLUSTER_MEMBER)).items).toHaveLength(1);
    await expect(member.list(NAMESPACE)).rejects.toMatchObject({ code: "Forbidden" });
  });

  test("run again it says so and changes nothing; under another id it is refused", async () => {
    await mustRun(joinArgs(away, "east", "--token", await aToken()));
    const before = await away.admin.get(SECRET, HUB_SECRET);
    // A token that is used up and no ranges: neither is needed any more.
    const out = await mustRun(["join", "--token", await aToken(), ...away.at]);
    expect(out).toContain("east is a member of the hub");
    expect(out).not.toMatch(/created|updated/);
    expect(await away.admin.get(SECRET, HUB_SECRET)).toEqual(before);
    const err = await mustRefuse(joinArgs(away, "west", "--token", await aToken()));
    expect(err).toContain("AlreadyMember");
  });

  test("refuses a token that is used up, writing nothing", async () => {
    const token = await aToken();
    await mustRun(joinArgs(away, "east", "--token", token));
    expect(await mustRefuse(joinArgs(hub, "west", "--token", token))).toContain("JoinTokenUsed");
    expect(await hub.admin.get(SECRET, HUB_SECRET)).toBeUndefined();
    expect(await hub.admin.get(NAMESPACE, { name: "isthmus-member-west" })).toBeUndefined();
  });

  test("refuses a taken id, whether with a token of its own, a shared one or as administrator", async () => {
    const shared = await aToken("--uses", "3");
    await mustRun(joinArgs(away, "east", "--token", shared));
    const before = await hub.admin.get(CLUSTER_MEMBER, EAST);
    for (const how of [["--token", shared], ["--token", await aToken()], asAdmin()]) {
      expect(await mustRefuse(joinArgs(hub, "east", ...how))).toContain("ClusterIdTaken");
      expect(await hub.admin.get(SECRET, HUB_SECRET)).toBeUndefined();
    }
    expect(await hub.admin.get(CLUSTER_MEMBER, EAST)).toEqual(before);
    // And another one is not in the way of the next try.
    await mustRun(joinArgs(hub, "west", "--token", shared));
  });

  test("an administrator of the hub needs no token, is refused ranges that overlap, and may declare anew", async () => {
    await mustRun(joinArgs(hub, "home", ...asAdmin()));
    const overlap = ["join", "--cluster-id", "east", "--pod-cidr", "10.1.128.0/17", ...asAdmin()];
    expect(await mustRefuse([...overlap, ...away.at])).toContain("AddressRangesOverlap");
    await mustRun(joinArgs(away, "east", ...asAdmin()));
    const out = await mustRun(["join", "--pod-cidr", "10.3.0.0/16", ...asAdmin(), ...away.at]);
    expect(out).toMatch(/^east declares now:\n +pods +10\.3\.0\.0\/16$/m);
    const again = await mustRun(["join", "--pod-cidr", "10.3.0.0/16", ...asAdmin(), ...away.at]);
    expect(again).not.toContain("declares");
    expect((await hub.admin.get(CLUSTER_MEMBER, EAST))?.spec.podCIDRs).toEqual(["10.3.0.0/16"]);
  });

  test("an address of the hub that does not answer here may answer the cluster: the administrator is warned", async () => {
    const nowhere = ["--hub-server", "https://127.0.0.1:1"];
    const { code, err } = await runCommand(joinArgs(away, "east", ...asAdmin(), ...nowhere));
    expect(code).toBe(0);
    expect(err).toContain("does not answer at https://127.0.0.1:1");
    expect(await mustRefuse(joinArgs(away, "east", ...asAdmin()))).toContain("--hub-kubeconfig");
    await mustRun(["leave", ...asAdmin(), ...away.at]);
    expect(await hub.admin.get(CLUSTER_MEMBER, EAST)).toBeUndefined();
  });

  test("with a token, which cannot see the others, it warns of ranges that overlap", async () => {
    const token = await aToken("--uses", "2");
    await mustRun(joinArgs(away, "east", "--token", token));
    const args = ["join", "--cluster-id", "home", "--pod-cidr", "10.2.3.0/24", "--token", token];
    const { code, err } = await runCommand([...args, ...hub.at]);
    expect(code).toBe(0);
    expect(err).toContain("overlaps the pod range 10.2.0.0/16 of east");
  });

  test("refuses what cannot be, before anything is written", async () => {
    const token = await aToken();
    const cases: readonly (readonly [string, readonly string[]])[] = [
      ["ClusterIdInvalid", ["--cluster-id", "East"]],
      ["ClusterIdInvalid", ["--cluster-id", "e".repeat(49)]],
      ["AddressRangesUnknown", ["--cluster-id", "east"]],
      ["ArgumentInvalid", ["--cluster-id", "east", "--pod-cidr", "10.0.0.0"]],
      ["ArgumentInvalid", ["--cluster-id", "east", "--region", "a b"]],
      ["ArgumentInvalid", ["--cluster-id", "east", "--hub-server", "https://127.0.0.1:1"]],
    ];
    for (const [code, flags] of cases) {
      expect(await mustRefuse(["join", "--token", token, ...flags, ...away.at])).toContain(code);
    }
    expect(await mustRefuse(["join", "--token", "isthmus1.x", ...away.at])).toContain(
      "JoinTokenInvalid",
    );
    expect(await mustRefuse(["join", "--cluster-id", "east", ...away.at])).toContain("--token");
    expect(await away.admin.get(SECRET, HUB_SECRET)).toBeUndefined();
  });

  test("an id that the cluster already has is used, and another one refused", async () => {
    await installCrds({ store: away.admin, crds: MEMBER_CRDS, clock: systemClock });
    const property = {
      apiVersion: "about.k8s.io/v1beta1",
      kind: "ClusterProperty",
      metadata: { name: "cluster.clusterset.k8s.io" },
      spec: { value: "given" },
    };
    await away.admin.create(CLUSTER_PROPERTY, property);
    onTestFinished(async () => {
      await away.admin.delete(CLUSTER_PROPERTY, { name: property.metadata.name });
    });
    const token = await aToken();
    expect(await mustRefuse(joinArgs(away, "east", "--token", token))).toContain(
      "ClusterIdInvalid",
    );
    const range = ["--pod-cidr", "10.2.0.0/16"];
    expect(await mustRun(["join", "--token", token, ...range, ...away.at])).toContain("given is");
    await mustRun(["leave", ...away.at]);
    // It was there before, and stays.
    expect(await away.admin.get(CLUSTER_PROPERTY, { name: property.metadata.name })).toBeDefined();
  });

  test("-o yaml changes nothing; applied to both sides, it is the join but for the credential, which join then fetches", async () => {
    const printed = await mustRun(joinArgs(away, "east", "-o", "yaml", ...asAdmin()));
    expect(await away.admin.get(SECRET, HUB_SECRET)).toBeUndefined();
    const [, onHub, inCluster] = printed.split(/^---\n# (?:On the hub|In the cluster).*\n/m);
    await kubectlApply(hub, onHub!);
    await installCrds({ store: away.admin, crds: MEMBER_CRDS, clock: systemClock });
    await kubectlApply(away, inCluster!);
    const registered = parseYaml(onHub!);
    const cluster = "east" as ClusterId;
    const before = await hub.admin.get(NAMESPACE, { name: memberNamespace(cluster) });
    await mustRun(joinArgs(away, "east", ...asAdmin()));
    expect(await hub.admin.get(NAMESPACE, { name: memberNamespace(cluster) })).toEqual(before);
    const credential = (await credentialOf(away))!;
    const member = await asMember(away);
    expect((await member.list(CLUSTER_MEMBER)).items).toHaveLength(1);
    const { spec: declared } = (await member.list(CLUSTER_MEMBER)).items[0]!;
    const rendered = renderMember({ cluster, claim: credential.claim, spec: declared });
    expect(rendered).toEqual(registered);
  });
});
