// The roles of examples/rbac.yaml on real API servers: each is enough for what it is for, and no more than that.

import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from "vitest";
import { MEMBER_CRDS } from "../src/api/crds.ts";
import {
  CUSTOM_RESOURCE_DEFINITION,
  ENDPOINT_SLICE,
  NAMESPACE,
  SECRET,
  SERVICE,
} from "../src/api/builtin.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT } from "../src/api/mcs.ts";
import { type ClusterId, FIELD_MANAGER, KUBE_SERVICE_NAME_LABEL } from "../src/api/names.ts";
import type { KubeObject } from "../src/api/object.ts";
import { createLog } from "../src/cli/log.ts";
import { installCrds } from "../src/controllers/crd.ts";
import { keepCredential } from "../src/controllers/credential.ts";
import { HUB_SECRET, parseCredential, renderCredential } from "../src/hub/credential.ts";
import { AGENT_LEASE } from "../src/hub/local.ts";
import type { KubeClient } from "../src/kube/client.ts";
import { systemClock, systemRandom } from "../src/kube/clock.ts";
import type { Store } from "../src/ports/store.ts";
import { runElected } from "../src/runtime/leader.ts";
import { unique } from "./contract/objects.ts";
import { Access, permissionsOf, readChartRules, requireRole } from "./rbac/access.ts";
import { createRecorder } from "./rbac/recorder.ts";
import { type Member, runAs } from "./rbac/story.ts";
import { anEndpoint, anExport, anImport, aSlice, HEADLESS, HTTP } from "./scenarios/objects.ts";
import { expectAbsent, expectUsable } from "./scenarios/outcome.ts";
import { eventually } from "./scenarios/poll.ts";
import type { Site } from "./scenarios/site.ts";

const TIMEOUT_MS = 300_000;
const forbidden = { code: "Forbidden" };

const members: Member[] = [];
let access: Access;

beforeAll(async () => {
  for (const name of ["east", "west"]) {
    const cluster = inject("clusters").find((candidate) => candidate.name === name)!;
    const member = { cluster, access: new Access(cluster.kubeconfigPath) };
    members.push(member);
    const { admin } = member.access;
    await installCrds({ store: admin, crds: MEMBER_CRDS, clock: systemClock });
    await member.access.applyRoles();
  }
  access = members[0]!.access;
}, TIMEOUT_MS);

afterAll(async () => {
  const ends = await Promise.allSettled(members.map((member) => member.access.close()));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
});

async function everywhere(
  sites: readonly Site[],
  sentence: string,
  assertion: (site: Site) => Promise<void>,
): Promise<void> {
  await Promise.all(
    sites.map((site) => eventually(`in ${site.id}: ${sentence}`, () => assertion(site))),
  );
}

describe("central", () => {
  test("R70: with isthmus-central it does all its work, is refused nothing, and leaves no verb of it unused", {
    timeout: TIMEOUT_MS,
  }, async () => {
    const namespace = unique("rbac-");
    for (const member of members) await member.access.createNamespace(namespace);
    const roles = ["isthmus-central"];
    const { used, refusals } = await runAs(members, { roles, namespace, tell: liveThrough });
    expect(refusals).toEqual([]);
    expect(used).toEqual(permissionsOf(requireRole("isthmus-central")));
  });

  test("R70: to create namespaces it needs isthmus-central-namespaces besides, and all of that", {
    timeout: TIMEOUT_MS,
  }, async () => {
    const namespace = unique("rbac-");
    const [first, second] = members as [Member, Member];
    await first.access.createNamespace(namespace);
    second.access.removeNamespace(namespace);
    const { used, refusals } = await runAs(members, {
      roles: ["isthmus-central", "isthmus-central-namespaces"],
      namespaces: "create",
      namespace,
      tell: async (sites) => {
        const [east, west] = sites as [Site, Site];
        await east.offer("web", ["10.1.0.1"]);
        await eventually("it is imported", () => expectUsable(west, "web", ["10.1.0.1"]));
      },
    });
    expect(refusals).toEqual([]);
    const extra = permissionsOf(requireRole("isthmus-central-namespaces"));
    expect(used).toEqual(expect.arrayContaining([...extra]));
  });

  test("R70: with isthmus-central alone it may not create namespaces or touch CRDs", async () => {
    const central = await access.become(["isthmus-central"]);
    await eventually("the role is in force", () => central.list(NAMESPACE));
    const metadata = { name: unique("rbac-") };
    const object = { apiVersion: "v1", kind: "Namespace", metadata };
    await expect(central.create(NAMESPACE, object, { dryRun: true })).rejects.toMatchObject(
      forbidden,
    );
    await expect(central.list(CUSTOM_RESOURCE_DEFINITION)).rejects.toMatchObject(forbidden);
  });

  test("R70: with isthmus-central-crds it installs its CRDs and may change no other", async () => {
    const installer = await access.become(["isthmus-central-crds"]);
    const [crd] = MEMBER_CRDS;
    const { name } = crd!.metadata as { readonly name: string };
    await eventually("the role is in force", () =>
      installer.get(CUSTOM_RESOURCE_DEFINITION, { name }),
    );
    const done = await installCrds({ store: installer, crds: MEMBER_CRDS, clock: systemClock });
    expect(done.map((installation) => installation.name)).toEqual(
      MEMBER_CRDS.map(({ metadata }) => metadata.name),
    );
    // They are there already: permission is asked for before that is noticed.
    await expect(
      installer.create(CUSTOM_RESOURCE_DEFINITION, crd!, { dryRun: true }),
    ).rejects.toMatchObject({ code: "AlreadyExists" });
    const writing = { fieldManager: FIELD_MANAGER, force: true, dryRun: true };
    for (const each of MEMBER_CRDS) {
      await installer.apply(CUSTOM_RESOURCE_DEFINITION, each, writing);
    }
    const other = { ...crd!, metadata: { name: "gadgets.example.com" } };
    await expect(installer.apply(CUSTOM_RESOURCE_DEFINITION, other, writing)).rejects.toMatchObject(
      forbidden,
    );
  });
});

