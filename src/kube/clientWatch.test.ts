import type { IncomingMessage, ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { rejectionOf, serve } from "../../test/loopback.ts";
import type { ClientOptions } from "./client.ts";
import { SERVICE } from "../api/builtin.ts";
import { always, connect } from "../../test/connect.ts";

describe("watches", () => {
  interface OpenWatch {
    readonly request: IncomingMessage;
    readonly response: ServerResponse;
  }

  /** A server whose watches the test writes by hand. */
  async function watched(options: Partial<ClientOptions> = {}) {
    let accept: (watch: OpenWatch) => void;
    const opened = new Promise<OpenWatch>((resolve) => {
      accept = resolve;
    });
    const server = await serve((request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.flushHeaders();
      accept({ request, response });
    });
    return { ...connect(server, {}, options), opened };
  }
  function line(type: string, name: string): string {
    return `${JSON.stringify({ type, object: { metadata: { name, resourceVersion: name } } })}\n`;
  }

  it("deliver events in order, however they are cut, and resolve at a clean end", async () => {
    const { client, opened } = await watched();
    const seen: string[] = [];
    let isOpen = false;
    const done = client.watch(
      SERVICE,
      {
        namespace: "a",
        resourceVersion: "5",
        timeoutSeconds: 300,
        onOpen: () => {
          isOpen = true;
        },
      },
      (event) => {
        expect(isOpen).toBe(true);
        const what = event.type === "BOOKMARK" ? event.resourceVersion : event.object.metadata.name;
        seen.push(`${event.type} ${what}`);
      },
    );
    const { request, response } = await opened;
    const bytes = Buffer.from(
      line("ADDED", "äöü€😀") + line("MODIFIED", "b") + line("BOOKMARK", "9"),
    );
    for (const byte of bytes) response.write(Buffer.of(byte));
    response.end();
    await done;
    expect(seen).toEqual(["ADDED äöü€😀", "MODIFIED b", "BOOKMARK 9"]);
    expect(request.url).toBe(
      "/api/v1/namespaces/a/services?resourceVersion=5&timeoutSeconds=300&watch=true&allowWatchBookmarks=true",
    );
  });

  it("reject with Gone when the server says so, in an event or at once", async () => {
    const { client, opened } = await watched();
    const watching = client.watch(SERVICE, { resourceVersion: "1" }, () => undefined);
    const status = { kind: "Status", code: 410, reason: "Expired", message: "too old" };
    (await opened).response.write(`${JSON.stringify({ type: "ERROR", object: status })}\n`);
    await expect(watching).rejects.toMatchObject({ code: "Gone" });

    const refusing = connect(await serve(always(410, status)));
    await expect(
      refusing.client.watch(SERVICE, { resourceVersion: "1" }, () => undefined),
    ).rejects.toMatchObject({ code: "Gone" });
  });

  it("reject with what the callback throws, and call it no more", async () => {
    const { client, opened } = await watched();
    const failure = new Error("from the callback");
    let calls = 0;
    const watching = client.watch(SERVICE, { resourceVersion: "1" }, () => {
      calls++;
      throw failure;
    });
    const { response } = await opened;
    const closed = new Promise((resolve) => response.on("close", resolve));
    response.write(line("ADDED", "a") + line("ADDED", "b"));
    await expect(watching).rejects.toBe(failure);
    await closed;
    expect(calls).toBe(1);
  });

  it("reject with what the callback throws even when it has aborted the watch before", async () => {
    const { client, opened } = await watched();
    const controller = new AbortController();
    const failure = new Error("from the callback");
    const { signal } = controller;
    const watching = client.watch(SERVICE, { resourceVersion: "1", signal }, () => {
      controller.abort();
      throw failure;
    });
    (await opened).response.write(line("ADDED", "a"));
    await expect(watching).rejects.toBe(failure);
  });

  it("resolve on abort, deliver nothing after it, and close the connection", async () => {
    const { client, clock, opened } = await watched();
    const controller = new AbortController();
    const seen: string[] = [];
    const { signal } = controller;
    const watching = client.watch(SERVICE, { resourceVersion: "1", signal }, (event) => {
      seen.push(event.type);
      controller.abort();
    });
    const { response } = await opened;
    const closed = new Promise((resolve) => response.on("close", resolve));
    response.write(line("ADDED", "a") + line("MODIFIED", "a"));
    await watching;
    await closed;
    expect(seen).toEqual(["ADDED"]);
    expect(clock.pendingTimers).toBe(0);
    await client.watch(SERVICE, { resourceVersion: "1", signal }, () => undefined);
  });

  it("that are cut reject as Unreachable, inside an event as well as between two", async () => {
    const between = await watched();
    const first = between.client.watch(SERVICE, { resourceVersion: "1" }, () => {
      void between.opened.then(({ response }) => response.destroy());
    });
    (await between.opened).response.write(line("ADDED", "a"));
    await expect(first).rejects.toMatchObject({ code: "Unreachable" });

    const inside = await watched();
    const second = inside.client.watch(SERVICE, { resourceVersion: "1" }, () => undefined);
    (await inside.opened).response.end(line("ADDED", "a").slice(0, -5));
    await expect(second).rejects.toMatchObject({ code: "Unreachable" });
  });

  it("that go silent are noticed, and every sign of life puts it off", async () => {
    let answer: (() => ServerResponse) | undefined;
    const server = await serve((_, response) => {
      answer = () => response.writeHead(200, { "content-type": "application/json" });
    });
    const { client, clock } = connect(server, {}, { watchSilenceMs: 100_000 });
    const steps: (() => void)[] = [];
    const next = (): Promise<void> => new Promise((resolve) => steps.push(resolve));
    const advanceStep = (): void => steps.shift()?.();
    const opened = next();
    const watching = client.watch(
      SERVICE,
      { resourceVersion: "1", onOpen: advanceStep },
      advanceStep,
    );
    const failure = rejectionOf(watching);
    const before = async (step: Promise<void>): Promise<void> => {
      expect(await Promise.race([step, failure])).toBeUndefined();
    };
    await expect.poll(() => answer, { timeout: 60_000 }).toBeDefined();
    await clock.advance(90_000);
    const response = answer!();
    response.flushHeaders();
    await before(opened);
    for (const version of ["2", "3"]) {
      await clock.advance(90_000);
      const event = next();
      response.write(line("BOOKMARK", version));
      await before(event);
    }
    await clock.advance(100_000);
    expect(await failure).toMatchObject({ code: "Timeout" });
    expect(clock.pendingTimers).toBe(0);
  });

  it("refuse an event that is too large", async () => {
    const { client, opened } = await watched({ maxEventBytes: 1000 });
    const watching = client.watch(SERVICE, { resourceVersion: "1" }, () => undefined);
    (await opened).response.write("x".repeat(1001));
    await expect(watching).rejects.toMatchObject({ code: "TooLarge" });
  });
});
