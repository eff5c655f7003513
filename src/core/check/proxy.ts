// Check: what serves virtual IPs in a cluster in, whether it runs everywhere and serves ours out.

import type { Service } from "../../api/builtin.ts";
import { count, list } from "../clusterset/explanation.ts";
import type { DaemonFacts, ProxyFacts } from "./inspection.ts";
import { cannotTell, type CheckResult, fail, pass, warn } from "./result.ts";

const KUBE_PROXY = "kube-proxy";
/** DaemonSets that often do kube-proxy's work, when they are told to. */
export const STAND_INS: readonly string[] = [
  "cilium",
  "calico-node",
  "antrea-agent",
  "ovnkube-node",
  "kube-router",
];
/** Since then it reads EndpointSlices by default, and reads nothing else of ours. */
const NEEDED_MINOR = 21;

const TRY = "Try it from a pod: curl the virtual IP that kubectl get serviceimports shows.";

export function checkProxy(cluster: string, { daemons, mode }: ProxyFacts): CheckResult {
  const code = "proxy/running";
  if (!daemons.isRead) return cannotTell(code, daemons, { cluster, next: TRY });
  const proxy = daemons.value.find(({ name }) => name === KUBE_PROXY);
  if (proxy === undefined) return checkStandIn(cluster, daemons.value);
  const minor = readMinor(proxy.image);
  if (minor !== undefined && minor < NEEDED_MINOR) {
    return fail(code, {
      cluster,
      found: `kube-proxy (${proxy.image}) is too old to serve EndpointSlices.`,
      next: `Upgrade it to 1.${NEEDED_MINOR} or newer.`,
    });
  }
  if (proxy.desired === 0) {
    return warn(code, {
      cluster,
      found: "kube-proxy is wanted on no node, so it runs nowhere.",
      next: `That is well in a cluster without nodes, or where something else does its work: see kubectl -n kube-system describe daemonset kube-proxy. ${TRY}`,
    });
  }
  if (proxy.ready < proxy.desired) {
    return fail(code, {
      cluster,
      found: `kube-proxy is ready on ${proxy.ready} of ${count(proxy.desired, "node")}: on the others no virtual IP is kept up to date.`,
      next: "kubectl -n kube-system get pods -l k8s-app=kube-proxy -o wide",
    });
  }
  return pass(code, {
    cluster,
    found: `kube-proxy is ready on ${count(proxy.ready, "node")}${describeMode(mode)}.`,
  });
}

function describeMode(mode: ProxyFacts["mode"]): string {
  if (!mode.isRead || mode.value === undefined) return "; its mode is not known";
  return mode.value === "" ? ", in its default mode" : `, in mode ${mode.value}`;
}

function checkStandIn(cluster: string, daemons: readonly DaemonFacts[]): CheckResult {
  const code = "proxy/running";
  const [first] = daemons;
  if (first === undefined) {
    return warn(code, {
      cluster,
      found: "No kube-proxy was seen in kube-system, nor anything known to replace it.",
      next: `Some distributions run it inside of another process, where nobody can see it from here. ${TRY}`,
    });
  }
  const names = list(daemons.map(({ name }) => name));
  return warn(code, {
    cluster,
    found: `There is no kube-proxy; ${names} may stand in for it, which cannot be told from here.`,
    next: TRY,
  });
}

/** Of "registry.k8s.io/kube-proxy:v1.36.3". */
function readMinor(image: string): number | undefined {
  const match = /:v?1\.(\d{1,3})[.\-+]/.exec(image);
  return match === null ? undefined : Number(match[1]);
}

/** Who carries one of these is left alone by kube-proxy. */
const IGNORED_LABELS = [
  "service.kubernetes.io/service-proxy-name",
  "service.kubernetes.io/headless",
] as const;

export function checkDerivedLabels(cluster: string, services: readonly Service[]): CheckResult {
  const code = "proxy/services";
  const marked = services.flatMap(({ metadata }) =>
    IGNORED_LABELS.filter((label) => metadata.labels?.[label] !== undefined).map((label) => ({
      name: `${metadata.namespace}/${metadata.name}`,
      label,
    })),
  );
  const [first] = marked;
  if (first === undefined) {
    const found =
      services.length === 0
        ? "It has no derived Services yet."
        : "No derived Service carries a label that would keep kube-proxy from serving it.";
    return pass(code, { cluster, found });
  }
  return fail(code, {
    cluster,
    found: `${list(marked.slice(0, 3).map(({ name }) => name))} ${marked.length === 1 ? "carries" : "carry"} the label ${first.label}, so kube-proxy does not serve ${marked.length === 1 ? "its" : "their"} virtual IP.`,
    next: `Find out who puts it there (an admission webhook of a service mesh, perhaps) and have it spare Services named derived-….`,
  });
}
