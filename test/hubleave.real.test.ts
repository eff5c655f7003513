// `isthmus leave` and `hub evict` on real API servers, and joins that are cut off: nothing is left of a membership but what
// users made themselves, and a running agent does not bring anything back.

import { readFileSync } from "node:fs";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { CONFIG_MAP, LEASE, NAMESPACE, SECRET, SERVICE } from "../src/api/builtin.ts";
import { MEMBER_CRDS } from "../src/api/crds.ts";
import { SERVICE_SHARE } from "../src/api/hubshare.ts";
import { CLUSTER_MEMBER } from "../src/api/isthmus.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT } from "../src/api/mcs.ts";
import { type ClusterId, HUB_NAMESPACE } from "../src/api/names.ts";
import { createLog } from "../src/cli/log.ts";
import { carryOutJoin } from "../src/controllers/join.ts";
import { planJoin } from "../src/controllers/joinplan.ts";
import type { HubDoor } from "../src/controllers/register.ts";
import { installCrds } from "../src/controllers/crd.ts";
import { startCentral } from "../src/controllers/central.ts";
import { createPolicy } from "../src/core/policy.ts";
import { HUB_SECRET } from "../src/hub/credential.ts";
import { AGENT_LEASE } from "../src/hub/local.ts";
import { renderMember } from "../src/hub/manifest/member.ts";
import { resourceOf } from "../src/hub/manifest/resource.ts";
import { parseTicket } from "../src/hub/ticket.ts";
import { createClient } from "../src/kube/client.ts";
import { systemClock, systemRandom } from "../src/kube/clock.ts";
import { directConfig } from "../src/kube/config.ts";
import { requestToken } from "../src/kube/tokenrequest.ts";
import { StoreError, type Store } from "../src/ports/store.ts";
import { runElected } from "../src/runtime/leader.ts";
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
  world = await startMembershipWorld("leave");
  ({ hub, away } = world);
  for (const { admin } of [hub, away]) {
    await installCrds({ store: admin, crds: MEMBER_CRDS, clock: systemClock });
  }
}, TIMEOUT_MS);
afterEach(() => world.reset(), TIMEOUT_MS);
afterAll(() => world?.stop(), TIMEOUT_MS);

const asAdmin = (): readonly string[] => ["--hub-kubeconfig", hub.cluster.kubeconfigPath];

/** Everything that the cluster holds, but for what comes and goes by itself. */
async function inventory({ cluster }: Candidate): Promise<readonly string[]> {
  const kubectl = await Kubectl.create({
    binary: process.env["KUBECTL"] || (await requireKubectl()),
    kubeconfig: readFileSync(cluster.kubeconfigPath, "utf8"),
    namespace: "default",
  });
  onTestFinished(() => kubectl.remove());
  const kinds = await kubectl.run(["api-resources", "--verbs=list", "-o", "name"]);
  const listed = kinds
    .trim()
    .split("\n")
    .filter((kind) => !/^(events|events\.events|ipaddresses|jointokens)/.test(kind));
  const format =
    '-o=jsonpath={range .items[*]}{.kind}/{.metadata.namespace}/{.metadata.name}{"\\n"}{end}';
  const found = await kubectl.run(["get", listed.join(","), "-A", format]);
  return (
    found
      .trim()
      .split("\n")
      .filter((line) => !/\/(isthmus-join-|join-|kube-root-ca|apiserver-)/.test(line))
      // Every namespace gets it, some time after it was made.
      .filter((line) => !/^ServiceAccount\/.*\/default$/.test(line))
      .toSorted()
  );
}

