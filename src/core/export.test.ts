import { describe, expect, test } from "vitest";
import { aService, aServiceExport } from "../../test/kubeObjects.ts";
import { aShare, id, WEB } from "../../test/shares.ts";
import type { Condition } from "../api/object.ts";
import type { Judgement } from "./condition.ts";
import { type ExportInput, judgeExport, planExportStatus, planShare } from "./export.ts";
import { type MergedService, mergeShares } from "./merge.ts";

const NOW = "2026-01-01T12:00:00Z";
const LATER = "2026-01-01T13:00:00Z";

function anInput(fields: Partial<ExportInput> = {}): ExportInput {
  return {
    cluster: id("east"),
    namespace: "shop",
    name: "web",
    serviceExport: aServiceExport(),
    service: aService(),
    namespaceDenied: false,
    ...fields,
  };
}
const merged = (...shares: Parameters<typeof aShare>[]): MergedService | undefined =>
  mergeShares(shares.map((share) => aShare(...share)));
const agreed = merged(["east"]);
const brief = (judgements: readonly Judgement[]): readonly string[] =>
  judgements.map(({ type, status, reason }) => `${type}=${status}/${reason}`);

describe("what is shared", () => {
  test("R1: without a ServiceExport nothing is", () => {
    expect(planShare(anInput({ serviceExport: undefined }))).toBeUndefined();
  });

  test("a Service with more ports than the hub takes is not, and is told so", () => {
    const some = (length: number) =>
      anInput({
        service: aService({
          ports: Array.from({ length }, (_, at) => ({ name: `p${at}`, port: at + 1 })),
        }),
      });
    expect(planShare(some(100))?.ports).toHaveLength(100);
    expect(planShare(some(101))).toBeUndefined();
    const [valid] = judgeExport(some(101), { published: false, merged: undefined });
    expect(valid).toMatchObject({ status: "False", message: expect.stringContaining("101 ports") });
  });

  test("R2: a Service of type ExternalName is not", () => {
    const service = aService({ type: "ExternalName", externalName: "example.com" });
    expect(planShare(anInput({ service }))).toBeUndefined();
  });

  test("R39: publishNotReadyAddresses is not: it acts through the conditions of endpoints", () => {
    const service = aService({ publishNotReadyAddresses: true });
    expect(planShare(anInput({ service }))).toEqual(planShare(anInput()));
  });

  test("R3: without a Service nothing is, and it is shared as soon as there is one", () => {
    expect(planShare(anInput({ service: undefined }))).toBeUndefined();
    expect(planShare(anInput())).toMatchObject({ service: WEB, cluster: "east" });
  });

  test.each(["ClusterIP", "NodePort", "LoadBalancer"] as const)(
    "R4: a Service of type %s is shared as ClusterSetIP",
    (type) => {
      expect(planShare(anInput({ service: aService({ type }) }))?.type).toBe("ClusterSetIP");
    },
  );

  test("R4: a Service without a cluster IP is shared as Headless", () => {
    const service = aService({ clusterIP: "None", clusterIPs: ["None"] });
    expect(planShare(anInput({ service }))?.type).toBe("Headless");
  });

  test("R4, R27, R40: target ports, node ports and selectors do not travel", () => {
    const service = aService({
      type: "NodePort",
      ports: [{ name: "http", protocol: "TCP", port: 80, targetPort: "web", nodePort: 30080 }],
    });
    const share = planShare(anInput({ service }));
    expect(share?.ports).toEqual([{ name: "http", protocol: "TCP", port: 80 }]);
    expect(Object.keys(share ?? {})).not.toContain("selector");
  });

  test("R27: a port without a protocol is TCP, without a name it has the empty one", () => {
    const service = aService({ ports: [{ port: 80 }] });
    expect(planShare(anInput({ service }))?.ports).toEqual([
      { name: "", protocol: "TCP", port: 80 },
    ]);
  });

  test("R38: the protocol of the application travels", () => {
    const service = aService({
      ports: [{ name: "rpc", port: 80, appProtocol: "kubernetes.io/h2c" }],
    });
    expect(planShare(anInput({ service }))?.ports[0]?.appProtocol).toBe("kubernetes.io/h2c");
  });

  test("R9: labels and annotations of Service and ServiceExport do not travel, exported ones do", () => {
    const marks = { labels: { app: "web" }, annotations: { owner: "me" } };
    const plain = planShare(
      anInput({ service: aService({}, marks), serviceExport: aServiceExport({}, marks) }),
    );
    expect(plain).not.toHaveProperty("labels");
    expect(plain).not.toHaveProperty("annotations");
    const spec = { exportedLabels: { team: "a" }, exportedAnnotations: { note: "b" } };
    expect(planShare(anInput({ serviceExport: aServiceExport(spec) }))).toMatchObject({
      labels: { team: "a" },
      annotations: { note: "b" },
    });
  });

  test.each(["withdraw", "unready", "keep"])(
    "R9: what is to become of the endpoints when this cluster is lost travels: %s",
    (whenLost) => {
      const annotations = { "isthmus.dev/when-lost": whenLost };
      const serviceExport = aServiceExport({}, { annotations });
      expect(planShare(anInput({ serviceExport }))).toMatchObject({ whenLost });
      const [valid] = judgeExport(anInput({ serviceExport }), { published: true, merged: agreed });
      expect(valid?.message).toBe("The service can be exported.");
    },
  );

  test("R9: without a word about it, and with one that means nothing, nothing is said", () => {
    expect(planShare(anInput())).not.toHaveProperty("whenLost");
    for (const word of ["", "Keep", "constructor"]) {
      const annotations = { "isthmus.dev/when-lost": word };
      const serviceExport = aServiceExport({}, { annotations });
      expect(planShare(anInput({ serviceExport }))).not.toHaveProperty("whenLost");
    }
  });

  test("R20: precedence goes by the age of the export, not of the Service", () => {
    const service = aService({}, { creationTimestamp: "2020-01-01T00:00:00Z" });
    const serviceExport = aServiceExport({}, { creationTimestamp: "2025-05-05T05:05:05Z" });
    expect(planShare(anInput({ service, serviceExport }))?.exportedAt).toBe("2025-05-05T05:05:05Z");
  });

  test("R31–R34, R37: affinity, policies and families are copied as they are", () => {
    const spec = {
      sessionAffinity: "ClientIP",
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
      internalTrafficPolicy: "Cluster",
      trafficDistribution: "PreferClose",
      ipFamilies: ["IPv6", "IPv4"],
    } as const;
    expect(planShare(anInput({ service: aService(spec) }))).toMatchObject(spec);
  });

  test("R10: an export that is being deleted is withdrawn at once", () => {
    const serviceExport = aServiceExport({}, { deletionTimestamp: NOW });
    expect(planShare(anInput({ serviceExport }))).toBeUndefined();
  });

  test("R11: a Service that is being deleted is withdrawn at once", () => {
    const service = aService({}, { deletionTimestamp: NOW });
    expect(planShare(anInput({ service }))).toBeUndefined();
  });

  test("R68: nothing is shared from a denied namespace", () => {
    expect(planShare(anInput({ namespaceDenied: true }))).toBeUndefined();
  });
});

