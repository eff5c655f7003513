import { describe, expect, test } from "vitest";
import type { ServiceKey } from "../../api/names.ts";
import type { EndpointFact, ExportFact, ImportFact } from "./facts.ts";
import { makeRow, type Presence, renderRow } from "./row.ts";

const WEB = "shop/web" as ServiceKey;
const EXPORTED: ExportFact = { problem: undefined, conflicts: [] };
const IMPORTED: ImportFact = {
  type: "ClusterSetIP",
  ports: [{ name: "http", protocol: "TCP", port: 80 }],
  ips: ["10.96.0.1"],
  isManaged: true,
  problem: undefined,
  isPending: false,
  writtenAtMs: 1_000,
};

function endpoints(source: string | undefined, ready: number, total = ready): EndpointFact {
  return { service: WEB, source, ready, total, sum: ready, writtenAtMs: undefined };
}

function at(cluster: string, fields: Partial<Presence> = {}): Presence {
  return {
    cluster,
    liveness: "live",
    serviceExport: undefined,
    share: undefined,
    offered: [],
    serviceImport: undefined,
    imported: [],
    areSlicesRead: true,
    lostSliceAtMs: undefined,
    ...fields,
  };
}

/** Exports two endpoints, and uses them. */
const EAST = at("east", {
  serviceExport: EXPORTED,
  offered: [endpoints(undefined, 2)],
  serviceImport: IMPORTED,
  imported: [endpoints("east", 2)],
});
/** Only uses them. */
const EDGE = at("edge", { serviceImport: IMPORTED, imported: [endpoints("east", 2)] });

function judge(...presences: readonly Presence[]) {
  const { verdict, why } = makeRow(WEB, presences, true)!.state;
  return { verdict, why };
}

