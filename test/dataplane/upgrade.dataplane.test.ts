// The chart in real clusters, with traffic: installed, upgraded, rolled back, uninstalled. Once: what kube-proxy does with the
// objects is the other stories' matter.

import { afterAll, beforeAll, test } from "vitest";
import { type Bed, startBed } from "./bed.ts";
import { type ChartEngine, startChartEngine } from "./chart.ts";
import { upgrade } from "./stories/upgrade.ts";
import { tell } from "./story.ts";

let bed: Bed | undefined;
let engine: ChartEngine | undefined;

beforeAll(async () => {
  bed = await startBed({ proxy: "nftables", isHubNeeded: true });
  engine = await startChartEngine(bed);
});
afterAll(async () => {
  await engine?.stop();
  await bed?.stop();
});

// oxlint-disable-next-line vitest/expect-expect -- assertions are the story's
test("a chart that is upgraded, rolled back and uninstalled while clients ask: not one failed request, and nothing stored is lost", () =>
  tell({ bed: bed!, engine: engine! }, "upgrade", (shop) => upgrade(shop, engine!)));