describe("what the export says", () => {
  const published = { published: true, merged: agreed };

  test("R5, R6, R45: a valid export that all agree on", () => {
    expect(brief(judgeExport(anInput(), published))).toEqual([
      "Valid=True/Valid",
      "Ready=True/Exported",
      "Conflict=False/NoConflicts",
    ]);
  });

  test("R5, R6: a valid export that is on its way", () => {
    expect(brief(judgeExport(anInput(), { published: false, merged: agreed }))).toEqual([
      "Valid=True/Valid",
      "Ready=False/Pending",
    ]);
  });

  test("R2, R7: ExternalName is invalid, not ready, and in no conflict", () => {
    const service = aService({ type: "ExternalName" });
    expect(brief(judgeExport(anInput({ service }), published))).toEqual([
      "Valid=False/InvalidServiceType",
      "Ready=False/Failed",
    ]);
  });

  test("R3, R7, R11: no Service is invalid, not ready, and in no conflict", () => {
    const judged = judgeExport(anInput({ service: undefined }), published);
    expect(brief(judged)).toEqual(["Valid=False/NoService", "Ready=False/Failed"]);
    expect(judged[0]?.message).toBe(
      'There is no Service "web" in namespace "shop". Create it, or delete this export.',
    );
  });

  test("R68: a denied namespace is said to be denied", () => {
    const [valid] = judgeExport(anInput({ namespaceDenied: true }), published);
    expect(valid).toMatchObject({ status: "False", reason: "NamespaceDenied" });
    expect(valid?.message).toContain('namespace "shop"');
  });

  test("R35: labels that no API server takes are told where they were written, and stop nobody else", () => {
    const serviceExport = aServiceExport({ exportedLabels: { team: "two words" } });
    const input = anInput({ serviceExport });
    expect(planShare(input)).toBeUndefined();
    expect(brief(judgeExport(input, published))).toEqual([
      "Valid=False/InvalidExport",
      "Ready=False/Failed",
    ]);
  });

  test("R5: a word about lost clusters that means nothing is told, and stops nobody", () => {
    const judgeWord = (word: string) => {
      const annotations = { "isthmus.dev/when-lost": word };
      const serviceExport = aServiceExport({}, { annotations });
      return judgeExport(anInput({ serviceExport }), published)[0];
    };
    expect(judgeWord("drop")).toEqual({
      type: "Valid",
      status: "True",
      reason: "Valid",
      message:
        'The service can be exported. Annotation isthmus.dev/when-lost has the value "drop", which means nothing, so that endpoints are withdrawn when this cluster is lost; give it one of withdraw, unready, keep.',
    });
    expect(judgeWord("x".repeat(200_000))?.message.length).toBeLessThan(32_768);
  });

  test("R44: the winner of a conflict has the condition too", () => {
    const outcome = {
      published: true,
      merged: merged(["east", { age: 9 }], ["west", { type: "Headless" }]),
    };
    expect(brief(judgeExport(anInput(), outcome))).toContain("Conflict=True/TypeConflict");
  });

  test("R12: what was said of conflicts stands until every export of the service is known again", () => {
    const conflict: Condition = {
      type: "Conflict",
      status: "True",
      reason: "TypeConflict",
      message: "As before.",
      lastTransitionTime: NOW,
    };
    const serviceExport = { ...aServiceExport(), status: { conditions: [conflict] } };
    const held = judgeExport(anInput({ serviceExport }), { ...published, isHeld: true });
    expect(held.at(-1)).toMatchObject({ reason: "TypeConflict", message: "As before." });
    const heard = judgeExport(anInput({ serviceExport }), published);
    expect(heard.at(-1)?.reason).toBe("NoConflicts");
    const unheard = judgeExport(anInput(), { ...published, isHeld: true });
    expect(unheard.at(-1)?.reason).toBe("NoConflicts");
  });

  test("R45: several conflicts are joined by commas without spaces, their sentences by lines", () => {
    const conflicting = merged(
      ["east", { age: 9 }],
      ["west", { type: "Headless", labels: { a: "b" } }],
    );
    const judged = judgeExport(anInput(), { published: true, merged: conflicting });
    const conflict = judged.find(({ type }) => type === "Conflict");
    expect(conflict?.reason).toBe("TypeConflict,LabelsConflict");
    expect(conflict?.message.split("\n")).toHaveLength(2);
  });

  test("R45: every reason that we join passes the schema of a condition", () => {
    const everything = merged(
      ["east", { age: 9 }],
      [
        "west",
        {
          type: "Headless",
          ports: ["http 81/TCP"],
          ipFamilies: ["IPv6"],
          sessionAffinity: "ClientIP",
          internalTrafficPolicy: "Local",
          trafficDistribution: "PreferClose",
          labels: { a: "b" },
          annotations: { a: "b" },
        },
      ],
    );
    const judged = judgeExport(anInput(), { published: true, merged: everything });
    const reason = judged.at(-1)?.reason ?? "";
    expect(reason.split(",")).toHaveLength(8);
    expect(reason).toMatch(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/);
    expect(reason.length).toBeLessThanOrEqual(1024);
  });
});

