// Watches over the wire: order, ends, and readers that are slow or gone.

import { expect, test } from "vitest";
import { added, openWatch, ScriptedCluster, ScriptedWatch, serve } from "../../../test/edge.ts";
import type { WireEvent } from "../types.ts";

/** Resolves when the server has let go of the watch. */
async function untilStopped(watch: ScriptedWatch): Promise<void> {
  await expect.poll(() => watch.stops, { interval: 5, timeout: 60_000 }).toBeGreaterThan(0);
}

test("the client sees that its watch stands before any event, then events as they happen", async () => {
  const watch = new ScriptedWatch();
  const { lines } = await openWatch(await serve(new ScriptedCluster(() => watch.answer())));
  watch.send(added("one"));
  expect(await lines.next()).toEqual({ done: false, value: added("one") });
  watch.send(added("two"));
  expect(await lines.next()).toEqual({ done: false, value: added("two") });
});

test("the past comes first, in one piece", async () => {
  const watch = new ScriptedWatch([added("one"), added("two")]);
  const { lines } = await openWatch(await serve(new ScriptedCluster(() => watch.answer())));
  watch.send(added("three"));
  const names = [await lines.next(), await lines.next(), await lines.next()].map(
    ({ value }) => value.object.metadata.name,
  );
  expect(names).toEqual(["one", "two", "three"]);
});

test("a clean end completes the response", async () => {
  const watch = new ScriptedWatch([added("one")]);
  const client = await openWatch(await serve(new ScriptedCluster(() => watch.answer())));
  await client.lines.next();
  watch.end(true);
  expect(await client.lines.next()).toEqual({ done: true, value: undefined });
  expect(client.complete()).toBe(true);
});

test("a cut destroys the socket", async () => {
  const watch = new ScriptedWatch([added("one")]);
  const client = await openWatch(await serve(new ScriptedCluster(() => watch.answer())));
  await client.lines.next();
  watch.end(false);
  await expect(client.lines.next()).rejects.toThrow("aborted");
});

test("a client that leaves ends its watch", async () => {
  const watch = new ScriptedWatch();
  const client = await openWatch(await serve(new ScriptedCluster(() => watch.answer())));
  client.abort();
  await untilStopped(watch);
  expect(watch.stops).toBe(1);
});

test("a reader that does not read is cut off when its allowance is used up", async () => {
  const watch = new ScriptedWatch();
  const server = await serve(new ScriptedCluster(() => watch.answer()), {
    watchBufferBytes: 1024 * 1024,
  });
  const client = await openWatch(server);
  const megabyte = "x".repeat(1024 * 1024);
  let sent = 0;
  // Kernel buffers take some megabytes first; far more than all of them ends the test in failure.
  for (; sent < 200 && watch.stops === 0; sent++) {
    watch.send(added("big", megabyte));
    await new Promise(setImmediate);
  }
  expect(watch.stops).toBe(1);
  expect(sent).toBeLessThan(200);
  client.abort();
});

test("a large past does not count against the allowance", async () => {
  const past = Array.from({ length: 20 }, (_, n) => added(`n${n}`, "x".repeat(100_000)));
  const watch = new ScriptedWatch(past);
  const server = await serve(new ScriptedCluster(() => watch.answer()), {
    watchBufferBytes: 1024,
  });
  const { lines } = await openWatch(server);
  for (const event of past) expect((await lines.next()).value).toEqual(event);
  expect(watch.stops).toBe(0);
});

test("as a table, only the first event describes the columns, and errors stay as they are", async () => {
  const gone: WireEvent = { type: "ERROR", object: { kind: "Status", code: 410 } };
  const watch = new ScriptedWatch([added("one"), added("two"), gone]);
  const server = await serve(new ScriptedCluster(() => watch.answer()));
  const { lines } = await openWatch(server, "&table");
  const [one, two, error] = [await lines.next(), await lines.next(), await lines.next()];
  expect(one.value.object.columnDefinitions).toHaveLength(1);
  expect(one.value.object.rows[0].cells).toEqual(["one"]);
  expect(two.value.object.columnDefinitions).toBeNull();
  expect(error.value).toEqual(gone);
});

test("a watch that fails at once sends its error and ends", async () => {
  const gone: WireEvent = { type: "ERROR", object: { kind: "Status", code: 410 } };
  const watch = new ScriptedWatch([added("one"), gone], { endsAtOnce: true });
  const client = await openWatch(await serve(new ScriptedCluster(() => watch.answer())));
  expect((await client.lines.next()).value).toEqual(added("one"));
  expect((await client.lines.next()).value).toEqual(gone);
  expect(await client.lines.next()).toEqual({ done: true, value: undefined });
  expect(client.complete()).toBe(true);
});
