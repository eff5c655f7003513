// DNS, hashing of names: wire names in, small numbers that stand for them out. Open addressing with linear probing over typed
// arrays; what is removed closes its gap, so there are no tombstones and nothing to clean up later.

export interface NameIndex {
  /** -1: not there. Allocates nothing. */
  find(name: Uint8Array, length: number): number;
  /** The number of a name, given one if need be. Numbers of removed names are used again. */
  add(name: Uint8Array): number;
  remove(id: number): void;
  readonly size: number;
  /** Places, taken or not: at most eight times the names, beyond the least. */
  readonly capacity: number;
}

const CAPACITY_MIN = 64;

export function createNameIndex(seed: number): NameIndex {
  /** Number of a name, plus one; 0: free. */
  let places = new Int32Array(CAPACITY_MIN);
  let mask = CAPACITY_MIN - 1;
  let size = 0;
  /** By number. */
  const names: (Uint8Array | undefined)[] = [];
  let hashes = new Int32Array(CAPACITY_MIN);
  const free: number[] = [];

  function find(name: Uint8Array, length: number): number {
    const hash = hashName(name, length, seed);
    for (let at = hash & mask; ; at = (at + 1) & mask) {
      const id = (places[at] ?? 0) - 1;
      if (id < 0) return -1;
      if (hashes[id] === hash && isSameName(names[id], name, length)) return id;
    }
  }

  function place(id: number): void {
    let at = (hashes[id] ?? 0) & mask;
    while (places[at] !== 0) at = (at + 1) & mask;
    places[at] = id + 1;
  }

  function resize(capacity: number): void {
    const old = places;
    places = new Int32Array(capacity);
    mask = capacity - 1;
    for (const one of old) if (one !== 0) place(one - 1);
  }

  function add(name: Uint8Array): number {
    const known = find(name, name.length);
    if (known >= 0) return known;
    const id = free.pop() ?? names.length;
    names[id] = name;
    if (id >= hashes.length) {
      const larger = new Int32Array(hashes.length * 2);
      larger.set(hashes);
      hashes = larger;
    }
    hashes[id] = hashName(name, name.length, seed);
    size += 1;
    // Half full at most, so that a miss is found out after a place or two.
    if (size * 2 > places.length) resize(places.length * 2);
    place(id);
    return id;
  }

  function remove(id: number): void {
    let gap = (hashes[id] ?? 0) & mask;
    while (places[gap] !== id + 1) gap = (gap + 1) & mask;
    places[gap] = 0;
    names[id] = undefined;
    free.push(id);
    size -= 1;
    closeGap(gap);
    // Far from where growing begins, so that one name coming and going does not move all the others each time.
    if (places.length > CAPACITY_MIN && size * 8 < places.length) resize(places.length / 2);
  }

  /** Whoever stands behind the gap only because the gap was taken moves up. */
  function closeGap(start: number): void {
    let gap = start;
    for (let at = (gap + 1) & mask; places[at] !== 0; at = (at + 1) & mask) {
      const one = places[at] ?? 0;
      const home = (hashes[one - 1] ?? 0) & mask;
      if (((at - home) & mask) < ((at - gap) & mask)) continue;
      places[gap] = one;
      places[at] = 0;
      gap = at;
    }
  }

  return {
    find,
    add,
    remove,
    get size() {
      return size;
    },
    get capacity() {
      return places.length;
    },
  };
}

/** Whoever does not know the seed cannot choose names that end up in one heap. */
function hashName(name: Uint8Array, length: number, seed: number): number {
  let hash = seed ^ length;
  for (let at = 0; at < length; at += 1) {
    hash = Math.imul(hash ^ (name[at] ?? 0), 0x5bd1e995);
    hash ^= hash >>> 15;
  }
  return hash;
}

function isSameName(known: Uint8Array | undefined, name: Uint8Array, length: number): boolean {
  if (known === undefined || known.length !== length) return false;
  for (let at = 0; at < length; at += 1) if (known[at] !== name[at]) return false;
  return true;
}
