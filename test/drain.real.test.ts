// drain and undrain on two real clusters that joined a hub, which is one of them: agents with no more than the permissions that
// join gave them, what the hub's API server makes of the word, and of what a hub of an older release makes of it.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { CUSTOM_RESOURCE_DEFINITION, NAMESPACE } from "../src/api/builtin.ts";
import { CLUSTER_MEMBER, type ClusterMember } from "../src/api/isthmus.ts";
import { memberNamespace } from "../src/api/names.ts";
import { mustRun } from "./commandLine.ts";
import {
  asMember,
  type Candidate,
  joinArgs,
  type MembershipWorld,
  startMembershipWorld,
  writeAgentConfig,
} from "./membershipWorld.ts";
import { startAgentCommand } from "./runningAgent.ts";
import { createLine } from "./scenarios/line.ts";
import { eventually } from "./scenarios/poll.ts";
import { Site } from "./scenarios/site.ts";
import { id } from "./shares.ts";

const TIMEOUT_MS = 240_000;
const SHOP = "shop";
const EAST = "10.1.0.1";
const WEST = "10.2.0.1";
const WEST_MEMBER = { namespace: memberNamespace(id("west")), name: "west" };

let world: MembershipWorld;
let sites: readonly [Site, Site];
const logged: string[] = [];
const stops: (() => Promise<void>)[] = [];
const folder = mkdtempSync(join(tmpdir(), "isthmus-drain-"));

function siteOf(name: string, { admin }: Candidate): Site {
  const line = createLine(admin, () => true);
  return new Site({ id: name, store: admin, serviceCidrs: [] }, line, SHOP);
}

/** As the ServiceAccount that join made for it. */
async function startAgent(candidate: Candidate): Promise<void> {
  const path = await writeAgentConfig(candidate, folder);
  stops.push(startAgentCommand(["--kubeconfig", path], (line) => logged.push(line)));
}

beforeAll(async () => {
  world = await startMembershipWorld("drain");
  const { hub, away } = world;
  const token = await world.aToken("--uses", "2");
  await mustRun(joinArgs(hub, "east", "--token", token));
  await mustRun(joinArgs(away, "west", "--token", token));
  for (const { admin } of [hub, away]) {
    const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: SHOP } };
    await admin.create(NAMESPACE, namespace);
  }
  await startAgent(hub);
  await startAgent(away);
  sites = [siteOf("east", hub), siteOf("west", away)];
  await sites[0].offer("web", [EAST]);
  await sites[1].offer("web", [WEST]);
  await sites[1].offer("sole", ["10.2.0.9"]);
}, TIMEOUT_MS);
afterAll(async () => {
  await Promise.all(stops.map((stop) => stop()));
  await world?.stop();
  rmSync(folder, { recursive: true });
}, TIMEOUT_MS);

const both = (): readonly string[] => [...world.hub.at, ...world.away.at];

async function leadsTo(...addresses: readonly string[]): Promise<void> {
  await eventually(
    `web leads to ${addresses.join(" and ")} everywhere, and sole where it did`,
    async () => {
      for (const site of sites) {
        expect(await site.addresses("web")).toEqual(addresses);
        expect(await site.addresses("sole")).toEqual(["10.2.0.9"]);
      }
    },
    60_000,
  );
}

function statusOfWest() {
  return world.hub.admin.get(CLUSTER_MEMBER, WEST_MEMBER);
}

test(
  "a cluster is drained and undrained by agents that may do no more than join allows them",
  async () => {
    await leadsTo(EAST, WEST);
    const out = await mustRun(["drain", "west", "--reason", "new kernel", "--wait", ...both()]);
    expect(out).toContain(
      "west: no new traffic is led there in east and west, but for what nobody else serves: shop/sole.",
    );
    await leadsTo(EAST);
    expect((await statusOfWest())?.status).toMatchObject({
      drained: "new kernel",
      conditions: [{ type: "Synced", status: "True" }],
    });
    expect(await mustRun(["get", "clusters", ...world.hub.at])).toMatch(/^west +drained /m);
    await mustRun(["undrain", "west", "--wait", ...both()]);
    await leadsTo(EAST, WEST);
    const after = (await statusOfWest())?.status;
    expect(after).not.toHaveProperty("drained");
    expect(after).toMatchObject({ conditions: [{ type: "Synced", status: "True" }] });
  },
  TIMEOUT_MS,
);

test(
  "a member cannot drain another, nor fill the hub with its reason",
  async () => {
    const member = await asMember(world.away);
    const say = (namespace: string, name: string, drained: string): Promise<ClusterMember> => {
      const object = {
        apiVersion: "isthmus.dev/v1alpha1",
        kind: "ClusterMember",
        metadata: { namespace, name },
        status: { drained },
      } as unknown as ClusterMember;
      const options = { fieldManager: "evil", force: true, subresource: "status" } as const;
      return member.apply(CLUSTER_MEMBER, object, options);
    };
    await expect(say(memberNamespace(id("east")), "east", "evil")).rejects.toMatchObject({
      code: "Forbidden",
    });
    const { namespace, name } = WEST_MEMBER;
    await expect(say(namespace, name, "x".repeat(257))).rejects.toMatchObject({ code: "Invalid" });
    await expect(say(namespace, name, "")).rejects.toMatchObject({ code: "Invalid" });
  },
  TIMEOUT_MS,
);

test(
  "a hub of an older release goes on without the drain, and is told when it has been upgraded",
  async () => {
    await leadsTo(EAST, WEST);
    const { admin } = world.hub;
    const ref = { name: "clustermembers.isthmus.dev" };
    const { metadata, ...definition } = (await admin.get(CUSTOM_RESOURCE_DEFINITION, ref))!;
    const { managedFields: _, ...rest } = metadata;
    const labels = { ...metadata.labels, "isthmus.dev/crd-schema-revision": "1" };
    const older = JSON.parse(JSON.stringify(definition)) as typeof definition;
    const schema = older.spec.versions[0]!.schema!.openAPIV3Schema as {
      properties: { status: { properties: object } };
    };
    const { status } = schema.properties;
    expect(Reflect.deleteProperty(status.properties, "drained")).toBe(true);
    await admin.replace(CUSTOM_RESOURCE_DEFINITION, { ...older, metadata: { ...rest, labels } });
    logged.length = 0;
    await mustRun(["drain", "west", ...world.away.at]);
    await eventually(
      "its own clients have left, and the log says that the hub was not told",
      async () => {
        expect(await sites[1].addresses("web")).toEqual([EAST]);
        expect(logged.join("\n")).toContain("may be of an older release");
      },
      60_000,
    );
    expect(await sites[0].addresses("web")).toEqual([EAST, WEST]);
    expect(await mustRun(["get", "clusters", ...world.away.at])).toMatch(/^east +live /m);
    await mustRun(["hub", "init", "--no-token", ...world.hub.at]);
    // It is said again after a minute at most.
    await eventually(
      "the others have left, too",
      async () => expect(await sites[0].addresses("web")).toEqual([EAST]),
      120_000,
    );
    await mustRun(["undrain", "west", "--wait", ...both()]);
    await leadsTo(EAST, WEST);
  },
  TIMEOUT_MS,
);
