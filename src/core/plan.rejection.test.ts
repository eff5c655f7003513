import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createImportWorld, type Heard, type ImportWorld, NOW } from "../../test/importWorld.ts";
import { aHandmadeImport, anApply } from "../../test/kubeObjects.ts";
import { aContribution, aShare, id, WEB } from "../../test/shares.ts";
import { SERVICE_IMPORT, type ServiceImport } from "../api/mcs.ts";
import type { Condition } from "../api/object.ts";
import type { Rejection, RejectionReason } from "./admission.ts";
import type { Write } from "./write.ts";

const USER = "kubectl";
const TYPE = "EndpointsAccepted";

function rejection(cluster: string, reason: RejectionReason, message?: string): Rejection {
  return { cluster: id(cluster), reason, count: 1, message: message ?? `${cluster}: ${reason}.` };
}
const one: Heard = { contributions: [aContribution(aShare("b"))] };
const undeclared = rejection("b", "AddressNotDeclared");
const forbidden = rejection("c", "AddressForbidden");
const bad: Heard = { ...one, rejections: [undeclared] };

function settled(...heard: readonly Heard[]): ImportWorld {
  const world = createImportWorld();
  for (const now of heard) world.settle(now);
  return world;
}
function importOf(world: ImportWorld): ServiceImport {
  const { serviceImport } = world.server.observe(WEB);
  if (serviceImport === undefined) throw new Error("there is no import");
  return serviceImport;
}
const conditionsOf = (world: ImportWorld): readonly Condition[] =>
  importOf(world).status?.conditions ?? [];
const accepted = (world: ImportWorld): Condition | undefined =>
  conditionsOf(world).find(({ type }) => type === TYPE);

function writtenBy(conditions: readonly Condition[], world: ImportWorld): Write {
  const { apiVersion, kind } = importOf(world);
  const metadata = { namespace: "shop", name: "web" };
  const object = { apiVersion, kind, metadata, status: { conditions } };
  return { ...anApply(SERVICE_IMPORT, object), subresource: "status" };
}
const aCondition = (fields: Partial<Condition> = {}): Condition => ({
  type: TYPE,
  status: "False",
  reason: "Whatever",
  message: "Somebody else says so.",
  lastTransitionTime: "2025-01-01T00:00:00Z",
  ...fields,
});

describe("what was not taken in", () => {
  test("is told on the import, beside Ready", () => {
    const world = settled(bad);
    expect(conditionsOf(world)).toMatchObject([
      { type: "Ready", status: "True" },
      {
        type: TYPE,
        status: "False",
        reason: "AddressNotDeclared",
        message: undeclared.message,
        lastTransitionTime: NOW,
        observedGeneration: importOf(world).metadata.generation,
      },
    ]);
  });

  test("is told with every reason once and every sentence, in an order of their own", () => {
    const again = rejection("a", "AddressNotDeclared");
    const world = settled({ ...one, rejections: [forbidden, undeclared, again] });
    expect(accepted(world)).toMatchObject({
      reason: "AddressForbidden,AddressNotDeclared",
      message: `${again.message} ${undeclared.message} ${forbidden.message}`,
    });
    expect(world.plan({ ...one, rejections: [again, undeclared, forbidden] })).toEqual([]);
  });

  test("is told in words that a condition can hold, however many sources are at fault", () => {
    const rejections = Array.from({ length: 250 }, (_, at) =>
      rejection(`member-${at}`, "Malformed", "x".repeat(200)),
    );
    expect(accepted(settled({ ...one, rejections }))?.message).toHaveLength(4096);
  });

  test("is not told of what is fine: the condition is not there", () => {
    expect(conditionsOf(settled(one)).map(({ type }) => type)).toEqual(["Ready"]);
  });

  test("is told no more once it is over, and nothing else of the status changes", () => {
    const world = settled(one);
    const before = importOf(world).status;
    world.settle(bad);
    world.settle(one);
    expect(importOf(world).status).toEqual(before);
  });

  test("changes its words when the reason changes, but not the time", () => {
    const world = settled(one, bad);
    const since = accepted(world)?.lastTransitionTime;
    world.settle({ ...one, rejections: [forbidden] });
    expect(accepted(world)).toMatchObject({
      reason: "AddressForbidden",
      lastTransitionTime: since,
    });
  });

  test("makes no import where no contribution can be used", () => {
    expect(createImportWorld().plan({ rejections: [undeclared] })).toEqual([]);
  });

  test("is not told on an import made by hand", () => {
    const world = createImportWorld();
    world.server.write(anApply(SERVICE_IMPORT, aHandmadeImport()), USER);
    world.settle({ rejections: [undeclared] });
    expect(accepted(world)).toBeUndefined();
  });
});

