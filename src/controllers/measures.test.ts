import { expect, test } from "vitest";
import type { EndpointSlice } from "../api/builtin.ts";
import type { ServiceExport } from "../api/mcs.ts";
import {
  MANAGED_BY_LABEL,
  SERVICE_NAME_LABEL,
  SLICE_MANAGER,
  SOURCE_CLUSTER_LABEL,
} from "../api/names.ts";
import { id } from "../../test/shares.ts";
import { VirtualClock } from "../../test/clock.ts";
import { explainStuck } from "../core/health.ts";
import { createQueue } from "../runtime/queue.ts";
import { countConflicts, countSources, nameQueues } from "./measures.ts";
import { packSlice } from "./packed.ts";

function anExport(status: string, reason: string): ServiceExport {
  const message = "";
  const lastTransitionTime = "2026-01-01T00:00:00Z";
  return {
    apiVersion: "multicluster.x-k8s.io/v1beta1",
    kind: "ServiceExport",
    metadata: { namespace: "shop", name: "web" },
    status: {
      conditions: [{ type: "Conflict", status, reason, message, lastTransitionTime }],
    },
  } as ServiceExport;
}

function aSlice(source: string, readiness: readonly boolean[], manager = SLICE_MANAGER) {
  const slice: EndpointSlice = {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      namespace: "shop",
      name: "one",
      labels: {
        [SERVICE_NAME_LABEL]: "web",
        [SOURCE_CLUSTER_LABEL]: source,
        [MANAGED_BY_LABEL]: manager,
      },
    },
    addressType: "IPv4",
    endpoints: readiness.map((ready) => ({ addresses: ["10.0.0.1"], conditions: { ready } })),
  };
  return packSlice(slice);
}

test("conflicts count by what is in conflict, and what a user writes there has no name", () => {
  const counts = countConflicts([
    anExport("True", "PortConflict,TypeConflict"),
    anExport("True", "PortConflict"),
    anExport("False", "NoConflicts"),
    anExport("True", "MadeUp,AlsoMadeUp"),
  ]);
  expect(counts.get("PortConflict")).toBe(2);
  expect(counts.get("TypeConflict")).toBe(1);
  expect(counts.get("LabelsConflict")).toBe(0);
  expect(counts.get("other")).toBe(1);
  expect([...counts.keys()]).not.toContain("MadeUp");
});

test("endpoints count by their source: members by name, from the start, and nobody else", () => {
  const counts = countSources(
    [
      aSlice("west", [true, false]),
      aSlice("west", [true]),
      aSlice("stranger", [true]),
      // By hand.
      aSlice("west", [true], "somebody"),
    ],
    [id("west"), id("north")],
  );
  expect([...counts]).toEqual([
    ["west", { services: 1, ready: 2, unready: 1 }],
    ["north", { services: 0, ready: 0, unready: 0 }],
    ["other", { services: 1, ready: 1, unready: 0 }],
  ]);
});

test("a handler that never ends makes the process unhealthy after a while, by name", async () => {
  const clock = new VirtualClock();
  const aQueue = () =>
    createQueue({
      clock,
      random: () => 0,
      workers: 1,
      handler: () => new Promise(() => undefined),
      keys: () => [],
      onFailure: () => undefined,
      onOverflow: () => undefined,
    });
  const queues = { export: aQueue(), report: aQueue(), import: aQueue() };
  const look = () =>
    explainStuck({
      loops: [],
      queues: nameQueues(id("east"), {
        export: queues.export.snapshot(),
        report: queues.report.snapshot(),
        import: queues.import.snapshot(),
      }),
    });
  queues.import.start();
  queues.import.add("shop/web");
  await clock.advance(14 * 60_000);
  expect(look()).toBeUndefined();
  await clock.advance(2 * 60_000);
  expect(look()).toBe(
    'The import queue of cluster "east" has worked on one service for 16 minutes.',
  );
  // The only worker is taken: what waits behind it is told sooner.
  queues.import.add("shop/other");
  await clock.advance(6 * 60_000);
  expect(look()).toBe(
    'The import queue of cluster "east" has work waiting and has done none for 6 minutes.',
  );
});
