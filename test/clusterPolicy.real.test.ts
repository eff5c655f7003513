// The policies of a member cluster on real API servers: whoever may do everything by RBAC is refused what is Isthmus's, with a
// sentence; Isthmus itself, the controller manager and people with what is theirs are in nobody's way.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  VALIDATING_ADMISSION_POLICY,
  VALIDATING_ADMISSION_POLICY_BINDING,
} from "../src/api/admissionpolicy.ts";
import { ENDPOINT_SLICE, NAMESPACE, SERVICE, type Service } from "../src/api/builtin.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT } from "../src/api/mcs.ts";
import { KUBE_SERVICE_NAME_LABEL, MANAGED_LABEL } from "../src/api/names.ts";
import type { KubeObject } from "../src/api/object.ts";
import {
  ENDPOINT_POLICY,
  EXPORT_POLICY,
  IMPORT_POLICY,
  SERVICE_POLICY,
} from "../src/policy/cluster.ts";
import { mustRun } from "./commandLine.ts";
import { unique } from "./contract/objects.ts";
import { ACTS, PROBES } from "./policy/acts.ts";
import { EAST, LEGACY, SHOP, Stage, WEST } from "./policy/stage.ts";
import { anEndpoint, anExport, anImport, aService, aSlice } from "./scenarios/objects.ts";
import { expectAbsent, expectUsable } from "./scenarios/outcome.ts";
import { eventually } from "./scenarios/poll.ts";
import { refusalOf, refuserOf, requireRefuser } from "./trust/refusal.ts";

const TIMEOUT_MS = 240_000;
const NAMES = [ENDPOINT_POLICY, EXPORT_POLICY, IMPORT_POLICY, SERVICE_POLICY];
const NOBODY = "nobody";
const AGENT = "system:serviceaccount:isthmus-system:isthmus-agent";
const dryRun = { dryRun: true } as const;

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.open();
}, TIMEOUT_MS);
afterAll(() => stage?.close(), TIMEOUT_MS);

test("the policies compile for every kind that they match, without a warning", async () => {
  for (const { admin } of [stage.world.hub, stage.world.away]) {
    for (const name of NAMES) {
      await eventually(`${name} has been checked`, async () => {
        const policy = (await admin.get(VALIDATING_ADMISSION_POLICY, { name })) as KubeObject & {
          readonly status?: {
            readonly observedGeneration?: number;
            readonly typeChecking?: object;
          };
        };
        expect(policy.status?.observedGeneration).toBe(policy.metadata.generation);
        expect(policy.status?.typeChecking).toEqual({});
      });
    }
  }
});

describe("who may do everything with services by RBAC may not", () => {
  test.each(ACTS)("$sentence", async (act) => {
    const { by, says } = await stage.try(act);
    expect(by).toBe(act.policy);
    expect(says).toContain(act.says);
  });
});

describe("an administrator", () => {
  test("is refused by accident as everybody else, and does it all when he breaks the glass", async () => {
    const byAccident: string[] = [];
    const onPurpose: string[] = [];
    const breaker = stage.breakGlass();
    for (const act of ACTS) {
      byAccident.push((await stage.try(act, stage.access.admin)).by);
      onPurpose.push((await stage.try(act, breaker)).by);
    }
    expect(byAccident).toEqual(ACTS.map(({ policy }) => policy));
    expect(onPurpose).toEqual(ACTS.map(() => NOBODY));
  });

  test("deletes what Isthmus makes again, by the agent with what join allows it", async () => {
    const { west } = stage;
    const before = await west.derived("web");
    const { namespace = "", name = "" } = before.metadata;
    await stage.breakGlass().delete(SERVICE, { namespace, name });
    await eventually("it is back, with its address", async () => {
      const { metadata, spec } = await west.derived("web");
      expect(metadata.uid).not.toBe(before.metadata.uid);
      expect(spec?.clusterIPs).toEqual(before.spec?.clusterIPs);
      await expectUsable(west, "web", [EAST, WEST]);
    });
  });
});

