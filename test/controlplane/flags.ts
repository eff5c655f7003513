// The daemons' command lines, and why each flag is there. Pure.

import { join } from "node:path";
import type { Credentials } from "./credentials.ts";

export function etcdFlags(folder: string): readonly string[] {
  const clientUrl = `unix://${join(folder, "etcd.sock")}`;
  // Etcd wants a peer address although it is alone; the system picks the port, and nobody needs to know it.
  const peerUrl = "http://127.0.0.1:0";
  return [
    `--data-dir=${join(folder, "etcd")}`,
    // Nothing of a test has to survive a power cut.
    "--unsafe-no-fsync",
    `--listen-client-urls=${clientUrl}`,
    `--advertise-client-urls=${clientUrl}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=default=${peerUrl}`,
    "--log-level=warn",
  ];
}

export function apiserverFlags(options: {
  readonly folder: string;
  readonly credentials: Credentials;
  readonly serviceCidrs: readonly [string, string];
  readonly port: number;
  /** Where others find it, in a network of its own; absent: on loopback only. */
  readonly address?: string | undefined;
}): readonly string[] {
  const { folder, credentials, serviceCidrs, port, address } = options;
  const loopback = [
    "--bind-address=127.0.0.1",
    // The default is the host's own address: nothing of a test may be found from outside.
    "--advertise-address=127.0.0.1",
    // A loopback address is refused in the endpoints of the `kubernetes` Service, and the retries fill the log.
    "--endpoint-reconciler-type=none",
  ];
  return [
    `--etcd-servers=unix://${join(folder, "etcd.sock")}`,
    ...(address === undefined ? loopback : ["--bind-address=::", `--advertise-address=${address}`]),
    `--secure-port=${port}`,
    `--cert-dir=${folder}`,
    `--tls-cert-file=${credentials.servingCertFile}`,
    `--tls-private-key-file=${credentials.servingKeyFile}`,
    `--client-ca-file=${credentials.caFile}`,
    `--token-auth-file=${credentials.tokenFile}`,
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${credentials.serviceAccountKeyFile}`,
    `--service-account-signing-key-file=${credentials.serviceAccountKeyFile}`,
    `--service-cluster-ip-range=${serviceCidrs.join()}`,
    "--authorization-mode=Node,RBAC",
  ];
}

/** Who asked what, by credential: the one witness that a process which has to keep silent cannot talk to. */
export const AUDIT_POLICY = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  // Administrators and the server itself are no suspects, and would fill the file.
  rules: [{ level: "Metadata", userGroups: ["system:serviceaccounts"] }, { level: "None" }],
} as const;

export function auditFlags(options: {
  /** Holds AUDIT_POLICY. */
  readonly policyPath: string;
  readonly auditPath: string;
}): readonly string[] {
  return [`--audit-policy-file=${options.policyPath}`, `--audit-log-path=${options.auditPath}`];
}

export function controllerManagerFlags(options: {
  readonly credentials: Credentials;
  readonly kubeconfigPath: string;
  /** Besides those that every test leans on. */
  readonly controllers?: readonly string[] | undefined;
  /** Each controller is a ServiceAccount of kube-system, as installers set it up; else all are who the kubeconfig says. */
  readonly hasAccounts?: boolean | undefined;
}): readonly string[] {
  const controllers = [
    "clusterrole-aggregation-controller",
    "endpointslice-controller",
    "endpointslice-mirroring-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    ...(options.controllers ?? []),
  ];
  return [
    `--kubeconfig=${options.kubeconfigPath}`,
    // Alone, so there is nobody to elect it against; and nobody asks it anything, so it needs no port.
    "--leader-elect=false",
    "--secure-port=0",
    `--controllers=${controllers.join()}`,
    ...(options.hasAccounts === true ? ["--use-service-account-credentials"] : []),
    `--root-ca-file=${options.credentials.caFile}`,
    `--service-account-private-key-file=${options.credentials.serviceAccountKeyFile}`,
    // By default its controllers share 20 requests a second: a test of many Services should not meet that limit.
    "--kube-api-qps=1000",
    "--kube-api-burst=1000",
  ];
}
