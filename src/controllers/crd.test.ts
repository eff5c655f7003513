import { describe, expect, test } from "vitest";

import { VirtualClock } from "../../test/clock.ts";
import type { CustomResourceDefinition } from "../api/builtin.ts";
import { CRDS } from "../api/crds.ts";
import { SERVICE_EXPORT_CRD, SERVICE_IMPORT_CRD } from "../api/mcs.ts";
import type { KubeObject, Resource } from "../api/object.ts";
import { isProblem } from "../api/problem.ts";
import { type Store, StoreError } from "../ports/store.ts";
import { type CrdInstallation, installCrds } from "./crd.ts";

const NAME = "serviceimports.multicluster.x-k8s.io";
const RELEASE = "multicluster.x-k8s.io/release-version";

/** Only what an installation asks of an API server, with a hook between its read and its write. */
class CrdServer implements Pick<Store, "get" | "list" | "create" | "apply"> {
  readonly crds = new Map<string, CustomResourceDefinition>();
  readonly writes: string[] = [];
  #version = 0;
  /** Runs once, before the next write takes effect. */
  interloper: (() => void) | undefined;
  /** What a newly written CRD gets as conditions. */
  established: "True" | "False" = "True";
  /** Answers to lists, consumed one by one before lists succeed. */
  readonly refusals: ("NotFound" | "Forbidden" | "Internal")[] = [];

