// Policy suite: what people may try with a cluster that the policies forbid, each with the policy that must refuse it. Every act
// is a dry run: without the policies it would succeed.

import {
  ENDPOINT_SLICE,
  type EndpointSlice,
  SERVICE,
  type Service,
} from "../../src/api/builtin.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT, type ServiceImport } from "../../src/api/mcs.ts";
import {
  KUBE_SERVICE_NAME_LABEL,
  MANAGED_BY_LABEL,
  MANAGED_LABEL,
  SLICE_MANAGER,
} from "../../src/api/names.ts";
import {
  defineResource,
  type KubeObject,
  type ObjectRef,
  type Resource,
} from "../../src/api/object.ts";
import type { KubeClient } from "../../src/kube/client.ts";
import { buildPath } from "../../src/kube/path.ts";
import {
  ENDPOINT_POLICY,
  EXPORT_POLICY,
  IMPORT_POLICY,
  SERVICE_POLICY,
} from "../../src/policy/cluster.ts";
import { unique } from "../contract/objects.ts";
import { anEndpoint, anExport, anImport, aService, aSlice } from "../scenarios/objects.ts";

/** What there is to be touched, in one namespace. */
export interface Scene {
  readonly namespace: string;
  /** Made by Isthmus. */
  readonly serviceImport: ServiceImport;
  readonly derived: Service;
  readonly slice: EndpointSlice;
  /** Written by hand, its derived Service made by Isthmus. */
  readonly handmade: ServiceImport;
  readonly handmadeDerived: Service;
}

export interface Act {
  readonly sentence: string;
  readonly policy: string;
  /** Part of what is said to who tries. */
  readonly says: string;
  readonly attempt: (client: KubeClient, scene: Scene) => Promise<unknown>;
}

const ENDPOINTS = defineResource<KubeObject & { readonly subsets: readonly unknown[] }>({
  apiVersion: "v1",
  kind: "Endpoints",
  plural: "endpoints",
  namespaced: true,
});

const dryRun = { dryRun: true } as const;
const OURS = { [MANAGED_LABEL]: "true" };

function relabel<T extends KubeObject>(object: T, labels: Readonly<Record<string, string>>): T {
  return { ...object, metadata: { ...object.metadata, labels } };
}

function unmark<T extends KubeObject>(object: T, label: string): T {
  const { [label]: _, ...labels } = object.metadata.labels ?? {};
  return relabel(object, labels);
}

function remove(client: KubeClient, resource: Resource, object: KubeObject): Promise<unknown> {
  const { namespace = "", name = "" } = object.metadata;
  return removeAt(client, resource, { namespace, name });
}

function removeAt(
  client: KubeClient,
  resource: Resource,
  target: Partial<ObjectRef>,
): Promise<unknown> {
  const options = { body: { apiVersion: "v1", kind: "DeleteOptions", dryRun: ["All"] } };
  return client.request("DELETE", buildPath(resource, target), options);
}

const ABOUT_IMPORT = "Change the Service or the ServiceExport in the cluster that exports it.";
const ABOUT_STATUS = "Nobody else writes it.";
const ABOUT_SERVICE = "carries the virtual IP of a ServiceImport";
const ABOUT_SLICE = "Change them in the cluster that they come from.";
const ABOUT_MARK = "is for what Isthmus makes itself. Leave it out.";
const ABOUT_LINK = "Nobody but Isthmus puts endpoints behind a virtual IP.";

const importActs: readonly Omit<Act, "policy">[] = [
  {
    sentence: "change the spec of an import that Isthmus made",
    says: ABOUT_IMPORT,
    attempt: (client, { serviceImport }) =>
      client.replace(
        SERVICE_IMPORT,
        { ...serviceImport, spec: { ...serviceImport.spec!, sessionAffinity: "ClientIP" } },
        dryRun,
      ),
  },
  {
    sentence: "take an import over by applying it",
    says: ABOUT_IMPORT,
    attempt: (client, { namespace, serviceImport }) =>
      client.apply(SERVICE_IMPORT, anImport(namespace, serviceImport.metadata.name!), {
        ...dryRun,
        fieldManager: "owner",
        force: true,
      }),
  },
  {
    sentence: "take the mark off an import that Isthmus made",
    says: ABOUT_IMPORT,
    attempt: (client, { serviceImport }) =>
      client.replace(SERVICE_IMPORT, unmark(serviceImport, MANAGED_LABEL), dryRun),
  },
  {
    sentence: "delete an import that Isthmus made",
    says: ABOUT_IMPORT,
    attempt: (client, { serviceImport }) => remove(client, SERVICE_IMPORT, serviceImport),
  },
  {
    sentence: "delete all imports at once",
    says: ABOUT_IMPORT,
    attempt: (client, { namespace }) => removeAt(client, SERVICE_IMPORT, { namespace }),
  },
  {
    sentence: "create an import that looks as if Isthmus had made it",
    says: ABOUT_MARK,
    attempt: (client, { namespace }) => {
      const object = anImport(namespace, unique("forged-"));
      return client.create(SERVICE_IMPORT, relabel(object, OURS), dryRun);
    },
  },
  {
    sentence: "mark an import of one's own as Isthmus's",
    says: ABOUT_MARK,
    attempt: (client, { handmade }) =>
      client.replace(SERVICE_IMPORT, relabel(handmade, OURS), dryRun),
  },
  {
    sentence: "write the status of an import that Isthmus made",
    says: ABOUT_STATUS,
    attempt: (client, { serviceImport }) => writeStatus(client, serviceImport),
  },
  {
    sentence: "write the status of an import of one's own",
    says: ABOUT_STATUS,
    attempt: (client, { handmade }) => writeStatus(client, handmade),
  },
];

