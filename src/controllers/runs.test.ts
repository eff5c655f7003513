import { expect, test } from "vitest";
import { VirtualClock } from "../../test/clock.ts";
import { seededRandom } from "../../test/embedded.ts";
import { id, WEB } from "../../test/shares.ts";
import { createTracer, type FinishedSpan } from "../traces/tracer.ts";
import { type RunHandler, traceRuns } from "./runs.ts";

const ABOUT = { cluster: id("west"), queue: "import" } as const;
const GOING = new AbortController().signal;

function trace(handler: RunHandler) {
  const ended: FinishedSpan[] = [];
  const tracer = createTracer({
    clock: new VirtualClock(),
    random: seededRandom(1),
    onEnd: (span) => ended.push(span),
  });
  return { ended, run: traceRuns(tracer, ABOUT, handler) };
}

test("without a tracer it is the very handler", () => {
  const handler: RunHandler = () => Promise.resolve("done");
  expect(traceRuns(undefined, ABOUT, handler)).toBe(handler);
});

test("a run tells whose it is and how it ended", async () => {
  const { ended, run } = trace((_, __, span) => {
    span?.note({ "isthmus.change_ms": 5 });
    return Promise.resolve({ afterMs: 10 });
  });
  expect(await run(WEB, GOING)).toEqual({ afterMs: 10 });
  expect(ended).toMatchObject([
    {
      name: "import",
      cluster: "west",
      attributes: {
        "isthmus.queue": "import",
        "isthmus.service": WEB,
        "k8s.namespace.name": WEB.split("/")[0],
        "isthmus.outcome": "again",
        "isthmus.change_ms": 5,
      },
    },
  ]);
  expect(ended[0]!.error).toBeUndefined();
});

test("a run that fails tells why, and the queue hears it as ever", async () => {
  const { ended, run } = trace(() => Promise.reject(new Error("no room")));
  await expect(run(WEB, GOING)).rejects.toThrow("no room");
  expect(ended).toMatchObject([{ error: "no room", attributes: { "isthmus.outcome": "error" } }]);
});

test("a run that is told to stop has not failed", async () => {
  const { ended, run } = trace((_, __, span) => {
    span?.note({});
    return Promise.reject(new Error("the work queue was stopped"));
  });
  await expect(run(WEB, AbortSignal.abort())).rejects.toThrow("stopped");
  expect(ended[0]!.error).toBeUndefined();
  expect(ended[0]!.attributes["isthmus.outcome"]).toBe("stopped");
});