describe("the agent", () => {
  test("R70: with its Role in its own namespace it leads and keeps its credential, and leaves no verb of it unused", async () => {
    const namespace = await access.createNamespace();
    const rules = readChartRules("Role");
    const client = await access.becomeOne(rules, namespace);
    const credential = {
      cluster: "east" as ClusterId,
      server: "https://hub.example.com:6443",
      claim: "0".repeat(64),
      // Made in 1970: it is renewed at once.
      token: `e30.${Buffer.from('{"iat":0}').toString("base64url")}.signature`,
    };
    const secret = renderCredential(credential);
    const { metadata } = secret;
    await access.admin.create(SECRET, { ...secret, metadata: { ...metadata, namespace } });
    await eventually("the Role is in force", () =>
      client.get(SECRET, { ...HUB_SECRET, namespace }),
    );
    const recorder = createRecorder(client);
    const store = moveTo(namespace, recorder.store);
    const log = createLog("error", () => {});
    const parts = { store, clock: systemClock, random: systemRandom, log };
    const keeper = keepCredential({
      ...parts,
      credential,
      requestToken: async () => "second",
      onMoved: () => {},
    });
    onTestFinished(() => keeper.stop());
    await eventually("a new token is written back", async () => {
      const parsed = parseCredential((await store.get(SECRET, HUB_SECRET))!);
      expect(parsed).toMatchObject({ ok: true, value: { token: "second" } });
    });

    const stopping = new AbortController();
    const election = { ...parts, lease: AGENT_LEASE, identity: "one" };
    await runElected(election, async () => stopping.abort(), stopping.signal);
    expect(recorder.refusals()).toEqual([]);
    expect(recorder.used()).toEqual(permissionsOf({ rules }));
  });
});

/** What is asked of the agent's namespace is asked of another. */
function moveTo(namespace: string, store: Store): Store {
  const move = <T extends { readonly namespace?: string }>(place: T): T => ({
    ...place,
    namespace,
  });
  const moveObject = <T extends KubeObject>(object: T): T => ({
    ...object,
    metadata: move(object.metadata),
  });
  return {
    ...store,
    get: (resource, ref, options) => store.get(resource, move(ref), options),
    create: (resource, object, options) => store.create(resource, moveObject(object), options),
    replace: (resource, object, options) => store.replace(resource, moveObject(object), options),
  };
}

