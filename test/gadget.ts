// Test data for kubectl: a custom type with everything that kubectl shows of one, and manifests as text.

export const CRD = "gadgets.kubectl.isthmus.test";

export const GADGET_CRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ${CRD}}
spec:
  group: kubectl.isthmus.test
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets, singular: gadget, shortNames: [gg], categories: [toys]}
  versions:
    - name: v1alpha1
      served: true
      storage: false
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
    - name: v1
      served: true
      storage: true
      subresources: {status: {}}
      additionalPrinterColumns:
        - {name: Size, type: integer, jsonPath: .spec.size}
        - {name: Ready, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status'}
        - {name: Tags, type: string, jsonPath: .spec.tags, priority: 1}
        - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
      schema:
        openAPIV3Schema:
          type: object
          description: A gadget is a thing to try things with.
          properties:
            spec:
              type: object
              description: What is wanted of the gadget.
              properties:
                size: {type: integer, minimum: 0, description: How large the gadget is.}
                tags: {type: array, items: {type: string}}
            status:
              type: object
              properties:
                conditions:
                  type: array
                  x-kubernetes-list-type: map
                  x-kubernetes-list-map-keys: [type]
                  items:
                    type: object
                    required: [type, status]
                    properties:
                      type: {type: string}
                      status: {type: string}
                      reason: {type: string}
                      message: {type: string}
                      lastTransitionTime: {type: string}
`;

export function gadget(name: string, spec: object): string {
  return JSON.stringify({
    apiVersion: "kubectl.isthmus.test/v1",
    kind: "Gadget",
    metadata: { name },
    spec,
  });
}

export function configMap(name: string, fields: object = {}, labels?: object): string {
  const metadata = { name, ...(labels === undefined ? {} : { labels }) };
  return JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata, ...fields });
}

export function list(...objects: readonly string[]): string {
  const items = objects.map((text): unknown => JSON.parse(text));
  return JSON.stringify({ apiVersion: "v1", kind: "List", items });
}

/** Rows of a table, cells by header. Columns are told apart by two spaces or more. */
export function rows(table: string): readonly Readonly<Record<string, string>>[] {
  const [header = "", ...lines] = table.trimEnd().split("\n");
  const starts = [...header.matchAll(/\S+(?: \S+)*/g)].map((match) => ({
    name: match[0],
    at: match.index,
  }));
  return lines.map((line) =>
    Object.fromEntries(
      starts.map(({ name, at }, index) => [name, line.slice(at, starts[index + 1]?.at).trim()]),
    ),
  );
}
