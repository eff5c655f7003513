// Data plane: all stories with one kube-proxy mode, kept in step by central, then by agents; a bed for each.

import { afterAll, beforeAll, describe, test } from "vitest";
import { type Bed, type ProxyMode, startBed } from "./bed.ts";
import { type Engine, MODES, startEngine } from "./engines.ts";
import { affinity } from "./stories/affinity.ts";
import { drain } from "./stories/drain.ts";
import { headless } from "./stories/headless.ts";
import { hubless } from "./stories/hubless.ts";
import { loss } from "./stories/loss.ts";
import { move } from "./stories/move.ts";
import { ports } from "./stories/ports.ts";
import { spread } from "./stories/spread.ts";
import { unexport } from "./stories/unexport.ts";
import { zones } from "./stories/zones.ts";
import { type Story, tell } from "./story.ts";

/** These break nothing that another needs. */
const AT_ONCE: Readonly<Record<string, readonly [name: string, story: Story]>> = {
  "a backend moves to another cluster and back: same name, same virtual IP, no failed request": [
    "move",
    move,
  ],
  "a service in three clusters is spread over every ready pod, through scaling and rolling restarts":
    ["spread", spread],
  "an export taken back takes name, virtual IP and slices along, and leaves the Service at home alone":
    ["unexport", unexport],
  "every pod of a headless service has a name across clusters, by CoreDNS and by isthmus dns": [
    "headless",
    headless,
  ],
  "a port leads only to clusters that have it (R28)": ["ports", ports],
  "session affinity by client IP holds across clusters": ["affinity", affinity],
  "traffic stays in its zone while that has ready pods": ["zones", zones],
};

/** These take something away from everybody. */
const ONE_BY_ONE: typeof AT_ONCE = {
  "a cluster that is drained is left by all traffic that others can serve, and used again when it is undrained: not one failed request":
    ["drain", drain],
  "the hub is away for two minutes: not one failed request": ["hubless", hubless],
  "a cluster that loses its power is left within the bound, and used again when it is back": [
    "loss",
    loss,
  ],
};

export function describeStories(proxy: ProxyMode): void {
  describe.each(MODES)(`kept in step by %s, kube-proxy with ${proxy}`, (mode) => {
    let bed: Bed | undefined;
    let engine: Engine;
    beforeAll(async () => {
      bed = await startBed({ proxy, isHubNeeded: mode === "agents" });
      engine = await startEngine(mode, bed);
    });
    afterAll(() => bed?.stop());

    for (const [sentence, [name, story]] of Object.entries(AT_ONCE)) {
      // oxlint-disable-next-line vitest/valid-title, vitest/expect-expect -- sentence and assertions are the story's
      test.concurrent(sentence, () => tell({ bed: bed!, engine }, name, story));
    }
    for (const [sentence, [name, story]] of Object.entries(ONE_BY_ONE)) {
      // oxlint-disable-next-line vitest/valid-title, vitest/expect-expect -- sentence and assertions are the story's
      test(sentence, () => tell({ bed: bed!, engine }, name, story));
    }
  });
}
