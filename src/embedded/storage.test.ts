// Storage: laws over random histories.

import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { KubeObject } from "../api/object.ts";
import { Storage } from "./storage.ts";

const THINGS = "things";

type Step = readonly ["put" | "remove", namespace: string, name: string];

const steps = fc.array(
  fc.tuple(
    fc.constantFrom<"put" | "remove">("put", "put", "remove"),
    fc.constantFrom("a", "a-b", "b"),
    fc.constantFrom("x", "y", "z"),
  ),
  { maxLength: 60 },
);

function perform(storage: Storage, [what, namespace, name]: Step): void {
  const object: KubeObject = { apiVersion: "v1", kind: "Thing", metadata: { namespace, name } };
  if (what === "put") storage.put(THINGS, object);
  else storage.remove(THINGS, `${namespace}/${name}`);
  // Another resource in between: histories are shared, states are not.
  storage.put("others", { ...object, metadata: { name } });
}

function keysOf(objects: readonly KubeObject[] | undefined): string[] {
  return (objects ?? []).map(
    ({ metadata }) => `${metadata.namespace}/${metadata.name}@${metadata.resourceVersion}`,
  );
}

test("every state since compaction can be told as it was, in the order of keys", () => {
  fc.assert(
    fc.property(steps, fc.nat(60), (history, compactAt) => {
      const storage = new Storage({ historyLimit: 1000 });
      const states = new Map<number, string[]>();
      for (const [at, step] of history.entries()) {
        perform(storage, step);
        if (at === compactAt) {
          storage.compact();
          states.clear();
        }
        states.set(storage.revision, keysOf(storage.list(THINGS)));
      }
      for (const [revision, state] of states) {
        expect(keysOf(storage.listAt(THINGS, revision))).toEqual(state);
        const ofA = state.filter((key) => key.startsWith("a/"));
        expect(keysOf(storage.listAt(THINGS, revision, "a"))).toEqual(ofA);
        const names = state.map((key) => key.slice(0, key.indexOf("@")));
        expect(names).toEqual([...names].sort());
      }
    }),
  );
});

test("changes since a revision, replayed on its state, give the state of now", () => {
  fc.assert(
    fc.property(steps, fc.nat(60), (history, from) => {
      const storage = new Storage({ historyLimit: 1000 });
      let start = { revision: storage.revision, state: new Map<string, KubeObject>() };
      for (const [at, step] of history.entries()) {
        perform(storage, step);
        if (at !== from) continue;
        const state = storage.list(THINGS).map((object) => {
          const { namespace, name } = object.metadata;
          return [`${namespace}/${name}`, object] as const;
        });
        start = { revision: storage.revision, state: new Map(state) };
      }
      const replayed = start.state;
      for (const change of storage.changesSince(THINGS, start.revision) ?? []) {
        expect(change.previous).toBe(replayed.get(change.key));
        if (change.type === "DELETED") replayed.delete(change.key);
        else replayed.set(change.key, change.object);
      }
      expect(keysOf([...replayed.values()]).sort()).toEqual(keysOf(storage.list(THINGS)).sort());
    }),
  );
});

test("revisions only grow, one per write", () => {
  const storage = new Storage({ historyLimit: 10 });
  const seen: number[] = [];
  storage.onChange(({ revision }) => seen.push(revision));
  perform(storage, ["put", "a", "x"]);
  perform(storage, ["remove", "a", "x"]);
  perform(storage, ["remove", "a", "x"]);
  expect(seen).toEqual([2, 3, 4, 5, 6]);
});
