// Edge, protobuf bodies: what `kubectl create namespace|configmap|secret|serviceaccount|service` sends in, plain JSON out.
// Those commands know no other format. Only the kinds and fields that they set; never encodes.

import type { Json, JsonObject } from "../types.ts";

type Fields = Readonly<Record<number, readonly [name: string, type: FieldType]>>;
type FieldType =
  | "string"
  | "integer"
  | "boolean"
  /** A pointer in Go: false is not the same as absent. */
  | "booleanOrAbsent"
  | "intOrString"
  | "strings"
  | "stringMap"
  | "bytesMap"
  | { readonly one: Fields }
  | { readonly many: Fields };

const OBJECT_META: Fields = {
  1: ["name", "string"],
  2: ["generateName", "string"],
  3: ["namespace", "string"],
  5: ["uid", "string"],
  6: ["resourceVersion", "string"],
  11: ["labels", "stringMap"],
  12: ["annotations", "stringMap"],
  14: ["finalizers", "strings"],
};

const SERVICE_PORT: Fields = {
  1: ["name", "string"],
  2: ["protocol", "string"],
  3: ["port", "integer"],
  4: ["targetPort", "intOrString"],
  5: ["nodePort", "integer"],
  6: ["appProtocol", "string"],
};

const SERVICE_SPEC: Fields = {
  1: ["ports", { many: SERVICE_PORT }],
  2: ["selector", "stringMap"],
  3: ["clusterIP", "string"],
  4: ["type", "string"],
  5: ["externalIPs", "strings"],
  7: ["sessionAffinity", "string"],
  8: ["loadBalancerIP", "string"],
  9: ["loadBalancerSourceRanges", "strings"],
  10: ["externalName", "string"],
  11: ["externalTrafficPolicy", "string"],
  12: ["healthCheckNodePort", "integer"],
  13: ["publishNotReadyAddresses", "boolean"],
  17: ["ipFamilyPolicy", "string"],
  18: ["clusterIPs", "strings"],
  19: ["ipFamilies", "strings"],
  20: ["allocateLoadBalancerNodePorts", "booleanOrAbsent"],
  21: ["loadBalancerClass", "string"],
  22: ["internalTrafficPolicy", "string"],
  23: ["trafficDistribution", "string"],
};

const METADATA = ["metadata", { one: OBJECT_META }] as const;

/** By kind, all of v1. */
const KINDS: Readonly<Record<string, Fields>> = {
  Namespace: { 1: METADATA, 2: ["spec", { one: { 1: ["finalizers", "strings"] } }] },
  ConfigMap: {
    1: METADATA,
    2: ["data", "stringMap"],
    3: ["binaryData", "bytesMap"],
    4: ["immutable", "booleanOrAbsent"],
  },
  Secret: {
    1: METADATA,
    2: ["data", "bytesMap"],
    3: ["type", "string"],
    4: ["stringData", "stringMap"],
    5: ["immutable", "booleanOrAbsent"],
  },
  ServiceAccount: { 1: METADATA, 4: ["automountServiceAccountToken", "booleanOrAbsent"] },
  Service: { 1: METADATA, 2: ["spec", { one: SERVICE_SPEC }] },
};

/** What precedes an object: a magic number, then a message of its type and its bytes. */
const MAGIC = Buffer.from("k8s\0");
const ENVELOPE: Fields = {
  1: ["typeMeta", { one: { 1: ["apiVersion", "string"], 2: ["kind", "string"] } }],
};
const ENVELOPE_OBJECT = 2;

/** Undefined for kinds that are not known here; throws on bytes that are no message. */
export function decodeProtobuf(bytes: Buffer): JsonObject | undefined {
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) throw new Error("it has no magic number");
  const envelope = readMessage(bytes.subarray(MAGIC.length));
  const { typeMeta } = decodeMessage(envelope, ENVELOPE) as { typeMeta?: JsonObject };
  const { apiVersion, kind } = typeMeta ?? {};
  const fields = apiVersion === "v1" && typeof kind === "string" ? KINDS[kind] : undefined;
  if (fields === undefined) return undefined;
  const object = envelope.find((entry) => entry.number === ENVELOPE_OBJECT);
  return { ...typeMeta, ...decodeMessage(readMessage(asBytes(object?.value)), fields) };
}

