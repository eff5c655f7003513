// Claims: what users write in their clusters, and heartbeats on the hub, as they happen, in; what an agent takes away though
// somebody has a claim to it out. Asked in worlds where agents die and nothing else goes wrong.

import { type EndpointSlice, LEASE, type Service } from "../src/api/builtin.ts";
import { importedSliceName, serviceShareName } from "../src/api/digest.ts";
import { SERVICE_SHARE } from "../src/api/hubshare.ts";
import {
  type ClusterId,
  KUBE_SERVICE_NAME_LABEL,
  MANAGED_BY_LABEL,
  MANAGED_LABEL,
  memberOfNamespace,
  SERVICE_NAME_LABEL,
  type ServiceKey,
  SLICE_MANAGER,
  SOURCE_CLUSTER_LABEL,
} from "../src/api/names.ts";
import type { Change } from "../src/embedded/storage.ts";
import { isPublishing } from "../src/hub/heard.ts";

type Report = (rule: string, sentence: string) => void;

/** Past what counts as heard lately, and short of lost; each with what messages take. */
const QUIET_FROM_MS = 12_000;
const QUIET_UNTIL_MS = 26_000;
/** What has been so for that long, everybody concerned has seen. */
const SEEN_MS = 10_000;

interface Beat {
  lastMs: number;
  /** When it last had nothing left to tell. */
  currentMs: number;
}

interface OwnSlice {
  readonly name: string;
  readonly cluster: number;
  readonly service: string;
  readonly sinceMs: number;
  readonly addresses: readonly string[];
  readonly ports: readonly string[];
}

export class Claims {
  readonly #report: Report;
  readonly #nowMs: () => number;
  /** Index of the cluster that has the id. */
  readonly #clusterOf: (id: string) => number | undefined;
  /** "cluster kind namespace/name" to when it last changed. */
  readonly #since = new Map<string, number>();
  /** The ports of a Service, by the same key, as "name protocol". */
  readonly #ports = new Map<string, readonly string[]>();
  /** What users wrote, by "cluster namespace/name". */
  readonly #slices = new Map<string, OwnSlice>();
  readonly #beats = new Map<string, Beat>();
  /** Of what is on the hub, by "namespace name": until when it was there. Who lies exports nothing, and merges all the same. */
  readonly #shares = new Map<string, number>();

  constructor(report: Report, nowMs: () => number, clusterOf: (id: string) => number | undefined) {
    this.#report = report;
    this.#nowMs = nowMs;
    this.#clusterOf = clusterOf;
  }

  noteHubWrite({ resource, type, object }: Change): void {
    if (resource === `${SERVICE_SHARE.plural}.${SERVICE_SHARE.group}`) {
      const { namespace, name } = object.metadata;
      this.#shares.set(`${namespace} ${name}`, type === "DELETED" ? this.#nowMs() : Infinity);
    }
    if (resource !== `${LEASE.plural}.${LEASE.group}`) return;
    const { name: id = "" } = object.metadata;
    if (type === "DELETED") {
      this.#beats.delete(id);
      return;
    }
    const { spec } = object as { readonly spec?: { readonly holderIdentity?: string } };
    const nowMs = this.#nowMs();
    const before = this.#beats.get(id);
    const isCurrent = before === undefined || !isPublishing(spec?.holderIdentity);
    this.#beats.set(id, { lastMs: nowMs, currentMs: isCurrent ? nowMs : before.currentMs });
  }

  noteWrite(cluster: number, change: Change, isAgent: boolean): void {
    const { resource, type, object, key } = change;
    if (resource === "serviceexports.multicluster.x-k8s.io") {
      // A status is no change of what its user wants.
      if (!isAgent) this.#note(cluster, `export ${key}`, type !== "DELETED");
    } else if (resource === "services") {
      const { metadata, spec } = object as Service;
      if (metadata.labels?.[MANAGED_LABEL] === "true") return;
      this.#note(cluster, `service ${key}`, type !== "DELETED" && spec?.type !== "ExternalName");
      this.#ports.set(`${cluster} service ${key}`, namePorts(spec?.ports));
    } else if (resource === "endpointslices.discovery.k8s.io") {
      this.#noteSlice(cluster, change, isAgent);
    } else if (resource === "serviceimports.multicluster.x-k8s.io") {
      if (type === "DELETED" && isAgent) this.#checkImport(cluster, key);
    }
  }

