// Built-in behaviour: Services. Defaults, families and addresses, node ports, in the order of the real server:
// keep what was allocated ─▶ choose families ─▶ allocate ─▶ drop what the type does not use (then validate)

import type { IPFamily, Service, ServicePort, ServiceSpec } from "../../api/builtin.ts";
import type { KubeObject } from "../../api/object.ts";
import { parseAddress } from "../address.ts";
import { invalid as invalidValue } from "../schema/failure.ts";
import { equalJson } from "../json.ts";
import { checkLabelName } from "../name.ts";
import type { Rules } from "../rules.ts";
import { ApiError, invalid } from "../status.ts";
import { partOf, withPart } from "../system.ts";
import type { FieldFailure } from "../types.ts";
import { nodePortsOf, type ServiceAllocator } from "./allocator.ts";
import { validateClusterIPs, validateService, validateServiceUpdate } from "./servicerules.ts";

/** With the fields that only the server cares about. */
export interface FullSpec extends ServiceSpec {
  readonly allocateLoadBalancerNodePorts?: boolean;
  readonly externalTrafficPolicy?: string;
}

interface Balancer {
  readonly ingress?: readonly { readonly ip?: string; readonly ipMode?: string }[];
}

export const HEADLESS = "None";
const AFFINITY_SECONDS = 10_800;

export function specOf(object: KubeObject): FullSpec {
  return (object as Service).spec ?? {};
}

function withSpec(object: KubeObject, spec: FullSpec): KubeObject {
  const defined = Object.entries(spec).filter(([, value]) => !isUnset(value));
  return { ...object, spec: Object.fromEntries(defined) } as KubeObject;
}

function isUnset(value: unknown): boolean {
  return value === undefined || value === "" || (Array.isArray(value) && value.length === 0);
}

export function createServiceRules(allocator: ServiceAllocator): Rules {
  return {
    checkName: checkLabelName,
    createOnUpdate: true,
    unconditionalUpdate: true,
    returnsDeleted: true,
    selectableFields: ["spec.clusterIP", "spec.type"],
    applyDefaults: (object) => withSpec(object, defaultSpec(specOf(object))),
    prepareCreate: (object) => {
      const spec = allocate(allocator, object, undefined);
      return withPart(withSpec(object, spec), "status", { loadBalancer: {} });
    },
    prepareUpdate: (next, old) => {
      const allocated = withSpec(next, allocate(allocator, next, old));
      const spec = dropUnused(specOf(allocated), specOf(old));
      const served = withSpec(allocated, spec);
      return spec.type === "LoadBalancer"
        ? served
        : withPart(served, "status", { loadBalancer: {} });
    },
    prepareStatus: (next) => {
      const balancer = partOf(next, "status")["loadBalancer"] as Balancer | undefined;
      const ingress = balancer?.ingress?.map((one) => (one.ip ? { ipMode: "VIP", ...one } : one));
      if (specOf(next).type !== "LoadBalancer" || ingress === undefined) return next;
      return withPart(next, "status", { loadBalancer: { ...balancer, ingress } });
    },
    validate: (object) => validateService(object),
    validateUpdate: (next, old) => validateServiceUpdate(specOf(next), specOf(old)),
  };
}

function defaultSpec(spec: FullSpec): FullSpec {
  const type = spec.type ?? "ClusterIP";
  const sessionAffinity = spec.sessionAffinity ?? "None";
  const { sessionAffinityConfig: config, ...rest } = spec;
  const affinity =
    sessionAffinity === "ClientIP"
      ? {
          sessionAffinityConfig:
            config?.clientIP?.timeoutSeconds === undefined
              ? { clientIP: { timeoutSeconds: AFFINITY_SECONDS } }
              : config,
        }
      : {};
  const isExternal = type === "NodePort" || type === "LoadBalancer";
  return {
    ...rest,
    type,
    sessionAffinity,
    ...affinity,
    ports: (spec.ports ?? []).map(defaultPort),
    ...(isExternal ? { externalTrafficPolicy: spec.externalTrafficPolicy ?? "Cluster" } : {}),
    ...(type === "ExternalName"
      ? {}
      : { internalTrafficPolicy: spec.internalTrafficPolicy ?? "Cluster" }),
    ...(type === "LoadBalancer"
      ? { allocateLoadBalancerNodePorts: spec.allocateLoadBalancerNodePorts ?? true }
      : {}),
  };
}

