// Configuration: kubeconfig files or a pod's service account → how to reach one cluster.
// Reads kubeconfig files once; certificate and token files are only named here, because they rotate.

import { existsSync, readFileSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { Problem } from "../api/problem.ts";
import type { ClusterConfig, Environment } from "./connection.ts";
import { mergeKubeconfigs, parseKubeconfig } from "./kubeconfig.ts";
import { chooseProxy } from "./proxy.ts";
import { resolveKubeconfig } from "./resolve.ts";

const SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";

/** `paths` must exist, each of them; of the KUBECONFIG list one is enough, as with kubectl. */
export function loadKubeconfig(options: {
  readonly paths?: readonly string[] | undefined;
  readonly context?: string | undefined;
  readonly env: Environment;
  readonly home: string;
}): ClusterConfig {
  const { env, home, context } = options;
  const explicit = options.paths ?? [];
  const fromEnv = (env["KUBECONFIG"] ?? "").split(delimiter).filter((path) => path !== "");
  const candidates =
    explicit.length > 0 ? explicit : fromEnv.length > 0 ? fromEnv : [join(home, ".kube", "config")];
  const missing = candidates.filter((path) => !existsSync(path));
  if (missing.length === candidates.length || (explicit.length > 0 && missing.length > 0)) {
    throw new Problem("KubeconfigMissing", `there is no kubeconfig at ${missing.join(", ")}`, {
      hint: "Name a file with --kubeconfig or KUBECONFIG; ~/.kube/config is the default.",
    });
  }
  const present = candidates.filter((path) => !missing.includes(path)).map((path) => resolve(path));
  const configs = [...new Set(present)].map((file) => parseKubeconfig(readText(file), file));
  return resolveKubeconfig(mergeKubeconfigs(configs), { context, env });
}

/** `readFile` throws when there is no such file. */
export function inClusterConfig(options: {
  readonly env: Environment;
  readonly readFile?: (path: string) => string;
}): ClusterConfig {
  const { env } = options;
  const readFile = options.readFile ?? ((path: string): string => readFileSync(path, "utf8"));
  const host = env["KUBERNETES_SERVICE_HOST"];
  const port = env["KUBERNETES_SERVICE_PORT"];
  const hint = "Run it in a pod with a service account, or give a kubeconfig.";
  if (!host || !port) {
    const message = "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set";
    throw new Problem("NotInCluster", message, { hint });
  }
  const tokenFile = `${SERVICE_ACCOUNT}/token`;
  let namespace: string;
  try {
    readFile(tokenFile);
    namespace = readFile(`${SERVICE_ACCOUNT}/namespace`).trim();
  } catch (cause) {
    const message = `the service account files in ${SERVICE_ACCOUNT} cannot be read`;
    throw new Problem("NotInCluster", message, { hint, cause });
  }
  const server = `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
  return {
    server,
    source: { kind: "in-cluster" },
    namespace,
    tls: { authority: { file: `${SERVICE_ACCOUNT}/ca.crt` } },
    auth: { kind: "tokenFile", file: tokenFile },
    proxyUrl: chooseProxy(new URL(server), undefined, env),
    disableCompression: false,
  };
}

/** For servers that we started ourselves, whose address and certificates we already hold. */
export function directConfig(
  fields: Pick<ClusterConfig, "server"> & Partial<ClusterConfig>,
): ClusterConfig {
  return {
    source: { kind: "given" },
    namespace: "default",
    tls: {},
    auth: { kind: "none" },
    disableCompression: false,
    ...fields,
  };
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    throw new Problem("KubeconfigInvalid", `${file} cannot be read`, {
      hint: "Check that it is a file and that this user may read it.",
      cause,
    });
  }
}
