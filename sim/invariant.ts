// Invariants: writes at the moment they happen in, broken rules out. What must hold always, whatever is broken around it.

import type { EndpointSlice } from "../src/api/builtin.ts";
import type { ServiceExport, ServiceImport } from "../src/api/mcs.ts";
import {
  type ClusterId,
  HUB_NAMESPACE,
  KUBE_SERVICE_NAME_LABEL,
  MANAGED_BY_LABEL,
  MANAGED_LABEL,
  memberNamespace,
  SERVICE_NAME_LABEL,
  SLICE_MANAGER,
  SOURCE_CLUSTER_LABEL,
} from "../src/api/names.ts";
import type { Condition, KubeObject } from "../src/api/object.ts";
import type { Change } from "../src/embedded/storage.ts";
import { Bound } from "./bound.ts";
import { Claims } from "./claim.ts";
import type { Fault } from "./fault.ts";
import { LastEndpoints } from "./lastendpoint.ts";

type Report = (rule: string, sentence: string) => void;

/** A hub that is away, a restart, a clock that jumps, an observer that is cut off: none of them is a reason. */
const NOTHING_WITHDRAWN = "nothing is withdrawn while its source is well";

export class Invariants {
  readonly #report: Report;
  /** Which cluster has, or had, the id. */
  readonly #clusters = new Map<string, number>();
  /** What endpoints the cluster's own slices ever had: "cluster namespace/service address", and "… ready". */
  readonly #had = new Set<string>();
  /** "cluster ip" to the import that has it. */
  readonly #holders = new Map<string, string>();

  readonly #isSteady: () => boolean;
  /** Clusters that something was wrong with while the rest was steady. */
  readonly #troubled = new Set<number>();

  readonly #bound: Bound;
  readonly #claims: Claims;
  readonly #last: LastEndpoints;
  #isClaiming = false;
  /** Addresses that somebody claimed and does not have. */
  readonly #lies = new Set<string>();

