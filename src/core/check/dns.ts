// Check: what a cluster's DNS is set up with in, whether pods there can resolve clusterset names out.

import { list } from "../clusterset/explanation.ts";
import { listDenied } from "./access.ts";
import type { CorefileFacts, DnsFacts } from "./inspection.ts";
import { cannotTell, type CheckResult, fail, pass, warn } from "./result.ts";

const TRY = "Try it from a pod: nslookup checkout.shop.svc.clusterset.local";

export function checkDns(cluster: string, facts: DnsFacts): readonly CheckResult[] {
  return [checkZone(cluster, facts), ...checkCoreDns(cluster, facts), checkService(cluster, facts)];
}

function checkZone(cluster: string, facts: DnsFacts): CheckResult {
  const { zone, corefile } = facts;
  const code = "dns/zone";
  if (!corefile.isRead) return cannotTell(code, corefile, { cluster, next: TRY });
  const { value } = corefile;
  if (value === undefined) {
    return warn(code, {
      cluster,
      found: `It cannot be told whether ${zone} resolves: there is no ConfigMap kube-system/coredns.`,
      next: `If CoreDNS is somewhere else, "isthmus dns enable" takes --namespace and --config-map. ${TRY}`,
    });
  }
  if (value.problem !== undefined) {
    return warn(code, {
      cluster,
      found: `The Corefile in ${value.configMap} cannot be understood: ${value.problem}`,
      next: TRY,
    });
  }
  if (!value.servesZone && value.importedFiles.length > 0) return warnOfFiles(cluster, zone, value);
  if (!value.servesZone) {
    return fail(code, {
      cluster,
      found: `Names of ${zone} do not resolve: the Corefile in ${value.configMap} does not know the zone.`,
      next: 'Run "isthmus dns enable --dry-run" to see the change, and "isthmus dns enable" to make it.',
    });
  }
  const before = checkNodeLocal(cluster, facts);
  if (before !== undefined) return before;
  const how = value.readsImports ? "answers" : "forwards";
  return pass(code, { cluster, found: `CoreDNS ${how} ${zone} (${value.configMap}).` });
}

/** K3s and AKS have people put server blocks of their own into files. */
function warnOfFiles(
  cluster: string,
  zone: string,
  { configMap, importedFiles }: CorefileFacts,
): CheckResult {
  return warn("dns/zone", {
    cluster,
    found: `It cannot be told whether ${zone} resolves: the Corefile in ${configMap} does not know the zone, but it imports ${list(importedFiles)}, which cannot be read from here.`,
    next: `Those files mostly come from the ConfigMap kube-system/coredns-custom. Where they do not have the zone either, run "isthmus dns enable". ${TRY}`,
  });
}

/** It stands between pods and CoreDNS, and sends what it does not know past it. */
function checkNodeLocal(cluster: string, { zone, nodeLocal }: DnsFacts): CheckResult | undefined {
  const code = "dns/zone";
  if (!nodeLocal.isRead) return cannotTell(code, nodeLocal, { cluster, next: TRY });
  const { value } = nodeLocal;
  if (value === undefined || value.servesZone) return undefined;
  if (value.problem !== undefined) {
    return warn(code, {
      cluster,
      found: `The Corefile in ${value.configMap} cannot be understood: ${value.problem}`,
      next: TRY,
    });
  }
  if (value.importedFiles.length > 0) return warnOfFiles(cluster, zone, value);
  return fail(code, {
    cluster,
    found: `CoreDNS knows ${zone}, but NodeLocal DNSCache, which pods ask, sends it past CoreDNS: the Corefile in ${value.configMap} does not know the zone.`,
    next: 'Run "isthmus dns enable --config-map node-local-dns --server" with the address of CoreDNS.',
  });
}

/** Only where CoreDNS answers the zone itself. */
function checkCoreDns(cluster: string, facts: DnsFacts): readonly CheckResult[] {
  const code = "dns/coredns";
  const { corefile, deployed, access, zone } = facts;
  const isAsked = corefile.isRead && corefile.value?.readsImports === true;
  if (!isAsked) return [];
  if (!deployed.isRead) return [cannotTell(code, deployed, { cluster })];
  if (deployed.value === undefined) {
    const found = "There is no Deployment kube-system/coredns, so its version is not known.";
    return [warn(code, { cluster, found, next: "It has to be 1.12.2 or newer." })];
  }
  const { image, hasMulticluster } = deployed.value;
  if (hasMulticluster === false) {
    return [
      fail(code, {
        cluster,
        found: `CoreDNS (${image}) is too old for the option multicluster, which its Corefile uses: it does not start with it.`,
        next: `Upgrade CoreDNS to 1.12.2 or newer, or run "isthmus dns disable", then "isthmus dns enable --server" with the address of "isthmus dns".`,
      }),
    ];
  }
  if (!access.isRead) return [cannotTell(code, access, { cluster })];
  if (access.value.length > 0) {
    return [
      fail(code, {
        cluster,
        found: `CoreDNS may not ${listDenied(access.value)}: it answers SERVFAIL for ${zone}, and for names of the cluster itself that do not exist.`,
        next: 'Run "isthmus dns enable" again, which gives it that permission.',
      }),
    ];
  }
  const version = hasMulticluster === undefined ? `${image}, which hides its version,` : image;
  return [pass(code, { cluster, found: `${version} may list and watch ServiceImports.` })];
}

function checkService(cluster: string, { service }: DnsFacts): CheckResult {
  const code = "dns/service";
  if (!service.isRead) return cannotTell(code, service, { cluster });
  const { value } = service;
  if (value === undefined) {
    return warn(code, {
      cluster,
      found: "There is no Service kube-system/kube-dns.",
      next: "Pods ask the address in their /etc/resolv.conf: whoever answers there has to know clusterset.local.",
    });
  }
  if (value.ready === 0) {
    return fail(code, {
      cluster,
      found: `The Service kube-system/kube-dns (${value.ip}) has no ready endpoint: no name resolves in this cluster.`,
      next: "kubectl -n kube-system get pods -l k8s-app=kube-dns",
    });
  }
  const pods = value.ready === 1 ? "1 ready endpoint" : `${value.ready} ready endpoints`;
  return pass(code, { cluster, found: `kube-system/kube-dns (${value.ip}) has ${pods}.` });
}
