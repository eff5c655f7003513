// DNS, the SOA record: serial and TTL in, a template out whose names are pointers to where the zone stands in the question. So
// one template serves every zone and every name; it is rendered when the serial changes, and pointed when it is sent.

import { CLASS_IN, POINTER, TYPE } from "./wire.ts";

/** As CoreDNS has them. Nobody transfers these zones; they matter to nobody but tools that print them. */
const REFRESH_SECONDS = 7200;
const RETRY_SECONDS = 1800;
const EXPIRE_SECONDS = 86_400;
const TTL_MAX_SECONDS = 300;

const MASTER = [2, ...Buffer.from("ns"), 3, ...Buffer.from("dns")];
const MAILBOX = [10, ...Buffer.from("hostmaster")];
const DATA_BYTES = MASTER.length + 2 + MAILBOX.length + 2 + 20;
const DATA_AT = 12;
const MASTER_POINTER_AT = DATA_AT + MASTER.length;
const MAILBOX_POINTER_AT = MASTER_POINTER_AT + 2 + MAILBOX.length;
const SERIAL_AT = MAILBOX_POINTER_AT + 2;
const MINIMUM_AT = SERIAL_AT + 16;

export const SOA_BYTES = DATA_AT + DATA_BYTES;

/** `<zone> SOA ns.dns.<zone> hostmaster.<zone> <serial> …`. How long a "no" may be kept is its minimum, so it is short (R81). */
export function renderSoa(serial: number, ttlSeconds: number): Uint8Array {
  const bytes = new Uint8Array(SOA_BYTES);
  const view = new DataView(bytes.buffer);
  view.setUint16(2, TYPE.SOA);
  view.setUint16(4, CLASS_IN);
  view.setUint32(6, Math.min(ttlSeconds, TTL_MAX_SECONDS));
  view.setUint16(10, DATA_BYTES);
  bytes.set(MASTER, DATA_AT);
  bytes.set(MAILBOX, MASTER_POINTER_AT + 2);
  view.setUint32(SERIAL_AT, serial);
  view.setUint32(SERIAL_AT + 4, REFRESH_SECONDS);
  view.setUint32(SERIAL_AT + 8, RETRY_SECONDS);
  view.setUint32(SERIAL_AT + 12, EXPIRE_SECONDS);
  view.setUint32(MINIMUM_AT, ttlSeconds);
  return bytes;
}

/** `zoneAt` is where the zone begins in the message. */
export function writeSoa(soa: Uint8Array, zoneAt: number, out: Uint8Array, at: number): number {
  for (let of = 0; of < SOA_BYTES; of += 1) out[at + of] = soa[of] ?? 0;
  writePointer(out, at, zoneAt);
  writePointer(out, at + MASTER_POINTER_AT, zoneAt);
  writePointer(out, at + MAILBOX_POINTER_AT, zoneAt);
  return at + SOA_BYTES;
}

function writePointer(out: Uint8Array, at: number, to: number): void {
  out[at] = POINTER | (to >> 8);
  out[at + 1] = to & 0xff;
}
