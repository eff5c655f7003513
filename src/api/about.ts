// ClusterProperty of the about API (KEP-2149): a cluster's facts about itself. Schema, type and CRD.
// Field for field as published by its project, so that either copy may be installed first.

import { type Static, Type } from "typebox";

import { renderCrd } from "./crd.ts";
import { ISTHMUS_RELEASE } from "./isthmus.ts";
import { ABOUT_GROUP } from "./names.ts";
import { defineResource, type KubeObject } from "./object.ts";
import type { Immutable } from "./schema.ts";

const DESCRIPTION =
  "A fact that this cluster knows about itself. Its id in the clusterset is the property cluster.clusterset.k8s.io; " +
  "the property clusterset.k8s.io exists while the cluster is a member. Names that end in k8s.io or kubernetes.io are reserved.";

const SPEC_SCHEMA = Type.Object(
  {
    value: Type.String({
      description: "The property's value. What it may be depends on the property's name.",
      minLength: 1,
    }),
  },
  { description: "What the property says." },
);

const SCHEMA = Type.Object(
  {
    spec: Type.Optional(SPEC_SCHEMA),
    status: Type.Optional(
      Type.Object({}, { description: "Empty: a property has nothing to report." }),
    ),
  },
  { description: DESCRIPTION },
);

const V1ALPHA1_SCHEMA = Type.Object({ spec: SPEC_SCHEMA }, { description: DESCRIPTION });

export interface ClusterProperty extends KubeObject, Immutable<Static<typeof SCHEMA>> {}

export const CLUSTER_PROPERTY = defineResource<ClusterProperty>({
  apiVersion: `${ABOUT_GROUP}/v1beta1`,
  kind: "ClusterProperty",
  plural: "clusterproperties",
  namespaced: false,
});

const COLUMNS = [
  { name: "value", type: "string", jsonPath: ".spec.value" },
  { name: "age", type: "date", jsonPath: ".metadata.creationTimestamp" },
] as const;

export const CLUSTER_PROPERTY_CRD = renderCrd({
  group: ABOUT_GROUP,
  scope: "Cluster",
  kind: CLUSTER_PROPERTY.kind,
  plural: CLUSTER_PROPERTY.plural,
  // Its project puts no release on the CRD, so the copy we install carries ours.
  labels: ISTHMUS_RELEASE,
  // API servers refuse a CRD under k8s.io that does not say where its API was approved.
  annotations: {
    "api-approved.kubernetes.io": "https://github.com/kubernetes/enhancements/pull/3084",
  },
  versions: [
    {
      name: "v1alpha1",
      storage: false,
      hasStatus: false,
      columns: COLUMNS,
      schema: V1ALPHA1_SCHEMA,
    },
    { name: "v1beta1", storage: true, hasStatus: true, columns: COLUMNS, schema: SCHEMA },
  ],
});