describe("what is written", () => {
  const judgements = judgeExport(anInput(), { published: true, merged: agreed });
  const written = (conditions: readonly Condition[], generation = 1) => ({
    ...aServiceExport({}, { generation }),
    status: { conditions },
  });
  const conditionsOf = (writes: ReturnType<typeof planExportStatus>): readonly Condition[] => {
    const [write] = writes;
    if (write?.verb !== "apply") throw new Error("nothing was applied");
    return (write.object as ReturnType<typeof written>).status.conditions;
  };
  const first = conditionsOf(planExportStatus(aServiceExport(), judgements, NOW));

  test("R8: all conditions go to the status, with the generation that was judged", () => {
    const writes = planExportStatus(aServiceExport({}, { generation: 7 }), judgements, NOW);
    expect(writes).toHaveLength(1);
    expect(writes[0]).toMatchObject({
      verb: "apply",
      subresource: "status",
      object: { metadata: { namespace: "shop", name: "web" } },
    });
    expect(conditionsOf(writes).map(({ observedGeneration }) => observedGeneration)).toEqual([
      7, 7, 7,
    ]);
  });

  test("R8: nothing is written when nothing changed", () => {
    expect(planExportStatus(written(first), judgements, LATER)).toEqual([]);
  });

  test("R8: the order of conditions is not a change", () => {
    expect(planExportStatus(written(first.toReversed()), judgements, LATER)).toEqual([]);
  });

  test("R8: a new generation is a change, but no transition", () => {
    const conditions = conditionsOf(planExportStatus(written(first, 2), judgements, LATER));
    expect(conditions.every(({ lastTransitionTime }) => lastTransitionTime === NOW)).toBe(true);
    expect(conditions.every(({ observedGeneration }) => observedGeneration === 2)).toBe(true);
  });

  test("R7: an export that becomes invalid loses its conflict", () => {
    const invalid = judgeExport(anInput({ service: undefined }), {
      published: false,
      merged: undefined,
    });
    const conditions = conditionsOf(planExportStatus(written(first), invalid, LATER));
    expect(conditions.map(({ type }) => type)).toEqual(["Valid", "Ready"]);
  });

  test("conditions of others are neither written nor a reason to write", () => {
    const foreign: Condition = {
      type: "example.com/Audited",
      status: "True",
      reason: "Fine",
      message: "",
      lastTransitionTime: NOW,
    };
    expect(planExportStatus(written([foreign, ...first]), judgements, LATER)).toEqual([]);
    const conditions = conditionsOf(planExportStatus(written([foreign]), judgements, LATER));
    expect(conditions.map(({ type }) => type)).toEqual(["Valid", "Ready", "Conflict"]);
  });
});
