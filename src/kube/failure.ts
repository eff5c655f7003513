// Client: whatever went wrong on the way to an API server → a StoreError for controllers, a Problem for people.
// Looks at error codes, never at message text; repeats no header, token or URL with a password.

import { X509Certificate } from "node:crypto";
import { errors } from "undici";
import { isProblem, Problem, type ProblemCode } from "../api/problem.ts";
import { StoreError } from "../ports/store.ts";
import type { ClusterConfig } from "./connection.ts";
import { renderUrl } from "./proxy.ts";
import { isRecord } from "./record.ts";

interface Explanation {
  readonly problem: ProblemCode;
  readonly says: string;
  readonly hint: string;
}

const UNREACHABLE_HINT = "Check that the cluster runs and that its address is right.";
const ROUTE_HINT = "Check the network, the VPN and firewalls between here and the cluster.";
const TRUST_HINT = "Check certificate-authority of the kubeconfig: it must be this cluster's own.";
const CREDENTIAL_HINT = "Fetch a new kubeconfig, or log in again.";

function unreachable(says: string, hint: string): Explanation {
  return { problem: "ServerUnreachable", says, hint };
}
const CUT = unreachable("the connection was cut", UNREACHABLE_HINT);
const TIMED_OUT = unreachable("there was no answer in time", ROUTE_HINT);
const NO_ROUTE = unreachable("there is no route to it", ROUTE_HINT);
const CLOSED = unreachable("the client was closed", "Start again.");
const NAME_UNKNOWN: Explanation = {
  problem: "ServerNameUnknown",
  says: "its host name does not resolve",
  hint: "Check the server address for a typing error, and the DNS of this machine.",
};
const UNTRUSTED: Explanation = {
  problem: "CertificateUntrusted",
  says: "its certificate is not signed by the authority that the configuration trusts",
  hint: TRUST_HINT,
};
const NOT_TLS: Explanation = {
  problem: "ServerNotTls",
  says: "what answers there does not speak TLS",
  hint: "Check the port, and whether the address should begin with http://.",
};
const NOT_HTTP: Explanation = {
  problem: "ServerNotKubernetes",
  says: "what answers there does not speak HTTP",
  hint: "Check the port, and whether the address should begin with https://.",
};
const CLIENT_REFUSED: Explanation = {
  problem: "CredentialsRefused",
  says: "it refuses the client certificate",
  hint: CREDENTIAL_HINT,
};
const CLIENT_EXPIRED: Explanation = {
  problem: "ClientCertificateExpired",
  says: "the client certificate has expired",
  hint: CREDENTIAL_HINT,
};

const EXPLANATIONS: Readonly<Record<string, Explanation>> = {
  ECONNREFUSED: unreachable("the connection was refused", UNREACHABLE_HINT),
  ECONNRESET: CUT,
  EPIPE: CUT,
  UND_ERR_SOCKET: CUT,
  ETIMEDOUT: TIMED_OUT,
  UND_ERR_CONNECT_TIMEOUT: TIMED_OUT,
  EHOSTUNREACH: NO_ROUTE,
  ENETUNREACH: NO_ROUTE,
  EADDRNOTAVAIL: NO_ROUTE,
  ENOTFOUND: NAME_UNKNOWN,
  EAI_AGAIN: NAME_UNKNOWN,
  CERT_HAS_EXPIRED: {
    problem: "CertificateExpired",
    says: "its certificate has expired",
    hint: "Renew the API server's certificate, and check the clock of this machine.",
  },
  CERT_NOT_YET_VALID: {
    problem: "CertificateNotYetValid",
    says: "its certificate is not valid yet",
    hint: "Check the clock of this machine and of the API server.",
  },
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  CERT_SIGNATURE_FAILURE: UNTRUSTED,
  CERT_UNTRUSTED: UNTRUSTED,
  INVALID_CA: UNTRUSTED,
  INVALID_PURPOSE: UNTRUSTED,
  ERR_TLS_CERT_ALTNAME_INVALID: {
    problem: "CertificateNameMismatch",
    says: "its certificate is for another name or address",
    hint: "Use an address that the certificate names, or set tls-server-name in the kubeconfig.",
  },
  EPROTO: NOT_TLS,
  ERR_SSL_WRONG_VERSION_NUMBER: NOT_TLS,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: NOT_TLS,
  ERR_SSL_HTTP_REQUEST: NOT_TLS,
  HTTP_PARSER: NOT_HTTP,
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: CLIENT_REFUSED,
  ERR_SSL_TLSV1_ALERT_UNKNOWN_CA: CLIENT_REFUSED,
  ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE: CLIENT_REFUSED,
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_UNKNOWN: CLIENT_REFUSED,
  ERR_SSL_SSLV3_ALERT_CERTIFICATE_EXPIRED: CLIENT_EXPIRED,
  UND_ERR_DESTROYED: CLOSED,
  UND_ERR_CLOSED: CLOSED,
  UND_ERR_ABORTED: {
    problem: "ProxyFailed",
    says: "the proxy did not open a connection to it",
    hint: "Check proxy-url in the kubeconfig, or HTTPS_PROXY and NO_PROXY.",
  },
};

/** A request that got no answer. The caller knows whether it was aborted or too slow; this does not. */
export function toTransportError(error: unknown, attempted: string, server: string): StoreError {
  if (error instanceof StoreError) return error;
  if (error instanceof Problem) {
    const isIdentity = isProblem(error, "ExecPluginFailed", "CredentialFileUnreadable");
    return new StoreError(isIdentity ? "Unauthorized" : "Unreachable", error.message, {
      cause: error,
    });
  }
  const code = findCode(error);
  const says = explain(code)?.says ?? `the request failed${code === undefined ? "" : ` (${code})`}`;
  // A request that undici itself refuses can never succeed.
  const kind = code === "UND_ERR_INVALID_ARG" ? "BadRequest" : "Unreachable";
  return new StoreError(kind, `${renderUrl(server)}: ${says} (${attempted})`, { cause: error });
}