interface Entry {
  readonly number: number;
  readonly value: number | Buffer;
}

function readMessage(bytes: Buffer): readonly Entry[] {
  const entries: Entry[] = [];
  let at = 0;
  const readVarint = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[at++];
      if (byte === undefined || factor > 2 ** 63) throw new Error("it ends within a number");
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < bytes.length) {
    const tag = readVarint();
    const wireType = tag % 8;
    const number = Math.floor(tag / 8);
    if (wireType === 0) {
      entries.push({ number, value: readVarint() });
    } else if (wireType === 2) {
      const end = readVarint() + at;
      if (end > bytes.length) throw new Error("it ends within a field");
      entries.push({ number, value: bytes.subarray(at, end) });
      at = end;
    } else {
      // The kinds above have no fixed-width fields.
      throw new Error(`it has a field of wire type ${wireType}`);
    }
  }
  return entries;
}

function decodeMessage(entries: readonly Entry[], fields: Fields): JsonObject {
  const object: Record<string, Json> = {};
  for (const { number, value } of entries) {
    const field = fields[number];
    if (field === undefined) continue;
    const [name, type] = field;
    const decoded = decodeField(value, type, object[name]);
    if (decoded !== undefined) object[name] = decoded;
  }
  return object;
}

/** Go writes empty values, too; JSON leaves them out. `before` is what earlier entries of a repeated field gave. */
function decodeField(
  value: Entry["value"],
  type: FieldType,
  before: Json | undefined,
): Json | undefined {
  if (typeof type === "object") {
    if ("many" in type)
      return append(before, decodeMessage(readMessage(asBytes(value)), type.many));
    const message = decodeMessage(readMessage(asBytes(value)), type.one);
    return Object.keys(message).length === 0 ? undefined : message;
  }
  return SCALARS[type](value, before);
}

const SCALARS: Readonly<
  Record<
    Extract<FieldType, string>,
    (value: Entry["value"], before: Json | undefined) => Json | undefined
  >
> = {
  string: (value) => asBytes(value).toString("utf8") || undefined,
  integer: (value) => (value === 0 ? undefined : asNumber(value)),
  boolean: (value) => (value === 0 ? undefined : true),
  booleanOrAbsent: (value) => value !== 0,
  intOrString: (value) => decodeIntOrString(asBytes(value)),
  strings: (value, before) => append(before, asBytes(value).toString("utf8")),
  stringMap: (value, before) => addToMap(before, asBytes(value), "utf8"),
  bytesMap: (value, before) => addToMap(before, asBytes(value), "base64"),
};

function append(before: Json | undefined, item: Json): Json {
  return [...(Array.isArray(before) ? (before as readonly Json[]) : []), item];
}

function addToMap(before: Json | undefined, bytes: Buffer, encoding: "utf8" | "base64"): Json {
  const entry = readMessage(bytes);
  const part = (number: number): Buffer =>
    asBytes(entry.find((candidate) => candidate.number === number)?.value);
  const added = { [part(1).toString("utf8")]: part(2).toString(encoding) };
  return { ...(before as JsonObject | undefined), ...added };
}

/** Zero is Go's empty value: no port. */
function decodeIntOrString(bytes: Buffer): Json | undefined {
  const { kind, number, text } = decodeMessage(readMessage(bytes), {
    1: ["kind", "integer"],
    2: ["number", "integer"],
    3: ["text", "string"],
  });
  return kind === 1 ? text : number;
}

function asBytes(value: Entry["value"] | undefined): Buffer {
  return typeof value === "object" ? value : Buffer.alloc(0);
}

/** Negative numbers come as 64-bit two's complement, which none of these fields may hold. */
function asNumber(value: Entry["value"]): number {
  return typeof value === "number" ? value : 0;
}
