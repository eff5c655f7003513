// Fleet: a layout in; a simulated world with it, its real agents started and watched out. It advances time, and does what
// users and operators do; it judges nothing.

import { ENDPOINT_SLICE, NAMESPACE, SERVICE } from "../../src/api/builtin.ts";
import { SERVICE_EXPORT } from "../../src/api/mcs.ts";
import type { ClusterId } from "../../src/api/names.ts";
import { between, createStream } from "../chance.ts";
import type { Trouble } from "../line.ts";
import { SimTime } from "../time.ts";
import { type Definitions, type Site, World } from "../world.ts";
import type { Layout } from "./layout.ts";
import { renderExport, renderService, renderSlice } from "./objects.ts";
import { Tally } from "./tally.ts";

export interface FleetOptions {
  readonly layout: Layout;
  readonly seed: number;
  readonly definitions: Definitions;
}

const LATENCY = { lowMs: 1, highMs: 20 };
/** Agents of a fleet do not start at one instant: each waits for its node to pull the image. */
const STAGGER_MS = 5_000;
const STEP_MS = 1_000;
/** Longer than anything that is written is waited for. */
const QUIET_MS = 15_000;
const SETTLE_BOUND_MS = 15 * 60_000;
const AWAY: Trouble = { loses: ["requests", "answers"], refuses: true };

export class Fleet {
  readonly layout: Layout;
  readonly time = new SimTime();
  readonly tally = new Tally(this.time);
  readonly world: World;
  readonly #seed: number;

  constructor({ layout, seed, definitions }: FleetOptions) {
    const { clusters } = layout.size;
    this.layout = layout;
    this.#seed = seed;
    this.world = new World(this.time, {
      seed,
      definitions,
      observer: this.tally,
      setting: { clusters, members: [], skewsMs: [], latency: LATENCY, activeMs: 0 },
    });
  }

  get sites(): readonly Site[] {
    return this.world.sites;
  }

  /** Members are registered, and users have done all that they will: only the agents are missing. */
  async fill(): Promise<void> {
    const { layout, world } = this;
    for (const site of this.sites) {
      await world.enroll(site, clusterId(site.index));
      for (const name of layout.homes[site.index] ?? []) {
        await site.store.create(NAMESPACE, {
          apiVersion: "v1",
          kind: "Namespace",
          metadata: { name },
        });
      }
    }
    for (const exported of layout.exports) {
      const { store } = world.site(exported.cluster);
      await store.create(SERVICE, renderService(exported));
      for (const [at] of exported.slices.entries()) {
        await store.create(ENDPOINT_SLICE, renderSlice(exported, at));
      }
      await store.create(SERVICE_EXPORT, renderExport(exported));
    }
  }

  start(): void {
    const random = createStream(this.#seed, "starts");
    for (const site of this.sites) {
      this.time.schedule(between(random, 0, STAGGER_MS), () => this.world.start(site));
    }
  }

  /** Until nothing was written for a while but heartbeats. False when that takes too long. */
  async settle(onStep?: () => void): Promise<boolean> {
    const { time, tally } = this;
    const fromMs = time.nowMs;
    for (;;) {
      await time.advanceTo(time.nowMs + STEP_MS);
      onStep?.();
      const stillMs = time.nowMs - Math.max(fromMs, tally.lastWriteMs);
      if (stillMs >= QUIET_MS && this.sites.every(isSettled)) return true;
      if (time.nowMs - fromMs > SETTLE_BOUND_MS) return false;
    }
  }

  advance(ms: number): Promise<void> {
    return this.time.advanceTo(this.time.nowMs + ms);
  }

  /** One endpoint of the slice has another address from now on. */
  async change(place: { readonly at: number; readonly slice: number }): Promise<void> {
    const exported = this.layout.exports[place.at];
    const addresses = exported?.slices[place.slice];
    if (exported === undefined || addresses === undefined) throw new RangeError("no such slice");
    addresses[0] = this.layout.nextAddress(exported.cluster);
    const { store } = this.world.site(exported.cluster);
    await store.replace(ENDPOINT_SLICE, renderSlice(exported, place.slice));
  }

  /** Connections to the hub are reset, and refused from then on. Returns how to bring it back. */
  loseHub(): () => void {
    const ends = this.sites.map(({ lines }) => lines.hub.add(AWAY));
    this.tally.isHubAway = true;
    return () => {
      this.tally.isHubAway = false;
      for (const end of ends) end();
    };
  }

  /** Every agent follows the hub. */
  isFollowing(): boolean {
    return this.sites.every(({ running }) => {
      const blind = running?.process.blindSpots() ?? ["all of hub"];
      return !blind.some((what) => what.endsWith(" of hub"));
    });
  }

  /** Dead, and forgotten by all that held it. */
  async kill(site: Site): Promise<void> {
    this.world.kill(site);
    await this.advance(1);
    this.time.forgetDead();
  }

  end(): void {
    this.world.end();
  }
}

export function clusterId(index: number): ClusterId {
  return `cluster-${index}` as ClusterId;
}

function isSettled({ running }: Site): boolean {
  return running !== undefined && running.agent.isSynced() && running.agent.isIdle();
}
