// Configuration, first half: kubeconfig text → typed entries, merged and selected the way kubectl does.
// Pure. Error messages name file and line and never quote the file's content, because it holds secrets.

import { Problem } from "../api/problem.ts";
import { type Field, invalidKubeconfig, parseFields } from "./field.ts";

interface Entry {
  readonly name: string;
  /** The file that holds the entry: relative references in it start from there. */
  readonly file: string;
}

export interface ClusterEntry extends Entry {
  readonly server: string | undefined;
  readonly tlsServerName: string | undefined;
  readonly insecureSkipTlsVerify: boolean;
  readonly certificateAuthority: string | undefined;
  readonly certificateAuthorityData: string | undefined;
  readonly proxyUrl: string | undefined;
  readonly disableCompression: boolean;
  /** The extension "client.authentication.k8s.io/exec": handed to exec plugins as it is. */
  readonly execExtension: unknown;
}

export interface ExecEntry {
  readonly apiVersion: string | undefined;
  readonly command: string | undefined;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly installHint: string | undefined;
  readonly provideClusterInfo: boolean;
  readonly interactiveMode: string | undefined;
}

export interface UserEntry extends Entry {
  readonly clientCertificate: string | undefined;
  readonly clientCertificateData: string | undefined;
  readonly clientKey: string | undefined;
  readonly clientKeyData: string | undefined;
  readonly token: string | undefined;
  readonly tokenFile: string | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly exec: ExecEntry | undefined;
  readonly authProvider: boolean;
  readonly as: string | undefined;
  readonly asUid: string | undefined;
  readonly asGroups: readonly string[];
  readonly asUserExtra: Readonly<Record<string, readonly string[]>>;
}

interface ContextEntry extends Entry {
  readonly cluster: string | undefined;
  readonly user: string | undefined;
  readonly namespace: string | undefined;
}

export interface Kubeconfig {
  readonly files: readonly string[];
  readonly currentContext: string | undefined;
  readonly clusters: readonly ClusterEntry[];
  readonly users: readonly UserEntry[];
  readonly contexts: readonly ContextEntry[];
}

export interface SelectedContext {
  readonly context: ContextEntry;
  readonly cluster: ClusterEntry;
  readonly user: UserEntry | undefined;
}

export function parseKubeconfig(text: string, file: string): Kubeconfig {
  const root = parseFields(text, file);
  const named = <T>(list: string, one: string, read: (body: Field, entry: Entry) => T): T[] =>
    root.get(list).items((item) => {
      const name = item.get("name").string();
      if (name === undefined) throw item.refuse("has no name");
      return read(item.get(one), { name, file });
    });
  return {
    files: [file],
    currentContext: root.get("current-context").string(),
    clusters: named("clusters", "cluster", readCluster),
    users: named("users", "user", readUser),
    contexts: named("contexts", "context", (body, entry) => ({
      ...entry,
      cluster: body.get("cluster").string(),
      user: body.get("user").string(),
      namespace: body.get("namespace").string(),
    })),
  };
}

/** The first file that sets a name, or the current context, wins. */
export function mergeKubeconfigs(configs: readonly Kubeconfig[]): Kubeconfig {
  return {
    files: configs.flatMap((config) => config.files),
    currentContext: configs.find((config) => config.currentContext !== undefined)?.currentContext,
    clusters: firstOfName(configs.flatMap((config) => config.clusters)),
    users: firstOfName(configs.flatMap((config) => config.users)),
    contexts: firstOfName(configs.flatMap((config) => config.contexts)),
  };
}

export function selectContext(config: Kubeconfig, wanted?: string): SelectedContext {
  const files = config.files.join(", ");
  const known = config.contexts.map((context) => context.name);
  const hint =
    known.length === 0 ? `There is no context in ${files}.` : `Choose one of: ${known.join(", ")}.`;
  const name = wanted ?? config.currentContext;
  if (name === undefined) {
    throw new Problem("ContextUnknown", `${files} sets no current context`, { hint });
  }
  const context = config.contexts.find((entry) => entry.name === name);
  if (context === undefined) {
    throw new Problem("ContextUnknown", `there is no context "${name}" in ${files}`, { hint });
  }
  const where = `context "${name}" of ${context.file}`;
  if (context.cluster === undefined) throw invalidKubeconfig(`${where} names no cluster`);
  const cluster = config.clusters.find((entry) => entry.name === context.cluster);
  if (cluster === undefined) {
    throw invalidKubeconfig(
      `${where} names the cluster "${context.cluster}", which is nowhere defined`,
    );
  }
  const user = config.users.find((entry) => entry.name === context.user);
  if (user === undefined && context.user !== undefined) {
    throw invalidKubeconfig(`${where} names the user "${context.user}", which is nowhere defined`);
  }
  return { context, cluster, user };
}

function readCluster(body: Field, entry: Entry): ClusterEntry {
  const extensions = body.get("extensions").items((item) => ({
    name: item.get("name").string(),
    value: item.get("extension").value,
  }));
  return {
    ...entry,
    server: body.get("server").string(),
    tlsServerName: body.get("tls-server-name").string(),
    insecureSkipTlsVerify: body.get("insecure-skip-tls-verify").boolean(),
    certificateAuthority: body.get("certificate-authority").string(),
    certificateAuthorityData: body.get("certificate-authority-data").pem(),
    proxyUrl: body.get("proxy-url").string(),
    disableCompression: body.get("disable-compression").boolean(),
    execExtension: extensions.find((one) => one.name === "client.authentication.k8s.io/exec")
      ?.value,
  };
}

function readUser(body: Field, entry: Entry): UserEntry {
  const exec = body.get("exec");
  return {
    ...entry,
    clientCertificate: body.get("client-certificate").string(),
    clientCertificateData: body.get("client-certificate-data").pem(),
    clientKey: body.get("client-key").string(),
    clientKeyData: body.get("client-key-data").pem(),
    token: body.get("token").token(),
    tokenFile: body.get("tokenFile").string(),
    username: body.get("username").string(),
    password: body.get("password").string(),
    exec: exec.value === undefined ? undefined : readExec(exec),
    authProvider: body.get("auth-provider").value !== undefined,
    as: body.get("as").string(),
    asUid: body.get("as-uid").string(),
    asGroups: body.get("as-groups").strings(),
    asUserExtra: body.get("as-user-extra").mapOf((values) => values.strings()),
  };
}

function readExec(body: Field): ExecEntry {
  const env = body
    .get("env")
    .items((item) => [item.get("name").string() ?? "", item.get("value").string() ?? ""] as const);
  return {
    apiVersion: body.get("apiVersion").string(),
    command: body.get("command").string(),
    args: body.get("args").strings(),
    env: Object.fromEntries(env),
    installHint: body.get("installHint").string(),
    provideClusterInfo: body.get("provideClusterInfo").boolean(),
    interactiveMode: body.get("interactiveMode").string(),
  };
}

function firstOfName<T extends Entry>(entries: readonly T[]): T[] {
  const byName = new Map<string, T>();
  for (const entry of entries) if (!byName.has(entry.name)) byName.set(entry.name, entry);
  return [...byName.values()];
}
