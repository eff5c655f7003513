// A join token as the hub remembers it: how many clusters may still join with it, and which have. The secret itself is
// not here: it is a token of the ServiceAccount of the same name. Schema, type and CRD.

import { type Static, Type } from "typebox";

import { AGE_COLUMN, renderCrd } from "./crd.ts";
import { ISTHMUS_RELEASE } from "./isthmus.ts";
import { ISTHMUS_GROUP, LABEL_MAX_LENGTH } from "./names.ts";
import { defineResource, type KubeObject } from "./object.ts";
import type { Immutable } from "./schema.ts";

const USES_MAX = 250;

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
          description: "When it stops working.",
          format: "date-time",
        }),
      },
      { description: "What the administrator allows. Whoever holds the token cannot change it." },
    ),
    status: Type.Optional(
      Type.Object(
        {
          clusters: Type.Optional(
            Type.Array(Type.String({ maxLength: LABEL_MAX_LENGTH }), {
              description:
                "Ids of the clusters that joined with it, each written by its holder before it registers. An id is never taken back.",
              maxItems: USES_MAX,
              "x-kubernetes-list-type": "set",
            }),
          ),
        },
        { description: "What it was used for." },
      ),
    ),
  },
  { description: "Lets a number of clusters join for a limited time." },
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
  versions: [
    {
      name: JOIN_TOKEN.version,
      storage: true,
      hasStatus: true,
      schema: SCHEMA,
      columns: [
        { name: "Uses", type: "integer", jsonPath: ".spec.uses" },
        { name: "Clusters", type: "string", jsonPath: ".status.clusters" },
        { name: "Expires", type: "date", jsonPath: ".spec.expiresAt" },
        AGE_COLUMN,
      ],
    },
  ],
});