describe("leave", () => {
  test("withdraws all shares and removes all imports; what users made stays, as they made it", {
    timeout: TIMEOUT_MS,
  }, async () => {
    const namespace = "shop";
    const metadata = { namespace, name: "web" };
    for (const { admin } of [hub, away]) {
      await admin.create(NAMESPACE, {
        apiVersion: "v1",
        kind: "Namespace",
        metadata: { name: namespace },
      });
      onTestFinished(async () => void (await admin.delete(NAMESPACE, { name: namespace })));
      await admin.create(SERVICE, {
        apiVersion: "v1",
        kind: "Service",
        metadata,
        spec: { ports: [{ port: 80 }] },
      });
      await admin.create(CONFIG_MAP, { apiVersion: "v1", kind: "ConfigMap", metadata });
      await admin.create(SERVICE_EXPORT, {
        apiVersion: "multicluster.x-k8s.io/v1beta1",
        kind: "ServiceExport",
        metadata,
      });
      await admin.create(SERVICE_IMPORT, {
        apiVersion: "multicluster.x-k8s.io/v1beta1",
        kind: "ServiceImport",
        metadata: { namespace, name: "by-hand" },
        spec: { type: "ClusterSetIP", ports: [{ port: 80 }] },
      });
    }
    const before = await inventory(away);
    const handmade = await away.admin.get(SERVICE_IMPORT, { namespace, name: "by-hand" });
    await mustRun(joinArgs(away, "east", "--token", await world.aToken()));
    await importEverything();
    const member = await asMember(away);
    await member.create(SERVICE_SHARE, {
      apiVersion: "isthmus.dev/v1alpha1",
      kind: "ServiceShare",
      metadata: { namespace: EAST.namespace, name: "shop.web" },
      spec: {
        exportedAt: "2026-01-02T03:04:05Z",
        type: "ClusterSetIP",
        ports: [{ port: 80, protocol: "TCP" }],
        ipFamilies: ["IPv4"],
      },
    });
    const out = await mustRun(["leave", ...away.at]);
    expect(out).toMatch(
      /On the hub: 1 ServiceShare, 1 ClusterMember, 1 Lease, 1 Namespace removed/,
    );
    expect(out).toMatch(/In the cluster: 1 ServiceImport, 2 Services/);
    await eventually("the cluster is as it was", async () => {
      expect(await inventory(away)).toEqual(before);
    });
    const after = await away.admin.get(SERVICE_IMPORT, { namespace, name: "by-hand" });
    expect(after?.spec).toEqual(handmade?.spec);
    expect(after?.metadata.annotations).toBeUndefined();
    const served = await away.admin.get(SERVICE_EXPORT, metadata);
    expect(served?.status?.conditions ?? []).toEqual([]);
    await eventually("the hub holds nothing of it", async () => {
      expect((await inventory(hub)).filter((line) => /east/.test(line))).toEqual([]);
    });
  });

  /** As an agent would: a managed import with a virtual IP, one made by hand, a report on the export. */
  async function importEverything(): Promise<void> {
    const central = startCentral({
      members: [
        { name: "east", givenId: "east", store: away.admin },
        { name: "home", givenId: "home", store: hub.admin },
      ],
      policy: createPolicy({}),
      clock: systemClock,
      random: systemRandom,
      log: createLog("error", () => {}),
    });
    try {
      await eventually("everything is imported", async () => {
        const made = await away.admin.get(SERVICE_IMPORT, { namespace: "shop", name: "web" });
        const byHand = await away.admin.get(SERVICE_IMPORT, { namespace: "shop", name: "by-hand" });
        const web = await away.admin.get(SERVICE_EXPORT, { namespace: "shop", name: "web" });
        expect([made?.spec?.ips?.length, byHand?.spec?.ips?.length]).toEqual([1, 1]);
        expect(web?.status?.conditions).toHaveLength(3);
      });
    } finally {
      await central.stop();
    }
  }

  test("is refused while an agent is at work; forced, it takes the lease, and the agent writes no more", {
    timeout: TIMEOUT_MS,
  }, async () => {
    await mustRun(joinArgs(away, "east", ...asAdmin()));
    const stop = new AbortController();
    let terms = 0;
    let isLeading = (): boolean => false;
    const agent = runElected(
      {
        store: away.admin,
        clock: systemClock,
        random: systemRandom,
        log: createLog("error", () => {}),
        lease: AGENT_LEASE,
        identity: "agent-1",
      },
      async ({ signal, mayWrite }) => {
        terms += 1;
        isLeading = mayWrite;
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      },
      stop.signal,
    );
    onTestFinished(async () => {
      stop.abort();
      await agent;
    });
    await eventually("the agent leads", () => expect(isLeading()).toBe(true));

    const err = await mustRefuse(["leave", ...away.at]);
    expect(err).toContain("AgentRunning");
    expect(err).toContain("agent-1");
    expect(await hub.admin.get(CLUSTER_MEMBER, EAST)).toBeDefined();
    expect(isLeading()).toBe(true);

    const wasLeading: boolean[] = [];
    const run = runCommand(["leave", "--force", ...away.at], {
      out: () => wasLeading.push(isLeading()),
    });
    expect((await run).code).toBe(0);
    // From the first thing that was removed on.
    expect(wasLeading.length).toBeGreaterThan(0);
    expect(wasLeading).not.toContain(true);
    expect(terms).toBe(1);
    expect(await hub.admin.get(CLUSTER_MEMBER, EAST)).toBeUndefined();
  });

  test("an agent that was killed, and left its lease behind, is not waited for longer than its lease", async () => {
    await mustRun(joinArgs(away, "east", ...asAdmin()));
    await away.admin.create(LEASE, {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: AGENT_LEASE,
      spec: {
        holderIdentity: "dead",
        leaseDurationSeconds: 10,
        renewTime: "2026-01-02T03:04:05.000000Z",
      },
    });
    expect(await mustRun(["leave", ...away.at])).toContain("east has left");
  });

  test("of a cluster that is no member is refused", async () => {
    expect(await mustRefuse(["leave", ...away.at])).toContain("NotMember");
  });

  test("-o yaml prints what it deletes, and deletes nothing", async () => {
    await mustRun(joinArgs(away, "east", ...asAdmin()));
    const before = await inventory(away);
    const printed = await mustRun(["leave", "-o", "yaml", ...away.at]);
    expect(printed).toContain("kind: ClusterMember");
    expect(printed).toMatch(
      /kind: Secret\nmetadata:\n {2}namespace: isthmus-system\n {2}name: isthmus-hub/,
    );
    expect(await inventory(away)).toEqual(before);
    expect(await hub.admin.get(CLUSTER_MEMBER, EAST)).toBeDefined();
  });

  test("says when the hub cannot be told, changes nothing, and cleans up the cluster alone when asked", async () => {
    await mustRun(joinArgs(away, "east", ...asAdmin()));
    const secret = (await away.admin.get(SECRET, HUB_SECRET))!;
    const server = Buffer.from("https://127.0.0.1:1").toString("base64");
    await away.admin.replace(SECRET, { ...secret, data: { ...secret.data, server } });
    const before = await inventory(away);
    const err = await mustRefuse(["leave", ...away.at]);
    expect(err).toContain("ServerUnreachable");
    expect(err).toContain("Run it again when the hub answers");
    expect(err).toContain("--local-only");
    expect((await inventory(away)).filter((line) => !line.startsWith("Lease/"))).toEqual(before);
    const { code, err: said } = await runCommand(["leave", "--local-only", ...away.at]);
    expect(code).toBe(0);
    expect(said).toContain("isthmus hub evict east");
    expect(await hub.admin.get(CLUSTER_MEMBER, EAST)).toBeDefined();
  });

  test("keeps the namespace when somebody else lives in it, and join goes on in it", async () => {
    await mustRun(joinArgs(away, "east", ...asAdmin()));
    const metadata = { namespace: "isthmus-system", name: "notes" };
    await away.admin.create(CONFIG_MAP, { apiVersion: "v1", kind: "ConfigMap", metadata });
    const { err } = await runCommand(["leave", ...away.at]);
    expect(err).toContain("such as the ConfigMap notes");
    expect(await away.admin.get(CONFIG_MAP, metadata)).toBeDefined();
    await eventually("the hub lets it join again", () =>
      mustRun(joinArgs(away, "east", ...asAdmin())),
    );
    await away.admin.delete(CONFIG_MAP, metadata);
  });

  test("and join again right away, under the same id", async () => {
    await mustRun(joinArgs(away, "east", ...asAdmin()));
    await mustRun(["leave", ...asAdmin(), ...away.at]);
    const token = await world.aToken();
    await eventually("the hub has removed it", () =>
      mustRun(joinArgs(away, "east", "--token", token)),
    );
    expect(await hub.admin.get(CLUSTER_MEMBER, EAST)).toBeDefined();
  });
});

