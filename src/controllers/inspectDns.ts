// Observe: an API server in, what the cluster's DNS and its proxies are set up with out. Reads only; each part that cannot be read
// is a sentence.

import { CONFIG_MAP, ENDPOINT_SLICE, SERVICE } from "../api/builtin.ts";
import { KUBE_SERVICE_NAME_LABEL } from "../api/names.ts";
import { defineResource, type KubeObject } from "../api/object.ts";
import type { DaemonFacts, DnsFacts, ProxyFacts } from "../core/check/inspection.ts";
import { STAND_INS } from "../core/check/proxy.ts";
import { type CoreDnsPlace, hasMulticluster, readDeployed } from "../dns/coredns.ts";
import { readsImports, servesZone } from "../dns/corefile.ts";
import { CorefileError } from "../dns/corefileSyntax.ts";
import type { Store } from "../ports/store.ts";
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
const DNS_SERVICE = { namespace: KUBE_SYSTEM, name: "kube-dns" } as const;

export async function inspectDns(store: Store, attempt: Attempt): Promise<DnsFacts> {
  const { namespace } = COREDNS_PLACE;
  const [corefile, deployed, service, access] = await Promise.all([
    attempt("get the ConfigMap kube-system/coredns", (signal) => readCorefile(store, signal)),
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
  return { zone: CLUSTERSET_ZONE, corefile, deployed, service, access };
}

async function readCorefile(store: Store, signal: AbortSignal) {
  const { namespace, configMap: name, configKey } = COREDNS_PLACE;
  const text = (await store.get(CONFIG_MAP, { namespace, name }, { signal }))?.data?.[configKey];
  if (text === undefined) return undefined;
  const configMap = `${namespace}/${name}`;
  try {
    return {
      configMap,
      servesZone: servesZone(text, CLUSTERSET_ZONE),
      readsImports: readsImports(text),
    };
  } catch (error) {
    if (!(error instanceof CorefileError)) throw error;
    return { configMap, servesZone: false, readsImports: false, problem: error.message };
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
