// The informer's memory: slim records by key, and by declared indexes. Synchronous; it never talks to anybody.

/** The values under which a record is found; duplicates are harmless. */
export type Indexes<R> = Readonly<Record<string, (record: R) => readonly string[]>>;

interface Held<R> {
  readonly record: R;
  /** Kept apart from the record, because a projection may drop them. */
  readonly uid: string;
  readonly resourceVersion: string;
}

export interface Cache<R> {
  get(key: string): Held<R> | undefined;
  /** Throws what an index function throws, and then has changed nothing. */
  set(key: string, held: Held<R>): void;
  delete(key: string): void;
  keys(): IterableIterator<string>;
  list(): R[];
  byIndex(name: string, value: string): R[];
  size(): number;
}

export function createCache<R>(indexes: Indexes<R> = {}): Cache<R> {
  const records = new Map<string, Held<R>>();
  const found = new Map(
    Object.entries(indexes).map(([name, valuesOf]) => [
      name,
      { valuesOf, keys: new Map<string, Set<string>>() },
    ]),
  );

  function removeFromIndexes(key: string, record: R): void {
    for (const { valuesOf, keys } of found.values()) {
      for (const value of valuesOf(record)) {
        const under = keys.get(value);
        under?.delete(key);
        if (under?.size === 0) keys.delete(value);
      }
    }
  }

  return {
    get: (key) => records.get(key),
    set(key, held) {
      const places = [...found.values()].map(({ valuesOf, keys }) => ({
        keys,
        values: valuesOf(held.record),
      }));
      const before = records.get(key);
      if (before !== undefined) removeFromIndexes(key, before.record);
      for (const { keys, values } of places) {
        for (const value of values) {
          const under = keys.get(value);
          if (under === undefined) keys.set(value, new Set([key]));
          else under.add(key);
        }
      }
      records.set(key, held);
    },
    delete(key) {
      const before = records.get(key);
      if (before === undefined) return;
      removeFromIndexes(key, before.record);
      records.delete(key);
    },
    keys: () => records.keys(),
    list: () => Array.from(records.values(), (held) => held.record),
    byIndex(name, value) {
      const index = found.get(name);
      if (index === undefined) throw new Error(`no index "${name}" was declared`);
      const result: R[] = [];
      for (const key of index.keys.get(value) ?? []) {
        const held = records.get(key);
        if (held !== undefined) result.push(held.record);
      }
      return result;
    },
    size: () => records.size,
  };
}