describe("hub evict", () => {
  test("removes all of a member; its credential is refused, and it can still clean up after itself", async () => {
    await mustRun(joinArgs(away, "east", ...asAdmin()));
    const member = await asMember(away);
    await mustRun(["hub", "evict", "east", ...hub.at]);
    await eventually("nothing of it is left", async () => {
      expect((await inventory(hub)).filter((line) => /east/.test(line))).toEqual([]);
    });
    // An API server trusts a token that it has just seen for some seconds more; it opens nothing any more.
    await expect(member.list(CLUSTER_MEMBER)).rejects.toMatchObject({
      code: expect.stringMatching(/^(Unauthorized|Forbidden)$/),
    });
    const err = await mustRefuse(["leave", ...away.at]);
    expect(err).toContain("does not know the cluster any more");
    expect(err).toContain("--local-only");
  });

  test("of an unknown id is refused, and then none of the others is touched", async () => {
    await mustRun(joinArgs(away, "east", ...asAdmin()));
    expect(await mustRefuse(["hub", "evict", "east", "esat", ...hub.at])).toContain(
      "MemberUnknown",
    );
    expect(await hub.admin.get(CLUSTER_MEMBER, EAST)).toBeDefined();
    expect(await mustRefuse(["hub", "evict", ...hub.at])).toContain("ArgumentInvalid");
  });

  test("--lost-for takes those that were not heard for so long, and no others", async () => {
    await mustRun(joinArgs(away, "east", ...asAdmin()));
    await mustRun(joinArgs(hub, "home", ...asAdmin()));
    for (const [name, renewTime] of [
      ["east", "2026-01-02T03:04:05.000000Z"],
      ["home", `${new Date().toISOString().slice(0, 19)}.000000Z`],
    ] as const) {
      const lease = (await hub.admin.get(LEASE, { namespace: HUB_NAMESPACE, name }))!;
      await hub.admin.replace(LEASE, { ...lease, spec: { renewTime } });
    }
    const printed = await mustRun(["hub", "evict", "--lost-for", "1h", "-o", "yaml", ...hub.at]);
    expect(printed).toContain("name: isthmus-member-east");
    expect(printed).not.toContain("home");
    expect(await mustRun(["hub", "evict", "--lost-for", "1h", ...hub.at])).toContain(
      "east is evicted",
    );
    const { items } = await hub.admin.list(CLUSTER_MEMBER);
    expect(items.map(({ metadata }) => metadata.name)).toEqual(["home"]);
  });
});

