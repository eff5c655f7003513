// Server processes that exist only on paper: what they are sent, what they say, how they die.

import { describe, expect, test } from "vitest";
import { VirtualClock } from "../../test/clock.ts";
import { CONFIG, SILENT_LOG } from "../../test/dnsServer.ts";
import type { FromServer, ToServer } from "./channel.ts";
import { createLayout } from "./counters.ts";
import type { Child } from "./member.ts";
import { startPool } from "./pool.ts";
import type { Report } from "./server.ts";
import type { Change } from "./table.ts";

const LAYOUT = createLayout(CONFIG.zones.length);

class FakeChild implements Child {
  readonly pid: number;
  readonly sent: ToServer[] = [];
  isKilled = false;
  #listener: Parameters<Child["listen"]>[0] | undefined;

  constructor(pid: number) {
    this.pid = pid;
  }

  send(message: ToServer): void {
    this.sent.push(message);
  }

  kill(): void {
    this.isKilled = true;
    this.die("SIGKILL");
  }

  listen(listener: Parameters<Child["listen"]>[0]): void {
    this.#listener = listener;
  }

  say(...messages: readonly FromServer[]): void {
    for (const message of messages) this.#listener?.onMessage(message);
  }

  die(reason = "SIGSEGV"): void {
    this.#listener?.onExit(reason);
  }

  /** Takes whatever it is sent until nothing more comes. */
  takeAll(): void {
    for (let taken = 0; ; ) {
      const batches = this.sent.filter(({ kind }) => kind === "changes").length;
      if (batches === taken) return;
      taken = batches;
      this.say({ kind: "taken" });
    }
  }

  get kinds(): readonly string[] {
    return this.sent.map(({ kind }) => kind);
  }

  /** Owner and serial of every change, in the order they were sent. */
  get changes(): readonly string[] {
    return this.sent.flatMap((message) =>
      message.kind === "changes"
        ? message.changes.map(({ owner, serial, names }) =>
            names.length > 0 ? `${owner}@${serial}` : `-${owner}@${serial}`,
          )
        : [],
    );
  }
}

function aPool(processes = 2) {
  const clock = new VirtualClock();
  const children: FakeChild[] = [];
  const warnings: string[] = [];
  const state = { isEnding: false };
  const pool = startPool({
    processes,
    config: CONFIG,
    fork: () => {
      const child = new FakeChild(children.length + 1);
      children.push(child);
      return child;
    },
    isEnding: () => state.isEnding,
    clock,
    random: () => 0.5,
    log: { ...SILENT_LOG, warn: (message) => warnings.push(message) },
  });
  return { clock, children, pool, warnings, state };
}

let serial = 0;
function aChange(owner: string, bytes = 10): Change {
  const name = new Uint8Array(bytes);
  return { owner, names: [{ name, answers: [] }], serial: ++serial };
}

function aReport(fields: Partial<Report> = {}): Report {
  return {
    totals: new Float64Array(LAYOUT.length).fill(1),
    serial: 5,
    names: 10,
    tcpConnections: 2,
    forwarding: 1,
    isSynced: true,
    ...fields,
  };
}

describe("a server process", () => {
  test("of a pool that knows nothing yet opens at once, and is told when all is known", () => {
    const { children, pool } = aPool(1);
    const [child] = children;
    expect(child!.sent).toEqual([]);
    child!.say({ kind: "hello" });
    expect(child!.kinds).toEqual(["start", "open"]);
    serial = 0;
    pool.replace(aChange("a"));
    pool.markSynced();
    expect(child!.kinds).toEqual(["start", "open", "changes"]);
    child!.say({ kind: "taken" });
    expect(child!.kinds).toEqual(["start", "open", "changes", "synced"]);
  });

  test("that comes later opens when it has all that the others have", () => {
    const { children, pool } = aPool(1);
    serial = 0;
    pool.replace(aChange("a"));
    pool.markSynced();
    const [child] = children;
    child!.say({ kind: "hello" });
    expect(child!.kinds).toEqual(["start", "changes"]);
    child!.takeAll();
    expect(child!.kinds).toEqual(["start", "changes", "synced", "open"]);
  });

  test("is sent one message at a time, of bounded size, and the state rather than the history", () => {
    const { children, pool } = aPool(1);
    const [child] = children;
    child!.say({ kind: "hello" });
    serial = 0;
    pool.replace(aChange("first"));
    // It is busy with the first; meanwhile one owner changes a thousand times, one goes, and a lot is new.
    for (let count = 0; count < 1_000; count++) pool.replace(aChange("often"));
    pool.replace(aChange("gone"));
    pool.replace({ owner: "gone", names: [], serial: ++serial });
    for (let count = 0; count < 10; count++) pool.replace(aChange(`large-${count}`, 100_000));
    expect(child!.changes).toEqual(["first@1"]);
    child!.takeAll();
    expect(child!.changes.slice(1, 3)).toEqual(["often@1001", `-gone@${serial}`]);
    expect(child!.changes).toHaveLength(13);
    expect(child!.kinds.filter((kind) => kind === "changes").length).toBeGreaterThan(4);
    expect(child!.changes.at(-1)).toBe(`large-9@${serial}`);
  });

  test("ends with the newest serial, whatever changed in which order", () => {
    const { children, pool } = aPool(1);
    serial = 0;
    for (const owner of ["a", "b", "a"]) pool.replace(aChange(owner));
    children[0]!.say({ kind: "hello" });
    children[0]!.takeAll();
    expect(children[0]!.changes).toEqual(["b@2", "a@3"]);
  });
});