  #note(cluster: number, what: string, isThere: boolean): void {
    const key = `${cluster} ${what}`;
    if (isThere) this.#since.set(key, this.#nowMs());
    else this.#since.delete(key);
  }

  #noteSlice(cluster: number, { type, object, key }: Change, isAgent: boolean): void {
    const { metadata, endpoints, ports } = object as EndpointSlice;
    const { labels = {}, namespace = "" } = metadata;
    const addresses = (endpoints ?? []).flatMap((endpoint) => endpoint.addresses);
    if (labels[MANAGED_BY_LABEL] !== SLICE_MANAGER) {
      const own = `${cluster} ${key}`;
      const service = `${namespace}/${labels[KUBE_SERVICE_NAME_LABEL]}`;
      const sinceMs = this.#nowMs();
      if (type === "DELETED") this.#slices.delete(own);
      else {
        const facts = { name: metadata.name ?? "", cluster, service, sinceMs };
        this.#slices.set(own, { ...facts, addresses, ports: namePorts(ports) });
      }
      return;
    }
    if (type !== "DELETED" || !isAgent) return;
    const id = labels[SOURCE_CLUSTER_LABEL] ?? "";
    if (this.#clusterOf(id) !== cluster) return;
    const service = `${namespace}/${labels[SERVICE_NAME_LABEL]}`;
    // Two slices may have the same pod: only the source of this one is asked for.
    const isCopyOf = (own: OwnSlice): boolean =>
      own.cluster === cluster &&
      own.service === service &&
      metadata.name ===
        importedSliceName({
          service: service as ServiceKey,
          cluster: id as ClusterId,
          slice: own.name,
        });
    this.#checkOwn(cluster, service, { isCopyOf, addresses });
  }

  /** Since when it has been exported just so; undefined: it is not. */
  #exportedSinceMs(cluster: number, service: string): number | undefined {
    const exported = this.#since.get(`${cluster} export ${service}`);
    const made = this.#since.get(`${cluster} service ${service}`);
    return exported === undefined || made === undefined ? undefined : Math.max(exported, made);
  }

  /** Who cannot tell yet that it exports the service is waited for: clients of the import keep its address. */
  #checkImport(cluster: number, service: string): void {
    const nowMs = this.#nowMs();
    for (const [id, { lastMs, currentMs }] of this.#beats) {
      const source = this.#clusterOf(id);
      if (source === undefined || source === cluster) continue;
      const sinceMs = this.#exportedSinceMs(source, service);
      if (sinceMs === undefined || sinceMs <= currentMs) continue;
      if (nowMs - currentMs < QUIET_FROM_MS || nowMs - lastMs > QUIET_UNTIL_MS) continue;
      this.#report(
        "an import outlives the move of its service",
        `cluster ${cluster} deleted import ${service}, which ${id} exports and could not tell yet`,
      );
    }
  }

  /** Whether the source of what was taken is still there. Ports that have not followed a change of the Service's lead nowhere. */
  #isSource(own: OwnSlice, taken: readonly string[]): boolean {
    const ports = this.#ports.get(`${own.cluster} service ${own.service}`) ?? [];
    return (
      own.ports.some((port) => ports.includes(port)) &&
      taken.every((address) => own.addresses.includes(address))
    );
  }

  #isSharedElsewhere(cluster: number, service: string, sinceMs: number): boolean {
    const name = serviceShareName(service as ServiceKey);
    return [...this.#shares].some(([key, untilMs]) => {
      const [namespace = "", shared] = key.split(" ");
      const id = memberOfNamespace(namespace);
      const isOwn = id !== undefined && this.#clusterOf(id) === cluster;
      return shared === name && untilMs >= sinceMs && !isOwn;
    });
  }

  /** What nobody else exports cannot lose a merge. */
  #checkOwn(
    cluster: number,
    service: string,
    taken: {
      readonly isCopyOf: (own: OwnSlice) => boolean;
      readonly addresses: readonly string[];
    },
  ): void {
    const exportedMs = this.#exportedSinceMs(cluster, service);
    const others = [...this.#since.keys()].filter(
      (key) => key.endsWith(` export ${service}`) && !key.startsWith(`${cluster} `),
    );
    if (exportedMs === undefined || others.length > 0 || taken.addresses.length === 0) return;
    const seenMs = this.#nowMs() - SEEN_MS;
    if (this.#isSharedElsewhere(cluster, service, seenMs)) return;
    const isThere = [...this.#slices.values()].some(
      (own) =>
        taken.isCopyOf(own) &&
        Math.max(own.sinceMs, exportedMs) <= seenMs &&
        this.#isSource(own, taken.addresses),
    );
    if (!isThere) return;
    this.#report(
      "no cluster takes its own endpoints away",
      `cluster ${cluster} deleted a slice of its own ${service}, which it exports`,
    );
  }
}

function namePorts(
  ports: readonly { readonly name?: string; readonly protocol?: string }[] = [],
): readonly string[] {
  return ports.map(({ name = "", protocol = "TCP" }) => `${name} ${protocol}`);
}
