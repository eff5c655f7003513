// Installs CRDs through the Store port: read, plan (core), write, then wait until the API server serves them.
// Gives back what was done to each, for the caller to tell. Writes nothing when nothing needs to change.
//
// Another tool (Cilium, a chart, kubectl) may have installed the same CRD first. The plan leaves its copy alone while
// that is newer, or has all that we need. Otherwise ours is applied with force: one schema must win, and the older one
// would silently drop fields from every object. Labels and annotations of the other tool stay.

import { type CustomResourceDefinition, CUSTOM_RESOURCE_DEFINITION } from "../api/builtin.ts";
import { FIELD_MANAGER } from "../api/names.ts";
import type { Resource } from "../api/object.ts";
import { Problem } from "../api/problem.ts";
import { planCrdInstall } from "../core/crd.ts";
import { type Clock, sleep } from "../ports/clock.ts";
import { isStoreError, type Store } from "../ports/store.ts";

export interface InstallCrdsOptions {
  readonly store: Store;
  readonly crds: readonly CustomResourceDefinition[];
  readonly clock: Clock;
  readonly signal?: AbortSignal;
  /** For all of them together, waiting included. */
  readonly timeoutMs?: number;
}

export type CrdInstallation = { readonly name: string } & (
  | { readonly outcome: "created" | "unchanged" }
  /** `from` is the release that was there; absent when it said none. */
  | { readonly outcome: "updated"; readonly from: string | undefined }
  /** The server's is newer than ours; `missing` are versions of ours that it does not serve. */
  | { readonly outcome: "kept"; readonly newer: string; readonly missing: readonly string[] }
);

export async function installCrds(
  options: InstallCrdsOptions,
): Promise<readonly CrdInstallation[]> {
  const patience = createPatience(options.clock, options.timeoutMs ?? 30_000, options.signal);
  const installations: CrdInstallation[] = [];
  for (const crd of options.crds) {
    installations.push(await installCrd(options, crd, patience));
  }
  for (const [index, crd] of options.crds.entries()) {
    const installation = installations[index];
    const missing = installation?.outcome === "kept" ? installation.missing : [];
    await awaitServed({ ...options, crd, missing, patience });
  }
  return installations;
}

/** Reads, plans and writes, again whenever somebody else wrote in between. */
async function installCrd(
  { store, signal }: InstallCrdsOptions,
  desired: CustomResourceDefinition,
  patience: Patience,
): Promise<CrdInstallation> {
  const name = nameOf(desired);
  const within = signal && { signal };
  for (;;) {
    const existing = await store.get(CUSTOM_RESOURCE_DEFINITION, { name }, within);
    const plan = planCrdInstall(existing, desired);
    switch (plan.action) {
      case "unchanged":
        return { name, outcome: "unchanged" };
      case "keep":
        return { name, outcome: "kept", newer: plan.newer, missing: plan.missing };
      case "wait":
        break;
      case "create": {
        // Not applied: an apply would also overwrite a newer one that appeared since the read.
        const write = store.create(CUSTOM_RESOURCE_DEFINITION, plan.crd, {
          fieldManager: FIELD_MANAGER,
          ...within,
        });
        if (await hasWon(write, "AlreadyExists")) {
          return { name, outcome: "created" };
        }
        break;
      }
      case "update": {
        const { resourceVersion } = existing?.metadata ?? {};
        const crd = {
          ...plan.crd,
          metadata: { ...plan.crd.metadata, ...(resourceVersion && { resourceVersion }) },
        };
        const write = store.apply(CUSTOM_RESOURCE_DEFINITION, crd, {
          fieldManager: FIELD_MANAGER,
          force: true,
          ...within,
        });
        if (await hasWon(write, "Conflict")) {
          return { name, outcome: "updated", from: plan.from };
        }
        break;
      }
    }
    await patience.pause(`${name} is being changed or deleted by somebody else`);
  }
}

async function hasWon(
  write: Promise<unknown>,
  loss: "AlreadyExists" | "Conflict",
): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (error) {
    if (isStoreError(error, loss)) {
      return false;
    }
    throw error;
  }
}

interface Serving extends InstallCrdsOptions {
  readonly crd: CustomResourceDefinition;
  /** Versions not to wait for. */
  readonly missing: readonly string[];
  readonly patience: Patience;
}

async function awaitServed(serving: Serving): Promise<void> {
  const { store, crd, missing, patience, signal } = serving;
  const name = nameOf(crd);
  for (;;) {
    const current = await store.get(CUSTOM_RESOURCE_DEFINITION, { name }, signal && { signal });
    const conditions = current?.status?.conditions ?? [];
    if (conditions.some(({ type, status }) => type === "Established" && status === "True")) {
      break;
    }
    const refusal = conditions.find(
      ({ type, status }) => type === "NamesAccepted" && status === "False",
    );
    await patience.pause(
      refusal === undefined
        ? `the API server has not yet established ${name}`
        : `the API server does not accept the names of ${name}: ${refusal.message}`,
    );
  }
  // Established is written before every handler has seen it: a request right after may still be answered with 404.
  const { group, names, scope, versions } = crd.spec;
  for (const version of versions.filter((each) => !missing.includes(each.name))) {
    const resource: Resource = {
      group,
      version: version.name,
      kind: names.kind,
      plural: names.plural,
      namespaced: scope === "Namespaced",
    };
    while (!(await isServed(serving, resource))) {
      await patience.pause(`the API server does not yet serve ${version.name} of ${name}`);
    }
  }
}

async function isServed({ store, signal }: Serving, resource: Resource): Promise<boolean> {
  try {
    await store.list(resource, { limit: 1, ...(signal && { signal }) });
    return true;
  } catch (error) {
    // Who may install a CRD need not be allowed to read its objects: the refusal shows that it is served.
    if (isStoreError(error, "Forbidden")) {
      return true;
    }
    // 503 while the server replaces its handlers after a change.
    if (isStoreError(error, "NotFound", "Unavailable")) {
      return false;
    }
    throw error;
  }
}

interface Patience {
  /** Waits a little longer each time; throws a Problem that says `why` when the time is up. */
  pause(why: string): Promise<void>;
}

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

function createPatience(
  clock: Clock,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Patience {
  const deadline = clock.monotonic() + timeoutMs;
  let next = FIRST_PAUSE_MS;
  return {
    async pause(why) {
      const left = deadline - clock.monotonic();
      if (left <= 0) {
        throw new Problem("CrdNotServed", `After ${timeoutMs / 1000} s, ${why}.`, {
          hint: "Run the installation again; kubectl describe crd shows what the API server says.",
        });
      }
      await sleep(clock, Math.min(next, left), signal);
      next = Math.min(next * 2, LONGEST_PAUSE_MS);
    },
  };
}

function nameOf(crd: CustomResourceDefinition): string {
  return `${crd.spec.names.plural}.${crd.spec.group}`;
}
