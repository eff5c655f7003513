// DNS names: text in, lower-case wire bytes out, and back. The grammar of the names that we serve is spellName, nothing else.

/** Wire bytes of a name, its zero included; 253 characters as text (R82). */
export const NAME_MAX_BYTES = 255;
const LABEL_MAX_BYTES = 63;
/** Names are written here before their length is known. */
const SCRATCH = new Uint8Array(NAME_MAX_BYTES);
const DOT = 46;
const BACKSLASH = 92;

/**
 * Every name that exists, relative to the zone `<z>`, and what is there:
 *
 *   (nothing)                                       SOA, NS
 *   dns-version                                     TXT                  N1
 *   ns.dns                                          A, AAAA              the name server of the zone
 *   svc                                             nothing              R79
 *   <namespace>.svc                                 nothing              R79
 *   <service>.<namespace>.svc                       A, AAAA, SRV         N2, N3, N5; SRV of all ports: R76
 *   _<port>._<protocol>.<service>.<namespace>.svc   SRV                  N4, N7
 *   <host>.<cluster>.<service>.<namespace>.svc      A, AAAA              N6
 *   <cluster>.<service>.<namespace>.svc             does not exist       N9
 *
 * Our own extension, of headless services: as above, for the endpoints of one topology zone or region.
 *
 *   <service>.<namespace>.svc.<topology zone>._zone                      A, AAAA, SRV
 *   _<port>._<protocol>.<service>.<namespace>.svc.<region>._region       SRV
 *
 * These cannot be mistaken for one another: all of the schema's end in `svc`, ours in a label with an underscore, which no
 * Kubernetes name has.
 */
export interface NameParts {
  readonly namespace: string;
  readonly service?: string;
  readonly port?: { readonly name: string; readonly protocol: string };
  readonly endpoint?: { readonly host: string; readonly cluster: string };
  readonly scope?: Scope;
}

export interface Scope {
  readonly kind: "_zone" | "_region";
  readonly value: string;
}

export function spellName({ namespace, service, port, endpoint, scope }: NameParts): string {
  const front = port === undefined ? "" : `_${port.name}._${port.protocol}.`;
  const pod = endpoint === undefined ? "" : `${endpoint.host}.${endpoint.cluster}.`;
  const middle = service === undefined ? "" : `${service}.`;
  const back = scope === undefined ? "" : `.${scope.value}.${scope.kind}`;
  return `${front}${pod}${middle}${namespace}.svc${back}`.toLowerCase();
}

/** Can be one label of a name without an escape. */
export function isPlainLabel(text: string): boolean {
  return /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/i.test(text);
}

/** Undefined for what is no name: an empty label, or a label or name that is too long. A final dot may be left out. */
export function encodeName(text: string): Uint8Array | undefined {
  const bytes = SCRATCH;
  /** Where the length of the present label goes. */
  let head = 0;
  let end = 1;
  for (let at = 0; at < text.length; at += 1) {
    let byte = text.charCodeAt(at);
    if (byte === DOT && text.length > 1) {
      if (end === head + 1) return undefined;
      bytes[head] = end - head - 1;
      head = end;
      end += 1;
      continue;
    }
    if (byte === DOT) break;
    if (byte === BACKSLASH) {
      const number = /^[0-9]{3}/.exec(text.slice(at + 1, at + 4))?.[0];
      byte = number === undefined ? text.charCodeAt(at + 1) : Number(number);
      at += number === undefined ? 1 : 3;
    }
    // The byte after this one is a length or the final zero, so one place has to be left. A NaN is no byte either.
    if (!(byte <= 255) || end - head > LABEL_MAX_BYTES || end >= NAME_MAX_BYTES - 1) {
      return undefined;
    }
    bytes[end] = LOWER_CASE[byte] ?? 0;
    end += 1;
  }
  if (end > head + 1) {
    bytes[head] = end - head - 1;
    head = end;
  }
  bytes[head] = 0;
  return bytes.slice(0, head + 1);
}

/** By byte. Lengths of labels are no letters, so a whole name can be looked up byte by byte. */
export const LOWER_CASE = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 65 && byte <= 90 ? byte + 32 : byte,
);

/** Of a whole name without pointers. What is not printable is escaped as in zone files. */
export function decodeName(name: Uint8Array, start = 0): string {
  const labels: string[] = [];
  let at = start;
  for (let length = name[at] ?? 0; length > 0; length = name[at] ?? 0) {
    const label = name.subarray(at + 1, at + 1 + length);
    labels.push(Array.from(label, escapeByte).join(""));
    at += 1 + length;
  }
  return labels.length === 0 ? "." : labels.join(".");
}

function escapeByte(byte: number): string {
  if (byte === DOT || byte === BACKSLASH) return `\\${String.fromCharCode(byte)}`;
  if (byte > 32 && byte < 127) return String.fromCharCode(byte);
  return `\\${String(byte).padStart(3, "0")}`;
}

export function countLabels(name: Uint8Array): number {
  let labels = 0;
  for (let at = 0; (name[at] ?? 0) > 0; at += 1 + (name[at] ?? 0)) labels += 1;
  return labels;
}

/** A name within the zone, whose wire form is given. Undefined when it would be too long. */
export function encodeInZone(relative: string, zone: Uint8Array): Uint8Array | undefined {
  if (relative === "") return zone;
  const front = encodeName(relative);
  // The zero at the end of the first gives way.
  if (front === undefined || front.length - 1 + zone.length > NAME_MAX_BYTES) return undefined;
  const name = new Uint8Array(front.length - 1 + zone.length);
  name.set(front);
  name.set(zone, front.length - 1);
  return name;
}
