// Built-in behaviour: what a Service must look like, in the real server's words. Pure.

import type { ServicePort, ServiceSpec } from "../../api/builtin.ts";
import type { KubeObject } from "../../api/object.ts";
import { parseAddress } from "../address.ts";
import { duplicate, forbidden, invalid, notSupported, required } from "../schema/failure.ts";
import { validateLabels } from "../metadata.ts";
import { checkLabelName, checkPortName, checkQualifiedName, checkSubdomainName } from "../name.ts";
import { partOf } from "../system.ts";
import type { FieldFailure } from "../types.ts";

const TYPES = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const PROTOCOLS = ["SCTP", "TCP", "UDP"];
const FAMILIES = ["IPv4", "IPv6"];
const POLICIES = ["PreferDualStack", "RequireDualStack", "SingleStack"];
const DISTRIBUTIONS = ["PreferClose", "PreferSameZone", "PreferSameNode"];
const HEADLESS = "None";
const BAD_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

type Spec = ServiceSpec & { readonly allocateLoadBalancerNodePorts?: boolean };

export function validateService(object: KubeObject): readonly FieldFailure[] {
  const spec = partOf(object, "spec") as Spec;
  const { type = "", ports = [] } = spec;
  const failures: FieldFailure[] = [];
  const isHeadless = spec.clusterIPs?.[0] === HEADLESS;
  if (ports.length === 0 && !isHeadless && type !== "ExternalName") {
    failures.push(required("spec.ports"));
  }
  if (isHeadless && (type === "NodePort" || type === "LoadBalancer")) {
    const why = `may not be set to 'None' for ${type} services`;
    failures.push(invalid("spec.clusterIPs[0]", HEADLESS, why));
  }
  if (type === "ExternalName") failures.push(...validateExternalName(spec));
  failures.push(...validatePorts(ports));
  failures.push(...validateLabels(spec.selector ?? {}, "spec.selector"));
  failures.push(...validateAffinity(spec));
  failures.push(...validateClusterIPs(spec));
  if (!TYPES.includes(type)) failures.push(notSupported("spec.type", type, TYPES));
  for (const [at, port] of ports.entries()) {
    if (type !== "ClusterIP" || (port.nodePort ?? 0) === 0) continue;
    const why = "may not be used when `type` is 'ClusterIP'";
    failures.push(forbidden(`spec.ports[${at}].nodePort`, why));
  }
  failures.push(...validateDuplicates(ports));
  if (spec.allocateLoadBalancerNodePorts !== undefined && type !== "LoadBalancer") {
    const why = "may only be used when `type` is 'LoadBalancer'";
    failures.push(forbidden("spec.allocateLoadBalancerNodePorts", why));
  }
  const policy = spec.internalTrafficPolicy;
  if (policy !== undefined && policy !== "Cluster" && policy !== "Local") {
    failures.push(notSupported("spec.internalTrafficPolicy", policy, ["Cluster", "Local"]));
  }
  const spread = spec.trafficDistribution;
  if (spread !== undefined && !DISTRIBUTIONS.includes(spread)) {
    failures.push(notSupported("spec.trafficDistribution", spread, DISTRIBUTIONS));
  }
  failures.push(...validateStatus(object, type));
  return failures;
}

function validateExternalName(spec: Spec): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const why = "may not be set for ExternalName services";
  if ((spec.clusterIPs ?? []).length > 0) failures.push(forbidden("spec.clusterIPs", why));
  if ((spec.ipFamilies ?? []).length > 0) failures.push(forbidden("spec.ipFamilies", why));
  if (spec.ipFamilyPolicy !== undefined) failures.push(forbidden("spec.ipFamilyPolicy", why));
  const name = (spec.externalName ?? "").replace(/\.$/, "");
  if (name === "") failures.push(required("spec.externalName"));
  else {
    failures.push(
      ...checkSubdomainName(name).map((text) => invalid("spec.externalName", name, text)),
    );
  }
  return failures;
}

