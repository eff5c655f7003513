// Embedded server, refusals: what went wrong in, the API server's `Status` object out. Decides nothing and never touches storage.

import type { FieldFailure, JsonObject, ObjectAnswer } from "./types.ts";

interface GroupResource {
  readonly group: string;
  readonly plural: string;
}

interface GroupKind {
  readonly group: string;
  readonly kind: string;
}

/** Thrown inside the engine, turned into an answer at its edge. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly body: JsonObject;
  readonly retryAfterSeconds: number | undefined;

  constructor(failure: {
    readonly status: number;
    /** "" when the real server gives none. */
    readonly reason: string;
    readonly message: string;
    readonly details?: JsonObject;
    readonly metadata?: JsonObject;
    readonly retryAfterSeconds?: number;
  }) {
    super(failure.message);
    this.status = failure.status;
    this.retryAfterSeconds = failure.retryAfterSeconds;
    const retry =
      failure.retryAfterSeconds === undefined
        ? {}
        : { retryAfterSeconds: failure.retryAfterSeconds };
    const details =
      failure.details === undefined && failure.retryAfterSeconds === undefined
        ? {}
        : { details: { ...failure.details, ...retry } };
    this.body = {
      kind: "Status",
      apiVersion: "v1",
      metadata: failure.metadata ?? {},
      status: "Failure",
      message: failure.message,
      ...(failure.reason === "" ? {} : { reason: failure.reason }),
      ...details,
      code: failure.status,
    };
  }
}

export function answerError(error: ApiError): ObjectAnswer {
  return {
    kind: "object",
    status: error.status,
    body: error.body,
    ...(error.retryAfterSeconds === undefined
      ? {}
      : { retryAfterSeconds: error.retryAfterSeconds }),
  };
}

/** "services", "leases.coordination.k8s.io". */
function qualify(name: string, group: string): string {
  return group === "" ? name : `${name}.${group}`;
}

function resourceDetails(resource: GroupResource, name: string): JsonObject {
  return {
    ...(name === "" ? {} : { name }),
    ...(resource.group === "" ? {} : { group: resource.group }),
    kind: resource.plural,
  };
}

export function badRequest(message: string): ApiError {
  return new ApiError({ status: 400, reason: "BadRequest", message });
}

export function notFound(resource: GroupResource, name: string): ApiError {
  return new ApiError({
    status: 404,
    reason: "NotFound",
    message: `${qualify(resource.plural, resource.group)} ${JSON.stringify(name)} not found`,
    details: resourceDetails(resource, name),
  });
}

/** A failure that the real server does not name: a bare 500. */
export function unnamedError(message: string): ApiError {
  return new ApiError({ status: 500, reason: "", message });
}

export function noSuchResource(): ApiError {
  return new ApiError({
    status: 404,
    reason: "NotFound",
    message: "the server could not find the requested resource",
    details: {},
  });
}

export function methodNotAllowed(): ApiError {
  return new ApiError({
    status: 405,
    reason: "MethodNotAllowed",
    message: "the server does not allow this method on the requested resource",
    details: {},
  });
}

export function alreadyExists(resource: GroupResource, name: string): ApiError {
  return new ApiError({
    status: 409,
    reason: "AlreadyExists",
    message: `${qualify(resource.plural, resource.group)} ${JSON.stringify(name)} already exists`,
    details: resourceDetails(resource, name),
  });
}

/** `of` is a plural, or a kind where the real server names the kind. */
export function conflict(of: GroupResource, name: string, why: string): ApiError {
  return new ApiError({
    status: 409,
    reason: "Conflict",
    message: `Operation cannot be fulfilled on ${qualify(of.plural, of.group)} ${JSON.stringify(name)}: ${why}`,
    details: resourceDetails(of, name),
  });
}

export function modifiedConflict(resource: GroupResource, name: string): ApiError {
  return conflict(
    resource,
    name,
    "the object has been modified; please apply your changes to the latest version and try again",
  );
}

export function forbidden(
  resource: GroupResource,
  name: string,
  why: string,
  causes: readonly JsonObject[] = [],
): ApiError {
  return new ApiError({
    status: 403,
    reason: "Forbidden",
    message: `${qualify(resource.plural, resource.group)} ${JSON.stringify(name)} is forbidden: ${why}`,
    details: { ...resourceDetails(resource, name), ...(causes.length === 0 ? {} : { causes }) },
  });
}

export function invalid(of: GroupKind, name: string, failures: readonly FieldFailure[]): ApiError {
  const sentences = failures.map((failure) =>
    failure.field === "" ? failure.message : `${failure.field}: ${failure.message}`,
  );
  const listed = sentences.length === 1 ? (sentences[0] ?? "") : `[${sentences.join(", ")}]`;
  return new ApiError({
    status: 422,
    reason: "Invalid",
    message: `${qualify(of.kind, of.group)} ${JSON.stringify(name)} is invalid: ${listed}`,
    details: {
      ...(name === "" ? {} : { name }),
      ...(of.group === "" ? {} : { group: of.group }),
      ...(of.kind === "" ? {} : { kind: of.kind }),
      causes: failures.map((failure) => ({
        reason: failure.reason,
        message: failure.message,
        field: failure.field,
      })),
    },
  });
}

export function invalidOptions(kind: string, failures: readonly FieldFailure[]): ApiError {
  return invalid({ group: "meta.k8s.io", kind }, "", failures);
}

export function expired(message: string, continueToken?: string): ApiError {
  return new ApiError({
    status: 410,
    reason: "Expired",
    message,
    ...(continueToken === undefined ? {} : { metadata: { continue: continueToken } }),
  });
}

export function tooLargeVersion(asked: number, current: number): ApiError {
  return new ApiError({
    status: 504,
    reason: "Timeout",
    message: `Timeout: Too large resource version: ${asked}, current: ${current}`,
    details: {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
    },
    retryAfterSeconds: 1,
  });
}

export function unsupportedMediaType(accepted: readonly string[]): ApiError {
  return new ApiError({
    status: 415,
    reason: "UnsupportedMediaType",
    message: `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`,
  });
}

/** The answer to a delete that left nothing behind, for the types whose servers do not return the object. */
export function deletedStatus(resource: GroupResource, name: string, uid: string): JsonObject {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: { ...resourceDetails(resource, name), uid } satisfies JsonObject,
  };
}
