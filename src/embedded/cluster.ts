// Embedded server, the whole of it without a socket: a request in, an answer out; faults before, controllers after.
// For demos, tests and simulation: everything lives in this process's memory.

import type { KubeObject } from "../api/object.ts";
import { type Clock, type Random, sleep } from "../ports/clock.ts";
import type { Store } from "../ports/store.ts";
import { Background } from "./background.ts";
import { createBuiltinKinds, startBehaviours } from "./behaviour/builtin.ts";
import { isApplyPatch, patchObject } from "./change.ts";
import { decodeBody } from "./decode.ts";
import {
  Disconnected,
  type FaultEffect,
  type FaultFailure,
  Faults,
  type FaultTarget,
  NO_EFFECT,
} from "./fault.ts";
import type { Kind } from "./kind.ts";
import { jsonOf } from "./metadata.ts";
import { parseWriteOptions } from "./options.ts";
import { readList, readObject, selectObjects } from "./read.ts";
import { Registry } from "./registry.ts";
import { deleteObject, parseDeleteOptions } from "./remove.ts";
import { parseTarget, type Target } from "./request.ts";
import { parseSelection } from "./selection.ts";
import { answerError, ApiError, methodNotAllowed, noSuchResource } from "./status.ts";
import { type Change, Storage } from "./storage.ts";
import { createStore } from "./store.ts";
import { System } from "./system.ts";
import type { ApiAnswer, ApiRequest, JsonObject, ObjectAnswer, ServedType } from "./types.ts";
import { WatchHub, type WatchRequest } from "./watch.ts";
import { createObject, type Engine, replaceObject, type WriteRequest } from "./write.ts";

export interface EmbeddedClusterOptions {
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  /** At most one range of each family; the first is the primary one. */
  readonly serviceCidrs?: readonly string[];
  /** EndpointSlices may have loopback addresses, which no real server takes: for pods that are played on one machine. */
  readonly takesLoopback?: boolean;
  /** Changes kept for watches and past states before they are compacted away. */
  readonly historyLimit?: number;
  readonly watchLimit?: number;
  /** As another embedded cluster has them, established: taken over unchecked, so that many clusters start quickly. */
  readonly definitions?: readonly KubeObject[];
  /** Told of every write within it: what changed, and the user agent of the request, if one is behind it. Must not throw. */
  readonly onWrite?: (change: Change, userAgent: string | undefined) => void;
}

const DEFAULT_CIDRS = ["10.96.0.0/16", "fd00:10:96::/112"];
const DEFAULT_HISTORY = 8192;
const DEFAULT_WATCHES = 4096;
const MANAGER = "kube-controller-manager";
const CRDS = "customresourcedefinitions.apiextensions.k8s.io";

type Handler = (call: Call) => ApiAnswer;

interface Call {
  readonly request: ApiRequest;
  readonly target: Target;
  readonly kind: Kind;
  readonly staleRevisions: number;
}

export class EmbeddedCluster {
  readonly name: string;
  readonly faults: Faults;
  readonly #engine: Engine;
  readonly #hub: WatchHub;
  readonly #background: Background;
  #typesListener: (() => void) | undefined;
  #stopped = false;
  #waiting = 0;
  /** Behind the request that is being answered. */
  #userAgent: string | undefined;

