import { createServer } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import { SERVICE_IMPORT } from "../api/mcs.ts";
import type { ClusterId } from "../api/names.ts";
import { VERSION } from "../api/version.ts";
import { createLatencies } from "../controllers/propagation.ts";
import { parseAddress, serveState } from "./metrics.ts";
import type { ProcessState } from "./registry.ts";

async function aListener(state: ProcessState = { measured: undefined, unready: undefined }) {
  const listener = await serveState("127.0.0.1:0", state);
  onTestFinished(() => listener.close());
  const ask = async (path: string, method = "GET") => {
    const answer = await fetch(`http://${listener.address}${path}`, { method });
    return { status: answer.status, body: await answer.text() };
  };
  return { ask, state, listener };
}

const IDLE = {
  waiting: 0,
  delayed: 0,
  running: 0,
  oldestMs: 0,
  longestRunningMs: 0,
  stillMs: 0,
  outcomes: { done: 0, again: 0, error: 0 },
  overflows: 0,
};
const BUSY = {
  ...IDLE,
  waiting: 3,
  delayed: 2,
  running: 1,
  oldestMs: 4_000,
  longestRunningMs: 500,
  outcomes: { done: 8, again: 4, error: 2 },
  overflows: 1,
};
const A_WATCH = {
  resource: SERVICE_IMPORT,
  objects: 6,
  lists: 2,
  watches: 4,
  events: 9,
  failures: 1,
  ageMs: 30_000,
};

const MEASURED = {
  members: () => [
    {
      cluster: "east" as ClusterId,
      isComplete: true,
      isCurrent: true,
      isHeard: true,
      silentMs: 1_500,
      isDrained: false,
    },
    {
      cluster: "west" as ClusterId,
      isComplete: true,
      isCurrent: true,
      isHeard: true,
      silentMs: 40_000,
      isDrained: true,
    },
  ],
  rejectionTotals: () => new Map([["west AddressNotDeclared", 3]]),
  hubSilentMs: () => 2_000,
  unidentified: () => 1,
  clusters: () => [
    {
      cluster: "east" as ClusterId,
      exports: 2,
      imports: 5,
      queues: { export: IDLE, report: IDLE, import: BUSY },
      watches: [A_WATCH],
      writes: [{ kind: "Service", verb: "apply" as const, result: "done" as const, count: 7 }],
      conflicts: new Map([["PortConflict", 1]]),
      sources: new Map([["west", { services: 5, ready: 10, unready: 2 }]]),
      hub: {
        watches: [],
        writes: [{ kind: "Lease", verb: "apply" as const, result: "failed" as const, count: 1 }],
      },
    },
  ],
  latencies: () => {
    const latencies = createLatencies();
    latencies.published.note(20);
    latencies.imported.hub.note(300);
    latencies.imported.hub.note(700_000);
    return latencies;
  },
  explainUnread: () => undefined,
  explainStuck: () => undefined,
};