describe("as long as not everything is known", () => {
  const heardLater: Heard = { awaited: ["b"] };

  test("a held import keeps the condition as it was, word for word", () => {
    const world = settled(bad);
    const before = importOf(world);
    expect(world.plan(heardLater)).toEqual([]);
    expect(world.plan({ ...heardLater, rejections: [forbidden] })).toEqual([]);
    expect(importOf(world)).toEqual(before);
  });

  test("a held import that is repaired keeps it too", () => {
    const world = settled(bad);
    const before = accepted(world);
    const { apiVersion, kind, spec } = importOf(world);
    const metadata = { namespace: "shop", name: "web" };
    const edited = { apiVersion, kind, metadata, spec: { ...spec!, ports: [] } };
    world.server.write(anApply(SERVICE_IMPORT, edited), USER);
    world.settle(heardLater);
    expect(accepted(world)).toEqual(before);
  });

  test("a held import without it gets none", () => {
    const world = settled(one);
    world.settle({ ...heardLater, rejections: [undeclared] });
    expect(accepted(world)).toBeUndefined();
  });

  test("a restart takes nothing back: who was at fault may not have been heard yet", () => {
    const malformed = rejection("c", "Malformed");
    const world = settled({ ...one, rejections: [undeclared, malformed] });
    for (const rejections of [[], [undeclared], [malformed]]) {
      expect(world.plan({ ...one, rejections, awaited: ["c"] })).toEqual([]);
    }
    world.settle(one);
    expect(accepted(world)).toBeUndefined();
  });

  test("bad news does not wait for the others", () => {
    const world = settled(one);
    world.settle({ ...bad, awaited: ["c"] });
    expect(accepted(world)?.reason).toBe("AddressNotDeclared");
  });
});

describe("what others write", () => {
  test("into the condition is put right", () => {
    const world = settled(bad);
    const before = accepted(world);
    world.server.write(writtenBy([aCondition({ status: "True" })], world), USER);
    world.settle(bad);
    expect(accepted(world)).toMatchObject({ ...before, lastTransitionTime: NOW });
  });

  test("as the condition where there is nothing to tell is taken away, and their own types stay", () => {
    const world = settled(one);
    const other = aCondition({ type: "Other" });
    world.server.write(writtenBy([aCondition(), other], world), USER);
    world.settle(one);
    expect(accepted(world)).toBeUndefined();
    expect(conditionsOf(world)).toContainEqual(other);
    expect(conditionsOf(world)).toHaveLength(2);
  });

  test("in another order is the same", () => {
    const world = settled(bad);
    const whole = importOf(world);
    const conditions = conditionsOf(world).toReversed();
    const object: ServiceImport = { ...whole, status: { ...whole.status, conditions } };
    const write = { verb: "replace", resource: SERVICE_IMPORT, object } as const;
    world.server.write({ ...write, subresource: "status" }, USER);
    expect(conditionsOf(world).map(({ type }) => type)).toEqual([TYPE, "Ready"]);
    expect(world.plan(bad)).toEqual([]);
  });
});

const reason = fc.constantFrom<RejectionReason>(
  "AddressNotDeclared",
  "AddressForbidden",
  "AddressInServiceRange",
  "TooMany",
  "Malformed",
);
const rejections = fc.array(
  fc.tuple(fc.constantFrom("a", "b", "c"), reason).map(([from, why]) => rejection(from, why)),
  { maxLength: 4 },
);
const foreign = fc.subarray([aCondition(), aCondition({ type: "Other" })]);

test("whatever was told and edited before, the condition says what is so now, and nothing more is due", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(rejections, foreign), { maxLength: 5 }),
      rejections,
      (past, now) => {
        const world = settled(one);
        for (const [then, edit] of past) {
          world.settle({ ...one, rejections: then });
          if (edit.length > 0) world.server.write(writtenBy(edit, world), USER);
        }
        world.settle({ ...one, rejections: now });
        const fresh = settled({ ...one, rejections: now });
        const { lastTransitionTime: _, ...said } = accepted(world) ?? {};
        const { lastTransitionTime: __, ...expected } = accepted(fresh) ?? {};
        expect(said).toEqual(expected);
        expect(world.plan({ ...one, rejections: now.toReversed() })).toEqual([]);
      },
    ),
  );
});
