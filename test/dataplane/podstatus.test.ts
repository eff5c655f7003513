import { expect, test } from "vitest";
import { planCluster } from "./plan.ts";
import { READY_ANNOTATION, readinessOf, renderEnvironment, type RunPod } from "./pod.ts";
import { addressesOf } from "./podnetwork.ts";
import { type PodFacts, renderNode, renderPodStatus } from "./podstatus.ts";

const plan = planCluster("east");
const addresses = addressesOf(plan, 5);
const NOW_MS = Date.parse("2026-01-02T03:04:05Z");
const RUNNING: PodFacts = {
  addresses,
  runningSinceMs: NOW_MS,
  isProbedReady: true,
  restarts: 0,
};

function aPod(wishes: Partial<RunPod> = {}): RunPod {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: "shop", name: "web-0", uid: "1" },
    spec: { containers: [{ name: "backend", image: "backend" }] },
    ...wishes,
  };
}

function readyOf(pod: RunPod, facts: PodFacts) {
  const { conditions } = renderPodStatus(pod, plan, facts, NOW_MS);
  return conditions.find(({ type }) => type === "Ready");
}

test("a pod that runs and says that it is ready is ready, at both its addresses", () => {
  const status = renderPodStatus(aPod(), plan, RUNNING, NOW_MS);
  expect(status.phase).toBe("Running");
  expect(status.podIPs).toEqual([{ ip: "10.11.0.5" }, { ip: "fd42:10:1::5" }]);
  expect(status.podIP).toBe("10.11.0.5");
  expect(readyOf(aPod(), RUNNING)?.status).toBe("True");
});

test("a pod on its way out is ready for as long as it serves: whether it is used is for others to say", () => {
  const metadata = { name: "web-0", deletionTimestamp: "2026-01-02T03:04:05Z" };
  expect(readyOf(aPod({ metadata }), RUNNING)?.status).toBe("True");
});

test.each<[string, Partial<PodFacts>]>([
  ["has not said that it is", { isProbedReady: false }],
  ["has ended", { ended: { exitCode: 1 } }],
])("a pod that %s is not ready", (_, facts) => {
  const { runningSinceMs, ...rest } = RUNNING;
  const running = facts.ended === undefined && { runningSinceMs: runningSinceMs! };
  expect(readyOf(aPod(), { ...rest, ...running, ...facts })?.status).toBe("False");
});

test("the annotation makes a pod not ready", () => {
  const metadata = { name: "web-0", annotations: { [READY_ANNOTATION]: "false" } };
  expect(readyOf(aPod({ metadata }), RUNNING)?.status).toBe("False");
});

test("the time of a condition is when its truth changed", () => {
  const before = "2026-01-01T00:00:00Z";
  const status = { conditions: [{ type: "Ready", status: "True", lastTransitionTime: before }] };
  const pod = aPod({ status });
  expect(readyOf(pod, RUNNING)?.lastTransitionTime).toBe(before);
  const now = "2026-01-02T03:04:05Z";
  expect(readyOf(pod, { ...RUNNING, isProbedReady: false })?.lastTransitionTime).toBe(now);
});

test("a pod that is not started again has succeeded or failed, by its exit code", () => {
  const { runningSinceMs: _, ...rest } = RUNNING;
  const phaseOf = (exitCode: number) =>
    renderPodStatus(aPod(), plan, { ...rest, ended: { exitCode } }, NOW_MS).phase;
  expect([phaseOf(0), phaseOf(137)]).toEqual(["Succeeded", "Failed"]);
});

test("a process knows its pod, its node and its addresses, and what its container asks for", () => {
  const env = [{ name: "DRAIN_MS", value: "8000" }, { name: "EMPTY" }];
  const pod = aPod({ spec: { containers: [{ name: "backend", image: "backend", env }] } });
  expect(renderEnvironment(pod, plan, addresses)).toMatchObject({
    POD_NAME: "web-0",
    POD_NAMESPACE: "shop",
    NODE_NAME: "east",
    POD_IPS: "10.11.0.5,fd42:10:1::5",
    DRAIN_MS: "8000",
    EMPTY: "",
  });
});

test("a container's own probe comes before that of its image", () => {
  const image = { command: ["x"], ready: { port: 9900 } };
  const container = { name: "c" };
  const httpGet = { port: 8181, path: "/ready" };
  expect(readinessOf(container, image)).toEqual({ port: 9900 });
  expect(readinessOf({ ...container, readinessProbe: { httpGet } }, image)).toEqual(httpGet);
  const tcpSocket = { port: 53 };
  expect(readinessOf({ ...container, readinessProbe: { tcpSocket } }, image)).toEqual({ port: 53 });
  expect(readinessOf(container, { command: ["x"] })).toBeUndefined();
});

test("a pod of several containers is refused: which of them would be ready?", () => {
  const containers = [{ name: "a" }, { name: "b" }];
  const pod = aPod({ spec: { containers } });
  expect(() => renderPodStatus(pod, plan, RUNNING, NOW_MS)).toThrow("runs one");
});

test("a node says where it is, for zone hints: its region from the start, its zone when that is told", () => {
  const region = { "topology.kubernetes.io/region": "region-1" };
  const zone = { "topology.kubernetes.io/zone": "zone-a" };
  const labelsOf = (hasZone: boolean) => renderNode(plan, { hasZone }).metadata.labels;
  expect(labelsOf(false)).toMatchObject(region);
  expect(labelsOf(false)).not.toHaveProperty(Object.keys(zone));
  expect(labelsOf(true)).toMatchObject({ ...region, ...zone });
});
