// Configuration: one context of a merged kubeconfig → a connection. Pure: names files, never opens them.

import { dirname, resolve } from "node:path";
import { Problem } from "../api/problem.ts";
import type {
  AuthConfig,
  ClusterConfig,
  Environment,
  ExecConfig,
  Impersonation,
  Pem,
  TlsConfig,
} from "./connection.ts";
import { invalidKubeconfig } from "./field.ts";
import {
  type ClusterEntry,
  type ExecEntry,
  type Kubeconfig,
  selectContext,
  type UserEntry,
} from "./kubeconfig.ts";
import { chooseProxy } from "./proxy.ts";

export function resolveKubeconfig(
  config: Kubeconfig,
  options: { readonly context?: string | undefined; readonly env: Environment },
): ClusterConfig {
  const { context, cluster, user } = selectContext(config, options.context);
  const tls = resolveTls(cluster, user);
  const server = resolveServer(cluster, tls);
  return {
    server,
    source: { kind: "kubeconfig", files: config.files, context: context.name },
    namespace: context.namespace ?? "default",
    tls,
    auth: user === undefined ? { kind: "none" } : resolveAuth(user, cluster, options.env),
    impersonation: user === undefined ? undefined : resolveImpersonation(user),
    proxyUrl: chooseProxy(new URL(server), cluster.proxyUrl, options.env),
    disableCompression: cluster.disableCompression,
  };
}

function resolveServer(cluster: ClusterEntry, tls: TlsConfig): string {
  const { server } = cluster;
  if (server === undefined) {
    throw invalidKubeconfig(`cluster "${cluster.name}" of ${cluster.file} names no server`);
  }
  const usesTls = tls.authority !== undefined || tls.certificate !== undefined || tls.insecure;
  const url = server.includes("://") ? server : `${usesTls ? "https" : "http"}://${server}`;
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    const where = `cluster "${cluster.name}" of ${cluster.file}`;
    throw invalidKubeconfig(`${where}: server must be an http or https URL`);
  }
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname.replace(/\/+$/, "")}`;
}

function resolveTls(cluster: ClusterEntry, user: UserEntry | undefined): TlsConfig {
  const authority = resolvePem(
    cluster.file,
    cluster.certificateAuthorityData,
    cluster.certificateAuthority,
  );
  if (cluster.insecureSkipTlsVerify && authority !== undefined) {
    throw invalidKubeconfig(
      `cluster "${cluster.name}" of ${cluster.file} both names a certificate authority and skips the check of it`,
    );
  }
  let certificate: TlsConfig["certificate"];
  if (user !== undefined) {
    const cert = resolvePem(user.file, user.clientCertificateData, user.clientCertificate);
    const key = resolvePem(user.file, user.clientKeyData, user.clientKey);
    if ((cert === undefined) !== (key === undefined)) {
      const lacking = cert === undefined ? "certificate" : "key";
      throw invalidKubeconfig(`user "${user.name}" of ${user.file} lacks the client ${lacking}`);
    }
    if (cert !== undefined && key !== undefined) certificate = { certificate: cert, key };
  }
  return {
    authority,
    certificate,
    serverName: cluster.tlsServerName,
    insecure: cluster.insecureSkipTlsVerify,
  };
}

function resolvePem(
  owner: string,
  data: string | undefined,
  file: string | undefined,
): Pem | undefined {
  if (data !== undefined) return { data };
  return file === undefined ? undefined : { file: resolve(dirname(owner), file) };
}

function resolveAuth(user: UserEntry, cluster: ClusterEntry, env: Environment): AuthConfig {
  if (user.tokenFile !== undefined) {
    return { kind: "tokenFile", file: resolve(dirname(user.file), user.tokenFile) };
  }
  if (user.token !== undefined) return { kind: "token", token: user.token };
  if (user.exec !== undefined) {
    return { kind: "exec", exec: resolveExec(user, user.exec, cluster, env) };
  }
  if (user.authProvider) {
    throw new Problem(
      "KubeconfigUnsupported",
      `user "${user.name}" of ${user.file} uses auth-provider, which Kubernetes removed in 1.26`,
      { hint: "Use an exec plugin: your cloud's command line tool can write one into the file." },
    );
  }
  if (user.username !== undefined) {
    return { kind: "basic", username: user.username, password: user.password ?? "" };
  }
  return { kind: "none" };
}

function resolveExec(
  user: UserEntry,
  entry: ExecEntry,
  cluster: ClusterEntry,
  env: Environment,
): ExecConfig {
  const where = `user "${user.name}" of ${user.file}`;
  const { apiVersion, command, interactiveMode = "IfAvailable" } = entry;
  if (command === undefined) throw invalidKubeconfig(`${where}: exec names no command`);
  if (
    apiVersion !== "client.authentication.k8s.io/v1" &&
    apiVersion !== "client.authentication.k8s.io/v1beta1"
  ) {
    throw invalidKubeconfig(
      `${where}: exec.apiVersion must be client.authentication.k8s.io/v1 or v1beta1`,
    );
  }
  if (
    interactiveMode !== "Never" &&
    interactiveMode !== "IfAvailable" &&
    interactiveMode !== "Always"
  ) {
    throw invalidKubeconfig(`${where}: exec.interactiveMode must be Never, IfAvailable or Always`);
  }
  return {
    apiVersion,
    // A bare name is looked up in PATH; a path starts from the file that names it.
    command: command.includes("/") ? resolve(dirname(user.file), command) : command,
    args: entry.args,
    env: entry.env,
    installHint: entry.installHint,
    provideClusterInfo: entry.provideClusterInfo,
    interactiveMode,
    clusterExtension: cluster.execExtension,
    environment: () => env,
  };
}

function resolveImpersonation(user: UserEntry): Impersonation | undefined {
  if (user.as === undefined) {
    if (user.asGroups.length === 0 && user.asUid === undefined) return undefined;
    throw invalidKubeconfig(`user "${user.name}" of ${user.file} sets as-groups but not as`);
  }
  return { user: user.as, uid: user.asUid, groups: user.asGroups, extra: user.asUserExtra };
}