describe("people with what is theirs", () => {
  test("export, change and take back", async () => {
    const { own, east } = stage;
    await own.offer("api", ["10.2.0.7"]);
    await eventually("it is used in the other cluster", () =>
      expectUsable(east, "api", ["10.2.0.7"]),
    );
    await own.edit(SERVICE_EXPORT, "api", (object) => ({
      ...object,
      spec: { exportedLabels: { team: "checkout" } },
    }));
    await eventually("the change has arrived", async () => {
      expect((await east.serviceImport("api")).metadata.labels).toMatchObject({ team: "checkout" });
    });
    await own.unexport("api");
    for (const site of [own, east]) {
      await eventually(`nothing is left in ${site.id}`, () => expectAbsent(site, "api"));
    }
    await own.delete(SERVICE, "api");
  });

  test("write imports by hand, change their endpoints where Isthmus linked them, and delete them", async () => {
    const { own } = stage;
    await own.edit(SERVICE_IMPORT, "legacy", (object) => ({
      ...object,
      metadata: { ...object.metadata, labels: { team: "checkout" } },
    }));
    const slice = await own.edit(ENDPOINT_SLICE, "legacy-1", (object) => ({
      ...object,
      endpoints: [anEndpoint("192.0.2.2")],
    }));
    expect(slice.metadata.labels?.[KUBE_SERVICE_NAME_LABEL]).toBe(own.derivedName("legacy"));
    await eventually("it leads there", () => expectUsable(own, "legacy", ["192.0.2.2"]));
    await own.edit(ENDPOINT_SLICE, "legacy-1", (object) => ({
      ...object,
      endpoints: [anEndpoint(LEGACY)],
    }));
    const second = anImport(SHOP, "second");
    await own.create(SERVICE_IMPORT, second);
    await eventually("it has its Service", () => own.derived("second"));
    await own.delete(SERVICE_IMPORT, "second");
    await eventually("its Service is gone", () => expectAbsent(own, "second"));
  });

  test("call Services and slices as they like", async () => {
    const attempts = [
      stage.owner.create(SERVICE, aService(SHOP, "derived-data"), dryRun),
      stage.owner.create(
        ENDPOINT_SLICE,
        aSlice(SHOP, unique("own-"), {
          service: "derived-data",
          endpoints: [anEndpoint("10.2.0.8")],
        }),
        dryRun,
      ),
    ];
    expect(await Promise.all(attempts.map(refuserOf))).toEqual([NOBODY, NOBODY]);
  });
});

