// Our own group, isthmus.dev: what the hub holds about each member. Schema, type and CRD.

import { type Static, Type } from "typebox";

import { AGE_COLUMN, renderCrd } from "./crd.ts";
import {
  crdReleaseLabels,
  HUB_CLUSTER_ID_MAX_LENGTH,
  ISTHMUS_GROUP,
  LABEL_PATTERN,
} from "./names.ts";
import { defineResource, type KubeObject } from "./object.ts";
import { conditions, type Immutable } from "./schema.ts";

/**
 * The release in which the CRDs we number last changed; the revision counts changes between releases.
 * Raise one of them with every change of a schema: otherwise an older isthmus would put the older schema back.
 */
export const ISTHMUS_RELEASE = crdReleaseLabels({
  owner: ISTHMUS_GROUP,
  release: "v0.1.0",
  revision: 3,
});

/** More of it is nobody's business but the cluster's own. */
export const DRAIN_REASON_MAX_LENGTH = 256;

/** A label value: regions and zones are compared with the labels that nodes carry. */
const PLACE = {
  minLength: 1,
  maxLength: 63,
  pattern: "^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$",
} as const;

/** Rough shape only: whoever reads a CIDR parses it. The longest one has 39 + 4 characters. */
const CIDR_SCHEMA = Type.String({
  minLength: 4,
  maxLength: 43,
  pattern: "^[0-9A-Fa-f:.]+/[0-9]{1,3}$",
});

const SCHEMA = Type.Object(
  {
    spec: Type.Object(
      {
        topology: Type.Optional(
          Type.Object(
            {
              region: Type.Optional(
                Type.String({
                  description:
                    "Region of the whole cluster, spelled as in its nodes' label topology.kubernetes.io/region.",
                  ...PLACE,
                }),
              ),
              zones: Type.Optional(
                Type.Array(Type.String(PLACE), {
                  description:
                    "Zones in which the cluster has nodes, spelled as in their label topology.kubernetes.io/zone. At most 32.",
                  maxItems: 32,
                  "x-kubernetes-list-type": "set",
                }),
              ),
            },
            { description: "Where the cluster is. Other members prefer endpoints that are near." },
          ),
        ),
        podCIDRs: Type.Optional(
          Type.Array(CIDR_SCHEMA, {
            description:
              "Address ranges of the cluster's pods, IPv4 or IPv6, such as 10.1.0.0/16. Other members accept endpoints of this cluster " +
              "only inside these ranges; without any, they accept none. At most 32.",
            maxItems: 32,
            "x-kubernetes-list-type": "set",
          }),
        ),
        serviceCIDRs: Type.Optional(
          Type.Array(CIDR_SCHEMA, {
            description:
              "Address ranges of the cluster's Services, such as 10.96.0.0/16. They mean something inside that cluster only, so no endpoint may lie there. At most 16.",
            maxItems: 16,
            "x-kubernetes-list-type": "set",
          }),
        ),
      },
      {
        description:
          "What the administrator declares about the cluster when it joins. The cluster itself cannot change it.",
      },
    ),
    status: Type.Optional(
      Type.Object(
        {
          agentVersion: Type.Optional(
            Type.String({
              description: "Version of the agent that last spoke for the cluster.",
              maxLength: 64,
            }),
          ),
          drained: Type.Optional(
            Type.String({
              description:
                "Why the other members are asked to lead their traffic elsewhere, as the ClusterProperty drain.isthmus.dev of the cluster has it; " +
                "absent: they are not. No service loses its last ready endpoints by it.",
              minLength: 1,
              maxLength: DRAIN_REASON_MAX_LENGTH,
            }),
          ),
          conditions: Type.Optional(
            conditions({
              description:
                "What the cluster's agent reports. Synced: everything that the cluster exports has been on the hub since it joined, " +
                "so what is not there is not exported.",
              maxItems: 16,
            }),
          ),
        },
        {
          description:
            "What the cluster's own agent reports. Others rely on nothing here but the condition Synced, and on that only to know " +
            "when to stop waiting for the cluster's shares; and on drained, to go elsewhere.",
        },
      ),
    ),
  },
  {
    description:
      "One member of the clusterset, as the hub knows it. It lives in the hub namespace that belongs to this member alone, and its name is the cluster id: " +
      `one DNS label of at most ${HUB_CLUSTER_ID_MAX_LENGTH} characters, unique in the clusterset, unchanged while the cluster is a member.`,
  },
);

export interface ClusterMember extends KubeObject, Immutable<Static<typeof SCHEMA>> {}

export const CLUSTER_MEMBER = defineResource<ClusterMember>({
  apiVersion: `${ISTHMUS_GROUP}/v1alpha1`,
  kind: "ClusterMember",
  plural: "clustermembers",
  namespaced: true,
});

export const CLUSTER_MEMBER_CRD = renderCrd({
  group: ISTHMUS_GROUP,
  scope: "Namespaced",
  kind: CLUSTER_MEMBER.kind,
  plural: CLUSTER_MEMBER.plural,
  shortNames: ["member"],
  categories: ["isthmus"],
  labels: ISTHMUS_RELEASE,
  nameRule: { maxLength: HUB_CLUSTER_ID_MAX_LENGTH, pattern: LABEL_PATTERN },
  versions: [
    {
      name: CLUSTER_MEMBER.version,
      storage: true,
      hasStatus: true,
      schema: SCHEMA,
      columns: [
        {
          name: "Synced",
          type: "string",
          description: "Whether everything that the member exports is on the hub",
          jsonPath: '.status.conditions[?(@.type=="Synced")].status',
        },
        {
          name: "Drained",
          type: "string",
          description: "Why the others are asked to go elsewhere",
          jsonPath: ".status.drained",
          priority: 1,
        },
        {
          name: "Region",
          type: "string",
          description: "Where the member is",
          jsonPath: ".spec.topology.region",
        },
        {
          name: "Pod CIDRs",
          type: "string",
          description: "Ranges inside which the member's endpoints are accepted",
          jsonPath: ".spec.podCIDRs",
          priority: 1,
        },
        {
          name: "Agent",
          type: "string",
          description: "Version of the member's agent",
          jsonPath: ".status.agentVersion",
        },
        AGE_COLUMN,
      ],
    },
  ],
});
