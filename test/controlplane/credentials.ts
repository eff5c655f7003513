// Every file that a cluster's daemons trust or present: a folder in, paths and a kubeconfig out. Valid for one day.

import { generateKeyPairSync, randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  createAuthority,
  issueCertificate,
  type KeyedCertificate,
} from "../../src/embedded/certificate.ts";

export interface Credentials {
  readonly caPem: string;
  readonly caFile: string;
  readonly servingCertFile: string;
  readonly servingKeyFile: string;
  readonly serviceAccountKeyFile: string;
  readonly tokenFile: string;
  readonly adminToken: string;
  readonly admin: KeyedCertificate;
  /** As installers give it: by name, and in no group. */
  readonly controllerManager: KeyedCertificate;
}

const HOUR_MS = 3_600_000;

/** Its server is known by loopback, and by these addresses besides. */
export async function writeCredentials(
  folder: string,
  name: string,
  addresses: readonly string[] = [],
): Promise<Credentials> {
  // Backdated, so that a clock set back a little between two commands does not matter.
  const period = {
    notBefore: new Date(Date.now() - HOUR_MS),
    notAfter: new Date(Date.now() + 24 * HOUR_MS),
  };
  const authority = await createAuthority({ commonName: `isthmus test ${name}`, ...period });
  const [serving, admin, controllerManager] = await Promise.all([
    issueCertificate(authority, {
      commonName: "kube-apiserver",
      dnsNames: ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"],
      ipAddresses: ["127.0.0.1", "::1", ...addresses],
      usage: "server",
      ...period,
    }),
    issueCertificate(authority, {
      commonName: "admin",
      organizations: ["system:masters"],
      usage: "client",
      ...period,
    }),
    issueCertificate(authority, {
      commonName: "system:kube-controller-manager",
      usage: "client",
      ...period,
    }),
  ]);
  const adminToken = randomBytes(16).toString("hex");
  const serviceAccountKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({
    type: "sec1",
    format: "pem",
  });
  const write = (file: string, text: string): string => {
    const path = join(folder, file);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  return {
    caPem: authority.certPem,
    caFile: write("ca.crt", authority.certPem),
    servingCertFile: write("serving.crt", serving.certPem),
    servingKeyFile: write("serving.key", serving.keyPem),
    serviceAccountKeyFile: write("service-account.key", serviceAccountKey.toString()),
    tokenFile: write(
      "tokens.csv",
      `${adminToken},admin-by-token,admin-by-token,"system:masters"\n`,
    ),
    adminToken,
    admin,
    controllerManager,
  };
}

/** JSON is valid YAML, and every reader of kubeconfigs takes it. */
export function renderKubeconfig(options: {
  readonly name: string;
  readonly url: string;
  readonly caPem: string;
  readonly client: KeyedCertificate;
}): string {
  const { name, url, caPem, client } = options;
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name, cluster: { server: url, "certificate-authority-data": encode(caPem) } }],
    users: [
      {
        name: "admin",
        user: {
          "client-certificate-data": encode(client.certPem),
          "client-key-data": encode(client.keyPem),
        },
      },
    ],
    contexts: [{ name, context: { cluster: name, user: "admin", namespace: "default" } }],
    "current-context": name,
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}

function encode(text: string): string {
  return Buffer.from(text).toString("base64");
}