function defaultPort(port: ServicePort): ServicePort {
  const target = port.targetPort;
  const isSet = target !== undefined && target !== 0 && target !== "";
  return {
    ...port,
    protocol: port.protocol ?? "TCP",
    port: port.port ?? 0,
    targetPort: isSet ? target : (port.port ?? 0),
  };
}

/** The spec with families, addresses and node ports; throws when something asked for cannot be had. */
function allocate(
  allocator: ServiceAllocator,
  object: KubeObject,
  before: KubeObject | undefined,
): FullSpec {
  const old = before === undefined ? undefined : specOf(before);
  const kept = keepAllocated(specOf(object), old);
  if (kept.type === "ExternalName") return kept;
  const familied = chooseFamilies(allocator, object, kept, old);
  const addressed = allocateAddresses(allocator, object, familied, old);
  return allocateNodePorts(allocator, object, addressed, before);
}

/** Clients that do not repeat what was allocated to them do not lose it; the two spellings of the address agree. */
function keepAllocated(next: FullSpec, old: FullSpec | undefined): FullSpec {
  const { clusterIP = "", clusterIPs = [] } = next;
  if (old === undefined) {
    return clusterIP !== "" && clusterIPs.length === 0
      ? { ...next, clusterIPs: [clusterIP] }
      : next;
  }
  if (old.type === "ExternalName" || next.type === "ExternalName") {
    return clusterIP !== "" && clusterIPs.length === 0
      ? { ...next, clusterIPs: [clusterIP] }
      : next;
  }
  const oldIp = old.clusterIP ?? "";
  const ip = clusterIP === "" ? oldIp : clusterIP;
  let ips = clusterIPs.length === 0 && ip === oldIp ? (old.clusterIPs ?? []) : clusterIPs;
  if (ip !== oldIp && (ips.length === 0 || equalJson(ips, old.clusterIPs ?? []))) ips = [ip];
  return { ...next, clusterIP: ip, clusterIPs: ips, ports: keepNodePorts(next, old) };
}

function keepNodePorts(next: FullSpec, old: FullSpec): readonly ServicePort[] {
  const ports = next.ports ?? [];
  if (!needsNodePorts(next) || !needsNodePorts(old)) return ports;
  const named = new Map((old.ports ?? []).map(({ name, nodePort }) => [name ?? "", nodePort ?? 0]));
  const used = new Set(ports.map(({ nodePort }) => nodePort ?? 0));
  return ports.map((port) => {
    const before = named.get(port.name ?? "") ?? 0;
    if ((port.nodePort ?? 0) !== 0 || before === 0 || used.has(before)) return port;
    used.add(before);
    return { ...port, nodePort: before };
  });
}

