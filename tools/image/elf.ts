// What a program needs to start: its bytes in, its machine, interpreter and shared libraries out. Pure. It only reads, where `ldd` runs the
// program: so it works for a machine that this is not. Knows 64 bits, little-endian, and the two machines that we build for.

export interface Elf {
  readonly machine: Machine;
  /** What starts it, as in /lib64/ld-linux-x86-64.so.2. */
  readonly interpreter: string | undefined;
  /** Names without folders. */
  readonly needed: readonly string[];
}

export type Machine = "x86_64" | "aarch64";

const MACHINES: Readonly<Record<number, Machine>> = { 62: "x86_64", 183: "aarch64" };
const LOAD = 1;
const DYNAMIC = 2;
const INTERPRETER = 3;
const NEEDED = 1;
const STRING_TABLE = 5;

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
}

/** Undefined: it is none that we know. */
export function readElf(bytes: Buffer): Elf | undefined {
  if (bytes.length < 64 || bytes.readUInt32BE(0) !== 0x7f454c46) return undefined;
  if (bytes[4] !== 2 || bytes[5] !== 1) return undefined;
  const machine = MACHINES[bytes.readUInt16LE(18)];
  if (machine === undefined) return undefined;
  const segments = readSegments(bytes);
  const interpreter = segments.find(({ type }) => type === INTERPRETER);
  const dynamic = segments.find(({ type }) => type === DYNAMIC);
  return {
    machine,
    interpreter: interpreter && readText(bytes, interpreter.offset),
    needed: dynamic === undefined ? [] : readNeeded(bytes, segments, dynamic),
  };
}

function readSegments(bytes: Buffer): readonly Segment[] {
  const at = Number(bytes.readBigUInt64LE(32));
  const size = bytes.readUInt16LE(54);
  return Array.from({ length: bytes.readUInt16LE(56) }, (_, index) => {
    const start = at + index * size;
    return {
      type: bytes.readUInt32LE(start),
      offset: Number(bytes.readBigUInt64LE(start + 8)),
      address: Number(bytes.readBigUInt64LE(start + 16)),
      size: Number(bytes.readBigUInt64LE(start + 32)),
    };
  });
}

function readNeeded(
  bytes: Buffer,
  segments: readonly Segment[],
  dynamic: Segment,
): readonly string[] {
  const entries: { readonly tag: number; readonly value: number }[] = [];
  for (let at = dynamic.offset; at < dynamic.offset + dynamic.size; at += 16) {
    const tag = Number(bytes.readBigUInt64LE(at));
    if (tag === 0) break;
    entries.push({ tag, value: Number(bytes.readBigUInt64LE(at + 8)) });
  }
  const names = entries.find(({ tag }) => tag === STRING_TABLE)?.value ?? 0;
  // The table is named by where it is once loaded.
  const holder = segments.find(
    ({ type, address, size }) => type === LOAD && address <= names && names < address + size,
  );
  if (holder === undefined) return [];
  const table = names - holder.address + holder.offset;
  return entries
    .filter(({ tag }) => tag === NEEDED)
    .map(({ value }) => readText(bytes, table + value));
}

function readText(bytes: Buffer, at: number): string {
  return bytes.toString("latin1", at, bytes.indexOf(0, at));
}
