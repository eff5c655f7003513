// What a joining cluster finds out about itself, on an embedded cluster: it has no ServiceCIDRs, as older API servers.

import { expect, test } from "vitest";
import { CONFIG_MAP, NODE, POD } from "../src/api/builtin.ts";
import { type Given, surveyCluster } from "../src/controllers/survey.ts";
import type { Store } from "../src/ports/store.ts";
import { StoreError } from "../src/ports/store.ts";
import { TestCluster } from "./embedded.ts";

const NOTHING_GIVEN: Given = { podCIDRs: [], serviceCIDRs: [], zones: [] };

async function aCluster(): Promise<Store> {
  const store = new TestCluster().cluster.store();
  for (const [name, cidr] of [
    ["a", "10.1.0.0/24"],
    ["b", "10.1.1.0/24"],
  ] as const) {
    const labels = {
      "topology.kubernetes.io/region": "eu",
      "topology.kubernetes.io/zone": `eu-${name}`,
    };
    const spec = { podCIDRs: [cidr], podCIDR: cidr };
    await store.create(NODE, { apiVersion: "v1", kind: "Node", metadata: { name, labels }, spec });
  }
  return store;
}

function survey(store: Store, given: Partial<Given> = {}) {
  return surveyCluster(store, { ...NOTHING_GIVEN, ...given }, new AbortController().signal);
}

/** As an API server before 1.33 refuses an address that is none of its own. */
function answeringAsOld(store: Store): Store {
  return {
    ...store,
    create: (resource, object, options) => {
      const { clusterIP } = (object as { spec?: { clusterIP?: string } }).spec ?? {};
      if (clusterIP !== "192.0.2.1") return store.create(resource, object, options);
      expect(options?.dryRun).toBe(true);
      const message =
        "the provided IP (192.0.2.1) is not in the valid range. The range of valid IPs is 10.96.0.0/12";
      return Promise.reject(new StoreError("Invalid", message, { status: 422 }));
    },
  };
}

test("nodes say where the cluster is and which ranges their pods have, which may not be all", async () => {
  const found = await survey(await aCluster());
  expect(found).toMatchObject({ podCIDRs: ["10.1.0.0/23"], region: "eu", zones: ["eu-a", "eu-b"] });
  expect(found.doubts).toEqual([expect.stringContaining("--pod-cidr")]);
});

test("what kubeadm wrote down is the whole range, and leaves no doubt", async () => {
  const store = await aCluster();
  await store.create(CONFIG_MAP, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace: "kube-system", name: "kubeadm-config" },
    data: {
      ClusterConfiguration:
        "networking:\n  podSubnet: 10.1.0.0/16\n  serviceSubnet: 10.97.0.0/16\n",
    },
  });
  expect(await survey(store)).toMatchObject({
    podCIDRs: ["10.1.0.0/16"],
    serviceCIDRs: ["10.97.0.0/16"],
    doubts: [],
  });
});

test("an older API server tells its service range when it refuses an address, and nothing is created", async () => {
  const store = await aCluster();
  expect((await survey(answeringAsOld(store))).serviceCIDRs).toEqual(["10.96.0.0/12"]);
});

test("what is given is taken as it is", async () => {
  const given = {
    podCIDRs: ["10.9.0.0/16"],
    serviceCIDRs: ["10.8.0.0/16"],
    region: "us",
    zones: ["us-1"],
  };
  expect(await survey(await aCluster(), given)).toEqual({ ...given, doubts: [] });
});

test("pods outside of the range raise a doubt, because then the network plugin uses another", async () => {
  const store = await aCluster();
  const metadata = { namespace: "default", name: "stray" };
  const spec = { containers: [{ name: "a", image: "a" }] };
  const pod = await store.create(POD, { apiVersion: "v1", kind: "Pod", metadata, spec });
  const status = { phase: "Running", podIP: "192.168.0.7", podIPs: [{ ip: "192.168.0.7" }] };
  await store.replace(POD, { ...pod, status }, { subresource: "status" });
  const { doubts } = await survey(store, { podCIDRs: ["10.1.0.0/16"] });
  expect(doubts).toEqual([expect.stringContaining("1 of 1 pods have addresses outside")]);
});

test("a cluster that tells nothing is left empty, not guessed", async () => {
  const found = await survey(new TestCluster().cluster.store());
  expect(found).toEqual({
    podCIDRs: [],
    serviceCIDRs: [],
    region: undefined,
    zones: [],
    doubts: [],
  });
});
