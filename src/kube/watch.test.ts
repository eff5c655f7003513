// Watch decoding: however the bytes are cut, the same events come out in the same order.

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SERVICE } from "../api/builtin.ts";
import { isStoreError } from "../ports/store.ts";
import { createEventDecoder, createLineSplitter } from "./watch.ts";

describe("createLineSplitter", () => {
  it("finds the same lines wherever the stream is cut, inside a character too", () => {
    const line = fc
      .string({ unit: "grapheme", minLength: 1 })
      .filter((text) => !text.includes("\n"));
    const cuts = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1 });
    fc.assert(
      fc.property(fc.array(line), cuts, (lines, sizes) => {
        const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(""));
        const seen: string[] = [];
        const splitter = createLineSplitter(1_000_000, (text) => seen.push(text));
        for (let at = 0, turn = 0; at < bytes.length; turn++) {
          const size = sizes[turn % sizes.length]!;
          splitter.push(bytes.subarray(at, at + size));
          at += size;
        }
        expect(seen).toEqual(lines);
        expect(splitter.pendingBytes()).toBe(0);
      }),
    );
  });

  it("skips empty lines and reports an unfinished one", () => {
    const seen: string[] = [];
    const splitter = createLineSplitter(100, (text) => seen.push(text));
    splitter.push(Buffer.from("\n\na\n\nbc"));
    expect(seen).toEqual(["a"]);
    expect(splitter.pendingBytes()).toBe(2);
  });

  it("refuses a line that is too long as soon as it is, newline or not", () => {
    const splitter = createLineSplitter(10, () => undefined);
    splitter.push(Buffer.alloc(6, "a"));
    expect(() => splitter.push(Buffer.alloc(6, "a"))).toThrow(
      expect.toSatisfy((error) => isStoreError(error, "TooLarge")),
    );
  });
});

describe("createEventDecoder", () => {
  const decode = createEventDecoder(SERVICE, "watch /x");
  const metadata = { name: "a", resourceVersion: "7", managedFields: [{ manager: "m" }] };

  it("decodes events, fills in the kind and drops managedFields", () => {
    expect(decode(JSON.stringify({ type: "ADDED", object: { metadata } }))).toEqual({
      type: "ADDED",
      object: { apiVersion: "v1", kind: "Service", metadata: { name: "a", resourceVersion: "7" } },
    });
  });

  it("keeps the kind that the server sent", () => {
    const object = { apiVersion: "other/v1", kind: "Other", metadata };
    expect(decode(JSON.stringify({ type: "DELETED", object }))).toMatchObject({
      object: { apiVersion: "other/v1", kind: "Other" },
    });
  });

  it("turns a bookmark into its version", () => {
    const object = { kind: "Service", metadata: { resourceVersion: "9" } };
    expect(decode(JSON.stringify({ type: "BOOKMARK", object }))).toEqual({
      type: "BOOKMARK",
      resourceVersion: "9",
    });
  });

  it.each([
    ['{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired"}}', "Gone"],
    ['{"type":"ERROR","object":{"kind":"Status","code":410}}', "Gone"],
    ["{not json", "Internal"],
    ['{"type":"OTHER","object":{}}', "Internal"],
    ['{"type":"ADDED"}', "Internal"],
    ['{"type":"BOOKMARK","object":{"metadata":{}}}', "Internal"],
    ["null", "Internal"],
  ] as const)("throws for %s: %s", (line, code) => {
    expect(() => decode(line)).toThrow(expect.toSatisfy((error) => isStoreError(error, code)));
  });
});
