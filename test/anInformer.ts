// Test helper: an informer on a scripted store and a virtual clock, with a record of all it tells.

import { ScriptedStore, THING, type Thing } from "./scriptedStore.ts";
import { VirtualClock } from "./clock.ts";
import {
  createInformer,
  type InformerError,
  type InformerOptions,
} from "../src/runtime/informer.ts";

export const MINUTE = 60_000;

export function anInformer(
  prepare: (store: ScriptedStore) => void = () => undefined,
  options: Partial<InformerOptions<Thing, Thing>> = {},
) {
  const clock = new VirtualClock();
  const store = new ScriptedStore(clock);
  prepare(store);
  const changes: string[] = [];
  const errors: InformerError[] = [];
  const informer = createInformer<Thing>({
    store,
    resource: THING,
    clock,
    random: () => 0.5,
    onChange: (key, before, after) => {
      const name = key.replace("default/", "");
      changes.push(`${name}: ${before?.value ?? "-"} → ${after?.value ?? "-"}`);
    },
    onError: (error) => errors.push(error),
    ...options,
  });
  return { clock, store, informer, changes, errors };
}

export function putMany(store: ScriptedStore, count: number): void {
  for (let i = 0; i < count; i++) store.put(`thing-${i}`, i);
}
