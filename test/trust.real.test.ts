// Who may do what on a hub, on a real API server, with everybody's own credential. Every attack must be refused by the guard
// that is meant to refuse it.

import { afterAll, beforeAll, describe, inject } from "vitest";
import { testImporterAttacks } from "./trust/importerAttacks.ts";
import { testJoinAttacks } from "./trust/joinAttacks.ts";
import { testJoinReach } from "./trust/joinReach.ts";
import { testMemberAttacks } from "./trust/memberAttacks.ts";
import { testMemberReach } from "./trust/memberReach.ts";
import { TrustHub } from "./trust/trustHub.ts";

const TIMEOUT_MS = 300_000;

let hub: TrustHub;

beforeAll(async () => {
  const edge = inject("clusters").find(({ name }) => name === "edge")!;
  hub = new TrustHub(edge.kubeconfigPath);
  await hub.init();
}, TIMEOUT_MS);

afterAll(() => hub.close(), TIMEOUT_MS);

describe("members", () => {
  testMemberAttacks(() => hub);
  testMemberReach(() => hub);
});

describe("join tokens", () => {
  testJoinAttacks(() => hub);
  testJoinReach(() => hub);
});

describe("importers", () => {
  testImporterAttacks(() => hub);
});
