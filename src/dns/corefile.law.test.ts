// Laws of switching a Corefile over: for any Corefile, disable undoes enable, twice is once, and no word is lost.

import * as fc from "fast-check";
import { expect, test } from "vitest";
import { disableZone, enableZone, servesZone, type ZoneSource } from "./corefile.ts";
import { CorefileError, parseCorefile } from "./corefileSyntax.ts";

const ZONE = "clusterset.local";
const OWN: ZoneSource = { kind: "multicluster" };
const STUB: ZoneSource = { kind: "stub", servers: ["10.96.0.53"] };

const gap = fc.constantFrom(" ", "  ", "\t", " \t ");
const remark = fc.constantFrom("", "", "", " # a remark", ' # { " }', "#stuck");
const indent = fc.constantFrom("", "  ", "    ", "\t");
const word = fc.constantFrom(
  "a",
  "pods",
  "insecure",
  '"two words"',
  '"{"',
  "{$ENV}",
  '"q\\"q"',
  "1.2.3.4",
);
const option = fc
  .tuple(
    fc.constantFrom("pods", "ttl", "fallthrough", "endpoint_pod_names"),
    fc.array(word, { maxLength: 2 }),
  )
  .map(([name, args]) => [name, ...args].join(" "));
const kubernetes = fc
  .record({
    zones: fc.subarray([
      "cluster.local",
      "in-addr.arpa",
      "ip6.arpa",
      "{$DOMAIN}",
      '"quoted.local"',
      "CLUSTERSET.local.",
    ]),
    block: fc.option(
      fc.record({
        options: fc.array(option, { maxLength: 3 }),
        multicluster: fc.constantFrom(
          undefined,
          "multicluster",
          "multicluster other.local",
          `multicluster ${ZONE}`,
        ),
        remark,
        inner: indent,
      }),
    ),
    gap,
    remark,
  })
  .map(({ zones, block, gap, remark }) => (outer: string, newline: string): string => {
    const head = ["kubernetes", ...zones].join(gap);
    if (block === null) return `${outer}${head}${remark}`;
    const lines = [
      ...block.options,
      ...(block.multicluster === undefined ? [] : [block.multicluster]),
    ];
    if (lines.length === 0 && block.remark === "")
      return `${outer}${head}${gap}{${gap}}${remark === "#stuck" ? "" : remark}`;
    const body = lines.map((line) => `${newline}${outer}${block.inner}${line}`).join("");
    return `${outer}${head}${gap}{${block.remark === "#stuck" ? "" : block.remark}${body}${newline}${outer}}${remark}`;
  });
const exception = fc
  .tuple(
    fc.constantFrom("success", "denial", "prefetch"),
    fc.subarray(["cluster.local", "CLUSTERSET.local.", "in-addr.arpa", '"quoted.local"']),
  )
  .map(([kind, zones]) => ["disable", kind, ...zones].join(" "));
const cache = fc.tuple(fc.array(exception, { maxLength: 3 }), indent, remark).map(
  ([lines, inner, remark]) =>
    (outer: string, newline: string): string =>
      [`${outer}cache 30 {`, ...lines.map((line) => `${outer}${inner}${line}${remark}`)].join(
        newline,
      ) + `${newline}${outer}}`,
);
const simple = fc
  .tuple(
    fc.constantFrom("errors", "reload", "cache", "forward", "import"),
    fc.array(word, { minLength: 1, maxLength: 2 }),
    remark,
  )
  .map(
    ([name, args, remark]) =>
      (outer: string): string =>
        `${outer}${[name, ...(name === "import" ? args.slice(0, 1) : args)].join(" ")}${remark}`,
  );
const plugin = fc.oneof({ weight: 3, arbitrary: simple }, { weight: 1, arbitrary: cache });
const keys = fc.constantFrom(
  ".:53",
  ".",
  "cluster.local:53",
  "cluster.local, in-addr.arpa",
  `cluster.local ${ZONE}`,
  "local:53",
  "dns://.:1053",
  ".:{$PORT}",
  "(snippet)",
  '"."',
);
const block = fc
  .record({
    keys,
    before: fc.array(plugin, { maxLength: 2 }),
    kubernetes: fc.option(kubernetes, { freq: 4 }),
    after: fc.array(plugin, { maxLength: 2 }),
    indent,
    gap,
    blank: fc.boolean(),
    remark,
  })
  .map((parts) => (newline: string): string => {
    const lines = [
      ...parts.before,
      ...(parts.kubernetes === null ? [] : [parts.kubernetes]),
      ...parts.after,
    ];
    const body = lines.map((line) => `${line(parts.indent, newline)}${newline}`).join("");
    const remark = parts.remark === "#stuck" ? "" : parts.remark;
    return `${parts.blank ? newline : ""}# Block${newline}${parts.keys}${parts.gap}{${remark}${newline}${body}}${remark}`;
  });
