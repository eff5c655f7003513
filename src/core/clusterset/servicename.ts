// Clusterset: a service as a person types it in, its key out: "web", "shop/web", "web.shop", or any DNS name of it.

import { type Parsed, type ServiceKey, serviceKey } from "../../api/names.ts";
import { isDnsLabel, quote } from "../untrusted.ts";

const KINDS =
  /^(?:svc|service|services|serviceexports?|serviceimports?|svcex|svcim|svcexport|svcimport)\//;

export function parseServiceName(text: string, namespace: string): Parsed<ServiceKey> {
  const plain = text.trim().toLowerCase().replace(/\.$/, "");
  const parts = splitName(plain, namespace);
  const isName = parts !== undefined && isDnsLabel(parts.namespace) && isDnsLabel(parts.name);
  if (isName) return { ok: true, value: serviceKey(parts) };
  // Not of the name itself: that of -n, or of the context.
  if (parts?.namespace === namespace && isDnsLabel(parts.name)) {
    return { ok: false, problem: `${quote(namespace)} cannot be a namespace.` };
  }
  const problem = `${quote(text)} names no service: write it as web, shop/web or web.shop.svc.clusterset.local.`;
  return { ok: false, problem };
}

function splitName(
  text: string,
  fallback: string,
): { readonly namespace: string; readonly name: string } | undefined {
  // "service/web" means a kind, as kubectl has it: of a namespace of that name it is web.service.
  const [namespace, name, ...rest] = text.split("/");
  if (name !== undefined) {
    if (rest.length > 0 || namespace === undefined) return undefined;
    return KINDS.test(text) ? { namespace: fallback, name } : { namespace, name };
  }
  const labels = text.split(".");
  const svc = labels.indexOf("svc");
  if (svc >= 2) {
    // Whatever stands in front of the service names a port, or an endpoint and its cluster.
    const [service = "", space = ""] = labels.slice(svc - 2, svc);
    return { namespace: space, name: service };
  }
  if (svc >= 0 || labels.length > 2) return undefined;
  const [service = "", space = fallback] = labels;
  return { namespace: space, name: service };
}
