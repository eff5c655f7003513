// DNS, what is served: changes of rendered names in, the answers for a name of a query out. Lookups allocate nothing.

export interface RenderedAnswer {
  readonly type: number;
  readonly records: Uint8Array;
  /** Start of each record in `records`. */
  readonly starts: Uint32Array;
  readonly additional: Uint8Array;
  readonly additionalCount: number;
}

export interface RenderedName {
  /** Lower case, wire form, zone included. */
  readonly name: Uint8Array;
  /** Empty: the name exists and has no records. */
  readonly answers: readonly RenderedAnswer[];
}

/** Can be cloned by structured clone. */
export interface Change {
  readonly owner: string;
  /** Empty: the owner is gone. */
  readonly names: readonly RenderedName[];
  /** Serial of the zones from here on; absent: one more than before. */
  readonly serial?: number;
}

export interface TableOptions {
  /** Of the SOA of negative answers, and how long they may be kept. */
  readonly ttlSeconds: number;
  /** Serial before the first change. */
  readonly serial?: number;
  /** Any number: who cannot know it cannot choose names that collide. */
  readonly hashSeed?: number;
}

export interface Table {
  replace(change: Change): void;
  markSynced(): void;
  readonly isSynced: boolean;
  readonly serial: number;
  /** Names. */
  readonly size: number;
  /** As given, without the final dot. */
  readonly zones: readonly string[];
}

export function createTable(zones: readonly string[], options: TableOptions): Table {
  let serial = options.serial ?? 1;
  let isSynced = false;
  return {
    replace(change) {
      serial = change.serial ?? serial + 1;
    },
    markSynced() {
      isSynced = true;
    },
    get isSynced() {
      return isSynced;
    },
    get serial() {
      return serial;
    },
    size: 0,
    zones,
  };
}
