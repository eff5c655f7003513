// Run: a schedule in, what came of it out: broken rules, the hash of all that happened, counts. The same schedule has the
// same outcome, on any machine.

import { CLUSTER_PROPERTY } from "../src/api/about.ts";
import { DRAIN_PROPERTY } from "../src/api/names.ts";
import { renderDrain } from "../src/core/drain.ts";
import { act } from "./action.ts";
import { settleBoundMs } from "./bound.ts";
import { findUsable } from "./compare.ts";
import { type Fault, troubleOf, victimOf } from "./fault.ts";
import { Observation, type Statistics, type Violation } from "./observe.ts";
import { tellLie } from "./lie.ts";
import { findBlindSpots, findUnrest } from "./quiet.ts";
import type { Schedule, Step } from "./schedule.ts";
import { SimTime } from "./time.ts";
import { type Definitions, type Site, World } from "./world.ts";

export interface Outcome {
  readonly schedule: Schedule;
  readonly violations: readonly Violation[];
  readonly hash: string;
  readonly virtualMs: number;
  readonly statistics: Statistics;
}

export interface RunOptions {
  readonly definitions: Definitions;
  /** What happens is told to it, line by line. */
  readonly trace?: string[];
}

const LOOK_EVERY_MS = 20_000;
const QUIET_MS = 45_000;
/** 30 s by the default policy; the last heartbeat was on its way, and members look once a second. */
const WITHDRAWN_WITHIN_MS = 38_000;

export async function runSchedule(schedule: Schedule, options: RunOptions): Promise<Outcome> {
  const { seed, setting } = schedule;
  const time = new SimTime();
  const { steadyFromMs = Infinity } = setting;
  const observation = new Observation(time, {
    steadyFromMs: time.nowMs + steadyFromMs,
    trace: options.trace,
  });
  if (setting.onlyCrashes === true) observation.invariants.expectClaims();
  const { definitions } = options;
  const world = new World(time, { seed, setting, observer: observation, definitions });
  const run: Run = {
    world,
    observation,
    beganMs: time.nowMs,
    faults: 0,
    isSteady: false,
    isOver: false,
  };
  try {
    for (const site of world.sites) {
      if (setting.members[site.index] === true) await world.join(site);
    }
    for (const step of schedule.steps) {
      if (observation.violations.length > 0) break;
      if (step.atMs >= steadyFromMs && !run.isSteady) await becomeSteady(run, steadyFromMs);
      await time.advanceTo(run.beganMs + step.atMs);
      observation.noteStep(kindOf(step), JSON.stringify(step));
      await take(run, step);
    }
    if (observation.violations.length === 0) await settleDown(run, schedule);
  } finally {
    world.end();
  }
  return {
    schedule,
    violations: observation.violations,
    hash: observation.hash,
    virtualMs: time.nowMs - run.beganMs,
    statistics: observation.statistics,
  };
}

interface Run {
  readonly world: World;
  readonly observation: Observation;
  readonly beganMs: number;
  /** Inflicted so far. */
  faults: number;
  /** No user does anything any more. */
  isSteady: boolean;
  /** No faults any more. */
  isOver: boolean;
}

export function kindOf(step: Step): string {
  if ("do" in step) return `user: ${step.do}`;
  if ("lie" in step) return `member: lie about its ${step.lie}`;
  return "fault" in step ? `fault: ${step.fault}` : `member: ${step.member}`;
}

/** Without faults a minute is enough. */
async function becomeSteady(run: Run, steadyFromMs: number): Promise<void> {
  const { world, observation, beganMs } = run;
  run.isSteady = true;
  await world.time.advanceTo(beganMs + steadyFromMs - 1);
  for (const sentence of await findUnrest(world)) {
    observation.report("without faults all is as it should be within a minute", sentence);
  }
}

async function take(run: Run, step: Step): Promise<void> {
  const { world } = run;
  if ("do" in step) {
    await act(world.site(step.cluster).store, step);
    return;
  }
  if ("fault" in step) {
    inflict(run, step);
    return;
  }
  const site = world.site(step.cluster);
  if ("lie" in step) {
    const claimed = world.site(step.as).id;
    if (site.id === undefined || claimed === undefined) return;
    run.observation.invariants.noteLie(step.address);
    const hub = world.hub.store({ userAgent: `liar ${site.id}` });
    await tellLie(hub, step, { own: site.id, claimed });
    return;
  }
  switch (step.member) {
    case "join":
      await world.join(site);
      return;
    case "leave":
      await world.leave(site);
      return;
    case "rename":
      await world.leave(site);
      await world.join(site, true);
      return;
    case "drain":
      run.observation.invariants.noteDrain(site.index);
      await site.store.apply(CLUSTER_PROPERTY, renderDrain("maintenance"), {
        fieldManager: "user",
      });
      return;
    case "undrain":
      await site.store.delete(CLUSTER_PROPERTY, { name: DRAIN_PROPERTY });
  }
}