/** From the first export to the last one's end, with everything between that makes central write. */
async function liveThrough(sites: readonly Site[]): Promise<void> {
  const [east, west] = sites as [Site, Site];

  await east.offer("web", ["10.1.0.1"]);
  await everywhere(sites, "the service is imported", async (site) => {
    await expectUsable(site, "web", ["10.1.0.1"]);
    const { spec } = await site.derived("web");
    expect((await site.serviceImport("web")).spec?.ips).toEqual(spec?.clusterIPs);
  });
  await eventually("the export says so", async () => {
    expect(await east.exportConditions("web")).toMatchObject({ Ready: { status: "True" } });
  });

  await west.offer("web", ["10.2.0.1"], { ports: [{ ...HTTP, port: 81 }] });
  await everywhere(sites, "both owners are told of the conflict", async (site) => {
    expect(await site.exportConditions("web")).toMatchObject({ Conflict: { status: "True" } });
    expect((await site.events("web")).map(({ reason }) => reason)).toContain("Conflict");
    const { status } = await site.serviceImport("web");
    expect(status?.clusters).toEqual([{ cluster: "east" }, { cluster: "west" }]);
  });

  await east.edit(SERVICE, "web", (service) => ({
    ...service,
    spec: { ...service.spec, sessionAffinity: "ClientIP" as const },
  }));
  await everywhere(sites, "the derived Service follows", async (site) => {
    expect((await site.derived("web")).spec?.sessionAffinity).toBe("ClientIP");
  });

  await west.edit(SERVICE_IMPORT, "web", (object) => ({
    ...object,
    spec: { ...object.spec!, trafficDistribution: "PreferClose" },
  }));
  await eventually("a hand's edit of an import is taken back", async () => {
    expect((await west.serviceImport("web")).spec).not.toHaveProperty("trafficDistribution");
  });

  await west.unexport("web");
  await everywhere(sites, "one exporter is left", async (site) => {
    expect((await site.serviceImport("web")).status?.clusters).toEqual([{ cluster: "east" }]);
  });

  await west.export("ghost");
  await eventually("the owner of an invalid export is told", async () => {
    expect((await west.events("ghost")).map(({ reason }) => reason)).toEqual(["NoService"]);
  });

  await east.offer("db", ["10.1.0.9"], HEADLESS);
  await eventually("a headless service is imported", () => expectUsable(west, "db", ["10.1.0.9"]));
  const [slice] = await west.slices("db");
  const sliceName = slice!.metadata.name!;
  await west.edit(ENDPOINT_SLICE, sliceName, (object) => ({
    ...object,
    metadata: {
      ...object.metadata,
      labels: { ...object.metadata.labels, [KUBE_SERVICE_NAME_LABEL]: "db" },
    },
  }));
  await eventually("a hand's link to a Service is taken back", async () => {
    const { labels } = (await west.require(ENDPOINT_SLICE, sliceName)).metadata;
    expect(labels).not.toHaveProperty([KUBE_SERVICE_NAME_LABEL]);
  });

  await east.unexport("web");
  await east.unexport("db");
  await everywhere(sites, "nothing is left", async (site) => {
    await expectAbsent(site, "web");
    await expectAbsent(site, "db");
  });
}