/** One sentence for the user: which server, from which kubeconfig and context, what is wrong, what to do. */
export function describeFailure(
  error: unknown,
  context: { readonly config?: ClusterConfig | undefined; readonly nowMs?: number } = {},
): Problem {
  const { config, nowMs } = context;
  const own = findProblem(error);
  const server = config === undefined ? "the API server" : renderServer(config);
  if (own !== undefined) {
    if (own.code !== "ServerNotKubernetes") return own;
    const hint = "Check the address: a login page or another service may answer there.";
    return new Problem(own.code, `${server} ${own.message}`, { hint, cause: error });
  }
  const code = findCode(error);
  if (code === "EADDRINUSE") return describePort(error);
  if (error instanceof StoreError && error.status >= 400) {
    return describeRefusal(error, server, { config, nowMs });
  }
  const found = explain(code) ?? (error instanceof StoreError ? TIMED_OUT : undefined);
  if (found === undefined) {
    const message = error instanceof Error ? error.message : String(error);
    const hint = "Please report it, with what you did.";
    return new Problem("Unexpected", `unexpected error: ${message}`, { hint, cause: error });
  }
  const via =
    config?.proxyUrl === undefined ? "" : ` through the proxy ${renderUrl(config.proxyUrl)}`;
  return new Problem(found.problem, `cannot reach ${server}${via}: ${found.says}`, {
    hint: found.hint,
    cause: error,
  });
}

/** 'https://10.0.0.1:6443 (context "east" of /home/me/.kube/config)'. */
function renderServer(config: ClusterConfig): string {
  const server = renderUrl(config.server);
  switch (config.source.kind) {
    case "kubeconfig":
      return `${server} (context "${config.source.context}" of ${config.source.files.join(", ")})`;
    case "in-cluster":
      return `${server} (this pod's service account)`;
    case "given":
      return server;
    default:
      return config.source satisfies never;
  }
}

function describeRefusal(
  error: StoreError,
  server: string,
  context: { readonly config: ClusterConfig | undefined; readonly nowMs: number | undefined },
): Problem {
  const details = { cause: error };
  if (error.code === "Unauthorized") {
    const ended = expiryOf(context.config);
    if (ended !== undefined && context.nowMs !== undefined && Date.parse(ended) < context.nowMs) {
      const message = `${server} refuses the client certificate: it expired on ${ended}`;
      return new Problem("ClientCertificateExpired", message, {
        ...details,
        hint: CREDENTIAL_HINT,
      });
    }
    const message = `${server} does not accept the credentials`;
    return new Problem("CredentialsRefused", message, { ...details, hint: CREDENTIAL_HINT });
  }
  if (error.code === "Forbidden") {
    const hint = "Ask the cluster's administrator for the missing role.";
    const message = `${server} does not allow it: ${error.message}`;
    return new Problem("PermissionDenied", message, { ...details, hint });
  }
  if (error.body === undefined && error.status < 500) {
    const hint = "Check the address, the port, and http against https.";
    const message = `${server} answered like no Kubernetes API: ${error.message}`;
    return new Problem("ServerNotKubernetes", message, { ...details, hint });
  }
  if (error.status >= 500 || error.code === "TooManyRequests") {
    const hint = "Try again; if it lasts, look at the API server's own log.";
    return new Problem("ServerFailed", `${server} failed: ${error.message}`, { ...details, hint });
  }
  return new Problem("RequestRefused", `${server} refused: ${error.message}`, details);
}

function describePort(error: unknown): Problem {
  const { address, port } = isRecord(error) ? error : {};
  const host = typeof address === "string" ? address : "";
  const where = typeof port === "number" ? `${host}:${port}` : "the address";
  const hint = "Stop the process that listens there, or choose another port.";
  return new Problem("PortInUse", `${where} is already in use`, { hint, cause: error });
}

/** End of the client certificate that stands in the configuration itself. */
function expiryOf(config: ClusterConfig | undefined): string | undefined {
  const pem = config?.tls.certificate?.certificate;
  if (pem === undefined || !("data" in pem)) return undefined;
  try {
    return new X509Certificate(pem.data).validTo;
  } catch {
    return undefined;
  }
}

function explain(code: string | undefined): Explanation | undefined {
  return code === undefined ? undefined : EXPLANATIONS[code];
}

function findProblem(error: unknown): Problem | undefined {
  for (const link of causes(error)) if (link instanceof Problem) return link;
  return undefined;
}

/** The first code down the chain that is the system's, TLS's or undici's rather than our own. */
function findCode(error: unknown): string | undefined {
  for (const link of causes(error)) {
    if (link instanceof StoreError || !isRecord(link)) continue;
    // The one error of undici that may come without a code.
    if (link instanceof errors.HTTPParserError) return "HTTP_PARSER";
    if (typeof link["code"] === "string") return link["code"];
  }
  return undefined;
}

/** The error, its cause, the cause of that …; bounded, because a chain can be a ring. */
function causes(error: unknown): unknown[] {
  const chain: unknown[] = [];
  let link: unknown = error;
  while (link !== undefined && chain.length < 8) {
    chain.push(link);
    if (link instanceof AggregateError && link.cause === undefined) link = link.errors[0];
    else link = link instanceof Error ? link.cause : undefined;
  }
  return chain;
}
