// ServiceExport and ServiceImport of the Multi-Cluster Services API, release v0.5.2: schema, type and CRD.
// Field for field as published: a test compares. Both versions have one schema; v1beta1 is stored.

import { type Static, Type } from "typebox";

import type { IPFamily, Protocol } from "./builtin.ts";
import { AGE_COLUMN, type CrdDeclaration, type CrdVersionDeclaration, renderCrd } from "./crd.ts";
import { crdReleaseLabels, MCS_GROUP } from "./names.ts";
import { defineResource, type KubeObject } from "./object.ts";
import { conditions, type Immutable, openText } from "./schema.ts";

const SERVICE_EXPORT_SCHEMA = Type.Object(
  {
    spec: Type.Optional(
      Type.Object(
        {
          exportedLabels: Type.Optional(
            Type.Record(Type.String(), Type.String(), {
              description:
                "Labels for the ServiceImport in every cluster. Labels of the Service and of this object do not travel.",
            }),
          ),
          exportedAnnotations: Type.Optional(
            Type.Record(Type.String(), Type.String(), {
              description:
                "Annotations for the ServiceImport in every cluster. Annotations of the Service and of this object do not travel.",
            }),
          ),
        },
        {
          description:
            "What travels besides the Service itself. May be left out: the export is made by name alone.",
        },
      ),
    ),
    status: Type.Optional(
      Type.Object(
        {
          conditions: Type.Optional(
            conditions({
              description:
                "Valid: the Service can be exported. Ready: it has been offered to the clusterset. Conflict: clusters disagree about it (True is bad).",
            }),
          ),
        },
        { description: "What became of the export. Written by the controller." },
      ),
    ),
  },
  {
    description:
      "Offers the Service of the same name and namespace to all clusters of the clusterset. Deleting this takes the offer back.",
  },
);

const IMPORT_PORT_SCHEMA = Type.Object(
  {
    name: Type.Optional(
      Type.String({
        description: "A DNS label, unique among the ports. Only a sole port may go without.",
      }),
    ),
    protocol: Type.Optional(
      openText<Protocol>({ description: "TCP, UDP or SCTP. TCP when left out." }),
    ),
    appProtocol: Type.Optional(
      Type.String({
        description: "A hint at what is spoken on this port, such as http or kubernetes.io/h2c.",
      }),
    ),
    port: Type.Integer({
      description: "The number that clients connect to.",
      format: "int32",
    }),
  },
  { description: "One port of the service." },
);

const IMPORT_SPEC_SCHEMA = Type.Object(
  {
    type: Type.Enum(["ClusterSetIP", "Headless"], {
      description:
        "ClusterSetIP: one virtual IP in front of all endpoints. Headless: DNS gives the endpoints themselves.",
    }),
    ports: Type.Array(IMPORT_PORT_SCHEMA, {
      description: "Ports of the service, merged from all exports.",
      "x-kubernetes-list-type": "atomic",
    }),
    ips: Type.Optional(
      Type.Array(Type.String(), {
        description:
          "Virtual IPs of the service in this cluster, at most one per family. None when Headless.",
        maxItems: 2,
      }),
    ),
    ipFamilies: Type.Optional(
      Type.Array(openText<IPFamily>({ description: "IPv4 or IPv6." }), {
        description: "Families of the service, in the order of ips.",
        maxItems: 2,
      }),
    ),
    sessionAffinity: Type.Optional(
      openText<"None" | "ClientIP">({
        description:
          "ClientIP sends a client to the same endpoint again; None does not. Means nothing when Headless.",
      }),
    ),
    sessionAffinityConfig: Type.Optional(
      Type.Object(
        {
          clientIP: Type.Optional(
            Type.Object(
              {
                timeoutSeconds: Type.Optional(
                  Type.Integer({
                    description:
                      "Seconds without traffic after which a client may be sent elsewhere: 1 to 86400, 10800 when left out.",
                    format: "int32",
                  }),
                ),
              },
              { description: "For affinity by the client's IP." },
            ),
          ),
        },
        { description: "Details of the session affinity." },
      ),
    ),
    internalTrafficPolicy: Type.Optional(
      openText<"Cluster" | "Local">({
        description:
          "Local: a client reaches endpoints on its own node only, or none. Cluster, also when left out: all endpoints.",
      }),
    ),
    trafficDistribution: Type.Optional(
      Type.String({
        description:
          "Which endpoints to prefer, as in a Service: PreferClose, PreferSameZone or PreferSameNode.",
      }),
    ),
  },
  { description: "The service as this cluster sees it. Written by the controller." },
);