describe("Kubernetes itself", () => {
  test("empties a namespace with imports in it", { timeout: TIMEOUT_MS }, async () => {
    const { hub, away } = stage.world;
    const name = unique("gone-");
    for (const candidate of [hub, away]) await stage.makeNamespace(candidate, name);
    await stage.east.in(name).offer("web", [EAST]);
    await eventually("it is imported", () => expectUsable(stage.west.in(name), "web", [EAST]));
    for (const { admin } of [away, hub]) {
      await admin.delete(NAMESPACE, { name });
      await eventually("the namespace is gone", async () => {
        expect(await admin.get(NAMESPACE, { name })).toBeUndefined();
      });
    }
  });

  test("collects what has lost its owner", async () => {
    const { own } = stage;
    const owner = await own.create(SERVICE_IMPORT, anImport(SHOP, "owner", { type: "Headless" }));
    const { apiVersion, kind, metadata } = owner;
    // Without the name of an import the agent does not know it.
    const orphan: Service = {
      ...aService(SHOP, "owned"),
      metadata: {
        namespace: SHOP,
        name: "owned",
        labels: { [MANAGED_LABEL]: "true" },
        ownerReferences: [{ apiVersion, kind, name: "owner", uid: metadata.uid! }],
      },
    };
    await stage.breakGlass().create(SERVICE, orphan);
    await own.delete(SERVICE_IMPORT, "owner");
    await eventually("it is collected", async () => {
      expect(await own.get(SERVICE, "owned")).toBeUndefined();
    });
  });

  test("takes away imported slices by its own controllers, each by itself or all as one", async () => {
    const act = ACTS.find(({ sentence }) => sentence === "delete an imported slice")!;
    const one = stage.as("system:serviceaccount:kube-system:endpointslice-controller", [
      "system:serviceaccounts",
      "system:serviceaccounts:kube-system",
    ]);
    const all = stage.as("system:kube-controller-manager", ["system:masters"]);
    const somebody = stage.as("somebody", ["system:masters"]);
    expect((await stage.try(act, one)).by).toBe(NOBODY);
    expect((await stage.try(act, all)).by).toBe(NOBODY);
    expect((await stage.try(act, somebody)).by).toBe(ENDPOINT_POLICY);
  });

  test("lets go of what somebody's finalizer holds, once it is being deleted", {
    timeout: TIMEOUT_MS,
  }, async () => {
    const { owner, world } = stage;
    const namespace = unique("held-");
    await stage.makeNamespace(world.away, namespace);
    const ref = { namespace, name: "held" };
    const metadata = {
      ...ref,
      labels: { [MANAGED_LABEL]: "true" },
      finalizers: ["example.com/held"],
    };
    await stage.breakGlass().create(SERVICE, { ...aService(namespace, "held"), metadata });
    const letGo = async (): Promise<Service> => {
      const held = (await owner.get(SERVICE, ref))!;
      return owner.replace(SERVICE, { ...held, metadata: { ...held.metadata, finalizers: [] } });
    };
    expect(await refuserOf(letGo())).toBe(SERVICE_POLICY);
    await world.away.admin.delete(NAMESPACE, { name: namespace });
    await eventually("it is let go", letGo);
    await eventually("the namespace is gone", async () => {
      expect(await world.away.admin.get(NAMESPACE, { name: namespace })).toBeUndefined();
    });
  });
});

test("all this while no agent was refused anything", () => {
  expect(stage.logged.filter((line) => /admissionpolic|forbidden/i.test(line))).toEqual([]);
});

describe("isthmus policy install", () => {
  const install = (...flags: string[]): Promise<string> =>
    mustRun(["policy", "install", ...flags, ...stage.world.away.at]);
  const resultsOf = (out: string): readonly string[] =>
    out
      .split("\n")
      .slice(1)
      .map((line) => line.split(/ {2,}/)[2]!);

  test("changes nothing the second time", async () => {
    expect(resultsOf(await install())).toEqual(Array.from({ length: 8 }, () => "unchanged"));
  });

  test("with --hand-made-imports deny leaves imports to Isthmus; those that there are may go", async () => {
    const { owner, west } = stage;
    await install("--hand-made-imports", "deny");
    const write = () => owner.create(SERVICE_IMPORT, anImport(SHOP, "third"), dryRun);
    await eventually("it is in force", () => requireRefuser(write(), IMPORT_POLICY));
    expect((await refusalOf(write())).says).toContain(
      "Write a ServiceExport in the cluster that has the Service.",
    );
    const legacy = await west.serviceImport("legacy");
    expect(await refuserOf(owner.replace(SERVICE_IMPORT, legacy, dryRun))).toBe(IMPORT_POLICY);
    await stage.own.create(SERVICE_EXPORT, anExport(SHOP, "still"));
    await owner.delete(SERVICE_EXPORT, { namespace: SHOP, name: "still" });
    expect(await owner.delete(SERVICE_IMPORT, { namespace: SHOP, name: "legacy" })).toBe(true);
    await eventually("its Service is gone", async () => {
      expect(await west.get(SERVICE, west.derivedName("legacy"))).toBeUndefined();
    });
    await install();
    await eventually("the owner writes by hand again", () =>
      owner.create(SERVICE_IMPORT, anImport(SHOP, "legacy")),
    );
    await eventually("legacy can be used", () => expectUsable(west, "legacy", [LEGACY]));
  });

  test("with names of namespaces denies those, and allows what is denied by default", async () => {
    const { owner } = stage;
    const write = (namespace: string) =>
      owner.create(SERVICE_EXPORT, anExport(namespace, unique("web-")), dryRun);
    expect(await refuserOf(write(SHOP))).toBe(NOBODY);
    await install("--deny-namespace", SHOP, "--allow-namespace", "default");
    await eventually("it is in force", () => requireRefuser(write(SHOP), EXPORT_POLICY));
    expect(await refuserOf(write("default"))).toBe(NOBODY);
    expect(await refuserOf(write("kube-system"))).toBe(EXPORT_POLICY);
    await install();
    await eventually("it is over", () => requireRefuser(write("default"), EXPORT_POLICY));
    expect(await refuserOf(write(SHOP))).toBe(NOBODY);
  });

  test("with somebody's name protects his work instead of the agent's", async () => {
    const central = stage.as("central", ["system:masters"]);
    const agent = stage.as(AGENT, ["system:masters"]);
    const fleet = stage.as("somebody", ["system:masters", "fleet"]);
    const probe = PROBES.find(({ policy }) => policy === SERVICE_POLICY)!;
    expect((await stage.try(probe, agent)).by).toBe(NOBODY);
    await install("--controller-user", "central", "--controller-group", "fleet");
    await eventually("it is in force", async () => {
      expect((await stage.try(probe, agent)).by).toBe(SERVICE_POLICY);
    });
    expect((await stage.try(probe, central)).by).toBe(NOBODY);
    expect((await stage.try(probe, fleet)).by).toBe(NOBODY);
    await install();
    await stage.untilInForce();
    await eventually("the agent is the keeper again", async () => {
      expect((await stage.try(probe, agent)).by).toBe(NOBODY);
    });
  });
});

