import { expect, test } from "vitest";
import type { ClusterId } from "../api/names.ts";
import type { Liveness } from "../core/liveness.ts";
import type { Hub, HubMember } from "../ports/hub.ts";
import { createQuestions } from "./questions.ts";

const EAST = "east" as ClusterId;
const WEST = "west" as ClusterId;

function judge(west: Partial<HubMember>, liveness: Liveness): boolean {
  const member = (cluster: ClusterId): HubMember => ({
    cluster,
    isComplete: true,
    isCurrent: true,
    isHeard: true,
    silentMs: 0,
    isDrained: false,
  });
  const members = [member(EAST), { ...member(WEST), ...west }];
  const hub = { members: () => members, hasStrangers: () => false } as unknown as Hub;
  return createQuestions(hub, (cluster) => (cluster === WEST ? liveness : "live")).isComplete();
}

test.each<[string, Partial<HubMember>, Liveness, boolean]>([
  ["has told everything", {}, "live", true],
  ["has not told everything", { isComplete: false }, "live", false],
  ["is publishing", { isCurrent: false }, "live", false],
  ["is silent, but not for long enough", { isCurrent: false, silentMs: 25_000 }, "silent", false],
  ["has been silent for too long", { isCurrent: false, silentMs: 31_000 }, "lost", true],
  // Looked at once a second: a cluster that comes back is still lost for a moment, and about to publish.
  ["was lost, and has been heard since", { isCurrent: false, silentMs: 40 }, "lost", false],
])("asks whether all is told when a member %s", (_, west, liveness, expected) => {
  expect(judge(west, liveness)).toBe(expected);
});