const SERVICE_IMPORT_SCHEMA = Type.Object(
  {
    spec: Type.Optional(IMPORT_SPEC_SCHEMA),
    status: Type.Optional(
      Type.Object(
        {
          clusters: Type.Optional(
            Type.Array(
              Type.Object(
                {
                  cluster: Type.String({ description: "Cluster id, one DNS label." }),
                },
                { description: "A cluster that exports the service." },
              ),
              {
                description: "The clusters that export the service at present.",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["cluster"],
              },
            ),
          ),
          endpointSliceObjects: Type.Optional(
            Type.Enum(["Present", "Absent"], {
              description:
                "Present: this cluster holds EndpointSlices of the imported endpoints. Absent: reach the service by its ips only.",
            }),
          ),
          conditions: Type.Optional(
            conditions({ description: "Ready: the service can be used in this cluster." }),
          ),
        },
        { description: "Where the service comes from and how its import fares." },
      ),
    ),
  },
  {
    description:
      "A service of the clusterset, usable in this cluster as <name>.<namespace>.svc.clusterset.local. Made and removed by the controller; do not edit.",
  },
);

export interface ServiceExport
  extends KubeObject,
    Immutable<Static<typeof SERVICE_EXPORT_SCHEMA>> {}
export interface ServiceImport
  extends KubeObject,
    Immutable<Static<typeof SERVICE_IMPORT_SCHEMA>> {}

export const SERVICE_EXPORT = defineResource<ServiceExport>({
  apiVersion: `${MCS_GROUP}/v1beta1`,
  kind: "ServiceExport",
  plural: "serviceexports",
  namespaced: true,
});
export const SERVICE_IMPORT = defineResource<ServiceImport>({
  apiVersion: `${MCS_GROUP}/v1beta1`,
  kind: "ServiceImport",
  plural: "serviceimports",
  namespaced: true,
});

const SHARED = {
  group: MCS_GROUP,
  scope: "Namespaced",
  labels: crdReleaseLabels({ owner: MCS_GROUP, release: "v0.5.2", revision: 0 }),
} as const satisfies Partial<CrdDeclaration>;

/** CoreDNS still reads v1alpha1, so it stays served. */
function bothVersions(
  version: Pick<CrdVersionDeclaration, "schema" | "columns">,
): readonly CrdVersionDeclaration[] {
  return [
    { name: "v1alpha1", storage: false, hasStatus: true, ...version },
    { name: "v1beta1", storage: true, hasStatus: true, ...version },
  ];
}

export const SERVICE_EXPORT_CRD = renderCrd({
  ...SHARED,
  kind: SERVICE_EXPORT.kind,
  plural: SERVICE_EXPORT.plural,
  shortNames: ["svcex", "svcexport"],
  versions: bothVersions({ schema: SERVICE_EXPORT_SCHEMA, columns: [AGE_COLUMN] }),
});

export const SERVICE_IMPORT_CRD = renderCrd({
  ...SHARED,
  kind: SERVICE_IMPORT.kind,
  plural: SERVICE_IMPORT.plural,
  shortNames: ["svcim", "svcimport"],
  versions: bothVersions({
    schema: SERVICE_IMPORT_SCHEMA,
    columns: [
      {
        name: "Type",
        type: "string",
        description: "ClusterSetIP or Headless",
        jsonPath: ".spec.type",
      },
      {
        name: "IP",
        type: "string",
        description: "Virtual IPs in this cluster",
        jsonPath: ".spec.ips",
      },
      AGE_COLUMN,
    ],
  }),
});