const corefile = fc
  .tuple(
    fc.array(block, { minLength: 1, maxLength: 3 }),
    fc.constantFrom("\n", "\r\n"),
    fc.boolean(),
    fc.constantFrom("", "\uFEFF"),
  )
  .map(
    ([blocks, newline, ends, mark]) =>
      `${mark}${blocks.map((render) => render(newline)).join(newline)}${ends ? newline : ""}`,
  );
const source = fc.constantFrom<ZoneSource>(OWN, STUB);

/** Undefined where it is refused in a sentence; any other failure is one of the test. */
function attempt(edit: () => string): string | undefined {
  try {
    return edit();
  } catch (error) {
    if (error instanceof CorefileError) return undefined;
    throw error;
  }
}

function tryEnable(text: string, source: ZoneSource): string | undefined {
  return attempt(() => enableZone(text, ZONE, source));
}

test("disable takes away exactly what enable added, and enabling twice is enabling once", () => {
  let enabledCount = 0;
  fc.assert(
    fc.property(corefile, source, (text, source) => {
      const enabled = tryEnable(text, source);
      if (enabled === undefined) return;
      if (enabled !== text) enabledCount += 1;
      expect(disableZone(enabled, ZONE)).toBe(text);
      expect(enableZone(enabled, ZONE, source)).toBe(enabled);
      expect(servesZone(enabled, ZONE)).toBe(true);
    }),
    { numRuns: 2_000 },
  );
  expect(enabledCount).toBeGreaterThan(500);
});

test("every word that was there is still there, in order", () => {
  fc.assert(
    fc.property(corefile, source, (text, source) => {
      const enabled = tryEnable(text, source);
      if (enabled === undefined) return;
      const rest = wordsOf(enabled)[Symbol.iterator]();
      for (const word of wordsOf(text)) {
        for (let next = rest.next(); next.value !== word; next = rest.next()) {
          expect(next.done, `${word} is gone`).toBe(false);
        }
      }
    }),
  );
});

test("two zones come and go in any order", () => {
  fc.assert(
    fc.property(corefile, (text) => {
      const first = tryEnable(text, OWN);
      if (first === undefined) return;
      const both = enableZone(first, "second.local", OWN);
      expect(disableZone(disableZone(both, "second.local"), ZONE)).toBe(text);
      const second = disableZone(both, ZONE);
      expect(servesZone(second, "second.local")).toBe(true);
      expect(disableZone(second, "second.local")).toBe(text);
    }),
    { numRuns: 500 },
  );
});

test("whatever the text is, it is changed and changed back, or refused in a sentence", () => {
  const mark = "# isthmus dns enable clusterset.local";
  const piece = fc.constantFrom(
    ...`{ } # " \\ .:53 kubernetes multicluster , (x) {$X} cluster.local ${ZONE} bind a`.split(" "),
    "\n",
    " ",
    "\r\n",
    "\t",
    "import x",
    " {\n",
    "\n}\n",
    ".:53 {\n",
    "\nkubernetes a",
    `${mark} (block)\n`,
    `\n${mark} (zone, option, braces, break, key:a)\n`,
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 25 }), source, (pieces, source) => {
      const text = pieces.join("");
      // What is left of earlier runs, however mangled, goes first.
      const plain = attempt(() => disableZone(text, ZONE));
      if (plain === undefined) return;
      const enabled = tryEnable(plain, source);
      if (enabled === undefined) return;
      expect(disableZone(enabled, ZONE)).toBe(plain);
      expect(enableZone(enabled, ZONE, source)).toBe(enabled);
    }),
    { numRuns: 3_000 },
  );
});

function wordsOf(text: string): readonly string[] {
  const { blocks } = parseCorefile(text);
  type Line = (typeof blocks)[number]["lines"][number];
  const visit = (line: Line): readonly string[] => [
    line.name.text,
    ...line.args.map((arg) => arg.text),
    ...line.lines.flatMap(visit),
  ];
  return blocks.flatMap(({ keys, lines }) => [
    ...keys.map((key) => key.text),
    ...lines.flatMap(visit),
  ]);
}