function chooseFamilies(
  allocator: ServiceAllocator,
  object: KubeObject,
  spec: FullSpec,
  old: FullSpec | undefined,
): FullSpec {
  const isHeadless = spec.clusterIP === HEADLESS;
  const isBare = isHeadless && Object.keys(spec.selector ?? {}).length === 0;
  const policy =
    spec.ipFamilyPolicy ?? old?.ipFamilyPolicy ?? (isBare ? "RequireDualStack" : "SingleStack");
  const failures: FieldFailure[] = [...validateClusterIPs(spec)];
  refuse(object, failures);
  let ips = spec.clusterIPs ?? [];
  let families: readonly IPFamily[] = spec.ipFamilies ?? [];
  const complain = (why: string): void => {
    failures.push(invalidValue("spec.ipFamilyPolicy", policy, why));
  };
  if (old !== undefined && policy === "SingleStack") {
    // Asking for one stack and nothing else is clear: the first address stays.
    if (equalJson(ips, old.clusterIPs ?? [])) ips = ips.slice(0, 1);
    if (equalJson(families, old.ipFamilies ?? [])) families = families.slice(0, 1);
  } else if (old !== undefined) {
    if (ips.length === 1 && ips[0] === old.clusterIPs?.[0] && (old.clusterIPs?.length ?? 0) > 1) {
      complain("must be 'SingleStack' to release the secondary cluster IP");
    }
    if (
      families.length === 1 &&
      (old.ipFamilies?.length ?? 0) > 1 &&
      families[0] === old.ipFamilies?.[0]
    ) {
      complain("must be 'SingleStack' to release the secondary IP family");
    }
  }
  if (policy === "SingleStack") {
    const dual = "must be 'RequireDualStack' or 'PreferDualStack' when multiple";
    if (ips.length === 2) complain(`${dual} cluster IPs are specified`);
    if (families.length === 2) complain(`${dual} IP families are specified`);
  }
  for (const [at, ip] of ips.entries()) {
    const family = parseAddress(ip)?.family;
    if (family === undefined || at < families.length) continue;
    if (allocator.ranges.has(family)) families = [...families, family];
    else {
      const why = `${family} is not configured on this cluster`;
      failures.push(invalidValue(`spec.clusterIPs[${at}]`, ips, why));
    }
  }
  refuse(object, failures);
  if (!isBare) {
    if (policy === "RequireDualStack" && !allocator.isDual) {
      complain("this cluster is not configured for dual-stack services");
    }
    for (const [at, family] of families.entries()) {
      if (allocator.ranges.has(family)) continue;
      failures.push(
        invalidValue(`spec.ipFamilies[${at}]`, family, "not configured on this cluster"),
      );
    }
    refuse(object, failures);
  }
  const first = families[0] ?? allocator.primary;
  const isDual = policy !== "SingleStack" && (isBare || allocator.isDual);
  const both: readonly IPFamily[] = [first, first === "IPv4" ? "IPv6" : "IPv4"];
  return {
    ...spec,
    clusterIPs: ips,
    ipFamilyPolicy: policy,
    ipFamilies: families.length === 2 ? families : isDual ? both : [first],
  };
}

function allocateAddresses(
  allocator: ServiceAllocator,
  object: KubeObject,
  spec: FullSpec,
  old: FullSpec | undefined,
): FullSpec {
  const asked = spec.clusterIPs ?? [];
  if (asked[0] === HEADLESS || old?.clusterIPs?.[0] === HEADLESS) return spec;
  const held = old?.type === "ExternalName" ? [] : (old?.clusterIPs ?? []);
  const clusterIPs = (spec.ipFamilies ?? []).map((family, at) => {
    const ip = asked[at] ?? "";
    if (ip === "") {
      const chosen = allocator.chooseAddress(family);
      if (chosen !== undefined) return chosen;
      throw new ApiError({
        status: 500,
        reason: "InternalError",
        message: "Internal error occurred: failed to allocate a serviceIP: range is full",
      });
    }
    // A change of a held address is refused by validation, whose words are better.
    if (held.includes(ip) || (held[at] ?? "") !== "") return ip;
    const why = allocator.refuseAddress(ip, family);
    if (why === undefined) return ip;
    throw refusal(object, [
      invalidValue("spec.clusterIPs", asked, `failed to allocate IP ${ip}: ${why}`),
    ]);
  });
  return { ...spec, clusterIP: clusterIPs[0] ?? "", clusterIPs };
}

