// What a person sees of the hub: kubectl on an embedded cluster, and on a real one to the same effect.

import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";

import { HUB_CRDS } from "../../src/api/crds.ts";
import { ISTHMUS_GROUP } from "../../src/api/names.ts";
import { installCrds } from "../../src/controllers/crd.ts";
import { EmbeddedCluster } from "../../src/embedded/cluster.ts";
import { serveCluster } from "../../src/embedded/server.ts";
import { createClient } from "../../src/kube/client.ts";
import { systemClock, systemRandom } from "../../src/kube/clock.ts";
import { loadKubeconfig } from "../../src/kube/config.ts";
import type { Store } from "../../src/ports/store.ts";
import { requireKubectl } from "../controlplane/binaries.ts";
import { unique } from "../contract/objects.ts";
import { list, rows } from "../gadget.ts";
import { Kubectl } from "../kubectl.ts";

interface Server {
  readonly store: Store;
  readonly kubeconfig: string;
  stop(): Promise<void>;
}

const servers = {
  "an embedded cluster": async (): Promise<Server> => {
    const clock = systemClock;
    const cluster = new EmbeddedCluster({ name: "columns", clock, random: systemRandom });
    const server = await serveCluster(cluster, { clock });
    return {
      store: cluster.store(),
      kubeconfig: server.kubeconfig(),
      stop: async () => {
        await server.close();
        cluster.stop();
      },
    };
  },
  "a real control plane": async (): Promise<Server> => {
    const { kubeconfigPath } = inject("clusters")[0]!;
    const config = loadKubeconfig({ paths: [kubeconfigPath], env: {}, home: "/" });
    const store = createClient(config, { clock: systemClock });
    const kubeconfig = await readFile(kubeconfigPath, "utf8");
    return { store, kubeconfig, stop: () => store.close() };
  },
};

function anObject(kind: string, name: string, spec: object): string {
  const apiVersion = `${ISTHMUS_GROUP}/v1alpha1`;
  return JSON.stringify({ apiVersion, kind, metadata: { name }, spec });
}

const SYNCED = {
  type: "Synced",
  status: "True",
  reason: "Published",
  message: "",
  lastTransitionTime: "2026-01-02T03:04:05Z",
};

describe.each(Object.entries(servers))("kubectl get on %s", (_name, start) => {
  const namespace = unique("columns-");
  let server: Server;
  let kubectl: Kubectl;

  function patchStatus(what: string, status: object): Promise<string> {
    const patch = ["--type=merge", "--subresource=status", "-p", JSON.stringify({ status })];
    return kubectl.run(["patch", what, ...patch]);
  }

  async function look(kind: string, ...flags: readonly string[]) {
    const [row] = rows(await kubectl.run(["get", `${kind}.${ISTHMUS_GROUP}`, ...flags]));
    return row;
  }

  beforeAll(async () => {
    server = await start();
    kubectl = await Kubectl.create({
      binary: process.env["KUBECTL"] || (await requireKubectl()),
      kubeconfig: server.kubeconfig,
      namespace,
    });
    await kubectl.run(["create", "namespace", namespace]);
    await installCrds({ store: server.store, crds: HUB_CRDS, clock: systemClock });
    const objects = list(
      anObject("ClusterMember", "east", {
        topology: { region: "eu-west-1" },
        podCIDRs: ["10.1.0.0/16"],
      }),
      anObject("ServiceShare", "shop.web", {
        exportedAt: "2026-01-02T03:04:05Z",
        type: "ClusterSetIP",
        ports: [],
        ipFamilies: ["IPv4"],
        whenLost: "keep",
      }),
      anObject("EndpointShare", "shop.web.0123456789", {
        slice: "web-abc",
        addressType: "IPv4",
        ports: [],
        endpoints: [],
      }),
      anObject("JoinToken", "spring", { uses: 3, expiresAt: "2126-01-02T03:04:05Z" }),
    );
    await kubectl.run(["create", "-f", "-"], objects);
  });

  afterAll(async () => {
    await kubectl?.run(["delete", "namespace", namespace, "--wait=false"]);
    await kubectl?.remove();
    await server?.stop();
  });

  test("shows of a member where it is and whether all that it exports is known", async () => {
    await patchStatus("member/east", { agentVersion: "0.1.0", conditions: [SYNCED] });
    expect(await look("clustermembers", "-o", "wide")).toMatchObject({
      NAME: "east",
      SYNCED: "True",
      REGION: "eu-west-1",
      "POD CIDRS": '["10.1.0.0/16"]',
      AGENT: "0.1.0",
    });
  });

  test("shows of a share what it is of and how old the export is", async () => {
    const row = await look("serviceshares", "-o", "wide");
    expect(row).toMatchObject({ NAME: "shop.web", TYPE: "ClusterSetIP", "WHEN LOST": "keep" });
    expect(row?.["EXPORTED"]).toMatch(/^\d+[dy]/);
  });

  test("shows of endpoints which slice they come from", async () => {
    expect(await look("endpointshares")).toMatchObject({ SLICE: "web-abc", FAMILY: "IPv4" });
  });

  test("shows of a join token who used it and when it ends, though that is to come", async () => {
    await patchStatus("jointoken/spring", { clusters: ["east", "west"] });
    expect(await look("jointokens")).toMatchObject({
      NAME: "spring",
      USES: "3",
      CLUSTERS: '["east","west"]',
      EXPIRES: "2126-01-02T03:04:05Z",
    });
  });
});
