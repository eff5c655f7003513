import { createServer } from "node:http";
import { describe, expect, onTestFinished, test } from "vitest";
import type { ClusterId } from "../api/names.ts";
import { VERSION } from "../api/version.ts";
import { type AgentState, parseAddress, serveState } from "./metrics.ts";

async function aListener(state: AgentState = { measured: undefined, unready: undefined }) {
  const listener = await serveState("127.0.0.1:0", state);
  onTestFinished(() => listener.close());
  const ask = async (path: string, method = "GET") => {
    const answer = await fetch(`http://${listener.address}${path}`, { method });
    return { status: answer.status, body: await answer.text() };
  };
  return { ask, state, listener };
}

const MEASURED = {
  members: () => [
    {
      cluster: "east" as ClusterId,
      isComplete: true,
      isCurrent: true,
      isHeard: true,
      silentMs: 1_500,
      isDrained: false,
    },
    {
      cluster: "west" as ClusterId,
      isComplete: true,
      isCurrent: true,
      isHeard: true,
      silentMs: 40_000,
      isDrained: true,
    },
  ],
  rejectionTotals: () => new Map([["west AddressNotDeclared", 3]]),
  counts: () => ({ exports: 2, imports: 5 }),
  hubSilentMs: () => 2_000,
};

describe("metrics", () => {
  test("are there before anything has happened", async () => {
    const { ask } = await aListener();
    const { status, body } = await ask("/metrics");
    expect(status).toBe(200);
    for (const line of [
      `isthmus_build_info{version="${VERSION}"} 1`,
      "isthmus_leader 0",
      "isthmus_exports 0",
      "isthmus_imports 0",
      "isthmus_hub_contact_seconds 0",
      "# TYPE isthmus_member_silent_seconds gauge",
      "# TYPE isthmus_rejected_endpoints gauge",
    ]) {
      expect(body).toContain(`${line}\n`);
    }
  });

  test("tell what is so when they are asked for, and forget what is no longer", async () => {
    const { ask, state } = await aListener({ measured: MEASURED, unready: undefined });
    const { body } = await ask("/metrics");
    for (const line of [
      "isthmus_leader 1",
      "isthmus_exports 2",
      "isthmus_imports 5",
      "isthmus_hub_contact_seconds 2",
      'isthmus_member_silent_seconds{cluster="east"} 1.5',
      'isthmus_member_silent_seconds{cluster="west"} 40',
      'isthmus_member_drained{cluster="east"} 0',
      'isthmus_member_drained{cluster="west"} 1',
      'isthmus_rejected_endpoints{cluster="west",reason="AddressNotDeclared"} 3',
    ]) {
      expect(body).toContain(`${line}\n`);
    }
    state.measured = undefined;
    expect((await ask("/metrics")).body).not.toContain("west");
  });

  test("have a bounded number of series, however many members there are", async () => {
    const members = Array.from({ length: 3_000 }, (_, index) => ({
      cluster: `member-${index}` as ClusterId,
      isComplete: true,
      isCurrent: true,
      isHeard: true,
      silentMs: 0,
      isDrained: false,
    }));
    const measured = { ...MEASURED, members: () => members };
    const { ask } = await aListener({ measured, unready: undefined });
    const { body } = await ask("/metrics");
    expect(body.match(/^isthmus_member_silent_seconds\{/gm)).toHaveLength(2_000);
  });
});

describe("health", () => {
  test("is well while the process runs; ready only once it can be of use, with a sentence until then", async () => {
    const { ask, state } = await aListener({ measured: undefined, unready: "Not yet." });
    expect(await ask("/healthz")).toEqual({ status: 200, body: "ok\n" });
    expect(await ask("/readyz")).toEqual({ status: 503, body: "Not yet.\n" });
    state.unready = undefined;
    expect(await ask("/readyz")).toEqual({ status: 200, body: "ok\n" });
  });

  test("nothing else is answered", async () => {
    const { ask } = await aListener();
    expect((await ask("/")).status).toBe(404);
    expect((await ask("/metrics", "POST")).status).toBe(405);
  });

  test("a measure that fails is an error of that page, not of the process", async () => {
    const measured = {
      ...MEASURED,
      counts: () => {
        throw new Error("no count");
      },
    };
    const { ask } = await aListener({ measured, unready: undefined });
    expect(await ask("/metrics")).toMatchObject({ status: 500 });
    expect((await ask("/healthz")).status).toBe(200);
  });
});

describe("the address to listen on", () => {
  test.each([
    ["127.0.0.1:9402", { host: "127.0.0.1", port: 9402 }],
    ["[::1]:9402", { host: "::1", port: 9402 }],
    [":9402", { host: "", port: 9402 }],
    ["localhost:0", { host: "localhost", port: 0 }],
  ])("%s", (text, parsed) => {
    expect(parseAddress(text)).toEqual(parsed);
  });

  test.each(["9402", "127.0.0.1", "127.0.0.1:70000", "::1:9402", "a:b", ""])(
    "%s is none, which is a usage problem",
    (text) => {
      expect(() => parseAddress(text)).toThrow("is no address to listen on");
    },
  );

  test("that is taken is a problem with a way out", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => {
      other.listen(0, "127.0.0.1", resolve);
    });
    onTestFinished(() => void other.close());
    const { port } = other.address() as { readonly port: number };
    const state = { measured: undefined, unready: undefined };
    await expect(serveState(`127.0.0.1:${port}`, state)).rejects.toMatchObject({
      code: "PortInUse",
    });
  });
});
