// Port: the verbs that Isthmus needs of a Kubernetes API, whoever serves it.
// Adapters: src/kube (HTTP) and src/embedded (in process). test/contract runs one suite against both.

import type { KubeObject, ObjectRef, Resource } from "../api/object.ts";

export interface ListOptions {
  /** Absent: all namespaces. */
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Page size; absent: everything in one answer. */
  readonly limit?: number;
  /** From the page before. */
  readonly continue?: string;
  /** "0" allows a stale answer from the server's cache; absent means the newest. */
  readonly resourceVersion?: string;
  /** Who wrote what, and when, is worth its weight. By default it may be left out. */
  readonly keepsManagedFields?: boolean;
  readonly signal?: AbortSignal;
}

export interface ListPage<T> {
  readonly items: readonly T[];
  readonly resourceVersion: string;
  /** Present while pages remain. */
  readonly continue?: string;
}

export type WatchEvent<T> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: T }
  | { readonly type: "BOOKMARK"; readonly resourceVersion: string };

export interface WatchOptions {
  readonly namespace?: string;
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  /** Events after this version. */
  readonly resourceVersion: string;
  /** How long the server keeps the stream open before it ends it cleanly. */
  readonly timeoutSeconds?: number;
  readonly signal?: AbortSignal;
  /** Called once, when the server has accepted the watch. */
  readonly onOpen?: () => void;
}

export interface WriteOptions {
  readonly subresource?: "status";
  readonly dryRun?: boolean;
  readonly fieldManager?: string;
  readonly signal?: AbortSignal;
}

export interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string;
  /** Take over fields that another manager owns; only for fields that are ours by right. */
  readonly force?: boolean;
}

export interface DeleteOptions {
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan";
  readonly signal?: AbortSignal;
}

export interface Store {
  /** Undefined when there is no such object. */
  get<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    options?: { readonly signal?: AbortSignal },
  ): Promise<T | undefined>;
  /** One page. Items carry apiVersion and kind, which API servers leave out of lists. */
  list<T extends KubeObject>(resource: Resource<T>, options?: ListOptions): Promise<ListPage<T>>;
  /**
   * Resolves when the server ends the stream cleanly or the signal aborts; rejects with a StoreError otherwise
   * (code "Gone" when the version is too old). `onEvent` must be synchronous and quick.
   */
  watch<T extends KubeObject>(
    resource: Resource<T>,
    options: WatchOptions,
    onEvent: (event: WatchEvent<T>) => void,
  ): Promise<void>;
  create<T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    options?: WriteOptions,
  ): Promise<T>;
  /** Full replacement; with metadata.resourceVersion set it fails with "Conflict" when the object moved on. */
  replace<T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    options?: WriteOptions,
  ): Promise<T>;
  /** Server-side apply. */
  apply<T extends KubeObject>(resource: Resource<T>, object: T, options: ApplyOptions): Promise<T>;
  /** False when it was already gone. */
  delete(resource: Resource, ref: ObjectRef, options?: DeleteOptions): Promise<boolean>;
}

/** What went wrong, in the API server's own vocabulary plus what happens on the way to it. */
export type StoreErrorCode =
  | "BadRequest"
  | "Unauthorized"
  | "Forbidden"
  | "NotFound"
  | "MethodNotAllowed"
  | "AlreadyExists"
  | "Conflict"
  | "Gone"
  | "TooLarge"
  | "UnsupportedMediaType"
  | "Invalid"
  | "TooManyRequests"
  | "Internal"
  | "Unavailable"
  | "Timeout"
  /** No answer: refused, reset, unknown host, broken TLS. The write may have happened. */
  | "Unreachable";

export class StoreError extends Error {
  override readonly name = "StoreError";
  readonly code: StoreErrorCode;
  /** HTTP status; 0 when there was no answer. */
  readonly status: number;
  readonly retryAfterSeconds: number | undefined;
  /** The server's `Status` object, when it sent one. */
  readonly body: unknown;

  constructor(
    code: StoreErrorCode,
    message: string,
    fields: {
      readonly status?: number;
      readonly retryAfterSeconds?: number | undefined;
      readonly body?: unknown;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: fields.cause });
    this.code = code;
    this.status = fields.status ?? 0;
    this.retryAfterSeconds = fields.retryAfterSeconds;
    this.body = fields.body;
  }
}

export function isStoreError(
  error: unknown,
  ...codes: readonly StoreErrorCode[]
): error is StoreError {
  return error instanceof StoreError && (codes.length === 0 || codes.includes(error.code));
}

/** An object that is not there, its namespace included, rather than a kind that the server does not know. */
export function isAbsentObject(error: unknown): boolean {
  if (!isStoreError(error, "NotFound")) return false;
  const { details } = (error.body ?? {}) as { readonly details?: { readonly name?: unknown } };
  return typeof details?.name === "string" && details.name !== "";
}

interface Cause {
  readonly reason?: string;
  readonly field?: string;
  readonly message?: string;
}

export function causesOf(error: StoreError): readonly Cause[] {
  const { details } = (error.body ?? {}) as { readonly details?: { readonly causes?: unknown } };
  return Array.isArray(details?.causes) ? (details.causes as readonly Cause[]) : [];
}

/** Refused, though permitted: the namespace is on its way out. */
export function isNamespaceTerminating(error: unknown): boolean {
  return (
    isStoreError(error, "Forbidden") &&
    causesOf(error).some(({ reason }) => reason === "NamespaceTerminating")
  );
}
