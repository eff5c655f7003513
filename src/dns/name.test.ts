import * as fc from "fast-check";
import { expect, test } from "vitest";
import { countLabels, decodeName, encodeInZone, encodeName, spellName } from "./name.ts";

const label = fc.uint8Array({ minLength: 1, maxLength: 63 });
/** Wire names of up to 255 bytes. */
const wireName = fc
  .array(label, { maxLength: 12 })
  .map((labels) => Uint8Array.from([...labels.flatMap((one) => [one.length, ...one]), 0]))
  .filter((name) => name.length <= 255);
const lower = (name: Uint8Array) =>
  name.map((byte) => (byte >= 65 && byte <= 90 ? byte + 32 : byte));

test("any name of bytes survives being written as text, but for letter case (R82)", () => {
  fc.assert(
    fc.property(wireName, (name) => {
      const text = decodeName(name);
      expect(text).toMatch(/^[!-~]+$/);
      expect(encodeName(text)).toEqual(lower(name));
      expect(encodeName(text === "." ? text : `${text}.`)).toEqual(lower(name));
    }),
  );
});

test("any text is a name or is not, without an exception, and a name is never too long (R82)", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 400, unit: "binary" }), (text) => {
      const name = encodeName(text);
      expect(name === undefined || name.length <= 255).toBe(true);
      expect(name && encodeName(decodeName(name))).toEqual(name);
    }),
  );
});

test.each([
  ["a..b", "an empty label"],
  [".a", "an empty label in front"],
  ["a\\", "an escape of nothing"],
  ["a\\999", "an escape of no byte"],
  ["é€", "a character that is no byte"],
  ["a".repeat(64), "a label of 64 bytes"],
  [`${"a.".repeat(126)}bb`, "a name of 256 bytes"],
])("%s is no name: %s", (text) => {
  expect(encodeName(text)).toBeUndefined();
});

test("a label of 63 bytes and a name of 255 are names", () => {
  expect(encodeName("a".repeat(63))).toHaveLength(65);
  expect(encodeName(`${"a.".repeat(126)}b`)).toHaveLength(255);
  expect(encodeName("")).toEqual(Uint8Array.of(0));
  expect(encodeName(".")).toEqual(Uint8Array.of(0));
});

test("a name in a zone is the one before the other, if there is room for both", () => {
  const zone = encodeName("clusterset.local") ?? new Uint8Array();
  expect(encodeInZone("web.prod.svc", zone)).toEqual(encodeName("web.prod.svc.clusterset.local"));
  expect(encodeInZone("", zone)).toEqual(zone);
  expect(countLabels(zone)).toBe(2);
  const label = "x".repeat(59);
  expect(encodeInZone(`${label}.${label}.${label}.${label}`, zone)).toBeUndefined();
  expect(encodeInZone(`${label}.${label}.${label}.${"x".repeat(56)}`, zone)).toHaveLength(255);
});

test("the grammar", () => {
  const service = { namespace: "prod", service: "db" };
  expect(spellName({ namespace: "prod" })).toBe("prod.svc");
  expect(spellName(service)).toBe("db.prod.svc");
  expect(spellName({ ...service, port: { name: "sql", protocol: "TCP" } })).toBe(
    "_sql._tcp.db.prod.svc",
  );
  expect(spellName({ ...service, endpoint: { host: "db-0", cluster: "east" } })).toBe(
    "db-0.east.db.prod.svc",
  );
  expect(spellName({ ...service, scope: { kind: "_zone", value: "eu-1a" } })).toBe(
    "db.prod.svc.eu-1a._zone",
  );
});
