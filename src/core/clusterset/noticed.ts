// Clusterset: a service as one cluster imports it now and as it would then in, what clients there would notice out: clauses.

import type { ImportView } from "../import.ts";
import { describePort } from "../ports.ts";
import { isSameData } from "../write.ts";
import { count, list } from "./explanation.ts";
import type { EndpointCount } from "./view.ts";

export interface SourceChange {
  readonly cluster: string;
  readonly before: EndpointCount;
  readonly after: EndpointCount;
}

export function describeService(
  was: ImportView | undefined,
  becomes: ImportView | undefined,
): readonly string[] {
  if (was === undefined && becomes === undefined) return [];
  if (was === undefined) {
    const ports = list((becomes?.ports ?? []).map(describePort));
    return [`the name begins to resolve: ${becomes?.type}, ${ports === "" ? "no ports" : ports}`];
  }
  if (becomes === undefined) {
    const address = was.type === "ClusterSetIP" ? ", and its virtual IP goes" : "";
    return [`the name ceases to resolve${address}`];
  }
  const before = was.ports.map(describePort);
  const after = becomes.ports.map(describePort);
  const gone = before.filter((port) => !after.includes(port));
  const added = after.filter((port) => !before.includes(port));
  return [
    ...(was.type === becomes.type
      ? []
      : [
          becomes.type === "Headless"
            ? "its type becomes Headless, so that the name resolves to pods, and its virtual IP goes"
            : "its type becomes ClusterSetIP, so that the name resolves to a virtual IP",
        ]),
    ...(gone.length === 0 ? [] : [`port ${list(gone)} goes`]),
    ...(added.length === 0 ? [] : [`port ${list(added)} comes`]),
    ...SETTINGS.flatMap(({ what, read }) =>
      isSameData(read(was), read(becomes))
        ? []
        : [`${what}: ${render(read(was))} becomes ${render(read(becomes))}`],
    ),
  ];
}

const SETTINGS: readonly {
  readonly what: string;
  readonly read: (view: ImportView) => unknown;
}[] = [
  { what: "session affinity", read: ({ sessionAffinity = "None" }) => sessionAffinity },
  {
    what: "session affinity config",
    read: ({ sessionAffinityConfig = "unset" }) => sessionAffinityConfig,
  },
  {
    what: "internal traffic policy",
    read: ({ internalTrafficPolicy = "Cluster" }) => internalTrafficPolicy,
  },
  {
    what: "traffic distribution",
    read: ({ trafficDistribution = "unset" }) => trafficDistribution,
  },
  { what: "IP families", read: ({ ipFamilies }) => ipFamilies.join(" and ") || "none" },
  { what: "exported labels", read: ({ labels }) => labels },
  { what: "exported annotations", read: ({ annotations }) => annotations },
];

function render(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

export function describeSource({ cluster, before, after }: SourceChange): readonly string[] {
  if (isSameData(before, after)) return [];
  const ready =
    after.ready === after.endpoints
      ? "ready"
      : after.ready === 0
        ? "none of them ready"
        : `${after.ready} of them ready`;
  if (before.endpoints === 0) {
    const verb = after.endpoints === 1 ? "comes" : "come";
    return [`${count(after.endpoints, "endpoint")} of ${cluster} ${verb}, ${ready}`];
  }
  if (after.endpoints === 0) {
    const verb = before.endpoints === 1 ? "goes" : "go";
    return [`${count(before.endpoints, "endpoint")} of ${cluster} ${verb}`];
  }
  return [
    `${count(after.endpoints, "endpoint")} of ${cluster}, ${ready}, instead of ${before.endpoints}, ${before.ready} of them ready`,
  ];
}