  constructor(report: Report, isSteady: () => boolean, nowMs: () => number) {
    this.#report = report;
    this.#isSteady = isSteady;
    this.#bound = new Bound(nowMs, (sentence) =>
      report("endpoints of a lost cluster are gone within a minute", sentence),
    );
    this.#claims = new Claims(
      (rule, sentence) => {
        if (this.#isClaiming) report(rule, sentence);
      },
      nowMs,
      (id) => this.#clusters.get(id),
    );
    this.#last = new LastEndpoints(
      (sentence) => report("a drain takes nobody's last endpoint", sentence),
      nowMs,
      (id) => this.#clusters.get(id),
    );
  }

  /** Nothing goes wrong but that agents die. */
  expectClaims(): void {
    this.#isClaiming = true;
  }

  noteLie(address: string): void {
    this.#lies.add(address);
  }

  noteTrouble(cluster: number): void {
    this.#troubled.add(cluster);
  }

  noteFault(fault: Fault): void {
    this.#last.noteFault(fault);
  }

  noteDrain(cluster: number): void {
    this.#last.noteDrain(cluster);
  }

  noteId(cluster: number, id: ClusterId): void {
    this.#clusters.set(id, cluster);
  }

  checkWrite(cluster: number, change: Change, userAgent: string | undefined): void {
    const isAgent = userAgent?.startsWith("agent ") === true;
    if (isAgent) this.#checkOwnership(cluster, change);
    this.#claims.noteWrite(cluster, change, isAgent);
    if (isAgent && this.#isSteady()) this.#checkSteady(cluster, change);
    switch (change.resource) {
      case "endpointslices.discovery.k8s.io":
        this.#checkSlice(cluster, change);
        this.#bound.noteSlice(cluster, change);
        this.#last.noteSlice(cluster, change, isAgent);
        return;
      case "serviceimports.multicluster.x-k8s.io":
        this.#checkImport(cluster, change);
        return;
      case "serviceexports.multicluster.x-k8s.io":
        if (change.type !== "DELETED") this.#checkExport(cluster, change.object);
        return;
      default:
    }
  }

  checkHubWrite(change: Change, userAgent: string | undefined): void {
    const heard = this.#bound.noteHubWrite(change);
    this.#claims.noteHubWrite(change);
    const importer = this.#clusters.get(heard ?? "");
    if (this.#isSteady() && heard !== undefined && importer !== undefined) {
      if (!this.#troubled.has(importer)) this.#bound.check(importer, heard);
    }
    if (userAgent?.startsWith("agent ") !== true) return;
    const { resource, key, object } = change;
    if (this.#isSteady() && change.type === "DELETED") {
      this.#report(NOTHING_WITHDRAWN, `${userAgent} deleted ${resource} ${key} on the hub`);
    }
    const id = userAgent.slice("agent ".length) as ClusterId;
    const { namespace, name } = object.metadata;
    const isOwn = namespace === memberNamespace(id) || (namespace === HUB_NAMESPACE && name === id);
    if (isOwn) return;
    this.#report("members write only their own", `${id} wrote ${resource} ${key} on the hub`);
  }

  /** What users made stays as they made it, but for the status of their exports (R8). */
  #checkOwnership(cluster: number, change: Change): void {
    const { resource, key, type, object, previous } = change;
    const isOurs = (each: KubeObject | undefined): boolean => {
      const labels = each?.metadata.labels;
      return labels?.[MANAGED_LABEL] === "true" || labels?.[MANAGED_BY_LABEL] === SLICE_MANAGER;
    };
    if (resource === "events" && type === "ADDED") return;
    if (resource === "serviceexports.multicluster.x-k8s.io" && type === "MODIFIED") {
      if (previous !== undefined && contentOf(previous) === contentOf(object)) return;
    } else if (isOurs(previous ?? object)) return;
    this.#report(
      "no object of the user's is modified",
      `the agent of cluster ${cluster} ${type} ${resource} ${key}`,
    );
  }

  /** Users change nothing: nothing goes but the endpoints of clusters that something is wrong with. */
  #checkSteady(cluster: number, { type, resource, key, object, previous }: Change): void {
    const complain = (what: string): void =>
      this.#report(NOTHING_WITHDRAWN, `the agent of cluster ${cluster} ${what} ${key}`);
    if (resource === "endpointslices.discovery.k8s.io" && previous !== undefined) {
      const source = this.#clusters.get(previous.metadata.labels?.[SOURCE_CLUSTER_LABEL] ?? "");
      if (source === undefined || (source !== cluster && this.#troubled.has(source))) return;
      // Used again while others are away, and not any more when they are back.
      if (this.#last.wasDrained(source) && type !== "DELETED") return;
      if (type === "DELETED") complain("deleted slice");
      const left = new Set(usableIn(object as EndpointSlice));
      const lost = usableIn(previous as EndpointSlice).filter((each) => !left.has(each));
      if (lost.length > 0) complain(`took ${lost.join()} out of slice`);
      return;
    }
    if (type === "DELETED") complain(`deleted ${resource}`);
    if (previous === undefined) return;
    if (resource === "serviceexports.multicluster.x-k8s.io") {
      const wasReady = readyOf(previous);
      if (wasReady === "True" && readyOf(object) !== "True") complain("said not ready of export");
    }
    if (resource === "serviceimports.multicluster.x-k8s.io") {
      const now = contributorsOf(object);
      const gone = contributorsOf(previous).filter((each) => !now.includes(each));
      if (gone.length > 0) complain(`no longer lists ${gone.join()} in import`);
    }
  }

  #checkSlice(cluster: number, { type, object, key }: Change): void {
    const { metadata, endpoints } = object as EndpointSlice;
    const labels = metadata.labels ?? {};
    const { namespace = "" } = metadata;
    if (type === "DELETED") return;
    if (labels[MANAGED_BY_LABEL] !== SLICE_MANAGER) {
      const service = `${namespace}/${labels[KUBE_SERVICE_NAME_LABEL]}`;
      for (const { addresses, conditions } of endpoints ?? []) {
        const had = `${cluster} ${service} ${addresses[0]}`;
        this.#had.add(had);
        if (conditions?.ready !== false) this.#had.add(`${had} ready`);
      }
      return;
    }
    const service = `${namespace}/${labels[SERVICE_NAME_LABEL]}`;
    const source = this.#clusters.get(labels[SOURCE_CLUSTER_LABEL] ?? "");
    for (const { addresses, conditions } of endpoints ?? []) {
      const had = `${source} ${service} ${addresses[0]}`;
      const isReady = conditions?.ready !== false;
      if (this.#had.has(isReady ? `${had} ready` : had)) continue;
      this.#report(
        this.#lies.has(addresses[0] ?? "")
          ? "no endpoint comes from an identity that is not its own"
          : "no endpoint appears that its source never had",
        `cluster ${cluster} has ${addresses[0]} ${isReady ? "ready" : "not ready"} of ${labels[SOURCE_CLUSTER_LABEL]} in slice ${key}`,
      );
    }
  }

  #checkImport(cluster: number, { type, object, previous, key }: Change): void {
    const now: ServiceImport = object;
    const before: ServiceImport | undefined = previous;
    const ips = type === "DELETED" ? [] : (now.spec?.ips ?? []);
    const ipsBefore = before?.spec?.ips ?? [];
    const isSame = before?.metadata.uid === now.metadata.uid;
    const wasAndIs = before?.spec?.type === "ClusterSetIP" && now.spec?.type === "ClusterSetIP";
    if (type === "MODIFIED" && isSame && wasAndIs && ipsBefore.length > 0) {
      if (ips.join() !== ipsBefore.join()) {
        this.#report(
          "the virtual IP of a living import never changes",
          `cluster ${cluster} had ${ipsBefore.join()} and has ${ips.join()} for ${key}`,
        );
      }
    }
    for (const ip of ipsBefore) {
      if (this.#holders.get(`${cluster} ${ip}`) === key) this.#holders.delete(`${cluster} ${ip}`);
    }
    for (const ip of ips) {
      const other = this.#holders.get(`${cluster} ${ip}`);
      if (other !== undefined && other !== key) {
        this.#report("no two imports have one virtual IP", `${key} and ${other} have ${ip}`);
      }
      this.#holders.set(`${cluster} ${ip}`, key);
    }
    if (type === "DELETED") return;
    const conditions = conditionsOf(now, this.#report, `import ${key} of cluster ${cluster}`);
    if (conditions.get("Ready") === "True" && now.spec?.type === "ClusterSetIP" && !ips.length) {
      this.#report("conditions never contradict each other", `${key} is ready without an IP`);
    }
  }

  #checkExport(cluster: number, serviceExport: ServiceExport): void {
    const { namespace, name } = serviceExport.metadata;
    const where = `export ${namespace}/${name} of cluster ${cluster}`;
    const conditions = conditionsOf(serviceExport, this.#report, where);
    if (conditions.get("Ready") === "True" && conditions.get("Valid") !== "True") {
      this.#report("conditions never contradict each other", `${where} is ready and not valid`);
    }
    if (conditions.get("Conflict") === "True" && conditions.get("Valid") !== "True") {
      this.#report("conditions never contradict each other", `${where} conflicts and is not valid`);
    }
  }
}

