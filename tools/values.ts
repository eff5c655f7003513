// The schema of the chart's values: settings of commands as src/api/settings.ts has them, without those that the chart decides, and what
// Kubernetes has to know besides. A key that nobody knows is refused.

import { join } from "node:path";
import { type TProperties, Type } from "typebox";
import { type Configurable, SETTINGS } from "../src/api/settings.ts";
import { HANDMADE_IMPORTS } from "../src/policy/imports.ts";

export const VALUES_SCHEMA_FILE = join(import.meta.dirname, "../charts/isthmus/values.schema.json");

/** Settings that follow from where things are in a pod. */
const DECIDED: {
  readonly [C in Configurable]: readonly (keyof (typeof SETTINGS)[C]["properties"])[];
} = {
  agent: ["kubeconfig", "context", "metricsAddress", "dashboardTokenFile"],
  central: ["kubeconfig", "context", "metricsAddress", "dashboardTokenFile"],
  dns: ["kubeconfig", "context", "metricsAddress", "listen", "node"],
  dashboard: ["kubeconfig", "context", "address", "tokenFile"],
};

/** As Kubernetes has it: the API server judges it. */
const AS_KUBERNETES_HAS_IT = Type.Object({});
const LIST_OF_KUBERNETES = Type.Array(AS_KUBERNETES_HAS_IT);
const TEXTS = Type.Record(Type.String(), Type.String());
const NAME = Type.String({ pattern: "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?)?$", maxLength: 253 });
const PORT = Type.Integer({ minimum: 1, maximum: 65_535 });
const REPLICAS = Type.Integer({ minimum: 1, maximum: 100 });

function strict<T extends TProperties>(properties: T, description?: string) {
  const described = description === undefined ? {} : { description };
  return Type.Object(properties, { additionalProperties: false, ...described });
}

function choice(choices: readonly string[]) {
  return Type.Unsafe<string>({ type: "string", enum: [...choices] });
}

/** Settings that a file may have; none of them has to be there, and defaults are the command's own. */
function settings(command: Configurable) {
  const decided = new Set<string>(DECIDED[command].map(String));
  const all = Object.entries(SETTINGS[command].properties as TProperties);
  const open = all.flatMap(([key, schema]) =>
    decided.has(key) ? [] : [[key, Type.Optional(schema)] as const],
  );
  return strict(Object.fromEntries(open), `settings of isthmus ${command}`);
}

const ENABLED = { enabled: Type.Boolean() };

const PODS = {
  resources: AS_KUBERNETES_HAS_IT,
  nodeSelector: TEXTS,
  tolerations: LIST_OF_KUBERNETES,
  affinity: AS_KUBERNETES_HAS_IT,
  priorityClassName: NAME,
  podLabels: TEXTS,
  podAnnotations: TEXTS,
  extraEnv: LIST_OF_KUBERNETES,
};

const SPREAD = { topologySpreadConstraints: LIST_OF_KUBERNETES };

const VALUES = strict({
  global: Type.Optional(AS_KUBERNETES_HAS_IT),
  image: strict({
    repository: Type.String({ minLength: 1 }),
    tag: Type.String(),
    digest: Type.String({ pattern: "^(sha256:[0-9a-f]{64})?$" }),
    pullPolicy: choice(["Always", "IfNotPresent", "Never"]),
    pullSecrets: Type.Array(strict({ name: NAME })),
  }),
  namespace: strict({ create: Type.Boolean() }),
  crds: strict({ install: Type.Boolean() }),
  agent: strict({ ...ENABLED, replicas: REPLICAS, config: settings("agent"), ...PODS, ...SPREAD }),
  hub: strict(ENABLED),
  central: strict({
    ...ENABLED,
    kubeconfigSecret: NAME,
    kubeconfigs: Type.Record(
      Type.String({ pattern: "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$" }),
      Type.String({ pattern: "^[-._a-zA-Z0-9]+$" }),
      { additionalProperties: false },
    ),
    config: settings("central"),
    ...PODS,
  }),
  dns: strict({
    ...ENABLED,
    replicas: REPLICAS,
    config: settings("dns"),
    ipFamilies: Type.Array(choice(["IPv4", "IPv6"]), {
      minItems: 1,
      maxItems: 2,
      uniqueItems: true,
    }),
    service: strict({ clusterIP: Type.String(), port: PORT, annotations: TEXTS }),
    stopDelaySeconds: Type.Integer({ minimum: 0, maximum: 60 }),
    ...PODS,
    ...SPREAD,
  }),
  dashboard: strict({
    ...ENABLED,
    tokenSecret: strict({ name: NAME, key: Type.String({ pattern: "^[-._a-zA-Z0-9]+$" }) }),
    config: settings("dashboard"),
    service: strict({ port: PORT, annotations: TEXTS }),
    ...PODS,
  }),
  policies: strict({
    ...ENABLED,
    handmadeImports: choice(HANDMADE_IMPORTS),
    // They become texts of CEL.
    controllerUsers: Type.Array(Type.String({ pattern: "^[^'\\\\\\s]+$" })),
  }),
  peopleRoles: strict(ENABLED),
  monitoring: strict({
    podMonitor: strict({
      ...ENABLED,
      labels: TEXTS,
      interval: Type.String({ pattern: "^[0-9]+(ms|s|m)$" }),
    }),
    rules: strict({ ...ENABLED, labels: TEXTS, runbookUrl: Type.String() }),
    grafanaDashboard: strict({ ...ENABLED, labels: TEXTS, annotations: TEXTS }),
  }),
});

export function renderValuesSchema(): string {
  const schema = {
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Values of the Isthmus chart",
    description:
      "Generated from src/api/settings.ts and tools/values.ts by `npm run generate`; do not edit.",
    ...VALUES,
  };
  // What stands behind a flag in --help is nothing that values need.
  const skip = (key: string, value: unknown): unknown => (key === "x-value" ? undefined : value);
  return `${JSON.stringify(schema, skip, 2)}\n`;
}
