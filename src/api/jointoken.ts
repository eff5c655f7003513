// A join token as the hub remembers it: how many clusters may still join with it, and which have. The secret itself is
// not here: it is a token of the ServiceAccount of the same name. Schema, type and CRD.

import { type Static, Type } from "typebox";

import { AGE_COLUMN, renderCrd } from "./crd.ts";
import { ISTHMUS_RELEASE } from "./isthmus.ts";
import { HUB_CLUSTER_ID_MAX_LENGTH, ISTHMUS_GROUP, LABEL_PATTERN } from "./names.ts";
import { defineResource, type KubeObject } from "./object.ts";
import type { Immutable } from "./schema.ts";

/** As many as a clusterset is meant for. */
const USES_MAX = 250;
/** The names of its ServiceAccount and of its bindings are longer. */
const NAME_MAX_LENGTH = 50;

const SCHEMA = Type.Object(
  {
    spec: Type.Object(
      {
        uses: Type.Integer({
          description: `How many clusters may join with it. At most ${USES_MAX}.`,
          format: "int32",
          minimum: 1,
          maximum: USES_MAX,
        }),
        expiresAt: Type.String({
          description:
            "When it stops working, as in 2026-01-02T03:04:05Z. The credential that was handed out ends then too.",
          format: "date-time",
        }),
      },
      { description: "What the administrator allows. Whoever holds the token cannot change it." },
    ),
    status: Type.Optional(
      Type.Object(
        {
          clusters: Type.Optional(
            Type.Array(
              Type.String({
                minLength: 1,
                maxLength: HUB_CLUSTER_ID_MAX_LENGTH,
                pattern: LABEL_PATTERN,
              }),
              {
                description: `Ids of the clusters that joined with it, each added by its holder before it registers the cluster. None is ever taken back, and there are never more than spec.uses. At most ${USES_MAX}.`,
                maxItems: USES_MAX,
                "x-kubernetes-list-type": "set",
              },
            ),
          ),
        },
        { description: "What it was used for." },
      ),
    ),
  },
  {
    description:
      "A join token, without its secret: it lets a number of clusters join for a limited time. It lives in the namespace isthmus-hub. " +
      "Deleting it ends it at once; clusters that have joined stay.",
  },
);

export interface JoinToken extends KubeObject, Immutable<Static<typeof SCHEMA>> {}

export const JOIN_TOKEN = defineResource<JoinToken>({
  apiVersion: `${ISTHMUS_GROUP}/v1alpha1`,
  kind: "JoinToken",
  plural: "jointokens",
  namespaced: true,
});

export const JOIN_TOKEN_CRD = renderCrd({
  group: ISTHMUS_GROUP,
  scope: "Namespaced",
  kind: JOIN_TOKEN.kind,
  plural: JOIN_TOKEN.plural,
  categories: ["isthmus"],
  labels: ISTHMUS_RELEASE,
  nameRule: { maxLength: NAME_MAX_LENGTH, pattern: LABEL_PATTERN },
  versions: [
    {
      name: JOIN_TOKEN.version,
      storage: true,
      hasStatus: true,
      schema: SCHEMA,
      columns: [
        {
          name: "Uses",
          type: "integer",
          description: "How many clusters may join with it",
          jsonPath: ".spec.uses",
        },
        {
          name: "Clusters",
          type: "string",
          description: "Clusters that joined with it",
          jsonPath: ".status.clusters",
        },
        {
          name: "Expires",
          // A column of type date shows how long ago something was, and nothing of use for what is to come.
          type: "string",
          description: "When it stops working",
          jsonPath: ".spec.expiresAt",
        },
        AGE_COLUMN,
      ],
    },
  ],
});