function conditionsOf(
  {
    metadata,
    status,
  }: KubeObject & { readonly status?: { readonly conditions?: readonly Condition[] } },
  report: Report,
  where: string,
): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const { type, status: is, observedGeneration } of status?.conditions ?? []) {
    // Of what was there before: nobody claims that it is so now.
    if (observedGeneration !== undefined && observedGeneration !== metadata.generation) continue;
    if (found.has(type)) report("conditions never contradict each other", `${where}: two ${type}`);
    found.set(type, is);
  }
  return found;
}

/** "address", and "address ready". */
function usableIn({ endpoints }: EndpointSlice): readonly string[] {
  return (endpoints ?? []).flatMap(({ addresses, conditions }) => {
    const address = addresses[0] ?? "";
    return conditions?.ready === false ? [address] : [address, `${address} ready`];
  });
}

function readyOf({ status }: ServiceExport): string | undefined {
  return status?.conditions?.find(({ type }) => type === "Ready")?.status;
}

function contributorsOf({ status }: ServiceImport): readonly string[] {
  return (status?.clusters ?? []).map(({ cluster }) => cluster);
}

/** All of it that is the user's. */
function contentOf(object: KubeObject): string {
  const { status: _, metadata, ...rest } = object as KubeObject & { readonly status?: unknown };
  const { resourceVersion: __, managedFields: ___, ...kept } = metadata;
  return JSON.stringify({ metadata: kept, ...rest });
}
