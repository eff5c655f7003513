// What one member tells the others, as the hub stores it: ServiceShare and EndpointShare. Schema, type and CRD.
// The service is named by the object's name and the cluster by its namespace, never by content. Values are open where a
// later release may know more of them: whoever reads decides what it understands.

import { type Static, Type } from "typebox";

import { AGE_COLUMN, renderCrd } from "./crd.ts";
import { DIGEST_LENGTH } from "./digest.ts";
import { ISTHMUS_RELEASE } from "./isthmus.ts";
import { ISTHMUS_GROUP, LABEL_MAX_LENGTH } from "./names.ts";
import { defineResource, type KubeObject } from "./object.ts";
import type { Immutable } from "./schema.ts";

/** What one share may hold at most. The API server holds writers to it, and readers check again. */
export const SHARE_LIMITS = {
  ports: 100,
  endpoints: 1_000,
  /** Everybody uses the first only. */
  addresses: 1,
  labels: 64,
  labelKeyLength: 317,
  labelValueLength: 63,
  annotations: 64,
  annotationValueLength: 4_096,
} as const;

const WORD_MAX_LENGTH = 63;
const NAME_MAX_LENGTH = 253;
/** One label in a name of several: the whole name's length does not bound it. */
const LABEL = `[a-z0-9]([-a-z0-9]{0,${LABEL_MAX_LENGTH - 2}}[a-z0-9])?`;
const SERVICE_SHARE_NAME_MAX_LENGTH = 2 * LABEL_MAX_LENGTH + 1;

/** No text of ours has others, and of these a length is one in bytes too: what is read at once stays small. */
const ASCII = "^[!-~]*$";

function word(description: string) {
  return Type.String({ description, maxLength: WORD_MAX_LENGTH, pattern: ASCII });
}

function portNumber(description: string) {
  return Type.Integer({ description, format: "int32", minimum: 1, maximum: 65_535 });
}

const PORT_NAME = word("A DNS label, unique among the ports. Only a sole port may go without.");
const PROTOCOL = word("TCP, UDP or SCTP. TCP when left out.");
const APP_PROTOCOL = Type.String({
  description: "A hint at what is spoken on this port, such as http or kubernetes.io/h2c.",
  maxLength: 317,
  pattern: ASCII,
});

const SERVICE_PORT = Type.Object(
  {
    name: Type.Optional(PORT_NAME),
    protocol: Type.Optional(PROTOCOL),
    port: portNumber("The number that clients connect to."),
    appProtocol: Type.Optional(APP_PROTOCOL),
  },
  { description: "One port of the service." },
);

const SERVICE_SHARE_SCHEMA = Type.Object(
  {
    spec: Type.Object(
      {
        exportedAt: Type.String({
          description:
            "When the ServiceExport was created: whole seconds, UTC, as in 2026-01-02T03:04:05Z. The oldest export wins where exports disagree.",
          format: "date-time",
        }),
        type: word("ClusterSetIP or Headless."),
        ports: Type.Array(SERVICE_PORT, {
          description: `Ports of the Service. At most ${SHARE_LIMITS.ports}.`,
          maxItems: SHARE_LIMITS.ports,
          "x-kubernetes-list-type": "atomic",
        }),
        ipFamilies: Type.Array(word("IPv4 or IPv6."), {
          description: "IP families of the Service, the preferred one first. At most 2.",
          maxItems: 2,
          "x-kubernetes-list-type": "atomic",
        }),
        sessionAffinity: Type.Optional(word("None or ClientIP, as in the Service.")),
        sessionAffinityConfig: Type.Optional(
          Type.Object(
            {
              clientIP: Type.Optional(
                Type.Object(
                  {
                    timeoutSeconds: Type.Optional(
                      Type.Integer({
                        description: "How long a client stays with its endpoint.",
                        format: "int32",
                        minimum: 1,
                        maximum: 86_400,
                      }),
                    ),
                  },
                  { description: "For affinity by client IP." },
                ),
              ),
            },
            { description: "As in the Service. Only with affinity by client IP." },
          ),
        ),
        internalTrafficPolicy: Type.Optional(word("Cluster or Local, as in the Service.")),
        trafficDistribution: Type.Optional(
          word("PreferClose, PreferSameZone or PreferSameNode, as in the Service."),
        ),
        labels: Type.Optional(
          Type.Record(Type.String(), Type.String({ maxLength: SHARE_LIMITS.labelValueLength }), {
            description: `Exported labels, for the ServiceImport in every cluster. At most ${SHARE_LIMITS.labels}.`,
            maxProperties: SHARE_LIMITS.labels,
          }),
        ),
        annotations: Type.Optional(
          Type.Record(
            Type.String(),
            Type.String({ maxLength: SHARE_LIMITS.annotationValueLength }),
            {
              description: `Exported annotations, for the ServiceImport in every cluster. At most ${SHARE_LIMITS.annotations}.`,
              maxProperties: SHARE_LIMITS.annotations,
            },
          ),
        ),
        whenLost: Type.Optional(
          word(
            "What becomes of the endpoints elsewhere once this cluster is lost: withdraw, unready or keep. withdraw when left out.",
          ),
        ),
      },
      {
        description:
          "The exported Service, as other clusters need to know it. They leave out what they do not understand, and say so on their ServiceImport.",
      },
    ),
  },
  {
    description:
      "One cluster's share of one exported service, without its endpoints. It lives in the hub namespace of that cluster and is named <namespace>.<service>. " +
      "Written by the cluster's agent alone.",
  },
);

export interface ServiceShareObject
  extends KubeObject,
    Immutable<Static<typeof SERVICE_SHARE_SCHEMA>> {}