describe("people and DNS servers", () => {
  let own: string;
  let foreign: string;
  /** Without the controller that aggregates roles, each part has to be bound by itself. */
  let withParts: (role: string, part: string) => readonly string[];

  beforeAll(async () => {
    own = await access.createNamespace();
    foreign = await access.createNamespace();
    await access.admin.create(SERVICE_IMPORT, anImport(own, "there"));
    await access.admin.create(SERVICE_EXPORT, anExport(own, "there"));
    const { hasControllerManager } = members[0]!.cluster;
    withParts = (role, part) => (hasControllerManager ? [role] : [role, part]);
  });

  async function expectNoImportWrites(client: KubeClient): Promise<void> {
    const there = (await access.admin.get(SERVICE_IMPORT, { namespace: own, name: "there" }))!;
    const ref = { namespace: own, name: "there" };
    const writing = { fieldManager: "somebody", force: true };
    const attempts = [
      client.create(SERVICE_IMPORT, anImport(own, "new")),
      client.apply(SERVICE_IMPORT, anImport(own, "new"), writing),
      client.replace(SERVICE_IMPORT, there),
      client.replace(SERVICE_IMPORT, there, { subresource: "status" }),
      client.delete(SERVICE_IMPORT, ref),
    ];
    const answers = await Promise.allSettled(attempts);
    for (const answer of answers) {
      expect(answer).toMatchObject({ status: "rejected", reason: forbidden });
    }
  }

  test("R68: who may edit a namespace may export from it, and from no other", async () => {
    const owner = await access.become(withParts("edit", "isthmus-export"), own);
    await eventually("the owner exports", () => owner.create(SERVICE_EXPORT, anExport(own, "web")));
    await expect(owner.create(SERVICE_EXPORT, anExport(foreign, "web"))).rejects.toMatchObject(
      forbidden,
    );
    const made = (await owner.get(SERVICE_EXPORT, { namespace: own, name: "web" }))!;
    await expect(
      owner.replace(SERVICE_EXPORT, made, { subresource: "status" }),
    ).rejects.toMatchObject(forbidden);
    expect(await owner.delete(SERVICE_EXPORT, { namespace: own, name: "web" })).toBe(true);
  });

  test("R68: so may who administrates it", async () => {
    const owner = await access.become(withParts("admin", "isthmus-export"), own);
    const made = await eventually("the owner exports", () =>
      owner.create(SERVICE_EXPORT, anExport(own, "web-2")),
    );
    expect(made.metadata.name).toBe("web-2");
  });

  test("R69: who may edit a namespace reads its imports and cannot write them", async () => {
    const owner = await access.become(withParts("edit", "isthmus-export"), own);
    const { items } = await eventually("the owner reads", () =>
      owner.list(SERVICE_IMPORT, { namespace: own }),
    );
    expect(items.map(({ metadata }) => metadata.name)).toEqual(["there"]);
    await expectNoImportWrites(owner);
  });

  test("R69: who may view a namespace reads exports and imports and writes neither", async () => {
    const viewer = await access.become(withParts("view", "isthmus-view"), own);
    const ref = { namespace: own, name: "there" };
    const found = await eventually("the viewer reads", async () => [
      await viewer.get(SERVICE_EXPORT, ref),
      await viewer.get(SERVICE_IMPORT, ref),
    ]);
    expect(found.map((object) => object?.kind)).toEqual(["ServiceExport", "ServiceImport"]);
    await expectNoImportWrites(viewer);
    await expect(viewer.create(SERVICE_EXPORT, anExport(own, "new"))).rejects.toMatchObject(
      forbidden,
    );
    await expect(viewer.delete(SERVICE_EXPORT, ref)).rejects.toMatchObject(forbidden);
  });

  test.each([
    ["isthmus-export", "exported"],
    ["isthmus-view", "Forbidden"],
  ])(
    "R69: without the built-in roles %s reads imports and where they lead, writes neither, and an export is %s",
    async (role, outcome) => {
      const slice = aSlice(own, unique("slice-"), { endpoints: [anEndpoint("10.1.0.1")] });
      const { name = "" } = (await access.admin.create(ENDPOINT_SLICE, slice)).metadata;
      const somebody = await access.become([role], own);
      const { items } = await eventually("endpoints are read", () =>
        somebody.list(ENDPOINT_SLICE, { namespace: own }),
      );
      expect(items.map(({ metadata }) => metadata.name)).toContain(name);
      expect((await somebody.list(SERVICE_IMPORT, { namespace: own })).items).toHaveLength(1);
      await expectNoImportWrites(somebody);
      const ref = { namespace: own, name };
      await expect(somebody.delete(ENDPOINT_SLICE, ref)).rejects.toMatchObject(forbidden);
      const answer = await somebody.create(SERVICE_EXPORT, anExport(own, unique("web-"))).then(
        () => "exported",
        (error: { readonly code?: string }) => error.code,
      );
      expect(answer).toBe(outcome);
    },
  );

  test("R71: a DNS server lists and watches the imports of all namespaces and does nothing else", async () => {
    const dns = await access.become(["isthmus-dns"]);
    const { items, resourceVersion } = await eventually("the server lists", () =>
      dns.list(SERVICE_IMPORT),
    );
    expect(items.map(({ metadata }) => metadata.namespace)).toContain(own);
    const seen: (string | undefined)[] = [];
    const watching = new AbortController();
    const watched = dns.watch(
      SERVICE_IMPORT,
      { resourceVersion, signal: watching.signal },
      (event) => {
        if (event.type !== "BOOKMARK") seen.push(event.object.metadata.namespace);
      },
    );
    const looked = (async () => {
      await access.admin.create(SERVICE_IMPORT, anImport(foreign, "later"));
      await eventually("the server sees a new one", () => expect(seen).toContain(foreign));
    })().finally(() => watching.abort());
    // Together: a watch that is refused says so at once.
    await Promise.all([watched, looked]);
    await expectNoImportWrites(dns);
    const ref = { namespace: own, name: "there" };
    await expect(dns.get(SERVICE_IMPORT, ref)).rejects.toMatchObject(forbidden);
    await expect(dns.list(SERVICE_EXPORT)).rejects.toMatchObject(forbidden);
  });
});
