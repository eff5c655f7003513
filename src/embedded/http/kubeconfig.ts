// Edge: how to reach one server in, a kubeconfig for kubectl and any client out. Never touches a file.

import { stringify } from "yaml";

export interface KubeconfigOptions {
  /** Name of the cluster, the user and the context. */
  readonly name: string;
  readonly url: string;
  /** Absent for plain HTTP. */
  readonly caPem?: string | undefined;
  readonly token?: string | undefined;
  readonly client?: { readonly certPem: string; readonly keyPem: string } | undefined;
  readonly namespace?: string | undefined;
}

export function renderKubeconfig(options: KubeconfigOptions): string {
  const { name, url, caPem, token, client, namespace } = options;
  return stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [
      {
        name,
        cluster: {
          server: url,
          ...(caPem === undefined ? {} : { "certificate-authority-data": encodePem(caPem) }),
        },
      },
    ],
    users: [
      {
        name,
        user: {
          ...(token === undefined ? {} : { token }),
          ...(client === undefined
            ? {}
            : {
                "client-certificate-data": encodePem(client.certPem),
                "client-key-data": encodePem(client.keyPem),
              }),
        },
      },
    ],
    contexts: [
      {
        name,
        context: { cluster: name, user: name, ...(namespace === undefined ? {} : { namespace }) },
      },
    ],
    "current-context": name,
  });
}

function encodePem(pem: string): string {
  return Buffer.from(pem).toString("base64");
}
