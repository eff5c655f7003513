// Observe: an API server in, what the cluster's DNS and its proxies are set up with out. Reads only; each part that cannot be read
// is a sentence.

import { CONFIG_MAP, ENDPOINT_SLICE, SERVICE } from "../api/builtin.ts";
import { KUBE_SERVICE_NAME_LABEL } from "../api/names.ts";
import { defineResource, type KubeObject } from "../api/object.ts";
import type { CorefileFacts, DaemonFacts, DnsFacts, ProxyFacts } from "../core/check/inspection.ts";
import { STAND_INS } from "../core/check/proxy.ts";
import { type CoreDnsPlace, hasMulticluster, readDeployed } from "../dns/coredns.ts";
import { readsImports, servesZone } from "../dns/corefile.ts";
import { findSites, isInZone, listImportedFiles } from "../dns/corefileServer.ts";
import { CorefileError, parseCorefile } from "../dns/corefileSyntax.ts";
import { isStoreError, type Store } from "../ports/store.ts";
import type { Attempt } from "./inspect.ts";
import { findCoreDnsDenials } from "./inspectAccess.ts";

export const CLUSTERSET_ZONE = "clusterset.local";

/** Where nearly everybody has it. */
export const COREDNS_PLACE: CoreDnsPlace = {
  namespace: "kube-system",
  configMap: "coredns",
  configKey: "Corefile",
  deployment: "coredns",
};
const KUBE_SYSTEM = "kube-system";
const NODE_LOCAL = { namespace: KUBE_SYSTEM, name: "node-local-dns" } as const;
/** What its Corefile says for the address of CoreDNS, until it runs. */
const COREDNS_PILLAR = "__PILLAR__CLUSTER__DNS__";
const DNS_SERVICE = { namespace: KUBE_SYSTEM, name: "kube-dns" } as const;

export async function inspectDns(store: Store, attempt: Attempt): Promise<DnsFacts> {
  const { namespace } = COREDNS_PLACE;
  const [corefile, nodeLocal, deployed, service, access] = await Promise.all([
    attempt("get the ConfigMap kube-system/coredns", (signal) => readCorefile(store, signal)),
    attempt("see whether NodeLocal DNSCache runs (get daemonsets, configmaps)", (signal) =>
      readNodeLocal(store, signal),
    ),
    attempt("get the Deployment kube-system/coredns", async (signal) => {
      const found = await readDeployed(store, COREDNS_PLACE, signal);
      if (found === undefined) return undefined;
      const { image, version } = found;
      return { image, hasMulticluster: version && hasMulticluster(version) };
    }),
    attempt("get the Service kube-system/kube-dns and its EndpointSlices", (signal) =>
      readDnsService(store, signal),
    ),
    attempt("ask what CoreDNS may do", async (signal) => {
      const found = await readDeployed(store, COREDNS_PLACE, signal);
      if (found === undefined) return [];
      return findCoreDnsDenials(store, { namespace, name: found.serviceAccount }, signal);
    }),
  ]);
  return { zone: CLUSTERSET_ZONE, corefile, nodeLocal, deployed, service, access };
}

async function readCorefile(store: Store, signal: AbortSignal) {
  const { namespace, configMap: name, configKey } = COREDNS_PLACE;
  const text = (await store.get(CONFIG_MAP, { namespace, name }, { signal }))?.data?.[configKey];
  if (text === undefined) return undefined;
  return readZone(`${namespace}/${name}`, text, (corefile) =>
    servesZone(corefile, CLUSTERSET_ZONE),
  );
}

/** A ConfigMap that was left behind asks nobody. */
async function readNodeLocal(
  store: Store,
  signal: AbortSignal,
): Promise<CorefileFacts | undefined> {
  if (!(await hasNodeLocal(store, signal))) return undefined;
  const [config, service] = await Promise.all([
    store.get(CONFIG_MAP, NODE_LOCAL, { signal }),
    store.get(SERVICE, DNS_SERVICE, { signal }),
  ]);
  const text = config?.data?.[COREDNS_PLACE.configKey] ?? "";
  const coredns = [COREDNS_PILLAR, service?.spec?.clusterIP ?? COREDNS_PILLAR];
  return readZone(
    `${NODE_LOCAL.namespace}/${NODE_LOCAL.name}`,
    text,
    (corefile) => servesZone(corefile, CLUSTERSET_ZONE) || sendsRest(corefile, coredns),
  );
}

