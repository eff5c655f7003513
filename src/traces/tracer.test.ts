import { expect, test } from "vitest";
import { VirtualClock } from "../../test/clock.ts";
import { seededRandom } from "../../test/embedded.ts";
import { id } from "../../test/shares.ts";
import { encodeSpans } from "./otlp.ts";
import { createTracer, type FinishedSpan } from "./tracer.ts";

function aTracer(random = seededRandom(1)) {
  const clock = new VirtualClock();
  const ended: FinishedSpan[] = [];
  const tracer = createTracer({ clock, random, onEnd: (span) => ended.push(span) });
  return { clock, ended, start: () => tracer.start("import", id("west"), { queue: "import" }) };
}

test("a run that nothing came of is not told", () => {
  const { ended, start } = aTracer();
  start().end({ outcome: "done" });
  expect(ended).toEqual([]);
});

test("a run is told of when something was noted, failed, followed from something, or was written", () => {
  const { ended, start } = aTracer();
  const ways = [
    (span: ReturnType<typeof start>) => span.note({ ms: 1 }),
    (span: ReturnType<typeof start>) => span.fail("no"),
    (span: ReturnType<typeof start>) => span.link(start().context),
    (span: ReturnType<typeof start>) => void span.child("apply Service", {}),
  ];
  for (const way of ways) {
    const span = start();
    way(span);
    span.end();
  }
  expect(ended).toHaveLength(ways.length);
});

test("a trace is timed by the monotonic clock, from the wall clock at its start", async () => {
  const { clock, ended, start } = aTracer();
  const startMs = clock.now();
  const run = start();
  await clock.advance(100);
  clock.stepWall(-3_600_000);
  const write = run.child("apply Service", {});
  await clock.advance(50);
  write.end();
  run.end();
  const [child, parent] = ended;
  expect([child!.startMs, child!.endMs]).toEqual([startMs + 100, startMs + 150]);
  expect([parent!.startMs, parent!.endMs]).toEqual([startMs, startMs + 150]);
  expect(child!.parentId).toBe(parent!.context.spanId);
  expect(child!.context.traceId).toBe(parent!.context.traceId);
});

test("ids are never all zeros, whatever is drawn", () => {
  const { start } = aTracer(() => 0);
  expect(start().context).toEqual({ traceId: "00000001".repeat(4), spanId: "00000001".repeat(2) });
});

test("texts are bounded, and a sentence holds no secret", () => {
  const { ended, start } = aTracer();
  const span = start();
  span.note({ long: "x".repeat(10_000) });
  span.fail(`refused for Authorization: Bearer planted-token-1234 ${"y".repeat(10_000)}`);
  span.end();
  const text = encodeSpans(ended, {});
  expect(text.length).toBeLessThan(3_000);
  expect(text).toContain("refused for Authorization");
  expect(text).not.toContain("planted-token");
});

test("spans are encoded as OTLP has it, by cluster", async () => {
  const { clock, ended, start } = aTracer();
  const first = start();
  const write = first.child("apply Service", { status: 409 });
  await clock.advance(1.5);
  write.fail("it moved on");
  write.end();
  first.link({ traceId: "a".repeat(32), spanId: "b".repeat(16) });
  first.end({ outcome: "again" });
  const encoded = JSON.parse(encodeSpans(ended, { "service.name": "isthmus" })) as unknown;
  const nanos = (ms: number): string => `${BigInt(ms * 1_000) * 1_000n}`;
  const { context } = first;
  const startMs = ended[1]!.startMs;
  expect(encoded).toEqual({
    resourceSpans: [
      {
        resource: {
          attributes: [
            { key: "service.name", value: { stringValue: "isthmus" } },
            { key: "isthmus.cluster", value: { stringValue: "west" } },
          ],
        },
        scopeSpans: [
          {
            scope: { name: "isthmus" },
            spans: [
              {
                traceId: context.traceId,
                spanId: write.context.spanId,
                parentSpanId: context.spanId,
                name: "apply Service",
                kind: 3,
                startTimeUnixNano: nanos(startMs),
                endTimeUnixNano: nanos(startMs + 1.5),
                attributes: [{ key: "status", value: { intValue: "409" } }],
                status: { code: 2, message: "it moved on" },
              },
              {
                ...context,
                name: "import",
                kind: 1,
                startTimeUnixNano: nanos(startMs),
                endTimeUnixNano: nanos(startMs + 1.5),
                attributes: [
                  { key: "queue", value: { stringValue: "import" } },
                  { key: "outcome", value: { stringValue: "again" } },
                ],
                links: [{ traceId: "a".repeat(32), spanId: "b".repeat(16) }],
                status: { code: 0 },
              },
            ],
          },
        ],
      },
    ],
  });
});
