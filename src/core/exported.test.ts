import { describe, expect, test } from "vitest";
import { DERIVED_SERVICE_ANNOTATION } from "../api/names.ts";
import { dropStaleMarks, findBadMark, readMarks, renderMarks } from "./exported.ts";

const NOTHING = { labels: {}, annotations: {} };

test("R35, R36: exported labels and annotations are on the import, and it says which they are", () => {
  expect(
    renderMarks(
      { labels: { tier: "1", team: "a" }, annotations: { "example.com/note": "b" } },
      "d",
    ),
  ).toEqual({
    labels: { tier: "1", team: "a", "isthmus.dev/managed": "true" },
    annotations: {
      "example.com/note": "b",
      [DERIVED_SERVICE_ANNOTATION]: "d",
      "isthmus.dev/exported": "annotation:example.com/note,label:team,label:tier",
    },
  });
});

test("R36: an export cannot set our own keys, not even those that the import has no use for", () => {
  const marks = renderMarks(
    {
      labels: { "isthmus.dev/managed": "false" },
      annotations: { [DERIVED_SERVICE_ANNOTATION]: "other", "isthmus.dev/exported": "label:x" },
    },
    undefined,
  );
  expect(marks.labels).toEqual({ "isthmus.dev/managed": "true" });
  expect(marks.annotations).not.toHaveProperty([DERIVED_SERVICE_ANNOTATION]);
  expect(marks.annotations["isthmus.dev/exported"] ?? "").not.toContain("label:x");
});

test("what was exported can be read back from the import; what others added cannot", () => {
  const exported = { labels: { team: "a" }, annotations: { note: "b" } };
  const { labels, annotations } = renderMarks(exported, "d");
  const metadata = {
    labels: { ...labels, foreign: "x" },
    annotations: { ...annotations, foreign: "y" },
  };
  expect(readMarks(metadata)).toEqual(exported);
});

describe("what is no longer exported", () => {
  const shown = renderMarks({ labels: { team: "a" }, annotations: { note: "b" } }, "d");
  const observed = {
    name: "web",
    labels: { ...shown.labels, foreign: "x" },
    annotations: { ...shown.annotations, foreign: "y" },
  };

  test("R35, R36: goes, and nothing else does", () => {
    expect(dropStaleMarks(observed, renderMarks(NOTHING, undefined))).toEqual({
      name: "web",
      labels: { "isthmus.dev/managed": "true", foreign: "x" },
      annotations: { foreign: "y" },
    });
  });

  test("R35: is nothing while it is exported", () => {
    const same = { labels: { team: "other" }, annotations: { note: "b" } };
    expect(dropStaleMarks(observed, renderMarks(same, "d"))).toBeUndefined();
  });

  test("R35: is not what somebody took away by hand already", () => {
    const labels = { "isthmus.dev/managed": "true", foreign: "x" };
    expect(
      dropStaleMarks(
        { ...observed, labels },
        renderMarks({ labels: { tier: "1" }, annotations: { note: "b" } }, "d"),
      ),
    ).toBeUndefined();
  });
});

describe("what no API server would take", () => {
  test.each(["team", "example.com/team", "a.b-c_D", "x".repeat(63), `${"a.".repeat(126)}a/team`])(
    "the key %j can be used",
    (key) => {
      expect(
        findBadMark({ labels: { [key]: "a" }, annotations: { [key]: "any text at all" } }),
      ).toBe(undefined);
    },
  );

  test.each([
    "",
    "two words",
    "-team",
    "a/b/c",
    "/team",
    "UPPER.example.com/team",
    "x".repeat(64),
    "example.com/",
  ])("the key %j is refused", (key) => {
    expect(findBadMark({ labels: { [key]: "a" } })).toContain("cannot be the key");
    expect(findBadMark({ annotations: { [key]: "a" } })).toContain("cannot be the key");
  });

  test.each(["", "a", "A.b_c-1"])("the label value %j can be used", (value) => {
    expect(findBadMark({ labels: { team: value } })).toBeUndefined();
  });

  test.each(["two words", "-a", "x".repeat(64)])("the label value %j is refused", (value) => {
    expect(findBadMark({ labels: { team: value } })).toContain('the label "team"');
  });

  test("a value of any length is told in a short sentence", () => {
    const problem = findBadMark({ labels: { team: "x".repeat(9999) } }) ?? "";
    expect(problem.length).toBeLessThan(300);
  });

  test("more annotations than fit are refused, counted as they are sent", () => {
    const annotations = (letter: string) =>
      Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`n${at}`, letter.repeat(4_000)]));
    expect(findBadMark({ annotations: annotations("x") })).toBeUndefined();
    expect(findBadMark({ annotations: annotations("€") })).toContain("240050 bytes");
  });

  test("an annotation that the hub would not take is refused", () => {
    expect(findBadMark({ annotations: { note: "x".repeat(4_096) } })).toBeUndefined();
    expect(findBadMark({ annotations: { note: "x".repeat(4_097) } })).toContain("4097");
  });

  test.each(["labels", "annotations"])("more %s than the hub takes are refused", (what) => {
    const some = (length: number) =>
      Object.fromEntries(Array.from({ length }, (_, at) => [`key-${at}`, ""]));
    expect(findBadMark({ [what]: some(64) })).toBeUndefined();
    expect(findBadMark({ [what]: some(65) })).toContain("65");
  });

  test("no labels and annotations at all are fine", () => {
    expect(findBadMark({})).toBeUndefined();
  });
});
