// DNS, what is served: changes of rendered names in, the answers for a name of a query out. A change costs what it changes; a
// lookup allocates nothing.

import { countLabels, encodeName } from "./name.ts";
import { createNameIndex } from "./nameIndex.ts";
import { renderSoa } from "./soa.ts";

/** Names are pointers into the question at offset 12, or written whole: records can be copied to any place, in any order. */
export interface RenderedAnswer {
  readonly type: number;
  readonly records: Uint8Array;
  /** Start of each record in `records`. */
  readonly starts: Uint32Array;
  /** Addresses of the names that the records point at. */
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
  /** All names of the owner from now on. Empty: the owner is gone. */
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

export interface TableZone {
  /** As given. */
  readonly text: string;
  readonly name: Uint8Array;
  readonly labelCount: number;
}

export interface Table {
  replace(change: Change): void;
  markSynced(): void;
  readonly isSynced: boolean;
  readonly serial: number;
  /** Names. */
  readonly size: number;
  readonly zones: readonly TableZone[];
  /** Undefined: there is no such name. The name is lower case, in wire form. */
  find(name: Uint8Array, length: number): readonly RenderedAnswer[] | undefined;
  /** For writeSoa. */
  readonly soa: Uint8Array;
}

/** Throws when a zone is no name. */
export function createTable(zones: readonly string[], options: TableOptions): Table {
  return new AnswerTable(zones, options);
}

interface Giver {
  readonly owner: string;
  readonly answers: readonly RenderedAnswer[];
}

const NOTHING: readonly RenderedAnswer[] = [];

class AnswerTable implements Table {
  readonly zones: readonly TableZone[];
  isSynced = false;
  serial: number;
  soa: Uint8Array;
  readonly #ttlSeconds: number;
  readonly #index;
  readonly #idsOf = new Map<string, readonly number[]>();
  /** By number of the name: what is answered, whose it is, how many owners have the name, when it was last given. */
  readonly #answers: (readonly RenderedAnswer[])[] = [];
  readonly #giver: (string | undefined)[] = [];
  readonly #owners: number[] = [];
  readonly #givenAt: number[] = [];
  /** All who give answers for a name, where there is more than one. The schema knows no such name. */
  readonly #rivals = new Map<number, Giver[]>();
  #changes = 0;

  constructor(zones: readonly string[], options: TableOptions) {
    this.zones = zones.map(readZone);
    this.#ttlSeconds = options.ttlSeconds;
    this.serial = options.serial ?? 1;
    this.soa = renderSoa(this.serial, this.#ttlSeconds);
    this.#index = createNameIndex(options.hashSeed ?? 0);
  }

  get size(): number {
    return this.#index.size;
  }

  find(name: Uint8Array, length: number): readonly RenderedAnswer[] | undefined {
    const id = this.#index.find(name, length);
    return id < 0 ? undefined : this.#answers[id];
  }

  markSynced(): void {
    this.isSynced = true;
  }

  replace({ owner, names, serial }: Change): void {
    this.#changes += 1;
    const before = this.#idsOf.get(owner) ?? [];
    // New ones first: a name that stays never goes away in between, and keeps its number.
    const after = names.map((one) => this.#give(owner, one));
    for (const id of before) this.#release(owner, id);
    if (after.length === 0) this.#idsOf.delete(owner);
    else this.#idsOf.set(owner, after);
    this.serial = (serial ?? this.serial + 1) >>> 0;
    this.soa = renderSoa(this.serial, this.#ttlSeconds);
  }

  /** Answers the name's number. A name may come twice in a change, with records once. */
  #give(owner: string, { name, answers }: RenderedName): number {
    const id = this.#index.add(name);
    const isNew = (this.#owners[id] ?? 0) === 0;
    if (isNew) {
      this.#owners[id] = 0;
      this.#answers[id] = NOTHING;
      this.#giver[id] = undefined;
      this.#givenAt[id] = 0;
    }
    const isRepeated = this.#givenAt[id] === this.#changes;
    if (!isRepeated || answers.length > 0) this.#setAnswers(id, owner, answers);
    this.#givenAt[id] = this.#changes;
    this.#owners[id] = (this.#owners[id] ?? 0) + 1;
    return id;
  }

  #release(owner: string, id: number): void {
    if (this.#givenAt[id] !== this.#changes) this.#setAnswers(id, owner, NOTHING);
    const left = (this.#owners[id] ?? 0) - 1;
    this.#owners[id] = left;
    if (left === 0) this.#index.remove(id);
  }

  /** With several givers the first by name is heard, so that the answer does not depend on the order of changes. */
  #setAnswers(id: number, owner: string, answers: readonly RenderedAnswer[]): void {
    const rivals = this.#rivals.get(id);
    const giver = this.#giver[id];
    const isAlone = rivals === undefined && (giver === undefined || giver === owner);
    if (isAlone) {
      this.#giver[id] = answers.length === 0 ? undefined : owner;
      this.#answers[id] = answers.length === 0 ? NOTHING : answers;
      return;
    }
    const present = rivals ?? [{ owner: giver ?? owner, answers: this.#answers[id] ?? NOTHING }];
    const others = present.filter((one) => one.owner !== owner);
    const all = answers.length === 0 ? others : [...others, { owner, answers }];
    if (all.length > 1) this.#rivals.set(id, all);
    else this.#rivals.delete(id);
    const first = all.reduce((a, b) => (b.owner < a.owner ? b : a));
    this.#giver[id] = first.owner;
    this.#answers[id] = first.answers;
  }
}

function readZone(text: string): TableZone {
  const name = encodeName(text);
  if (name === undefined || name.length === 1) {
    throw new Error(
      `The zone ${JSON.stringify(text)} is no domain name; give one such as clusterset.local.`,
    );
  }
  return { text, name, labelCount: countLabels(name) };
}