describe("a server process that dies", () => {
  test("is started again, later each time, and catches up", async () => {
    const { clock, children, pool, warnings } = aPool(1);
    serial = 0;
    pool.replace(aChange("a"));
    pool.markSynced();
    const delays: number[] = [];
    for (let death = 0; death < 9; death++) {
      const before = children.length;
      children.at(-1)!.die();
      let waitedMs = 0;
      while (children.length === before) {
        await clock.advance(50);
        waitedMs += 50;
      }
      delays.push(waitedMs);
    }
    expect(delays.slice(0, 4)).toEqual([150, 300, 600, 1_200]);
    expect(Math.max(...delays)).toBe(22_500);
    expect(warnings).toHaveLength(9);
    const last = children.at(-1)!;
    last.say({ kind: "hello" });
    last.takeAll();
    expect(last.changes).toEqual(["a@1"]);
    expect(pool.processes()).toEqual({ running: 0, restarts: 9 });
    last.say({ kind: "opened" });
    expect(pool.processes().running).toBe(1);
  });

  test("after a long life is started again soon", async () => {
    const { clock, children } = aPool(1);
    for (let death = 0; death < 5; death++) {
      children.at(-1)!.die();
      await clock.advance(30_000);
    }
    await clock.advance(30_000);
    children.at(-1)!.say({ kind: "hello" });
    await clock.advance(30_000);
    const before = children.length;
    children.at(-1)!.die();
    await clock.advance(200);
    expect(children).toHaveLength(before + 1);
  });

  test("does not concern the others", () => {
    const { children, pool } = aPool(2);
    for (const child of children) child.say({ kind: "hello" });
    children[0]!.die();
    serial = 0;
    pool.replace(aChange("a"));
    expect(children[0]!.changes).toEqual([]);
    expect(children[1]!.changes).toEqual(["a@1"]);
  });

  test("takes nothing of what it counted with it", () => {
    const { children, pool } = aPool(2);
    for (const child of children)
      child.say({ kind: "hello" }, { kind: "report", report: aReport() });
    expect(pool.report().totals[0]).toBe(2);
    children[0]!.die();
    expect(pool.report()).toMatchObject({ tcpConnections: 2, serial: 5 });
    expect(pool.report().totals[0]).toBe(2);
  });

  test("because it said nothing for a minute was ended by us", async () => {
    const { clock, children } = aPool(1);
    await clock.advance(59_000);
    children[0]!.say({ kind: "hello" });
    for (let minute = 0; minute < 10; minute++) {
      await clock.advance(59_000);
      children[0]!.say({ kind: "report", report: aReport() });
    }
    expect(children[0]!.isKilled).toBe(false);
    await clock.advance(66_000);
    expect(children[0]!.isKilled).toBe(true);
    expect(children).toHaveLength(2);
  });

  test("is not ended because the reader was stopped and could not hear it", async () => {
    const { clock, children } = aPool(1);
    children[0]!.say({ kind: "hello" });
    for (let minute = 0; minute < 3; minute++) {
      // Timers come first when a process goes on, then what others said meanwhile.
      await clock.advance(60_000);
      children[0]!.say({ kind: "report", report: aReport() });
    }
    expect(children[0]!.isKilled).toBe(false);
  });

  test("because its sockets cannot be opened is tried again", async () => {
    const { clock, children } = aPool(1);
    children[0]!.say({ kind: "hello" }, { kind: "failed", message: "taken" });
    expect(children[0]!.isKilled).toBe(true);
    await clock.advance(1_000);
    expect(children).toHaveLength(2);
  });
});

describe("a pool", () => {
  test("divides its limits among the processes", () => {
    const { children } = aPool(2);
    children[0]!.say({ kind: "hello" });
    expect(children[0]!.sent[0]).toMatchObject({ config: { maxTcpConnections: 50 } });
  });

  test("tells the serial of the process that is behind", () => {
    const { children, pool } = aPool(2);
    expect(pool.report()).toMatchObject({ serial: 0, names: 0, isSynced: false });
    children[0]!.say({ kind: "report", report: aReport({ serial: 9, names: 3 }) });
    children[1]!.say({ kind: "report", report: aReport({ serial: 7, names: 4 }) });
    expect(pool.report()).toMatchObject({ serial: 7, names: 3, forwarding: 2 });
  });

  test("whose processes are all ended at once does not miss those that go first", async () => {
    const { clock, children, pool, warnings, state } = aPool(2);
    for (const child of children) child.say({ kind: "hello" });
    state.isEnding = true;
    for (const child of children) child.die("exit code 0");
    await clock.advance(60_000);
    await pool.stop();
    expect(children).toHaveLength(2);
    expect(warnings).toEqual([]);
  });

  test("that ends asks first, then kills, and starts nobody again", async () => {
    const { clock, children, pool } = aPool(3);
    for (const child of children) child.say({ kind: "hello" });
    children[2]!.die();
    const stopped = pool.stop();
    expect(children[0]!.kinds.at(-1)).toBe("stop");
    children[0]!.die("exit code 0");
    await clock.advance(10_000);
    await stopped;
    expect(children.map(({ isKilled }) => isKilled)).toEqual([false, true, false]);
    expect(children).toHaveLength(3);
    expect(clock.pendingTimers).toBe(0);
  });
});
