import { describe, expect, test } from "vitest";
import type { Node, Pod } from "../api/builtin.ts";
import {
  findOverlaps,
  findStrayPods,
  readKubeadm,
  readPlacement,
  readPodRanges,
  readRefusedRange,
  readServiceCidrs,
} from "./topology.ts";

const NO_NETWORK = readKubeadm(undefined);

function aNode(
  name: string,
  fields: { podCIDRs?: string[]; region?: string; zone?: string } = {},
): Node {
  const { podCIDRs, region, zone } = fields;
  const labels = {
    ...(region === undefined ? {} : { "topology.kubernetes.io/region": region }),
    ...(zone === undefined ? {} : { "topology.kubernetes.io/zone": zone }),
  };
  const spec = podCIDRs === undefined ? {} : { podCIDRs };
  return { apiVersion: "v1", kind: "Node", metadata: { name, labels }, spec };
}

function aPod(podIP: string, hostNetwork = false): Pod {
  const spec = { hostNetwork, containers: [] };
  return { apiVersion: "v1", kind: "Pod", metadata: { name: "a" }, spec, status: { podIP } };
}

describe("placement", () => {
  test("is what the nodes say, each zone once, in order", () => {
    const nodes = [
      aNode("a", { region: "eu", zone: "eu-2" }),
      aNode("b", { region: "eu", zone: "eu-1" }),
      aNode("c", { region: "eu", zone: "eu-2" }),
      aNode("d"),
    ];
    expect(readPlacement(nodes)).toEqual({
      region: "eu",
      regions: ["eu"],
      zones: ["eu-1", "eu-2"],
    });
  });

  test("has no region when the nodes do not agree on one", () => {
    const nodes = [aNode("a", { region: "us" }), aNode("b", { region: "eu" })];
    expect(readPlacement(nodes)).toEqual({ region: undefined, regions: ["eu", "us"], zones: [] });
  });

  test("has as many zones as a member may declare", () => {
    const nodes = Array.from({ length: 40 }, (_, at) => aNode(`n${at}`, { zone: `z${at}` }));
    expect(readPlacement(nodes).zones).toHaveLength(32);
  });
});

describe("pod ranges", () => {
  test("of nodes are merged, and are not the whole", () => {
    const nodes = [
      aNode("a", { podCIDRs: ["10.244.0.0/24", "fd00::/64"] }),
      aNode("b", { podCIDRs: ["10.244.1.0/24"] }),
    ];
    expect(readPodRanges(nodes, NO_NETWORK)).toEqual({
      cidrs: ["10.244.0.0/23", "fd00::/64"],
      isWhole: false,
    });
  });

  test("that an installer wrote down are the whole, nodes without any included", () => {
    const data = {
      ClusterConfiguration:
        'apiServer: {}\nnetworking:\n  dnsDomain: cluster.local\n  podSubnet: 10.244.0.0/16,fd00:10:244::/56\n  serviceSubnet: "10.96.0.0/16"\n',
    };
    const network = readKubeadm({ apiVersion: "v1", kind: "ConfigMap", metadata: {}, data });
    expect(network.serviceCIDRs).toEqual(["10.96.0.0/16"]);
    expect(
      readPodRanges([aNode("a", { podCIDRs: ["10.244.3.0/24"] }), aNode("b")], network),
    ).toEqual({
      cidrs: ["10.244.0.0/16", "fd00:10:244::/56"],
      isWhole: true,
    });
  });

  test("of nodes outside what the installer wrote down are declared as well", () => {
    const network = { podCIDRs: ["10.244.0.0/16"], serviceCIDRs: [] };
    expect(readPodRanges([aNode("a", { podCIDRs: ["10.9.0.0/24"] })], network)).toEqual({
      cidrs: ["10.9.0.0/24", "10.244.0.0/16"],
      isWhole: false,
    });
  });

  test("are none when nobody names one", () => {
    expect(readPodRanges([aNode("a")], NO_NETWORK)).toEqual({ cidrs: [], isWhole: false });
    const empty = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {},
      data: { ClusterConfiguration: "podSubnet" },
    };
    expect(readKubeadm(empty)).toEqual(NO_NETWORK);
  });
});