describe("isthmus policy remove", () => {
  test("takes them all away, so that only roles refuse; and twice does no harm", {
    timeout: TIMEOUT_MS,
  }, async () => {
    const remove = ["policy", "remove", ...stage.world.away.at];
    expect(await mustRun(remove)).toBe(
      "In the cluster: 4 ValidatingAdmissionPolicyBindings, 4 ValidatingAdmissionPolicies removed.",
    );
    for (const act of ACTS) {
      await eventually(`nobody refuses to ${act.sentence}`, async () => {
        expect((await stage.try(act)).by).toBe(NOBODY);
      });
    }
    expect(await mustRun(remove)).toBe("In the cluster: nothing removed.");
    await mustRun(["policy", "install", ...stage.world.away.at]);
    await stage.untilInForce();
  });
});

describe("isthmus leave", () => {
  test("takes the policies away first, and with them all that they protected; those of a hub stay", {
    timeout: TIMEOUT_MS,
  }, async () => {
    const { world } = stage;
    await stage.stopAll();
    for (const { at, admin } of [world.away, world.hub]) {
      const out = await mustRun(["leave", ...at]);
      expect(out).toMatch(
        /In the cluster: 4 ValidatingAdmissionPolicyBindings, 4 ValidatingAdmissionPolicies, \d+ ServiceImports?, /,
      );
      const { items } = await admin.list(VALIDATING_ADMISSION_POLICY_BINDING);
      expect(items.filter(({ metadata }) => NAMES.includes(metadata.name!))).toEqual([]);
      const ours = { labelSelector: `${MANAGED_LABEL}=true` };
      expect((await admin.list(SERVICE_IMPORT, ours)).items).toEqual([]);
      expect((await admin.list(SERVICE, ours)).items).toEqual([]);
    }
    const { items } = await world.hub.admin.list(VALIDATING_ADMISSION_POLICY_BINDING);
    expect(items.map(({ metadata }) => metadata.name)).toEqual(
      expect.arrayContaining(["isthmus-join", "isthmus-member", "isthmus-member-quota"]),
    );
    const legacy = await stage.west.serviceImport("legacy");
    expect(legacy.status?.conditions ?? []).toEqual([]);
  });
});