  put(crd: CustomResourceDefinition): CustomResourceDefinition {
    this.#version += 1;
    const stored = {
      ...crd,
      metadata: { ...crd.metadata, resourceVersion: String(this.#version) },
      status: {
        storedVersions: crd.spec.versions.filter((each) => each.storage).map((each) => each.name),
        ...crd.status,
        conditions: [
          { ...CONDITION, type: "NamesAccepted", status: this.established },
          { ...CONDITION, type: "Established", status: this.established },
        ],
      },
    };
    this.crds.set(crd.metadata.name!, stored);
    return stored;
  }

  get asStore(): Store {
    return this as unknown as Store;
  }

  async get<T extends KubeObject>(_: Resource<T>, { name }: { readonly name: string }) {
    return this.crds.get(name) as unknown as T | undefined;
  }

  async list() {
    const refusal = this.refusals.shift();
    if (refusal) throw new StoreError(refusal, "refused");
    return { items: [], resourceVersion: "1" };
  }

  async create<T extends KubeObject>(_: Resource<T>, object: T): Promise<T> {
    this.#interlope();
    if (this.crds.has(object.metadata.name!)) throw new StoreError("AlreadyExists", "exists");
    this.writes.push(`create ${object.metadata.name}`);
    return this.put(object as unknown as CustomResourceDefinition) as unknown as T;
  }

  async apply<T extends KubeObject>(_: Resource<T>, object: T): Promise<T> {
    this.#interlope();
    const { name, resourceVersion } = object.metadata;
    if (this.crds.get(name!)?.metadata.resourceVersion !== resourceVersion) {
      throw new StoreError("Conflict", "moved on");
    }
    this.writes.push(`apply ${name}`);
    return this.put(object as unknown as CustomResourceDefinition) as unknown as T;
  }

  #interlope(): void {
    const interloper = this.interloper;
    this.interloper = undefined;
    interloper?.();
  }
}

const CONDITION = { reason: "Test", message: "taken", lastTransitionTime: "2026-01-01T00:00:00Z" };

function withRelease(release: string): CustomResourceDefinition {
  return {
    ...SERVICE_IMPORT_CRD,
    metadata: { ...SERVICE_IMPORT_CRD.metadata, labels: { [RELEASE]: release } },
  };
}

interface Attempt {
  readonly done: Promise<readonly CrdInstallation[]>;
  readonly clock: VirtualClock;
}

function install(server: CrdServer, crds = [SERVICE_IMPORT_CRD], signal?: AbortSignal): Attempt {
  const clock = new VirtualClock();
  const done = installCrds({
    store: server.asStore,
    crds,
    clock,
    timeoutMs: 10_000,
    ...(signal && { signal }),
  });
  // Some tests look at the outcome only after moving the clock.
  done.catch(() => {});
  return { done, clock };
}

test("what is missing is created, and a second installation writes nothing", async () => {
  const server = new CrdServer();
  expect(await install(server, [...CRDS]).done).toEqual(
    CRDS.map((crd) => ({ name: crd.metadata.name, outcome: "created" })),
  );
  expect(server.writes).toHaveLength(CRDS.length);
  expect(await install(server, [...CRDS]).done).toEqual(
    CRDS.map((crd) => ({ name: crd.metadata.name, outcome: "unchanged" })),
  );
  expect(server.writes).toHaveLength(CRDS.length);
});

test("an older one is updated, and the outcome says what it was", async () => {
  const server = new CrdServer();
  server.put(withRelease("v0.4.0"));
  expect(await install(server).done).toEqual([{ name: NAME, outcome: "updated", from: "v0.4.0" }]);
  expect(server.writes).toEqual([`apply ${NAME}`]);
});

test("a newer one is kept, and the outcome says what it is", async () => {
  const server = new CrdServer();
  server.put(withRelease("v0.9.0"));
  expect(await install(server).done).toEqual([
    { name: NAME, outcome: "kept", newer: "v0.9.0", missing: [] },
  ]);
  expect(server.writes).toEqual([]);
});

describe("somebody else installs at the same time", () => {
  test("a newer one created between our read and our write is kept", async () => {
    const server = new CrdServer();
    server.interloper = () => server.put(withRelease("v0.9.0"));
    const { done, clock } = install(server);
    await clock.advance(50);
    expect(await done).toMatchObject([{ outcome: "kept", newer: "v0.9.0" }]);
    expect(server.writes).toEqual([]);
  });

  test("a newer one applied between our read and our write is kept", async () => {
    const server = new CrdServer();
    server.put(withRelease("v0.4.0"));
    server.interloper = () => server.put(withRelease("v0.9.0"));
    const { done, clock } = install(server);
    await clock.advance(50);
    expect(await done).toMatchObject([{ outcome: "kept", newer: "v0.9.0" }]);
    expect(server.writes).toEqual([]);
  });

  test("one that is being deleted is created again when it is gone", async () => {
    const server = new CrdServer();
    server.put({
      ...SERVICE_IMPORT_CRD,
      metadata: { ...SERVICE_IMPORT_CRD.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
    });
    const { done, clock } = install(server);
    await clock.advance(3_000);
    expect(server.writes).toEqual([]);
    server.crds.clear();
    await clock.advance(1_000);
    expect(await done).toEqual([{ name: NAME, outcome: "created" }]);
  });
});

describe("waiting until it is served", () => {
  test("lasts while the API server has not established it", async () => {
    const server = new CrdServer();
    server.established = "False";
    const { done, clock } = install(server);
    await clock.advance(5_000);
    server.established = "True";
    server.put(server.crds.get(NAME)!);
    await clock.advance(1_000);
    expect(await done).toEqual([{ name: NAME, outcome: "created" }]);
    expect(clock.pendingTimers).toBe(0);
  });

  test("lasts while a version is still answered with not found", async () => {
    const server = new CrdServer();
    server.refusals.push("NotFound", "NotFound");
    const { done, clock } = install(server);
    await clock.advance(50);
    expect(server.refusals).toEqual([]);
    await clock.advance(100);
    expect(await done).toHaveLength(1);
  });

  test("is over when reading the objects is merely not allowed", async () => {
    const server = new CrdServer();
    server.refusals.push("Forbidden", "Forbidden");
    expect(await install(server).done).toHaveLength(1);
  });

  test("ends with the server's own failure", async () => {
    const server = new CrdServer();
    server.refusals.push("Internal");
    await expect(install(server).done).rejects.toMatchObject({ code: "Internal" });
  });

  test("ends after the time allowed, with a sentence that says what is missing", async () => {
    const server = new CrdServer();
    server.established = "False";
    const { done, clock } = install(server, [SERVICE_EXPORT_CRD]);
    await clock.advance(10_000);
    const error: unknown = await done.catch((reason: unknown) => reason);
    expect(isProblem(error, "CrdNotServed") && error.message).toBe(
      "After 10 s, the API server does not accept the names of serviceexports.multicluster.x-k8s.io: taken.",
    );
    expect(clock.pendingTimers).toBe(0);
  });

  test("ends at once when the caller gives up", async () => {
    const server = new CrdServer();
    server.established = "False";
    const giveUp = new AbortController();
    const { done, clock } = install(server, [SERVICE_IMPORT_CRD], giveUp.signal);
    await clock.advance(100);
    giveUp.abort(new Error("stopped"));
    await expect(done).rejects.toThrow("stopped");
    expect(clock.pendingTimers).toBe(0);
  });
});