describe("metrics", () => {
  test("are there before anything has happened", async () => {
    const { ask } = await aListener();
    const { status, body } = await ask("/metrics");
    expect(status).toBe(200);
    for (const line of [
      `isthmus_build_info{version="${VERSION}"} 1`,
      "isthmus_leader 0",
      "isthmus_exports 0",
      "isthmus_imports 0",
      "isthmus_hub_contact_seconds 0",
      "# TYPE isthmus_member_silent_seconds gauge",
      "# TYPE isthmus_rejected_endpoints gauge",
      "# TYPE isthmus_reconciles_total counter",
      'isthmus_propagation_seconds_count{from="hub"} 0',
      'isthmus_propagation_seconds_bucket{from="cluster",le="+Inf"} 0',
      "isthmus_publish_seconds_count 0",
    ]) {
      expect(body).toContain(`${line}\n`);
    }
  });

  test("tell what is so when they are asked for, and forget what is no longer", async () => {
    const { ask, state } = await aListener({ measured: MEASURED, unready: undefined });
    const { body } = await ask("/metrics");
    for (const line of [
      "isthmus_leader 1",
      "isthmus_exports 2",
      "isthmus_imports 5",
      "isthmus_hub_contact_seconds 2",
      'isthmus_member_silent_seconds{cluster="east"} 1.5',
      'isthmus_member_silent_seconds{cluster="west"} 40',
      'isthmus_member_drained{cluster="east"} 0',
      'isthmus_member_drained{cluster="west"} 1',
      'isthmus_rejected_endpoints{cluster="west",reason="AddressNotDeclared"} 3',
      "isthmus_unidentified_members 1",
      'isthmus_conflicts{cluster="east",reason="PortConflict"} 1',
      'isthmus_imported_services{cluster="east",source="west"} 5',
      'isthmus_imported_endpoints{cluster="east",source="west",ready="true"} 10',
      'isthmus_imported_endpoints{cluster="east",source="west",ready="false"} 2',
      'isthmus_queue_keys{cluster="east",queue="export",state="waiting"} 0',
      'isthmus_queue_keys{cluster="east",queue="import",state="waiting"} 3',
      'isthmus_queue_keys{cluster="east",queue="import",state="delayed"} 2',
      'isthmus_queue_keys{cluster="east",queue="import",state="running"} 1',
      'isthmus_queue_oldest_seconds{cluster="east",queue="import"} 4',
      'isthmus_queue_longest_run_seconds{cluster="east",queue="import"} 0.5',
      'isthmus_queue_overflows_total{cluster="east",queue="import"} 1',
      'isthmus_reconciles_total{cluster="east",queue="import",outcome="done"} 8',
      'isthmus_reconciles_total{cluster="east",queue="import",outcome="again"} 4',
      'isthmus_reconciles_total{cluster="east",queue="import",outcome="error"} 2',
      'isthmus_writes_total{cluster="east",server="cluster",kind="Service",verb="apply",result="done"} 7',
      'isthmus_writes_total{cluster="east",server="hub",kind="Lease",verb="apply",result="failed"} 1',
      'isthmus_watch_age_seconds{cluster="east",server="cluster",resource="serviceimports"} 30',
      'isthmus_watched_objects{cluster="east",server="cluster",resource="serviceimports"} 6',
      'isthmus_watch_events_total{cluster="east",server="cluster",resource="serviceimports"} 9',
      'isthmus_watch_restarts_total{cluster="east",server="cluster",resource="serviceimports"} 3',
      'isthmus_watch_relists_total{cluster="east",server="cluster",resource="serviceimports"} 1',
      'isthmus_watch_failures_total{cluster="east",server="cluster",resource="serviceimports"} 1',
      "isthmus_publish_seconds_sum 0.02",
      'isthmus_propagation_seconds_bucket{from="hub",le="0.25"} 0',
      'isthmus_propagation_seconds_bucket{from="hub",le="0.5"} 1',
      'isthmus_propagation_seconds_bucket{from="hub",le="300"} 1',
      'isthmus_propagation_seconds_bucket{from="hub",le="+Inf"} 2',
      'isthmus_propagation_seconds_count{from="hub"} 2',
      'isthmus_propagation_seconds_sum{from="hub"} 700.3',
    ]) {
      expect(body).toContain(`${line}\n`);
    }
    state.measured = undefined;
    expect((await ask("/metrics")).body).not.toContain("west");
  });

  test("have a bounded number of series, however many members there are", async () => {
    const members = Array.from({ length: 3_000 }, (_, index) => ({
      cluster: `member-${index}` as ClusterId,
      isComplete: true,
      isCurrent: true,
      isHeard: true,
      silentMs: 0,
      isDrained: false,
    }));
    const measured = { ...MEASURED, members: () => members };
    const { ask } = await aListener({ measured, unready: undefined });
    const { body } = await ask("/metrics");
    expect(body.match(/^isthmus_member_silent_seconds\{/gm)).toHaveLength(2_000);
  });
});

describe("health", () => {
  test("is ready only once it can be of use, with a sentence until then", async () => {
    const { ask, state } = await aListener({ measured: undefined, unready: "Not yet." });
    expect(await ask("/healthz")).toEqual({ status: 200, body: "ok\n" });
    expect(await ask("/readyz")).toEqual({ status: 503, body: "Not yet.\n" });
    // Standing by.
    state.unready = undefined;
    expect(await ask("/readyz")).toEqual({ status: 200, body: "ok\n" });
    state.measured = { ...MEASURED, explainUnread: () => "The hub has not been read yet." };
    expect(await ask("/readyz")).toEqual({ status: 503, body: "The hub has not been read yet.\n" });
    expect(await ask("/healthz")).toEqual({ status: 200, body: "ok\n" });
    state.measured = MEASURED;
    expect(await ask("/readyz")).toEqual({ status: 200, body: "ok\n" });
  });

  test("ends with a sentence when a loop is stuck", async () => {
    const measured = { ...MEASURED, explainStuck: () => "The import queue is stuck." };
    const { ask } = await aListener({ measured, unready: undefined });
    expect(await ask("/healthz")).toEqual({ status: 503, body: "The import queue is stuck.\n" });
  });

  test("nothing else is answered", async () => {
    const { ask } = await aListener();
    expect((await ask("/")).status).toBe(404);
    expect((await ask("/metrics", "POST")).status).toBe(405);
  });

  test("a measure that fails is an error of that page, not of the process", async () => {
    const measured = {
      ...MEASURED,
      clusters: () => {
        throw new Error("no count");
      },
    };
    const { ask } = await aListener({ measured, unready: undefined });
    expect(await ask("/metrics")).toMatchObject({ status: 500 });
    expect((await ask("/healthz")).status).toBe(200);
  });
});

describe("the address to listen on", () => {
  test.each([
    ["127.0.0.1:9402", { host: "127.0.0.1", port: 9402 }],
    ["[::1]:9402", { host: "::1", port: 9402 }],
    [":9402", { host: "", port: 9402 }],
    ["localhost:0", { host: "localhost", port: 0 }],
  ])("%s", (text, parsed) => {
    expect(parseAddress(text)).toEqual(parsed);
  });

  test.each(["9402", "127.0.0.1", "127.0.0.1:70000", "::1:9402", "a:b", ""])(
    "%s is none, which is a usage problem",
    (text) => {
      expect(() => parseAddress(text)).toThrow("is no address to listen on");
    },
  );

  test("that is taken is a problem with a way out", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => {
      other.listen(0, "127.0.0.1", resolve);
    });
    onTestFinished(() => void other.close());
    const { port } = other.address() as { readonly port: number };
    const state = { measured: undefined, unready: undefined };
    await expect(serveState(`127.0.0.1:${port}`, state)).rejects.toMatchObject({
      code: "PortInUse",
    });
  });
});