/** A server that does not know DaemonSets runs none. */
async function hasNodeLocal(store: Store, signal: AbortSignal): Promise<boolean> {
  try {
    return (await store.get(DAEMON_SET, NODE_LOCAL, { signal })) !== undefined;
  } catch (error) {
    if (!isStoreError(error, "NotFound")) throw error;
    return false;
  }
}

/** Whether names that it has no zone for go to one of these servers. */
function sendsRest(text: string, servers: readonly string[]): boolean {
  const [closest] = findSites(parseCorefile(text), "forward")
    .flatMap(({ keys, directive }) => keys.map(({ zone }) => ({ zone, directive })))
    .filter(({ zone }) => isInZone(CLUSTERSET_ZONE, zone))
    .toSorted((a, b) => b.zone.length - a.zone.length);
  return closest?.directive.args.some((arg) => servers.includes(arg.text)) === true;
}

function readZone(
  configMap: string,
  text: string,
  knowsZone: (corefile: string) => boolean,
): CorefileFacts {
  try {
    return {
      configMap,
      servesZone: knowsZone(text),
      readsImports: readsImports(text),
      importedFiles: listImportedFiles(parseCorefile(text)),
    };
  } catch (error) {
    if (!(error instanceof CorefileError)) throw error;
    const nothing = { servesZone: false, readsImports: false, importedFiles: [] };
    return { configMap, ...nothing, problem: error.message };
  }
}

async function readDnsService(store: Store, signal: AbortSignal) {
  const service = await store.get(SERVICE, DNS_SERVICE, { signal });
  if (service === undefined) return undefined;
  const slices = await store.list(ENDPOINT_SLICE, {
    namespace: KUBE_SYSTEM,
    labelSelector: `${KUBE_SERVICE_NAME_LABEL}=${DNS_SERVICE.name}`,
    limit: 100,
    signal,
  });
  const ready = new Set(
    slices.items
      .flatMap(({ endpoints }) => endpoints ?? [])
      .filter(({ conditions }) => conditions?.ready !== false)
      .map(({ targetRef, addresses }) => targetRef?.name ?? addresses[0]),
  );
  return { ip: service.spec?.clusterIP ?? "", ready: ready.size };
}

interface DaemonSet extends KubeObject {
  readonly spec?: {
    readonly template?: {
      readonly spec?: { readonly containers?: readonly { readonly image?: string }[] };
    };
  };
  readonly status?: {
    readonly desiredNumberScheduled?: number;
    readonly numberReady?: number;
  };
}
const DAEMON_SET = defineResource<DaemonSet>({
  apiVersion: "apps/v1",
  kind: "DaemonSet",
  plural: "daemonsets",
  namespaced: true,
});

export async function inspectProxy(store: Store, attempt: Attempt): Promise<ProxyFacts> {
  const [daemons, mode] = await Promise.all([
    attempt("list daemonsets in kube-system", (signal) => listDaemons(store, signal)),
    attempt("get the ConfigMap kube-system/kube-proxy", async (signal) => {
      const ref = { namespace: KUBE_SYSTEM, name: "kube-proxy" };
      const config = await store.get(CONFIG_MAP, ref, { signal });
      const text = config?.data?.["config.conf"] ?? config?.data?.["config"];
      if (text === undefined) return undefined;
      return /^mode:\s*["']?([A-Za-z]*)/m.exec(text)?.[1] ?? "";
    }),
  ]);
  return { daemons, mode };
}

async function listDaemons(store: Store, signal: AbortSignal): Promise<readonly DaemonFacts[]> {
  const wanted = new Set(["kube-proxy", ...STAND_INS]);
  const { items } = await store.list(DAEMON_SET, { namespace: KUBE_SYSTEM, limit: 500, signal });
  return items.flatMap(({ metadata: { name = "" }, spec, status }) => {
    if (!wanted.has(name)) return [];
    const image = spec?.template?.spec?.containers?.[0]?.image ?? "";
    const { desiredNumberScheduled: desired = 0, numberReady: ready = 0 } = status ?? {};
    return [{ name, image, desired, ready }];
  });
}
