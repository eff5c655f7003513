// Built-in behaviour: rules of the kinds without a controller (ConfigMap, Secret, ServiceAccount, Node, Event, Lease). Pure.

import type { KubeObject } from "../../api/object.ts";
import { forbidden, invalid } from "../schema/failure.ts";
import { equalJson } from "../json.ts";
import { jsonOf } from "../metadata.ts";
import { checkSubdomainName } from "../name.ts";
import type { Rules } from "../rules.ts";
import { badRequest } from "../status.ts";
import { partOf } from "../system.ts";
import type { FieldFailure } from "../types.ts";

const KEY = /^[-._a-zA-Z0-9]+$/;
const KEY_RULE =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** metav1.MicroTime: six digits, no more, no less. */
const MICRO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(?:Z|[+-]\d\d:\d\d)$/;

function validateKeys(object: KubeObject, field: string): FieldFailure[] {
  return Object.keys(partOf(object, field))
    .filter((key) => !KEY.test(key) || key.length > 253)
    .map((key) => invalid(`${field}[${key}]`, key, KEY_RULE));
}

function refuseImmutable(
  next: KubeObject,
  old: KubeObject,
  fields: readonly string[],
): FieldFailure[] {
  const before = jsonOf(old);
  const after = jsonOf(next);
  if (before["immutable"] !== true) return [];
  const why = "field is immutable when `immutable` is set";
  return ["immutable", ...fields]
    .filter((field) => !equalJson(before[field], after[field]))
    .map((field) => forbidden(field, why));
}

export const CONFIG_MAP_RULES: Rules = {
  checkName: checkSubdomainName,
  unconditionalUpdate: true,
  validate: (object) => [...validateKeys(object, "data"), ...validateKeys(object, "binaryData")],
  validateUpdate: (next, old) => refuseImmutable(next, old, ["data", "binaryData"]),
};

export const SECRET_RULES: Rules = {
  checkName: checkSubdomainName,
  unconditionalUpdate: true,
  selectableFields: ["type"],
  applyDefaults: (object) => {
    const { stringData: _text, ...rest } = jsonOf(object);
    const data = { ...partOf(object, "data") };
    for (const value of Object.values(data)) {
      if (typeof value !== "string" || BASE64.test(value.replaceAll(/[\r\n]/g, ""))) continue;
      throw badRequest(
        'Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 0',
      );
    }
    for (const [key, value] of Object.entries(partOf(object, "stringData"))) {
      data[key] = Buffer.from(String(value)).toString("base64");
    }
    const plain = { ...rest, type: rest["type"] ?? "Opaque" };
    const whole = Object.keys(data).length === 0 ? plain : { ...plain, data };
    return whole as unknown as KubeObject;
  },
  validate: (object) => validateKeys(object, "data"),
  validateUpdate: (next, old) => [
    ...(jsonOf(next)["type"] === jsonOf(old)["type"]
      ? []
      : [invalid("type", jsonOf(next)["type"], "field is immutable")]),
    ...refuseImmutable(next, old, ["data"]),
  ],
};

export const SERVICE_ACCOUNT_RULES: Rules = {
  checkName: checkSubdomainName,
  unconditionalUpdate: true,
  returnsDeleted: true,
};

export const NODE_RULES: Rules = {
  checkName: checkSubdomainName,
  unconditionalUpdate: true,
  keepsStatusOnCreate: true,
  selectableFields: ["spec.unschedulable"],
  validate: () => [],
};

export const EVENT_RULES: Rules = {
  checkName: checkSubdomainName,
  createOnUpdate: true,
  unconditionalUpdate: true,
  selectableFields: [
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "type",
    // Of the same objects under events.k8s.io.
    "regarding.kind",
    "regarding.namespace",
    "regarding.name",
    "regarding.uid",
    "reportingController",
  ],
  validate: (object) => {
    const about = partOf(object, "involvedObject");
    const regarding = partOf(object, "regarding");
    const field = "regarding" in object ? "regarding" : "involvedObject";
    const namespace = (about["namespace"] ?? regarding["namespace"] ?? "") as string;
    const own = object.metadata.namespace ?? "";
    const fits = namespace === own || (namespace === "" && own === "default");
    if (fits || namespace === "") {
      return fits
        ? []
        : [invalid(`${field}.namespace`, namespace, "does not match event.namespace")];
    }
    return [invalid(`${field}.namespace`, namespace, "does not match event.namespace")];
  },
};

export const LEASE_RULES: Rules = {
  checkName: checkSubdomainName,
  createOnUpdate: true,
  applyDefaults: (object) => {
    const spec = partOf(object, "spec");
    for (const field of ["acquireTime", "renewTime"]) {
      const time = spec[field];
      if (typeof time !== "string" || MICRO_TIME.test(time)) continue;
      throw badRequest(
        `Lease in version "v1" cannot be handled as a Lease: parsing time ${JSON.stringify(time)} as "2006-01-02T15:04:05.000000Z07:00": cannot parse it`,
      );
    }
    return object;
  },
  validate: (object) => {
    const { leaseDurationSeconds, leaseTransitions } = partOf(object, "spec");
    const failures: FieldFailure[] = [];
    if (typeof leaseDurationSeconds === "number" && leaseDurationSeconds <= 0) {
      const field = "spec.leaseDurationSeconds";
      failures.push(invalid(field, leaseDurationSeconds, "must be greater than 0"));
    }
    if (typeof leaseTransitions === "number" && leaseTransitions < 0) {
      const field = "spec.leaseTransitions";
      failures.push(invalid(field, leaseTransitions, "must be greater than or equal to 0"));
    }
    return failures;
  },
};