  constructor(options: EmbeddedClusterOptions) {
    const { clock, random } = options;
    this.name = options.name;
    const historyLimit = options.historyLimit ?? DEFAULT_HISTORY;
    const storage = new Storage({ historyLimit });
    const { kinds, firstAddress } = createBuiltinKinds({
      storage,
      random,
      cidrs: options.serviceCidrs ?? DEFAULT_CIDRS,
      takesLoopback: options.takesLoopback ?? false,
    });
    this.#engine = { storage, registry: new Registry(kinds), clock, random };
    this.faults = new Faults((matches) =>
      this.#hub.end((watch) => matches(watchTarget(watch)), false),
    );
    this.#hub = new WatchHub({
      storage,
      clock,
      random,
      limits: { watchers: options.watchLimit ?? DEFAULT_WATCHES, pendingEvents: historyLimit },
      delayMs: (watch) => (this.faults.isNone ? 0 : this.faults.watchDelayMs(watchTarget(watch))),
    });
    this.#background = new Background(clock, () => this.#hub.flush());
    this.#engine.registry.onChange(() => this.#typesListener?.());
    startBehaviours(
      {
        engine: this.#engine,
        background: this.#background,
        system: new System(this.#engine, MANAGER),
      },
      firstAddress,
      (ended) => this.#hub.end((watch) => ended.includes(watch.kind), true),
    );
    for (const definition of options.definitions ?? []) storage.put(CRDS, definition);
    this.#hub.flush();
    const { onWrite } = options;
    if (onWrite !== undefined) storage.onChange((change) => onWrite(change, this.#userAgent));
    // As after a real server's start: versions from before it are too old to watch from.
    storage.compact();
  }

  get revision(): number {
    return this.#engine.storage.revision;
  }

  /** One listener: the HTTP edge, which forgets rendered discovery. */
  set onTypesChanged(listener: (() => void) | undefined) {
    this.#typesListener = listener;
  }

  types(): readonly ServedType[] {
    return this.#engine.registry.types();
  }

  store(identity: { readonly userAgent?: string } = {}): Store {
    return createStore(this, identity);
  }

  /** With faults. Rejects with Disconnected when no answer comes. */
  async request(request: ApiRequest): Promise<ApiAnswer> {
    const target = parseTarget(request);
    if (this.#stopped) throw new Disconnected();
    if (target === undefined) return this.handle(request);
    const effect = this.faults.isNone
      ? NO_EFFECT
      : this.faults.meet({ ...target, userAgent: request.userAgent });
    if (effect.delayMs > 0) {
      this.#waiting += 1;
      await sleep(this.#engine.clock, effect.delayMs);
      this.#waiting -= 1;
      if (this.#stopped) throw new Disconnected();
    }
    if (effect.failure !== undefined && !effect.afterWrite) return failAnswer(effect.failure);
    const answer = this.#answer(request, target, effect);
    return effect.failure === undefined ? answer : failAnswer(effect.failure);
  }

  /** Without faults, at once. */
  handle(request: ApiRequest): ApiAnswer {
    return this.#answer(request, parseTarget(request), undefined);
  }

  /** Forgets all history: older resource versions and continue tokens are answered with 410. */
  compact(): void {
    this.#engine.storage.compact();
  }

  /** No controller has anything to do and no event or request is delayed. */
  idle(): boolean {
    return this.#background.isIdle && !this.#hub.isBehind && this.#waiting === 0;
  }

  /** Cuts every watch and ends all background work; requests are answered no more. */
  stop(): void {
    this.#stopped = true;
    this.#background.stop();
    this.#hub.end(() => true, false);
  }

  #answer(
    request: ApiRequest,
    target: Target | undefined,
    effect: FaultEffect | undefined,
  ): ApiAnswer {
    this.#userAgent = request.userAgent;
    try {
      if (target === undefined) throw noSuchResource();
      const kind = this.#findKind(target);
      const { verb } = target;
      if (verb === undefined) throw methodNotAllowed();
      const staleRevisions = effect?.staleRevisions ?? 0;
      return this.#handlers[verb]({ request, target, kind, staleRevisions });
    } catch (error) {
      if (error instanceof ApiError) return answerError(error);
      throw error;
    } finally {
      this.#userAgent = undefined;
      this.#hub.flush();
    }
  }

  #findKind(target: Target): Kind {
    const { group, version, plural, namespace, name, subresource, verb } = target;
    const kind = this.#engine.registry.find(group, version, plural);
    if (kind === undefined) throw noSuchResource();
    const { namespaced } = kind.served.resource;
    if (namespace !== undefined && !namespaced) throw noSuchResource();
    if (namespaced && namespace === undefined) {
      // Across namespaces one may only look.
      if (name !== undefined) throw noSuchResource();
      if (verb !== "list" && verb !== "watch") throw methodNotAllowed();
    }
    if (subresource !== undefined && !hasSubresource(kind, subresource)) throw noSuchResource();
    return kind;
  }

  readonly #handlers: Readonly<Record<NonNullable<Target["verb"]>, Handler>> = {
    get: (call) =>
      answer(
        call,
        200,
        readObject(this.#engine.storage, readRequest(call), call.target.name ?? ""),
      ),
    list: (call) => answer(call, 200, readList(this.#engine.storage, readRequest(call))),
    watch: ({ request, target, kind }) =>
      this.#hub.open({ kind, target, query: request.query, userAgent: request.userAgent }),
    create: (call) => {
      const { request, kind } = call;
      const write = writeRequest(call, "CreateOptions");
      const { object, warnings } = decodeBody(kind, request.body, write.options.fieldValidation);
      refuseTerminating(this.#engine, kind);
      return answerObject(call, createObject(this.#engine, write, object), warnings);
    },
    update: (call) => {
      const { request, kind } = call;
      const write = writeRequest(call, "UpdateOptions");
      const { object, warnings } = decodeBody(kind, request.body, write.options.fieldValidation);
      return answerObject(call, replaceObject(this.#engine, write, object), warnings);
    },
    patch: (call) => {
      const { request } = call;
      const write = writeRequest(call, "PatchOptions");
      const { contentType, body } = request;
      const written = patchObject(this.#engine, write, { contentType, body });
      return answerObject(call, written, written.warnings);
    },
    delete: (call) => {
      const { request, target, kind } = call;
      const options = parseDeleteOptions(request.query, request.body);
      const { namespace, name = "" } = target;
      return answer(call, 200, deleteObject(this.#engine, { kind, namespace, name, options }));
    },
    deletecollection: (call) => {
      const { request, target, kind } = call;
      if (kind.rules.refusesDeleteCollection === true) throw methodNotAllowed();
      const options = parseDeleteOptions(request.query, request.body);
      const selection = parseSelection(kind, request.query);
      const { storage } = this.#engine;
      const { namespace } = target;
      const items = selectObjects(storage, kind, namespace, selection);
      for (const { metadata } of items) {
        const name = metadata.name ?? "";
        deleteObject(this.#engine, { kind, namespace: metadata.namespace, name, options });
      }
      return answer(call, 200, {
        kind: kind.served.listKind,
        apiVersion: kind.apiVersion,
        metadata: { resourceVersion: `${storage.revision}` },
        items: items.map((item) => jsonOf(kind.fromStored(item))),
      });
    },
  };
}

function readRequest(call: Call): Parameters<typeof readList>[1] {
  const { kind, target, request, staleRevisions } = call;
  return { kind, namespace: target.namespace, query: request.query, staleRevisions };
}

function writeRequest(
  call: Call,
  options: "CreateOptions" | "UpdateOptions" | "PatchOptions",
): WriteRequest {
  const { request, target, kind } = call;
  const isApply = options === "PatchOptions" && isApplyPatch(request.contentType);
  return {
    kind,
    namespace: target.namespace,
    ...(target.name === undefined ? {} : { name: target.name }),
    ...(target.subresource === undefined ? {} : { subresource: target.subresource }),
    options: parseWriteOptions(options, request.query, { userAgent: request.userAgent, isApply }),
  };
}

function hasSubresource(kind: Kind, subresource: string): boolean {
  if (subresource === "status") return kind.served.hasStatus;
  return subresource === "finalize" && kind.key === "namespaces";
}

/** Nothing new of a kind whose definition is going. */
function refuseTerminating(engine: Engine, kind: Kind): void {
  if (kind.served.builtin) return;
  const crd = engine.storage.get(CRDS, kind.key);
  if (crd?.metadata.deletionTimestamp === undefined) return;
  throw new ApiError({
    status: 405,
    reason: "MethodNotAllowed",
    message: "create not allowed while custom resource definition is terminating",
    details: {},
  });
}

function answer(call: Call, status: number, body: JsonObject): ObjectAnswer {
  return { kind: "object", status, body, served: call.kind.served };
}

function answerObject(
  call: Call,
  written: { readonly status: number; readonly object: KubeObject },
  complaints: readonly string[],
): ObjectAnswer {
  const { kind, target } = call;
  const more = target.subresource === undefined ? kind.rules.warn?.(written.object) : undefined;
  const warnings = [...complaints, ...(more ?? [])];
  return {
    ...answer(call, written.status, jsonOf(written.object)),
    ...(warnings.length === 0 ? {} : { warnings }),
  };
}

function watchTarget(watch: WatchRequest): FaultTarget {
  return { ...watch.target, userAgent: watch.userAgent };
}

function failAnswer(failure: FaultFailure | "disconnect"): ObjectAnswer {
  if (failure === "disconnect") throw new Disconnected();
  const { status, retryAfterSeconds } = failure;
  return answerError(
    new ApiError({
      status,
      reason: failure.reason ?? REASONS[status] ?? "Unknown",
      message: failure.message ?? "injected fault",
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    }),
  );
}

const REASONS: Readonly<Record<number, string>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  410: "Expired",
  413: "RequestEntityTooLarge",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};