function validatePorts(ports: readonly ServicePort[]): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const names = new Set<string>();
  for (const [at, port] of ports.entries()) {
    const path = `spec.ports[${at}]`;
    const name = port.name ?? "";
    if (name === "" && ports.length > 1) failures.push(required(`${path}.name`));
    else if (name !== "") {
      failures.push(...checkLabelName(name).map((why) => invalid(`${path}.name`, name, why)));
      if (names.has(name)) failures.push(duplicate(`${path}.name`, name));
      names.add(name);
    }
    failures.push(...validatePortNumber(`${path}.port`, port.port ?? 0));
    const protocol = port.protocol ?? "";
    if (!PROTOCOLS.includes(protocol)) {
      failures.push(notSupported(`${path}.protocol`, protocol, PROTOCOLS));
    }
    const target = port.targetPort ?? 0;
    failures.push(
      ...(typeof target === "number"
        ? validatePortNumber(`${path}.targetPort`, target)
        : checkPortName(target).map((why) => invalid(`${path}.targetPort`, target, why))),
    );
    if (port.appProtocol !== undefined) {
      const { appProtocol } = port;
      const complaints = checkQualifiedName(appProtocol);
      failures.push(...complaints.map((why) => invalid(`${path}.appProtocol`, appProtocol, why)));
    }
  }
  return failures;
}

export function validatePortNumber(field: string, port: number): FieldFailure[] {
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return [];
  return [invalid(field, port, "must be between 1 and 65535, inclusive")];
}

function validateDuplicates(ports: readonly ServicePort[]): FieldFailure[] {
  const failures: FieldFailure[] = [];
  const nodePorts = new Set<string>();
  const numbers = new Set<string>();
  for (const [at, port] of ports.entries()) {
    const nodeKey = `${port.protocol}/${port.nodePort ?? 0}`;
    if ((port.nodePort ?? 0) !== 0) {
      if (nodePorts.has(nodeKey)) {
        failures.push(duplicate(`spec.ports[${at}].nodePort`, port.nodePort));
      }
      nodePorts.add(nodeKey);
    }
  }
  for (const [at, port] of ports.entries()) {
    const key = `${port.protocol}/${port.port}`;
    if (numbers.has(key)) {
      // The real server shows its own struct here, with only the two fields that clash.
      const shown = {
        Name: "",
        Protocol: port.protocol,
        AppProtocol: null,
        Port: port.port,
        TargetPort: 0,
        NodePort: 0,
      };
      failures.push(duplicate(`spec.ports[${at}]`, shown));
    }
    numbers.add(key);
  }
  return failures;
}

function validateAffinity(spec: Spec): FieldFailure[] {
  const affinity = spec.sessionAffinity ?? "";
  if (affinity !== "ClientIP" && affinity !== "None") {
    return [notSupported("spec.sessionAffinity", affinity, ["ClientIP", "None"])];
  }
  const seconds = spec.sessionAffinityConfig?.clientIP?.timeoutSeconds;
  if (affinity === "None" || seconds === undefined) return [];
  if (seconds > 0 && seconds <= 86_400) return [];
  const field = "spec.sessionAffinityConfig.clientIP.timeoutSeconds";
  return [invalid(field, seconds, "must be greater than 0 and less than 86400")];
}

