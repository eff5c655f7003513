// Configuration: which HTTP proxy, if any, stands between us and the API server. Pure.

import { BlockList, isIP } from "node:net";
import { Problem } from "../api/problem.ts";
import type { Environment } from "./connection.ts";

/** An explicit `proxy-url` wins over HTTPS_PROXY/HTTP_PROXY, which NO_PROXY limits, as with kubectl. */
export function chooseProxy(
  server: URL,
  explicit: string | undefined,
  env: Environment,
): string | undefined {
  if (explicit !== undefined) return checkProxy(explicit, "proxy-url");
  const name = server.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const fromEnv = env[name] ?? env[name.toLowerCase()];
  if (fromEnv === undefined || fromEnv === "" || isExempt(server, env)) return undefined;
  return checkProxy(fromEnv.includes("://") ? fromEnv : `http://${fromEnv}`, name);
}

/** Without user and password: safe to show. */
export function renderUrl(url: string): string {
  if (!URL.canParse(url)) return "(not a URL)";
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname === "/" ? "" : pathname}`;
}

function checkProxy(url: string, origin: string): string {
  const protocol = URL.canParse(url) ? new URL(url).protocol : undefined;
  if (protocol === "http:" || protocol === "https:") return url;
  if (protocol === undefined) {
    throw new Problem("KubeconfigInvalid", `${origin} is not a URL`, {
      hint: "Write it as http://host:port.",
    });
  }
  throw new Problem(
    "KubeconfigUnsupported",
    `${origin} asks for a proxy of kind ${protocol.slice(0, -1)}, and Isthmus speaks only to http and https proxies`,
    { hint: "Put an HTTP proxy in front of it, or forward a local port to the API server." },
  );
}

function isExempt(server: URL, env: Environment): boolean {
  const host = server.hostname.replace(/^\[|\]$/g, "").toLowerCase();
  if (host === "localhost" || host.startsWith("127.") || host === "::1") return true;
  const rules = (env["NO_PROXY"] ?? env["no_proxy"] ?? "").split(",");
  return rules.some((rule) => isMatch(host, server.port, rule.trim().toLowerCase()));
}

function isMatch(host: string, port: string, rule: string): boolean {
  if (rule === "") return false;
  if (rule === "*") return true;
  const [network, prefix] = rule.split("/");
  if (network !== undefined && prefix !== undefined) {
    const family = isIP(network) === 6 ? "ipv6" : "ipv4";
    const length = Number(prefix);
    if (isIP(network) === 0 || isIP(host) !== isIP(network) || !Number.isInteger(length)) {
      return false;
    }
    const list = new BlockList();
    list.addSubnet(network, length, family);
    return list.check(host, family);
  }
  if (isIP(rule) !== 0) return rule === host;
  const [name = "", rulePort] = rule.split(":");
  if (rulePort !== undefined && rulePort !== port) return false;
  const domain = name.replace(/^\*?\./, "");
  // ".example.org" covers names below it; "example.org" covers itself as well.
  return host.endsWith(`.${domain}`) || (domain === name && host === domain);
}