describe("service ranges", () => {
  test("are those of all ServiceCIDRs", () => {
    const make = (cidrs: string[]) => ({
      apiVersion: "networking.k8s.io/v1",
      kind: "ServiceCIDR",
      metadata: {},
      spec: { cidrs },
    });
    expect(
      readServiceCidrs([make(["10.96.0.0/16", "fd00::/112"]), make(["10.97.0.0/16"])]),
    ).toEqual(["10.96.0.0/15", "fd00::/112"]);
  });

  test("of older API servers are in the refusal of an address outside", () => {
    const sentence =
      'Service "x" is invalid: spec.clusterIPs: Invalid value: ["192.0.2.1"]: failed to allocate IP 192.0.2.1: the provided IP (192.0.2.1) is not in the valid range. The range of valid IPs is 10.96.0.0/12';
    expect(readRefusedRange(sentence)).toBe("10.96.0.0/12");
    expect(readRefusedRange("The range of valid IPs is fd00:1::/108 (POST /api)")).toBe(
      "fd00:1::/108",
    );
    expect(readRefusedRange("the provided IP is already allocated")).toBeUndefined();
    expect(readRefusedRange("The range of valid IPs is 1.2.3/99")).toBeUndefined();
  });
});

describe("pods outside the declared ranges", () => {
  test("are counted, with an example", () => {
    const pods = [aPod("10.1.0.1"), aPod("10.0.5.1"), aPod("10.0.6.1"), aPod("172.18.0.2", true)];
    expect(findStrayPods(pods, ["10.1.0.0/16"])).toEqual({ count: 2, of: 3, example: "10.0.5.1" });
  });

  test("are those with an address of either family that is not declared", () => {
    const pod = aPod("10.1.0.1");
    const dual = {
      ...pod,
      status: { podIP: "10.1.0.1", podIPs: [{ ip: "10.1.0.1" }, { ip: "fd00::1" }] },
    };
    expect(findStrayPods([pod, dual], ["10.1.0.0/16"])).toEqual({
      count: 1,
      of: 2,
      example: "fd00::1",
    });
    expect(findStrayPods([pod, dual], ["10.1.0.0/16", "fd00::/64"])).toBeUndefined();
  });

  test("are none when each is inside some range", () => {
    expect(
      findStrayPods([aPod("10.1.0.1"), aPod("fd00::1")], ["10.1.0.0/16", "fd00::/64"]),
    ).toBeUndefined();
    expect(findStrayPods([], [])).toBeUndefined();
  });
});

describe("overlaps with other members", () => {
  const aMember = (name: string, podCIDRs: string[], serviceCIDRs: string[] = []) => ({
    apiVersion: "isthmus.dev/v1alpha1",
    kind: "ClusterMember",
    metadata: { name },
    spec: { podCIDRs, serviceCIDRs },
  });

  test("are told for each, pods and Services apart", () => {
    const others = [
      aMember("west", ["10.2.0.0/16", "10.1.128.0/17"]),
      aMember("edge", ["10.3.0.0/16"], ["10.1.96.0/24"]),
      aMember("far", ["10.4.0.0/16"], ["10.5.0.0/16"]),
    ];
    expect(findOverlaps({ podCIDRs: ["10.1.0.0/16"] }, others)).toEqual([
      "The pod range 10.1.0.0/16 overlaps the pod range 10.1.128.0/17 of west.",
      "The pod range 10.1.0.0/16 overlaps the service range 10.1.96.0/24 of edge, which will not take in endpoints there.",
    ]);
  });

  test("of Services alone do not matter: each cluster's are its own", () => {
    const spec = { podCIDRs: ["10.1.0.0/16"], serviceCIDRs: ["10.96.0.0/16"] };
    expect(findOverlaps(spec, [aMember("west", ["10.2.0.0/16"], ["10.96.0.0/16"])])).toEqual([]);
    expect(findOverlaps({}, [aMember("west", ["10.2.0.0/16"])])).toEqual([]);
  });
});