/** Addresses, families and policy agree with each other. */
export function validateClusterIPs(spec: ServiceSpec): FieldFailure[] {
  if (spec.type === "ExternalName") return [];
  const failures: FieldFailure[] = [];
  const { clusterIP = "", clusterIPs = [], ipFamilies = [], ipFamilyPolicy } = spec;
  if (clusterIP !== "") {
    if (clusterIPs.length === 0) failures.push(required("spec.clusterIPs"));
    else if (clusterIPs[0] !== clusterIP) {
      failures.push(invalid("spec.clusterIPs", clusterIPs, "first value must match `clusterIP`"));
    }
  } else if (clusterIPs.length > 0) {
    const why = "must be empty when `clusterIP` is not specified";
    failures.push(invalid("spec.clusterIPs", clusterIPs, why));
  }
  const seen = new Set<string>();
  for (const [at, family] of ipFamilies.entries()) {
    const path = `spec.ipFamilies[${at}]`;
    if (!FAMILIES.includes(family)) failures.push(notSupported(path, family, FAMILIES));
    if (seen.has(family)) failures.push(duplicate(path, family));
    seen.add(family);
  }
  if (ipFamilyPolicy !== undefined && !POLICIES.includes(ipFamilyPolicy)) {
    failures.push(notSupported("spec.ipFamilyPolicy", ipFamilyPolicy, POLICIES));
  }
  const bad = validateAddresses(clusterIPs);
  failures.push(...bad);
  if (clusterIPs.length > 2) {
    failures.push(invalid("spec.clusterIPs", clusterIPs, "may only hold up to 2 values"));
  }
  if (bad.length > 0) return failures;
  const families = clusterIPs.map((ip) => parseAddress(ip)?.family);
  if (clusterIPs.length > 1 && new Set(families).size !== clusterIPs.length) {
    const why = "may specify no more than one IP for each IP family";
    failures.push(invalid("spec.clusterIPs", clusterIPs, why));
  }
  for (const [at, ip] of clusterIPs.entries()) {
    const expected = ipFamilies[at];
    if (ip === HEADLESS || expected === undefined || families[at] === expected) continue;
    const why = `expected an ${expected} value as indicated by \`ipFamilies[${at}]\``;
    failures.push(invalid(`spec.clusterIPs[${at}]`, ip, why));
  }
  return failures;
}

function validateAddresses(clusterIPs: readonly string[]): FieldFailure[] {
  const failures: FieldFailure[] = [];
  for (const [at, ip] of clusterIPs.entries()) {
    if (at === 0 && ip === HEADLESS) {
      if (clusterIPs.length > 1) {
        const why = "'None' must be the first and only value";
        failures.push(invalid("spec.clusterIPs", clusterIPs, why));
      }
    } else if (parseAddress(ip) === undefined) {
      failures.push(invalid(`spec.clusterIPs[${at}]`, ip, BAD_ADDRESS));
    }
  }
  return failures;
}

function validateStatus(object: KubeObject, type: string): FieldFailure[] {
  const balancer = partOf(object, "status")["loadBalancer"] as
    | { readonly ingress?: readonly unknown[] }
    | undefined;
  if (type === "LoadBalancer" || (balancer?.ingress ?? []).length === 0) return [];
  const why = "may only be used when `spec.type` is 'LoadBalancer'";
  return [forbidden("status.loadBalancer.ingress", why)];
}

/** Primary address and family stay for life, except on the way from or to ExternalName. */
export function validateServiceUpdate(next: ServiceSpec, old: ServiceSpec): FieldFailure[] {
  if (next.type === "ExternalName" || old.type === "ExternalName") return [];
  const failures: FieldFailure[] = [];
  const before = old.clusterIPs ?? [];
  const after = next.clusterIPs ?? [];
  const wasHeadless = before.length === 1 && before[0] === HEADLESS;
  const isHeadless = after.length === 1 && after[0] === HEADLESS;
  if (wasHeadless && isHeadless) return [];
  const compared = before.length === after.length ? before.length : Math.min(1, before.length);
  for (let at = 0; at < compared; at++) {
    if (after[at] === before[at]) continue;
    const why =
      after.length === 0 ? "primary clusterIP can not be unset" : "may not change once set";
    failures.push(invalid(`spec.clusterIPs[${at}]`, after, why));
  }
  if (wasHeadless || isHeadless) return failures;
  const oldFamilies = old.ipFamilies ?? [];
  const newFamilies = next.ipFamilies ?? [];
  const sameLength = oldFamilies.length === newFamilies.length;
  for (let at = 0; at < (sameLength ? oldFamilies.length : Math.min(1, oldFamilies.length)); at++) {
    if (newFamilies[at] === oldFamilies[at]) continue;
    failures.push(invalid("spec.ipFamilies[0]", newFamilies, "may not change once set"));
  }
  return failures;
}