function writeStatus(client: KubeClient, object: ServiceImport): Promise<unknown> {
  const status = { clusters: [{ cluster: "elsewhere" }] };
  const options = { ...dryRun, subresource: "status" } as const;
  return client.replace(SERVICE_IMPORT, { ...object, status }, options);
}

const exportActs: readonly Omit<Act, "policy">[] = ["kube-system", "default"].map((namespace) => ({
  sentence: `export from ${namespace}`,
  says: "Nothing is exported from this namespace. Export the Service from another one",
  attempt: (client) => client.create(SERVICE_EXPORT, anExport(namespace, unique("web-")), dryRun),
}));

const serviceActs: readonly Omit<Act, "policy">[] = [
  {
    sentence: "give a Service with a virtual IP a selector",
    says: ABOUT_SERVICE,
    attempt: (client, { derived }) =>
      client.replace(
        SERVICE,
        { ...derived, spec: { ...derived.spec, selector: { app: "evil" } } },
        dryRun,
      ),
  },
  {
    sentence: "do the same to that of an import of one's own",
    says: ABOUT_SERVICE,
    attempt: (client, { handmadeDerived }) =>
      client.replace(
        SERVICE,
        { ...handmadeDerived, spec: { ...handmadeDerived.spec, selector: { app: "evil" } } },
        dryRun,
      ),
  },
  {
    sentence: "take the mark off a Service with a virtual IP",
    says: ABOUT_SERVICE,
    attempt: (client, { derived }) =>
      client.replace(SERVICE, unmark(derived, MANAGED_LABEL), dryRun),
  },
  {
    sentence: "delete a Service with a virtual IP",
    says: ABOUT_SERVICE,
    attempt: (client, { derived }) => remove(client, SERVICE, derived),
  },
  {
    sentence: "give a Service with a virtual IP an address in its status",
    says: ABOUT_SERVICE,
    attempt: (client, { derived }) => {
      const status = { conditions: [{ ...CONDITION, type: "example.com/Evil" }] };
      const options = { ...dryRun, subresource: "status" } as const;
      return client.replace(SERVICE, { ...derived, status } as Service, options);
    },
  },
  {
    sentence: "create a Service that looks as if Isthmus had made it",
    says: ABOUT_MARK,
    attempt: (client, { namespace }) => {
      const object = aService(namespace, unique("forged-"));
      return client.create(SERVICE, relabel(object, OURS), dryRun);
    },
  },
];

const CONDITION = {
  status: "True",
  reason: "Evil",
  message: "",
  lastTransitionTime: "2026-01-02T03:04:05Z",
};

const endpointActs: readonly Omit<Act, "policy">[] = [
  {
    sentence: "put endpoints of one's own into an imported slice",
    says: ABOUT_SLICE,
    attempt: (client, { slice }) =>
      client.replace(ENDPOINT_SLICE, { ...slice, endpoints: [anEndpoint("192.0.2.66")] }, dryRun),
  },
  {
    sentence: "take an imported slice over by another manager's name",
    says: ABOUT_SLICE,
    attempt: (client, { slice }) =>
      client.replace(ENDPOINT_SLICE, unmark(slice, MANAGED_BY_LABEL), dryRun),
  },
  {
    sentence: "delete an imported slice",
    says: ABOUT_SLICE,
    attempt: (client, { slice }) => remove(client, ENDPOINT_SLICE, slice),
  },
  {
    sentence: "create a slice that looks as if Isthmus had written it",
    says: ABOUT_MARK,
    attempt: (client, { namespace }) =>
      client.create(
        ENDPOINT_SLICE,
        aSlice(namespace, unique("forged-"), {
          endpoints: [anEndpoint("192.0.2.66")],
          labels: { [MANAGED_BY_LABEL]: SLICE_MANAGER },
        }),
        dryRun,
      ),
  },
  {
    sentence: "put a slice of one's own behind a virtual IP",
    says: ABOUT_LINK,
    attempt: (client, { namespace, derived }) =>
      client.create(
        ENDPOINT_SLICE,
        aSlice(namespace, unique("stray-"), {
          endpoints: [anEndpoint("192.0.2.66")],
          labels: { [KUBE_SERVICE_NAME_LABEL]: derived.metadata.name! },
        }),
        dryRun,
      ),
  },
  {
    sentence: "have Kubernetes mirror Endpoints of one's own behind a virtual IP",
    says: ABOUT_LINK,
    attempt: (client, { namespace, derived }) =>
      client.create(
        ENDPOINTS,
        {
          apiVersion: "v1",
          kind: "Endpoints",
          metadata: { namespace, name: derived.metadata.name! },
          subsets: [{ addresses: [{ ip: "192.0.2.66" }], ports: [{ port: 80 }] }],
        },
        dryRun,
      ),
  },
];

export const ACTS: readonly Act[] = [
  ...exportActs.map((act) => ({ ...act, policy: EXPORT_POLICY })),
  ...importActs.map((act) => ({ ...act, policy: IMPORT_POLICY })),
  ...serviceActs.map((act) => ({ ...act, policy: SERVICE_POLICY })),
  ...endpointActs.map((act) => ({ ...act, policy: ENDPOINT_POLICY })),
];

/** One for each policy, to see whether it is in force. */
export const PROBES: readonly Act[] = [
  ...new Map(ACTS.toReversed().map((act) => [act.policy, act])).values(),
];