function inflict(run: Run, fault: Fault): void {
  const { world } = run;
  const { time } = world;
  run.faults += 1;
  const trouble = troubleOf(fault);
  const victim = victimOf(fault);
  if (victim !== undefined) run.observation.invariants.noteTrouble(victim);
  run.observation.invariants.noteFault(fault);
  if (trouble !== undefined && "to" in fault && "forMs" in fault) {
    const end = world.site(fault.cluster).lines[fault.to].add(trouble);
    time.schedule(fault.forMs, end);
    return;
  }
  switch (fault.fault) {
    case "cut watches":
      world.site(fault.cluster).lines[fault.to].breakStreams();
      return;
    case "compact":
      compact(world, fault.server);
      if (fault.cuts) for (const line of linesTo(world, fault.server)) line.breakStreams();
      return;
    case "restart server":
      for (const line of linesTo(world, fault.server)) {
        const end = line.add({ loses: ["requests", "answers"], refuses: true });
        time.schedule(fault.forMs, end);
      }
      if (fault.compacts) compact(world, fault.server);
      return;
    case "region":
      for (const site of world.sites) {
        if (site.index === fault.spared) continue;
        const { refuses, forMs } = fault;
        time.schedule(forMs, site.lines.hub.add({ loses: ["requests", "answers"], refuses }));
      }
      return;
    case "crash":
      crash(run, fault);
      return;
    case "clock": {
      const skew = fault.cluster === "hub" ? world.hubSkew : world.site(fault.cluster).skew;
      skew.ms += fault.jumpMs;
      return;
    }
    case "partition":
    case "slow":
    case "late answers":
    case "errors":
    case "late watch":
    case "doubled watch":
  }
}

function linesTo(world: World, server: number | "hub") {
  return server === "hub"
    ? world.sites.map((site) => site.lines.hub)
    : [world.site(server).lines.own];
}

function compact(world: World, server: number | "hub"): void {
  (server === "hub" ? world.hub : world.site(server).cluster).compact();
}

function crash(run: Run, fault: Extract<Fault, { readonly fault: "crash" }>): void {
  const { world, observation } = run;
  const site = world.site(fault.cluster);
  const process = site.running?.process;
  if (process === undefined) return;
  const fall = (): void => {
    if (run.isOver || site.running?.process !== process) return;
    observation.note(`${process.name} dies`);
    world.kill(site);
    world.time.schedule(fault.downMs, () => world.start(site));
    expectWithdrawal(run, site);
  };
  process.doom(fault.call, fault.at, fall, fault.only);
  world.time.schedule(fault.withinMs, fall);
}

/** Where one cluster is silent and all else is well, it is withdrawn within the bound. */
function expectWithdrawal(run: Run, lost: Site): void {
  const { world, observation } = run;
  const { id } = lost;
  const { faults } = run;
  const others = world.sites.filter((site) => site !== lost && site.id !== undefined);
  if (id === undefined || !run.isSteady || faults > 1) return;
  const complain = async (site: Site): Promise<void> => {
    for (const slice of await findUsable(site, lost, id)) {
      const sentence = `${site.id} has ${slice}, of ${id}, which has been silent for ${WITHDRAWN_WITHIN_MS / 1_000} s`;
      observation.report("a lost cluster is withdrawn within the bound", sentence);
    }
  };
  world.time.schedule(WITHDRAWN_WITHIN_MS, () => {
    const isPlain = run.faults === faults && lost.running === undefined && lost.id === id;
    if (!isPlain || run.isOver) return;
    for (const site of others) {
      void complain(site);
    }
  });
}

/** Faults are over: within the bound everything is as it should be, and then nothing moves. */
async function settleDown(run: Run, schedule: Schedule): Promise<void> {
  const { world, observation, beganMs } = run;
  const { time } = world;
  await time.advanceTo(beganMs + schedule.setting.activeMs);
  observation.note("all faults end");
  run.isOver = true;
  for (const site of world.sites) heal(world, site);
  const deadlineMs = time.nowMs + settleBoundMs(schedule);
  for (;;) {
    await time.advanceTo(time.nowMs + LOOK_EVERY_MS);
    if (observation.violations.length > 0) return;
    const unrest = [...(await findUnrest(world)), ...findBlindSpots(world)];
    if (unrest.length === 0) break;
    if (time.nowMs < deadlineMs) continue;
    for (const sentence of unrest) observation.report("at quiet all is as it should be", sentence);
    return;
  }
  await time.advanceTo(time.nowMs + 10_000);
  const quietFromMs = time.nowMs;
  await time.advanceTo(quietFromMs + QUIET_MS);
  const { lastAgentWrite } = observation;
  if (lastAgentWrite !== undefined && lastAgentWrite.atMs > quietFromMs) {
    observation.report("at quiet nothing is written", lastAgentWrite.what);
  }
  for (const sentence of await findUnrest(world)) {
    observation.report("at quiet all is as it should be", sentence);
  }
}

function heal(world: World, site: Site): void {
  site.lines.own.clear();
  site.lines.hub.clear();
  site.running?.process.spare();
  world.start(site);
}
