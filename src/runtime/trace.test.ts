import { expect, test } from "vitest";
import { VirtualClock } from "../../test/clock.ts";
import { seededRandom } from "../../test/embedded.ts";
import { id } from "../../test/shares.ts";
import { SERVICE } from "../api/builtin.ts";
import { type Store, StoreError } from "../ports/store.ts";
import { createTracer, type FinishedSpan } from "../traces/tracer.ts";
import { traceWrites } from "./trace.ts";

const WEB = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { namespace: "shop", name: "web", labels: { planted: "content" } },
};

function aWorld(answer: Promise<never>) {
  const ended: FinishedSpan[] = [];
  const clock = new VirtualClock();
  const tracer = createTracer({
    clock,
    random: seededRandom(1),
    onEnd: (span) => ended.push(span),
  });
  const run = tracer.start("import", id("west"), {});
  const server = { apply: () => answer, get: () => answer } as unknown as Store;
  return { ended, server, traced: traceWrites(server, "cluster", run) };
}

test("without a span it is the very store", () => {
  const { server } = aWorld(Promise.resolve() as Promise<never>);
  expect(traceWrites(server, "cluster", undefined)).toBe(server);
});

test("who writes gets the very promise, and a read is no span", async () => {
  const answer = Promise.resolve(WEB) as Promise<never>;
  const { ended, traced } = aWorld(answer);
  expect(traced.apply(SERVICE, WEB, { fieldManager: "isthmus" })).toBe(answer);
  expect(traced.get(SERVICE, WEB.metadata)).toBe(answer);
  await answer;
  expect(ended.map(({ name }) => name)).toEqual(["apply Service"]);
  expect(ended[0]!.attributes).toEqual({
    "isthmus.server": "cluster",
    "isthmus.verb": "apply",
    "isthmus.resource": "services",
    "isthmus.object": "shop/web",
  });
});

test("a refusal is told with its status, a server that does not answer without one", async () => {
  const refusal = new StoreError("Conflict", "it moved on", { status: 409 });
  const refused = aWorld(Promise.reject(refusal));
  await expect(
    refused.traced.apply(SERVICE, WEB, { fieldManager: "isthmus", subresource: "status" }),
  ).rejects.toBe(refusal);
  expect(refused.ended[0]).toMatchObject({
    error: "it moved on",
    attributes: {
      "error.type": "Conflict",
      "http.response.status_code": 409,
      "isthmus.subresource": "status",
    },
  });
  const away = aWorld(Promise.reject(new StoreError("Unreachable", "refused")));
  await expect(away.traced.apply(SERVICE, WEB, { fieldManager: "isthmus" })).rejects.toThrow(
    "refused",
  );
  expect(away.ended[0]!.attributes).toMatchObject({ "error.type": "Unreachable" });
  expect(away.ended[0]!.attributes).not.toHaveProperty("http.response.status_code");
});

test("who is told to stop has not failed", async () => {
  const { ended, traced } = aWorld(Promise.reject(new Error("stopped")));
  const signal = AbortSignal.abort();
  const writing = { fieldManager: "isthmus", signal };
  await expect(traced.apply(SERVICE, WEB, writing)).rejects.toThrow("stopped");
  expect(ended[0]!.attributes["isthmus.outcome"]).toBe("stopped");
  expect(ended[0]!.error).toBeUndefined();
});
