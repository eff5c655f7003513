// Scenario suite: an agent in every cluster of a world, and a hub of that world's own between them.

import type { ClusterId } from "../../src/api/names.ts";
import { type Agent, startAgent } from "../../src/controllers/agent.ts";
import { createKubernetesHub, type KubernetesHub } from "../../src/hub/kubernetes.ts";
import type { Store } from "../../src/ports/store.ts";
import { evictMember, registerMember } from "../hubMember.ts";
import type { Engine, EngineOptions } from "./engine.ts";
import { createLine, type Line } from "./line.ts";
import type { Site } from "./site.ts";

/** All that scenarios use for endpoints. */
const POD_CIDRS = ["10.0.0.0/9", "fd00::/8", "192.0.2.0/24"];

export interface AgentFleet {
  readonly start: (options: EngineOptions) => Engine;
  /** Between the site's agent and the hub. */
  readonly line: (site: Site) => Line;
  readonly writes: () => readonly string[];
  readonly forgetWrites: () => void;
}

export function createAgentFleet(hub: Store): AgentFleet {
  const lines = new Map<string, Line>();
  const registered = new Set<ClusterId>();

  function line(site: Site): Line {
    const known = lines.get(site.id) ?? createLine(hub, () => true);
    lines.set(site.id, known);
    return known;
  }

  /** Who takes part is what the administrator registered: the rest is evicted. */
  async function register(members: readonly Member[]): Promise<void> {
    const wanted = new Set(members.map(({ cluster }) => cluster));
    for (const cluster of registered) {
      if (wanted.has(cluster)) continue;
      await evictMember(hub, cluster);
      registered.delete(cluster);
    }
    for (const { cluster, site } of members) {
      await registerMember(hub, cluster, { podCIDRs: POD_CIDRS, serviceCIDRs: site.serviceCidrs });
      registered.add(cluster);
    }
  }

  return {
    line,
    start(options) {
      const { members: sites, ids, log, ...shared } = options;
      const members = sites.map((site) => ({ site, cluster: (ids[site.id] ?? "") as ClusterId }));
      const running: { readonly agent: Agent; readonly hub: KubernetesHub }[] = [];
      const started = startAll();
      async function startAll(): Promise<void> {
        await register(members);
        for (const { site, cluster } of members) {
          const own = { ...shared, cluster, log: log.with({ cluster }) };
          const agentHub = createKubernetesHub({ ...own, store: line(site).store });
          const agent = startAgent({ ...own, store: site.line.store, hub: agentHub });
          running.push({ agent, hub: agentHub });
        }
      }
      return {
        joined: () => running.length,
        isIdle: () => running.every(({ agent }) => agent.isIdle()),
        async stop() {
          await started;
          await Promise.all(
            running.map(async ({ agent, hub: agentHub }) => {
              await agent.stop();
              await agentHub.stop();
            }),
          );
        },
      };
    },
    writes: () =>
      [...lines].flatMap(([id, own]) =>
        own
          .writes()
          .filter((text) => !text.includes(" leases "))
          .map((text) => `${id} at the hub: ${text}`),
      ),
    forgetWrites: () => {
      for (const own of lines.values()) own.forgetWrites();
    },
  };
}

interface Member {
  readonly site: Site;
  readonly cluster: ClusterId;
}
