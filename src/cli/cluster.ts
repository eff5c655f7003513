// CLI: which cluster a command works on: flags in, a client that remembers whose failure is whose out. A command that speaks
// to two clusters can then name the right one.

import { Problem } from "../api/problem.ts";
import { createClient, type KubeClient } from "../kube/client.ts";
import { directConfig, inClusterConfig, loadKubeconfig } from "../kube/config.ts";
import type { ClusterConfig } from "../kube/connection.ts";
import { describeFailure } from "../kube/failure.ts";
import { chooseProxy } from "../kube/proxy.ts";
import { requestToken } from "../kube/tokenrequest.ts";
import type { TokenOrder } from "../hub/manifest/tokenrequest.ts";
import type { Store } from "../ports/store.ts";
import type { CliContext } from "./context.ts";

export interface ClusterFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
}

export interface Cluster {
  readonly config: ClusterConfig;
  readonly store: Store;
  readonly requestToken: (order: TokenOrder, signal: AbortSignal) => Promise<string>;
  /** What is no object: the version, a pod's log. No status is an error. */
  readonly request: KubeClient["request"];
}

export interface Clusters {
  open(flags: ClusterFlags): Cluster;
  /** With a token, without a kubeconfig. */
  reach(target: { readonly server: string; readonly ca?: string; readonly token: string }): Cluster;
}

/** In a pod, the pod's own identity; whoever names a kubeconfig means it. */
export function chooseConfig(context: CliContext, flags: ClusterFlags): ClusterConfig {
  const { env, home } = context;
  const isNamed =
    flags.kubeconfig !== undefined ||
    flags.context !== undefined ||
    (env["KUBECONFIG"] ?? "") !== "";
  if (!isNamed && (env["KUBERNETES_SERVICE_HOST"] ?? "") !== "") return inClusterConfig({ env });
  const paths = flags.kubeconfig === undefined ? undefined : [flags.kubeconfig];
  return loadKubeconfig({ paths, context: flags.context, env, home });
}

/** Closes the clients and words the failures of whatever `work` does. */
export async function withClusters<T>(
  context: CliContext,
  work: (clusters: Clusters) => Promise<T>,
): Promise<T> {
  const { clock, env, home, signal } = context;
  const clients: KubeClient[] = [];
  const origins = new WeakMap<object, ClusterConfig>();
  const start = (config: ClusterConfig, interactive: boolean): Cluster => {
    const client = createClient(config, { clock, userAgent: "isthmus", interactive });
    clients.push(client);
    const note = async <R>(promise: Promise<R>): Promise<R> => {
      try {
        return await promise;
      } catch (error) {
        if (typeof error === "object" && error !== null && !origins.has(error)) {
          origins.set(error, config);
        }
        throw error;
      }
    };
    return {
      config,
      store: noteFailures(client, note),
      requestToken: (order, signal) =>
        note(requestToken(client, order, { nowMs: clock.now(), signal })),
      request: (method, path, options) => note(client.request(method, path, options)),
    };
  };
  try {
    return await work({
      open(flags) {
        const paths = flags.kubeconfig === undefined ? undefined : [flags.kubeconfig];
        return start(loadKubeconfig({ paths, context: flags.context, env, home }), true);
      },
      reach({ server, ca, token }) {
        const tls = ca === undefined ? {} : { authority: { data: ca } };
        const proxyUrl = chooseProxy(new URL(server), undefined, env);
        const auth = { kind: "token", token } as const;
        return start(directConfig({ server, tls, auth, proxyUrl }), false);
      },
    });
  } catch (error) {
    if (signal.aborted) {
      const hint = "Run it again: it goes on where it stopped.";
      throw new Problem("Interrupted", "stopped before it was done", { hint, cause: error });
    }
    if (error instanceof Problem) throw error;
    const config = typeof error === "object" && error !== null ? origins.get(error) : undefined;
    throw describeFailure(error, { config, nowMs: clock.now() });
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
}

function noteFailures(store: Store, note: <R>(promise: Promise<R>) => Promise<R>): Store {
  return {
    get: (resource, ref, options) => note(store.get(resource, ref, options)),
    list: (resource, options) => note(store.list(resource, options)),
    watch: (resource, options, onEvent) => note(store.watch(resource, options, onEvent)),
    create: (resource, object, options) => note(store.create(resource, object, options)),
    replace: (resource, object, options) => note(store.replace(resource, object, options)),
    apply: (resource, object, options) => note(store.apply(resource, object, options)),
    delete: (resource, ref, options) => note(store.delete(resource, ref, options)),
  };
}
