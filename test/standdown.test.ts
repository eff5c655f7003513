// Leaving while agents may be at work: on an embedded cluster and virtual time.

import { expect, test } from "vitest";
import { LEASE, type Lease, NAMESPACE } from "../src/api/builtin.ts";
import { isProblem } from "../src/api/problem.ts";
import { withoutAgent } from "../src/controllers/standdown.ts";
import { AGENT_LEASE } from "../src/hub/local.ts";
import type { Log } from "../src/ports/log.ts";
import { type Leadership, runElected } from "../src/runtime/leader.ts";
import { TestCluster } from "./embedded.ts";

const silent: Log = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  with: () => silent,
};

async function start(options: { readonly withNamespace?: boolean } = {}) {
  const world = new TestCluster();
  const { clock } = world;
  const store = world.cluster.store();
  if (options.withNamespace !== false) {
    const metadata = { name: AGENT_LEASE.namespace };
    await store.create(NAMESPACE, { apiVersion: "v1", kind: "Namespace", metadata });
  }
  const { signal } = new AbortController();
  return {
    clock,
    store,
    /** Settles with what became of it; `atWork` runs while no agent may. */
    leave(force: boolean, atWork: () => Promise<void> | void = () => {}) {
      const run = { what: undefined as unknown, isDone: false };
      void withoutAgent({ store, clock, identity: "leaver", force, signal }, async () => {
        await atWork();
        return "left";
      }).then(
        (what) => Object.assign(run, { what, isDone: true }),
        (what: unknown) => Object.assign(run, { what, isDone: true }),
      );
      return run;
    },
    agent(identity: string) {
      const stop = new AbortController();
      const terms: Leadership[] = [];
      const end = runElected(
        { store, clock, random: () => 0.5, log: silent, lease: AGENT_LEASE, identity },
        async (leadership) => {
          terms.push(leadership);
          await new Promise((resolve) => leadership.signal.addEventListener("abort", resolve));
        },
        stop.signal,
      );
      return {
        terms,
        isLeading: () => terms.at(-1)?.mayWrite() === true,
        async stop() {
          stop.abort();
          await clock.advance(0);
          await end;
        },
      };
    },
    async lease(): Promise<Lease | undefined> {
      return store.get(LEASE, AGENT_LEASE);
    },
  };
}

test("where no agent ever ran it begins at once, and leaves the lease to nobody", async () => {
  const world = await start();
  const run = world.leave(false);
  await world.clock.advance(0);
  expect(run.what).toBe("left");
  expect((await world.lease())?.spec?.holderIdentity ?? "").toBe("");
});

test("where there is not even a namespace it begins at once", async () => {
  const world = await start({ withNamespace: false });
  const run = world.leave(false);
  await world.clock.advance(0);
  expect(run.what).toBe("left");
});

test("an agent at work is noticed by its renewal; nothing is done, and it goes on leading", async () => {
  const world = await start();
  const agent = world.agent("agent-1");
  await world.clock.advance(100);
  const run = world.leave(false, () => expect.unreachable());
  await world.clock.advance(10_000);
  expect(isProblem(run.what, "AgentRunning")).toBe(true);
  expect((run.what as Error).message).toContain("agent-1");
  expect(agent.isLeading()).toBe(true);
  await agent.stop();
});

test("an agent that stopped in order is not waited for", async () => {
  const world = await start();
  const agent = world.agent("agent-1");
  await world.clock.advance(100);
  await agent.stop();
  const run = world.leave(false);
  await world.clock.advance(0);
  expect(run.what).toBe("left");
});

test("an agent that died is waited for as long as its lease lasts", async () => {
  const world = await start();
  const spec = { holderIdentity: "dead", leaseDurationSeconds: 10 };
  await world.store.create(LEASE, {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: AGENT_LEASE,
    spec,
  });
  const run = world.leave(false);
  await world.clock.advance(9_900);
  expect(run.isDone).toBe(false);
  await world.clock.advance(200);
  expect(run.what).toBe("left");
});

test("forced, it begins only when the agent that led can no longer write, and no other leads meanwhile", async () => {
  const world = await start();
  const first = world.agent("agent-1");
  await world.clock.advance(100);
  const second = world.agent("agent-2");
  await world.clock.advance(100);
  let goOn = (): void => {};
  const seen: boolean[] = [];
  const run = world.leave(true, async () => {
    seen.push(first.isLeading(), second.isLeading());
    await new Promise<void>((resolve) => {
      goOn = resolve;
    });
    seen.push(first.isLeading(), second.isLeading());
  });
  await world.clock.advance(11_000);
  expect(seen).toEqual([false, false]);
  // However long it takes.
  await world.clock.advance(300_000);
  expect([first.terms.length, second.terms.length]).toEqual([1, 0]);
  goOn();
  await world.clock.advance(0);
  expect(seen).toEqual([false, false, false, false]);
  expect(run.what).toBe("left");
  await first.stop();
  await second.stop();
});

test("when the work fails the failure is told, and agents may lead again at once", async () => {
  const world = await start();
  const run = world.leave(false, () => {
    throw new Error("the hub is away");
  });
  await world.clock.advance(0);
  expect(run.what).toMatchObject({ message: "the hub is away" });
  const agent = world.agent("agent-1");
  await world.clock.advance(100);
  expect(agent.isLeading()).toBe(true);
  await agent.stop();
});
