import { expect, test } from "vitest";
import { aHandmadeImport, aService, anApply } from "../../test/kubeObjects.ts";
import { SERVICE } from "../api/builtin.ts";
import { SERVICE_IMPORT, type ServiceImport } from "../api/mcs.ts";
import type { Condition } from "../api/object.ts";
import type { Judgement } from "./condition.ts";
import { planExportEvents, planImportEvents } from "./event.ts";
import { deletionOf, type Write } from "./write.ts";

const judged = (type: string, status: Judgement["status"], reason: string): Judgement => ({
  type,
  status,
  reason,
  message: `${type} is ${status}.`,
});
const written = (judgement: Judgement): Condition => ({
  ...judgement,
  lastTransitionTime: "2026-01-01T00:00:00Z",
});
const conflict = judged("Conflict", "True", "TypeConflict");
const harmony = judged("Conflict", "False", "NoConflicts");
const invalid = judged("Valid", "False", "NoService");
const valid = judged("Valid", "True", "Valid");

test("R12: a conflict is told once, with the words of the condition", () => {
  expect(planExportEvents([], [conflict])).toEqual([
    { type: "Warning", reason: "Conflict", message: "Conflict is True." },
  ]);
  expect(planExportEvents([written(conflict)], [conflict])).toEqual([]);
});

test("R12: another conflict is told too", () => {
  const more = judged("Conflict", "True", "TypeConflict,LabelsConflict");
  expect(planExportEvents([written(conflict)], [more])).toHaveLength(1);
});

test("R12: the end of a conflict is told, agreement from the start is not", () => {
  expect(planExportEvents([written(conflict)], [harmony])).toEqual([
    { type: "Normal", reason: "NoConflicts", message: "Conflict is False." },
  ]);
  expect(planExportEvents([], [harmony])).toEqual([]);
});

test("R12: becoming invalid is told, and another cause of it again", () => {
  expect(planExportEvents([written(valid)], [invalid])).toEqual([
    { type: "Warning", reason: "NoService", message: "Valid is False." },
  ]);
  expect(planExportEvents([written(invalid)], [invalid])).toEqual([]);
  const other = judged("Valid", "False", "InvalidServiceType");
  expect(planExportEvents([written(invalid)], [other])).toHaveLength(1);
});

test("being valid and being ready are no news", () => {
  expect(planExportEvents([], [valid, judged("Ready", "True", "Exported")])).toEqual([]);
  expect(planExportEvents([written(invalid)], [valid])).toEqual([]);
});

const anImport = (...conditions: readonly Condition[]): ServiceImport => ({
  ...aHandmadeImport(),
  status: { conditions },
});
const writing = (...conditions: readonly Condition[]): readonly Write[] => [
  { ...anApply(SERVICE_IMPORT, anImport(...conditions)), subresource: "status" },
];
const ready = written(judged("Ready", "True", "Ready"));
const rejected = written(judged("EndpointsAccepted", "False", "AddressForbidden"));

test("endpoints that are left out are told once, with the words of the condition", () => {
  expect(planImportEvents(anImport(ready), writing(ready, rejected))).toEqual([
    { type: "Warning", reason: "EndpointsRejected", message: "EndpointsAccepted is False." },
  ]);
  const counted = { ...rejected, message: "There are more of them." };
  expect(planImportEvents(anImport(ready, rejected), writing(ready, counted))).toEqual([]);
});

test("endpoints that are left out for another reason are told again", () => {
  const other = { ...rejected, reason: "TooMany" };
  expect(planImportEvents(anImport(rejected), writing(other))).toHaveLength(1);
});

test("that no endpoint is left out any more is no news, and neither is anything else of an import", () => {
  expect(planImportEvents(anImport(ready, rejected), writing(ready))).toEqual([]);
  expect(planImportEvents(undefined, writing(ready))).toEqual([]);
  const others = [anApply(SERVICE, aService()), deletionOf(SERVICE_IMPORT, anImport(rejected))];
  expect(planImportEvents(anImport(ready), others)).toEqual([]);
});
