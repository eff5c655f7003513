// DNS, one record after the other: names and data in, their bytes and where each began out. One buffer is used again and again.

import type { Address } from "../core/address.ts";
import { CLASS_IN, HEADER_BYTES, POINTER, TYPE } from "./wire.ts";

/** The largest record: name, head and 65535 bytes of data. */
const RECORD_MAX_BYTES = 255 + 10 + 65_535;

const NO_BYTES = new Uint8Array(0);
const FIRST_ALONE = Uint32Array.of(0);

export class RecordWriter {
  #bytes = new Uint8Array(2 * RECORD_MAX_BYTES);
  #end = 0;
  #starts = new Uint32Array(1024);
  #count = 0;
  #lengthAt = 0;

  /** Of a name that is the question's, or ends like it: the common end is a pointer there. */
  begin(name: Uint8Array, question: Uint8Array, type: number, ttlSeconds: number): void {
    if (this.#end + RECORD_MAX_BYTES > this.#bytes.length) this.#bytes = enlarge(this.#bytes);
    if (this.#count === this.#starts.length) this.#starts = enlarge(this.#starts);
    this.#starts[this.#count] = this.#end;
    this.#count += 1;
    this.compressed(name, question);
    this.short(type);
    this.short(CLASS_IN);
    this.short(ttlSeconds >>> 16);
    this.short(ttlSeconds);
    this.#lengthAt = this.#end;
    this.#end += 2;
  }

  /** After the data. */
  finish(): void {
    const length = this.#end - this.#lengthAt - 2;
    this.#bytes[this.#lengthAt] = length >> 8;
    this.#bytes[this.#lengthAt + 1] = length;
  }

  address(name: Uint8Array, question: Uint8Array, address: Address, ttlSeconds: number): void {
    this.begin(name, question, address.family === "IPv4" ? TYPE.A : TYPE.AAAA, ttlSeconds);
    for (const word of address.words) {
      this.short(word >>> 16);
      this.short(word);
    }
    this.finish();
  }

  short(value: number): void {
    this.#bytes[this.#end] = value >> 8;
    this.#bytes[this.#end + 1] = value;
    this.#end += 2;
  }

  whole(bytes: Uint8Array): void {
    this.#bytes.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  compressed(name: Uint8Array, question: Uint8Array): void {
    if (name === question) {
      this.short((POINTER << 8) | HEADER_BYTES);
      return;
    }
    for (let at = 0; at < name.length - 1; at += 1 + (name[at] ?? 0)) {
      const from = question.length - (name.length - at);
      if (from >= 0 && isSameEnd(name, at, question, from)) {
        this.#bytes.set(name.subarray(0, at), this.#end);
        this.#end += at;
        this.short((POINTER << 8) | (HEADER_BYTES + from));
        return;
      }
    }
    this.whole(name);
  }

  /** Everything since the last time. */
  take(): { readonly bytes: Uint8Array; readonly starts: Uint32Array } {
    const bytes = this.#end === 0 ? NO_BYTES : this.#bytes.slice(0, this.#end);
    // Most names have one record, so they share what they can.
    const starts = this.#count === 1 ? FIRST_ALONE : this.#starts.slice(0, this.#count);
    this.#end = 0;
    this.#count = 0;
    return { bytes, starts };
  }
}

function enlarge<A extends Uint8Array | Uint32Array>(array: A): A {
  const larger = new (array.constructor as new (length: number) => A)(array.length * 2);
  larger.set(array);
  return larger;
}

/** To the last byte, so whoever reads on from there in the question reads that name. */
function isSameEnd(name: Uint8Array, at: number, question: Uint8Array, from: number): boolean {
  for (let of = 0; at + of < name.length; of += 1) {
    if (name[at + of] !== question[from + of]) return false;
  }
  return true;
}
