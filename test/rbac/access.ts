// Permission suite: the roles that people apply in, identities that have them out, in one real cluster. Takes everything
// back at the end: roles, bindings, namespaces, connections.

import { readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";
import { NAMESPACE, SERVICE_ACCOUNT } from "../../src/api/builtin.ts";
import { FIELD_MANAGER } from "../../src/api/names.ts";
import { defineResource, type KubeObject } from "../../src/api/object.ts";
import { createClient, type KubeClient } from "../../src/kube/client.ts";
import { systemClock } from "../../src/kube/clock.ts";
import { loadKubeconfig } from "../../src/kube/config.ts";
import { unique } from "../contract/objects.ts";

const RBAC = "rbac.authorization.k8s.io";

export interface ClusterRole extends KubeObject {
  readonly rules: readonly {
    readonly apiGroups: readonly string[];
    readonly resources: readonly string[];
    readonly verbs: readonly string[];
  }[];
}
const CLUSTER_ROLE = defineResource<ClusterRole>({
  apiVersion: `${RBAC}/v1`,
  kind: "ClusterRole",
  plural: "clusterroles",
  namespaced: false,
});

interface Binding extends KubeObject {
  readonly roleRef: { readonly apiGroup: string; readonly kind: string; readonly name: string };
  readonly subjects: readonly {
    readonly kind: string;
    readonly namespace: string;
    readonly name: string;
  }[];
}
const CLUSTER_ROLE_BINDING = defineResource<Binding>({
  apiVersion: `${RBAC}/v1`,
  kind: "ClusterRoleBinding",
  plural: "clusterrolebindings",
  namespaced: false,
});
const ROLE_BINDING = defineResource<Binding>({
  apiVersion: `${RBAC}/v1`,
  kind: "RoleBinding",
  plural: "rolebindings",
  namespaced: true,
});

export const ROLES: readonly ClusterRole[] = parseAllDocuments(
  readFileSync(new URL("../../examples/rbac.yaml", import.meta.url), "utf8"),
).map((document) => document.toJS() as ClusterRole);

export function requireRole(name: string): ClusterRole {
  const role = ROLES.find(({ metadata }) => metadata.name === name);
  if (role === undefined) throw new Error(`examples/rbac.yaml has no ClusterRole "${name}"`);
  return role;
}

/** What the chart lets an agent do: everywhere, or in its own namespace. */
export function readChartRules(kind: "ClusterRole" | "Role"): ClusterRole["rules"] {
  const manifest = new URL("../../manifests/agent.yaml", import.meta.url);
  const objects = parseAllDocuments(readFileSync(manifest, "utf8"));
  const role = objects.map((one) => one.toJS() as ClusterRole).find((one) => one.kind === kind);
  if (role?.metadata.name !== "isthmus-agent") throw new Error(`the chart has no ${kind}`);
  return role.rules;
}

/** As in "patch multicluster.x-k8s.io/serviceimports/status", sorted. */
export function permissionsOf({ rules }: Pick<ClusterRole, "rules">): readonly string[] {
  return rules
    .flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          verbs.map((verb) => `${verb} ${group === "" ? "" : `${group}/`}${resource}`),
        ),
      ),
    )
    .toSorted();
}

export class Access {
  readonly admin: KubeClient;
  readonly #undo: (() => Promise<unknown>)[] = [];
  #home: Promise<string> | undefined;

  constructor(kubeconfigPath: string) {
    const config = loadKubeconfig({ paths: [kubeconfigPath], env: {}, home: "/nonexistent" });
    this.admin = createClient(config, { clock: systemClock });
    this.#undo.push(() => this.admin.close());
  }

  async applyRoles(): Promise<void> {
    for (const role of ROLES) {
      const name = role.metadata.name ?? "";
      this.#undo.push(() => this.admin.delete(CLUSTER_ROLE, { name }));
      await this.admin.apply(CLUSTER_ROLE, role, { fieldManager: FIELD_MANAGER });
    }
  }

  async createNamespace(name: string = unique("rbac-")): Promise<string> {
    this.removeNamespace(name);
    await this.admin.create(NAMESPACE, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
    return name;
  }

  /** At the end, whoever made it. */
  removeNamespace(name: string): void {
    this.#undo.push(() => this.admin.delete(NAMESPACE, { name }));
  }

  /** A client that may do what these rules say and nothing else: in one namespace, or everywhere. */
  async becomeOne(rules: ClusterRole["rules"], namespace?: string): Promise<KubeClient> {
    const name = unique("rbac-");
    this.#undo.push(() => this.admin.delete(CLUSTER_ROLE, { name }));
    const { apiVersion, kind } = requireRole("isthmus-agent");
    await this.admin.create(CLUSTER_ROLE, { apiVersion, kind, metadata: { name }, rules });
    return this.become([name], namespace);
  }

  /** A client that may do what the ClusterRoles say and nothing else: in one namespace, or everywhere. */
  async become(roles: readonly string[], namespace?: string): Promise<KubeClient> {
    // Accounts live apart, so that none is in anybody's way.
    this.#home ??= this.createNamespace();
    const account = { namespace: await this.#home, name: unique("somebody-") };
    await this.admin.create(SERVICE_ACCOUNT, {
      apiVersion: "v1",
      kind: "ServiceAccount",
      metadata: account,
    });
    for (const role of roles) await this.#bind(role, account, namespace);
    const { config } = this.admin;
    const { certificate: _, ...tls } = config.tls;
    const token = await this.#requestToken(account);
    const client = createClient(
      { ...config, tls, auth: { kind: "token", token } },
      { clock: systemClock },
    );
    this.#undo.push(() => client.close());
    return client;
  }

  async #bind(
    role: string,
    account: { readonly namespace: string; readonly name: string },
    namespace: string | undefined,
  ): Promise<void> {
    const resource = namespace === undefined ? CLUSTER_ROLE_BINDING : ROLE_BINDING;
    const ref = { name: unique("rbac-"), ...(namespace !== undefined && { namespace }) };
    this.#undo.push(() => this.admin.delete(resource, ref));
    await this.admin.create(resource, {
      apiVersion: `${RBAC}/v1`,
      kind: resource.kind,
      metadata: ref,
      roleRef: { apiGroup: RBAC, kind: CLUSTER_ROLE.kind, name: role },
      subjects: [{ kind: SERVICE_ACCOUNT.kind, ...account }],
    });
  }

  async #requestToken({ namespace, name }: { namespace: string; name: string }): Promise<string> {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
    const { status, body } = await this.admin.request("POST", path, {
      body: {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: { expirationSeconds: 3600 },
      },
    });
    const { token } = (body as { readonly status?: { readonly token?: string } }).status ?? {};
    if (token === undefined) throw new Error(`POST ${path} answered ${status}`);
    return token;
  }

  /** Everything is tried, whatever fails. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (const undo of this.#undo.toReversed()) {
      await undo().catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw new AggregateError(failures, "something was left behind");
  }
}
