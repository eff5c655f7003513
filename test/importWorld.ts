// Test double: one importing cluster on the small server, and what it hears of the others. Plans and writes until nothing
// is due, as the importer does.

import type { IPFamily } from "../src/api/builtin.ts";
import type { ClusterId } from "../src/api/names.ts";
import type { Contribution } from "../src/api/share.ts";
import type { Rejection } from "../src/core/admission.ts";
import type { Liveness } from "../src/core/liveness.ts";
import { type ImportInput, planImport } from "../src/core/plan.ts";
import type { Write } from "../src/core/write.ts";
import { id, WEB } from "./shares.ts";
import { createSmallServer, Refused, type SmallServer } from "./smallServer.ts";

export interface Heard {
  readonly contributions?: readonly Contribution[];
  readonly rejections?: readonly Rejection[];
  readonly families?: readonly IPFamily[];
  readonly liveness?: Readonly<Record<string, Liveness>>;
  /** Clusters of which not everything is known yet; their contributions may be among those given. */
  readonly awaited?: readonly string[];
  readonly namespace?: ImportInput["namespace"];
  readonly makesNamespace?: boolean;
  readonly refusedIp?: string;
  readonly lastIps?: readonly string[];
}

export const NOW = "2026-01-01T00:00:00Z";
/** As many as the importer allows itself. */
const MAX_ROUNDS = 6;

export interface ImportWorld {
  readonly server: SmallServer;
  /** The plan for what was heard, without writing it. */
  plan(heard: Heard): readonly Write[];
  /** Plans and writes until nothing is due; fails when that takes more rounds than the importer has. */
  settle(heard: Heard): void;
}

/** The importing cluster is "a". */
export function createImportWorld(): ImportWorld {
  const server = createSmallServer();

  function inputOf(heard: Heard): ImportInput {
    const { contributions = [], liveness = {}, awaited = [], refusedIp, lastIps } = heard;
    return {
      cluster: id("a"),
      service: WEB,
      families: heard.families ?? ["IPv4", "IPv6"],
      namespace: heard.namespace ?? "present",
      makesNamespace: heard.makesNamespace ?? false,
      contributions,
      rejections: heard.rejections ?? [],
      livenessOf: (cluster: ClusterId) => liveness[cluster] ?? "live",
      isAwaited: (cluster) => awaited.includes(cluster),
      isComplete: awaited.every((cluster) => liveness[cluster] === "lost"),
      observed: server.observe(WEB),
      ...(refusedIp === undefined ? {} : { refusedIp }),
      ...(lastIps === undefined ? {} : { lastIps }),
      now: NOW,
    };
  }

  function writeAll(writes: readonly Write[], hasRefused: boolean): string | undefined {
    for (const write of writes) {
      try {
        server.write(write);
      } catch (error) {
        // A second refusal is one too many, as in the importer.
        if (!(error instanceof Refused) || hasRefused) throw error;
        return error.message;
      }
    }
    return undefined;
  }

  const plan = (heard: Heard): readonly Write[] => planImport(inputOf(heard));
  return {
    server,
    plan,
    settle(heard) {
      let now = heard;
      for (let round = 0; round <= MAX_ROUNDS; round += 1) {
        const writes = plan(now);
        if (writes.length === 0) return;
        const refusedIp = writeAll(writes, now.refusedIp !== undefined);
        if (refusedIp !== undefined) now = { ...now, refusedIp };
      }
      const due = plan(now).map((write) => `${write.verb} ${write.resource.kind}`);
      throw new Error(`after ${MAX_ROUNDS} rounds there is still something due: ${due.join(", ")}`);
    },
  };
}