describe("a service", () => {
  test("is well when every importing cluster has somebody to lead to", () => {
    expect(judge(EAST, EDGE, at("idle"))).toEqual({ verdict: "well", why: "" });
  });

  test("that nobody exports and nobody imports has no row", () => {
    expect(makeRow(WEB, [at("east"), at("west")], true)).toBeUndefined();
  });

  const cases: Readonly<Record<string, { of: readonly Presence[]; verdict: string; why: string }>> =
    {
      "is bad where a cluster leads nowhere": {
        of: [EAST, { ...EDGE, imported: [endpoints("east", 0, 2)] }],
        verdict: "bad",
        why: "edge leads nowhere: no endpoint is ready there.",
      },
      "is not bad where nobody may read what a cluster leads to": {
        of: [EAST, at("edge", { serviceImport: IMPORTED, areSlicesRead: false })],
        verdict: "well",
        why: "",
      },
      "is bad where a cluster leads nowhere, and what others offer cannot be read": {
        of: [
          at("east", { serviceExport: EXPORTED, areSlicesRead: false }),
          { ...EDGE, imported: [] },
        ],
        verdict: "bad",
        why: "edge leads nowhere: no endpoint is ready there.",
      },
      "is bad when nobody who exports it has a ready endpoint": {
        of: [
          { ...EAST, offered: [endpoints(undefined, 0, 2)], imported: [endpoints("east", 0, 2)] },
          { ...EDGE, imported: [endpoints("east", 0, 2)] },
        ],
        verdict: "bad",
        why: "Nobody who exports it has a ready endpoint.",
      },
      "is bad where its import cannot be served, in the words of the condition": {
        of: [EAST, { ...EDGE, serviceImport: { ...IMPORTED, problem: "No IPv6 here." } }],
        verdict: "bad",
        why: "In edge: No IPv6 here.",
      },
      "is not bad while its import is being made": {
        of: [
          EAST,
          at("edge", { serviceImport: { ...IMPORTED, problem: "Waiting.", isPending: true } }),
        ],
        verdict: "warn",
        why: "edge has no endpoint of east, which has 2 ready ones.",
      },
      "is bad when no export of it counts": {
        of: [
          at("east", { serviceExport: { problem: "There is no such Service.", conflicts: [] } }),
        ],
        verdict: "bad",
        why: "The export in east does not count: There is no such Service.",
      },
      "is worth a warning when one export does not count, and others do": {
        of: [EAST, at("west", { serviceExport: { problem: "No Service.", conflicts: [] } })],
        verdict: "warn",
        why: "The export in west does not count: No Service.",
      },
      "is worth a warning in conflict, in the words of the condition": {
        of: [
          { ...EAST, serviceExport: { problem: undefined, conflicts: ["They disagree."] } },
          EDGE,
        ],
        verdict: "warn",
        why: "They disagree.",
      },
      "is worth a warning while who exports it is lost": {
        of: [EAST, EDGE, at("west", { serviceExport: EXPORTED, liveness: "lost" })],
        verdict: "warn",
        why: "west is lost: clients are led to the others.",
      },
      "is well although who exports it is drained": {
        of: [
          EAST,
          EDGE,
          at("west", {
            serviceExport: EXPORTED,
            liveness: "drained",
            offered: [endpoints(undefined, 1)],
          }),
        ],
        verdict: "well",
        why: "",
      },
      "is worth a warning while a cluster has nothing of a source that is well": {
        of: [
          EAST,
          EDGE,
          at("west", { serviceExport: EXPORTED, offered: [endpoints(undefined, 1)] }),
        ],
        verdict: "warn",
        why: "east and edge have no endpoint of west, which has 1 ready one.",
      },
      "is worth a warning while some endpoints are not ready at home": {
        of: [
          { ...EAST, offered: [endpoints(undefined, 2, 3)], imported: [endpoints("east", 2, 3)] },
          { ...EDGE, imported: [endpoints("east", 2, 3)] },
        ],
        verdict: "warn",
        why: "1 of 3 endpoints is not ready.",
      },
      "is worth a warning while nobody has imported it": {
        of: [at("east", { serviceExport: EXPORTED, offered: [endpoints(undefined, 1)] })],
        verdict: "warn",
        why: "east exports it, and no cluster has imported it.",
      },
      "is worth a warning when nobody exports it any more": {
        of: [EDGE],
        verdict: "warn",
        why: "Nobody exports it, and edge still has it.",
      },
      "that somebody imports by hand needs no export": {
        of: [{ ...EDGE, serviceImport: { ...IMPORTED, isManaged: false } }],
        verdict: "well",
        why: "",
      },
    };
  test.each(Object.entries(cases))("%s", (_, { of, verdict, why }) => {
    expect(judge(...of)).toEqual({ verdict, why });
  });
});

test("what cannot be known for lack of a cluster is not said", () => {
  const { state } = makeRow(WEB, [EDGE], false)!;
  expect(state.why).toBe("");
});

test("a row is the same in whatever order clusters are looked at", () => {
  expect(makeRow(WEB, [EDGE, EAST], true)).toEqual(makeRow(WEB, [EAST, EDGE], true));
});

test("the age of sync is that of the last thing that was written or went, at the moment of telling", () => {
  const late = at("edge", {
    serviceImport: IMPORTED,
    imported: [{ ...endpoints("east", 2), writtenAtMs: 4_000 }],
  });
  const went = { ...EAST, lostSliceAtMs: 9_000 };
  const row = makeRow(WEB, [late, went], true)!;
  const ages = renderRow(row, 10_000).parts.map((part) => [part.cluster, part.syncAgeSeconds]);
  expect(ages).toEqual([
    ["east", 1],
    ["edge", 6],
  ]);
  expect(renderRow(row, 0).parts[0]!.syncAgeSeconds).toBe(0);
});

test("endpoints of several slices of a source are counted together", () => {
  const imported = [endpoints("west", 1), endpoints("east", 2, 3), endpoints("west", 1, 2)];
  const { state } = makeRow(WEB, [at("edge", { serviceImport: IMPORTED, imported })], true)!;
  expect(state.parts[0]!.sources).toEqual([
    { cluster: "east", ready: 2, total: 3 },
    { cluster: "west", ready: 2, total: 3 },
  ]);
});