describe("a join that is cut off", () => {
  /** Carries out `writes` writes, and loses the answer to the last. Those that the hub refuses do not count. */
  function failAfter(door: HubDoor, writes: number): HubDoor {
    let left = writes;
    const count = async <T>(write: () => Promise<T>): Promise<T> => {
      if (left === 0) throw new StoreError("Unreachable", "cut off");
      const answer = await write();
      left -= 1;
      if (left === 0) throw new StoreError("Unreachable", "cut off");
      return answer;
    };
    const { store } = door;
    return {
      ...door,
      store: {
        ...store,
        create: (resource, object, options) => count(() => store.create(resource, object, options)),
        replace: (resource, object, options) =>
          count(() => store.replace(resource, object, options)),
      },
      requestToken: (order, signal) => count(() => door.requestToken(order, signal)),
    };
  }

  async function joinCutOff(token: string, writes: number): Promise<void> {
    const parsed = parseTicket(token);
    if (!parsed.ok) throw new Error(parsed.problem);
    const { server, ca, token: secret, name } = parsed.value;
    const config = directConfig({
      server,
      tls: { authority: { data: ca! } },
      auth: { kind: "token", token: secret },
    });
    const client = createClient(config, { clock: systemClock });
    onTestFinished(() => client.close());
    const { signal } = new AbortController();
    const connect = (): Store => client;
    const plan = await planJoin({
      store: away.admin,
      hub: { server, ca: ca! },
      connect,
      clusterId: "east",
      given: { podCIDRs: [away.podCidr], serviceCIDRs: [], zones: [] },
      allowOverlap: false,
      newClaim: () => "ab".repeat(32),
      signal,
    });
    const door = failAfter(
      {
        store: client,
        requestToken: (order) => requestToken(client, order, { nowMs: 0 }),
        joinToken: name,
      },
      writes,
    );
    const options = { store: away.admin, door, connect, clock: systemClock, signal };
    await expect(carryOutJoin(options, plan)).rejects.toMatchObject({ message: "cut off" });
  }

  test("at whatever write to the hub, is completed when it is run again", {
    timeout: 2 * TIMEOUT_MS,
  }, async () => {
    const objects = renderMember({
      cluster: "east" as ClusterId,
      claim: "ab".repeat(32),
      spec: {},
    });
    // Besides: the use of the token, and the credential.
    const writes = objects.length + 2;
    for (let cut = 1; cut <= writes; cut += 1) {
      const token = await world.aToken();
      await joinCutOff(token, cut);
      expect((await credentialOf(away))?.token).toBeUndefined();
      await mustRun(joinArgs(away, "east", "--token", token));
      for (const object of objects) {
        const { namespace, name = "" } = object.metadata;
        const found = await hub.admin.get(resourceOf(object), {
          ...(namespace && { namespace }),
          name,
        });
        expect([cut, object.kind, found?.metadata.name]).toEqual([cut, object.kind, name]);
      }
      const member = await asMember(away);
      expect((await member.list(CLUSTER_MEMBER)).items).toHaveLength(1);
      await world.reset();
    }
  });

  test("cannot be finished with another token; evicted, the cluster joins anew", async () => {
    await joinCutOff(await world.aToken(), 2);
    const other = await world.aToken("--uses", "2");
    const err = await mustRefuse(joinArgs(away, "east", "--token", other));
    expect(err).toContain("ClusterIdTaken");
    expect(err).toContain("isthmus hub evict");
    await mustRun(["hub", "evict", "east", ...hub.at]);
    await eventually("the hub has removed it", () =>
      mustRun(joinArgs(away, "east", "--token", other)),
    );
  });
});