export const SERVICE_SHARE = defineResource<ServiceShareObject>({
  apiVersion: `${ISTHMUS_GROUP}/v1alpha1`,
  kind: "ServiceShare",
  plural: "serviceshares",
  namespaced: true,
});

const ENDPOINT_PORT = Type.Object(
  {
    name: Type.Optional(PORT_NAME),
    protocol: Type.Optional(PROTOCOL),
    port: Type.Optional(portNumber("The number that the endpoints listen on.")),
    appProtocol: Type.Optional(APP_PROTOCOL),
  },
  { description: "One port of the endpoints." },
);

const ENDPOINT = Type.Object(
  {
    addresses: Type.Array(Type.String({ minLength: 2, maxLength: 45, pattern: ASCII }), {
      description:
        "The endpoint's address. Others accept it only inside the pod ranges declared for the cluster.",
      minItems: 1,
      maxItems: SHARE_LIMITS.addresses,
      "x-kubernetes-list-type": "atomic",
    }),
    conditions: Type.Optional(
      Type.Object(
        {
          ready: Type.Optional(Type.Boolean({ description: "Whether it takes new traffic." })),
          serving: Type.Optional(
            Type.Boolean({ description: "Whether it answers, even if it is about to end." }),
          ),
          terminating: Type.Optional(Type.Boolean({ description: "Whether it is about to end." })),
        },
        { description: "What the endpoint can do now, as in the EndpointSlice." },
      ),
    ),
    hostname: Type.Optional(word("Host name of the endpoint, one DNS label.")),
    zone: Type.Optional(
      word("Zone of the endpoint, spelled as in its node's label topology.kubernetes.io/zone."),
    ),
  },
  { description: "One endpoint. Nodes and pods mean nothing elsewhere, so they do not travel." },
);

const ENDPOINT_SHARE_SCHEMA = Type.Object(
  {
    spec: Type.Object(
      {
        slice: Type.String({
          description:
            "Name of the source EndpointSlice. The name of this object holds its digest.",
          minLength: 1,
          maxLength: NAME_MAX_LENGTH,
          pattern: ASCII,
        }),
        addressType: word("IPv4 or IPv6."),
        ports: Type.Array(ENDPOINT_PORT, {
          description: `Ports of the endpoints. At most ${SHARE_LIMITS.ports}.`,
          maxItems: SHARE_LIMITS.ports,
          "x-kubernetes-list-type": "atomic",
        }),
        endpoints: Type.Array(ENDPOINT, {
          description: `The endpoints. At most ${SHARE_LIMITS.endpoints}.`,
          maxItems: SHARE_LIMITS.endpoints,
          "x-kubernetes-list-type": "atomic",
        }),
      },
      { description: "The endpoints of one EndpointSlice." },
    ),
  },
  {
    description:
      "One EndpointSlice of a shared service. It lives beside the ServiceShare and is named <namespace>.<service>.<digest of the slice's name>. " +
      "Written by the cluster's agent alone.",
  },
);

export interface EndpointShareObject
  extends KubeObject,
    Immutable<Static<typeof ENDPOINT_SHARE_SCHEMA>> {}

export const ENDPOINT_SHARE = defineResource<EndpointShareObject>({
  apiVersion: `${ISTHMUS_GROUP}/v1alpha1`,
  kind: "EndpointShare",
  plural: "endpointshares",
  namespaced: true,
});

export const SERVICE_SHARE_CRD = renderCrd({
  group: ISTHMUS_GROUP,
  scope: "Namespaced",
  kind: SERVICE_SHARE.kind,
  plural: SERVICE_SHARE.plural,
  categories: ["isthmus"],
  labels: ISTHMUS_RELEASE,
  nameRule: { maxLength: SERVICE_SHARE_NAME_MAX_LENGTH, pattern: `^${LABEL}\\.${LABEL}$` },
  versions: [
    {
      name: SERVICE_SHARE.version,
      storage: true,
      hasStatus: false,
      schema: SERVICE_SHARE_SCHEMA,
      columns: [
        { name: "Type", type: "string", description: "Type of import", jsonPath: ".spec.type" },
        {
          name: "When lost",
          type: "string",
          description: "What becomes of the endpoints elsewhere once the cluster is lost",
          jsonPath: ".spec.whenLost",
          priority: 1,
        },
        {
          name: "Exported",
          type: "date",
          description: "How long ago the service was exported; the oldest export wins",
          jsonPath: ".spec.exportedAt",
        },
        AGE_COLUMN,
      ],
    },
  ],
});

export const ENDPOINT_SHARE_CRD = renderCrd({
  group: ISTHMUS_GROUP,
  scope: "Namespaced",
  kind: ENDPOINT_SHARE.kind,
  plural: ENDPOINT_SHARE.plural,
  categories: ["isthmus"],
  labels: ISTHMUS_RELEASE,
  nameRule: {
    maxLength: SERVICE_SHARE_NAME_MAX_LENGTH + 1 + DIGEST_LENGTH,
    pattern: `^${LABEL}\\.${LABEL}\\.[0-9a-v]{${DIGEST_LENGTH}}$`,
  },
  versions: [
    {
      name: ENDPOINT_SHARE.version,
      storage: true,
      hasStatus: false,
      schema: ENDPOINT_SHARE_SCHEMA,
      columns: [
        { name: "Slice", type: "string", description: "Source slice", jsonPath: ".spec.slice" },
        { name: "Family", type: "string", description: "IP family", jsonPath: ".spec.addressType" },
        AGE_COLUMN,
      ],
    },
  ],
});
