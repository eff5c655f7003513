import { expect, onTestFinished, test } from "vitest";
import { VirtualClock } from "../../test/clock.ts";
import { id } from "../../test/shares.ts";
import { CLUSTER_MEMBER, type ClusterMember } from "../api/isthmus.ts";
import { apiVersionOf } from "../api/object.ts";
import type { Log } from "../ports/log.ts";
import { type Store, StoreError } from "../ports/store.ts";
import { createDrainReport } from "./drain.ts";

const ignore = (): void => undefined;

/** A hub that has the word when it answers, and shows it to its watchers when it is told to. */
function aReport() {
  const clock = new VirtualClock();
  const said: (string | undefined)[] = [];
  const warnings: string[] = [];
  const hub: { refusal?: StoreError; drained?: string | undefined } = {};
  let version = 1;
  const render = (drained: string | undefined): ClusterMember => ({
    apiVersion: apiVersionOf(CLUSTER_MEMBER),
    kind: CLUSTER_MEMBER.kind,
    metadata: { namespace: "isthmus-member-east", name: "east", resourceVersion: String(version) },
    spec: {},
    status: { ...(drained !== undefined && { drained }) },
  });
  let seen: ClusterMember | undefined = render(undefined);
  const apply = async (_: unknown, object: ClusterMember): Promise<ClusterMember> => {
    if (hub.refusal !== undefined) throw hub.refusal;
    version += 1;
    hub.drained = object.status?.drained;
    said.push(hub.drained);
    return render(hub.drained);
  };
  const log: Log = {
    debug: ignore,
    info: ignore,
    warn: (message) => warnings.push(message),
    error: ignore,
    with: () => log,
  };
  const report = createDrainReport({
    cluster: id("east"),
    store: { apply } as unknown as Store,
    clock,
    random: () => 0.5,
    log,
    signal: new AbortController().signal,
    own: () => seen,
  });
  onTestFinished(() => report.stop());
  const show = (drained: string | undefined): void => {
    seen = render(drained);
    report.review();
  };
  const vanish = (): void => {
    seen = undefined;
  };
  return { clock, report, hub, said, warnings, show, vanish };
}

test("a word is written once, however often it is noted, and again when it is another", async () => {
  const { clock, report, said, show } = aReport();
  for (let beat = 0; beat < 5; beat += 1) {
    report.note("new kernel");
    await clock.advance(5_000);
  }
  expect(said).toEqual(["new kernel"]);
  show("new kernel");
  report.note("new kernel");
  report.note("new disks");
  await clock.advance(0);
  expect(said).toEqual(["new kernel", "new disks"]);
  show("new disks");
  report.note(undefined);
  await clock.advance(0);
  expect(said).toEqual(["new kernel", "new disks", undefined]);
});

test("a hub that refuses it is asked again more and more seldom, and complained of once", async () => {
  const { clock, report, hub, said, warnings } = aReport();
  hub.refusal = new StoreError("Internal", "field not declared in schema", { status: 500 });
  report.note("new kernel");
  for (let beat = 0; beat < 60; beat += 1) {
    await clock.advance(5_000);
    report.note("new kernel");
  }
  expect(warnings).toHaveLength(1);
  delete hub.refusal;
  await clock.advance(60_000);
  expect(said).toEqual(["new kernel"]);
});

test("a hub that answers again is told at once, not when its turn would have come", async () => {
  const { clock, report, hub, said } = aReport();
  hub.refusal = new StoreError("Unavailable", "connection refused");
  report.note("new kernel");
  await clock.advance(600_000);
  delete hub.refusal;
  report.retryNow();
  await clock.advance(0);
  expect(said).toEqual(["new kernel"]);
  await clock.advance(600_000);
  expect(said).toEqual(["new kernel"]);
});

test("a hub that has it and shows it to nobody is told otherwise and then the same, so that it shows", async () => {
  const { clock, report, said, show } = aReport();
  report.note("new kernel");
  await clock.advance(0);
  show(undefined);
  expect(said).toEqual(["new kernel"]);
  await clock.advance(2_000);
  expect(said).toEqual(["new kernel", undefined, "new kernel"]);
  show("new kernel");
  await clock.advance(60_000);
  expect(said).toHaveLength(3);
});

test("what only comes late is waited for", async () => {
  const { clock, report, said, show } = aReport();
  report.note("new kernel");
  await clock.advance(0);
  show(undefined);
  show("new kernel");
  await clock.advance(60_000);
  expect(said).toEqual(["new kernel"]);
});

test("who is no member says nothing until it is one", async () => {
  const { clock, report, said, show, vanish } = aReport();
  vanish();
  report.note("new kernel");
  await clock.advance(10_000);
  expect(said).toEqual([]);
  show(undefined);
  await clock.advance(0);
  expect(said).toEqual(["new kernel"]);
});
