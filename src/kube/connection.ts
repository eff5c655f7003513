// Configuration: what it takes to reach one cluster and to be someone there. Types only.

export type Environment = Readonly<Record<string, string | undefined>>;

/** PEM text, or the file that holds it now. */
export type Pem = { readonly data: string } | { readonly file: string };

export interface TlsConfig {
  /** Absent: the authorities that Node trusts. */
  readonly authority?: Pem | undefined;
  readonly certificate?: { readonly certificate: Pem; readonly key: Pem } | undefined;
  /** Name that the server's certificate must carry, when it is not the host of the URL. */
  readonly serverName?: string | undefined;
  readonly insecure?: boolean;
}

export interface ExecConfig {
  readonly apiVersion: "client.authentication.k8s.io/v1" | "client.authentication.k8s.io/v1beta1";
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly installHint: string | undefined;
  readonly provideClusterInfo: boolean;
  readonly interactiveMode: "Never" | "IfAvailable" | "Always";
  /** `spec.cluster.config` for the plugin. */
  readonly clusterExtension: unknown;
  /** A function, so that printing a configuration does not print the environment. */
  readonly environment: () => Environment;
}

/** A bearer token that somebody in this process renews. Functions, so that printing a configuration prints no token. */
export interface TokenSupply {
  current(): string;
  /** After a 401: true when `current` gives another one now. */
  refresh(refused: string): Promise<boolean>;
}

export type AuthConfig =
  | { readonly kind: "none" }
  | { readonly kind: "token"; readonly token: string }
  | { readonly kind: "supplied"; readonly tokens: TokenSupply }
  | { readonly kind: "tokenFile"; readonly file: string }
  | { readonly kind: "basic"; readonly username: string; readonly password: string }
  | { readonly kind: "exec"; readonly exec: ExecConfig };

export interface Impersonation {
  readonly user: string;
  readonly uid?: string | undefined;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

type ConfigSource =
  | { readonly kind: "kubeconfig"; readonly files: readonly string[]; readonly context: string }
  | { readonly kind: "in-cluster" }
  | { readonly kind: "given" };

export interface ClusterConfig {
  /** Without a slash at the end; may have a path of its own. */
  readonly server: string;
  readonly source: ConfigSource;
  /** The context's default namespace. */
  readonly namespace: string;
  readonly tls: TlsConfig;
  readonly auth: AuthConfig;
  readonly impersonation?: Impersonation | undefined;
  readonly proxyUrl?: string | undefined;
  readonly disableCompression: boolean;
}