function allocateNodePorts(
  allocator: ServiceAllocator,
  object: KubeObject,
  spec: FullSpec,
  before: KubeObject | undefined,
): FullSpec {
  if (!needsNodePorts(spec)) return spec;
  const held = new Set(before === undefined ? [] : nodePortsOf(before));
  const taken = new Set((spec.ports ?? []).map(({ nodePort }) => nodePort ?? 0));
  const ports = (spec.ports ?? []).map((port, at) => {
    if ((port.nodePort ?? 0) !== 0) {
      const why = allocator.refuseNodePort(port.nodePort ?? 0, held);
      if (why === undefined) return port;
      throw refusal(object, [invalidValue(`spec.ports[${at}].nodePort`, port.nodePort, why)]);
    }
    const nodePort = allocator.chooseNodePort(taken);
    if (nodePort === undefined) {
      const why = "failed to allocate a nodePort: range is full";
      throw refusal(object, [invalidValue(`spec.ports[${at}].nodePort`, 0, why)]);
    }
    taken.add(nodePort);
    return { ...port, nodePort };
  });
  return { ...spec, ports };
}

function needsNodePorts(spec: FullSpec): boolean {
  if (spec.type === "NodePort") return true;
  return spec.type === "LoadBalancer" && spec.allocateLoadBalancerNodePorts !== false;
}

/** What the old type needed and the new one does not, unless the client also changed it. */
function dropUnused(next: FullSpec, old: FullSpec): FullSpec {
  let spec: FullSpec = next;
  if (old.type !== "ExternalName" && next.type === "ExternalName") {
    const { clusterIP, clusterIPs, ipFamilies, ipFamilyPolicy, internalTrafficPolicy, ...rest } =
      spec;
    const sameIps =
      (clusterIP ?? "") === (old.clusterIP ?? "") &&
      equalJson(clusterIPs ?? [], old.clusterIPs ?? []);
    spec = {
      ...rest,
      ...(sameIps ? {} : { clusterIP: clusterIP ?? "", clusterIPs: clusterIPs ?? [] }),
      ...(equalJson(ipFamilies ?? [], old.ipFamilies ?? [])
        ? {}
        : { ipFamilies: ipFamilies ?? [] }),
      ...(ipFamilyPolicy === undefined || ipFamilyPolicy === old.ipFamilyPolicy
        ? {}
        : { ipFamilyPolicy }),
      ...(internalTrafficPolicy === undefined || internalTrafficPolicy === old.internalTrafficPolicy
        ? {}
        : { internalTrafficPolicy }),
    };
  }
  const sameNodePorts = equalJson(portNumbers(next), portNumbers(old));
  if (needsNodePorts(old) && !needsNodePorts(next) && sameNodePorts) {
    spec = { ...spec, ports: (spec.ports ?? []).map(({ nodePort: _port, ...port }) => port) };
  }
  if (
    isExternal(old) &&
    !isExternal(next) &&
    next.externalTrafficPolicy === old.externalTrafficPolicy
  ) {
    const { externalTrafficPolicy: _policy, ...rest } = spec;
    spec = rest;
  }
  if (old.type === "LoadBalancer" && next.type !== "LoadBalancer") {
    const { allocateLoadBalancerNodePorts: _allocate, ...rest } = spec;
    spec = rest;
  }
  return spec;
}

function portNumbers(spec: FullSpec): number[] {
  return (spec.ports ?? []).map(({ nodePort }) => nodePort ?? 0).filter((port) => port !== 0);
}

function isExternal(spec: FullSpec): boolean {
  return spec.type === "NodePort" || spec.type === "LoadBalancer";
}

function refuse(object: KubeObject, failures: readonly FieldFailure[]): void {
  if (failures.length > 0) throw refusal(object, failures);
}

function refusal(object: KubeObject, failures: readonly FieldFailure[]): ApiError {
  return invalid({ group: "", kind: "Service" }, object.metadata.name ?? "", failures);
}
