// Registry of the failures a user can act on: a searchable code, a sentence, what to do. docs/errors.md explains each.
// A Problem's message and hint are shown as they are: they never hold a token, key or password.

/** Code → the first line of its section in docs/errors.md. */
export const PROBLEMS = {
  KubeconfigMissing: "No kubeconfig was found where Isthmus looked for one.",
  KubeconfigInvalid: "A kubeconfig cannot be read, is not valid YAML, or contradicts itself.",
  KubeconfigUnsupported: "The kubeconfig asks for something that Isthmus does not do.",
  ContextUnknown: "The context that was asked for is in none of the kubeconfig files.",
  NotInCluster: "In-cluster configuration was asked for outside a pod.",
  CredentialFileUnreadable: "A certificate, key or token file named by the kubeconfig is missing.",
  ClientCertificateInvalid: "The client certificate and key cannot be used together.",
  ClientCertificateExpired: "The client certificate in the kubeconfig has expired.",
  ExecPluginFailed: "The command that should hand out credentials failed.",
  ServerUnreachable: "Nothing answers at the API server's address.",
  ServerNameUnknown: "The API server's host name does not resolve.",
  ServerNotTls: "The API server's address is https, but what answers there is not TLS.",
  ServerNotKubernetes: "Something answers at that address, but it is not a Kubernetes API.",
  ServerFailed: "The API server answered with an error of its own.",
  RequestRefused: "The API server understood the request and refused it.",
  CertificateExpired: "The API server's certificate has expired.",
  CertificateNotYetValid: "The API server's certificate is not valid yet.",
  CertificateUntrusted: "The API server's certificate is not signed by the trusted authority.",
  CertificateNameMismatch: "The API server's certificate is for another name or address.",
  CredentialsRefused: "The API server does not accept the credentials.",
  PermissionDenied: "The credentials are good, but they do not allow this request.",
  ProxyFailed: "The HTTP proxy on the way to the API server did not let the connection through.",
  CrdNotServed: "The API server did not take up a CustomResourceDefinition in time.",
  HubMissing: "The cluster is not a hub: nobody has run `isthmus hub init` there.",
  HubUnsupported: "The cluster cannot be a hub: its API server lacks something that a hub needs.",
  PoliciesUnsupported: "The cluster cannot hold policies: its API server has no such thing.",
  JoinTokenInvalid: "The join token cannot be read.",
  JoinTokenRefused: "The hub does not accept the join token.",
  JoinTokenUsed: "The join token has been used as often as it may be.",
  ClusterIdInvalid: "The cluster has no id, or one that it cannot have.",
  ClusterIdTaken: "Another cluster of the hub already has the id.",
  AlreadyMember: "The cluster is a member already: under another id, or of another hub.",
  NotMember: "The cluster is not a member of a hub.",
  MemberUnknown: "The hub has no member of that id.",
  AddressRangesUnknown: "The address ranges of the cluster's pods or Services cannot be found.",
  AddressRangesOverlap:
    "The cluster's pods may have the same addresses as those of another member.",
  AgentRunning: "The cluster's agent is at work, and would undo what the command does.",
  Interrupted: "The command was stopped before it was done.",
  FileUnwritable: "A file that the command was asked to write cannot be written.",
  ArgumentInvalid: "An argument of the command line is not what the command takes.",
  ConfigurationInvalid:
    "A configuration file or a variable of the environment says what the command does not take.",
  PortInUse: "Another process already listens on the port.",
  PortForbidden: "This user may not listen on the port.",
  CoreDnsMissing: "The cluster's CoreDNS is not where the command looked for it.",
  CoreDnsTooOld:
    "The cluster's CoreDNS cannot answer a clusterset zone itself, or hides its version.",
  CorefileUnchanged: "The Corefile could not be changed, and is as it was.",
  ServiceImportsMissing: "The cluster does not know ServiceImports as CoreDNS reads them.",
  NotWell: "The command looked, and what it found is not as it should be.",
  NothingFound: "The command looked for something by name, and there is no such thing.",
  NothingRead: "None of the clusters that were named could be read.",
  NotExportable: "The Service cannot be exported, so no export was written.",
  ServiceExportsMissing: "The cluster does not know ServiceExports.",
  AssetsMissing: "The binaries of a real control plane are not on this machine.",
  Unexpected: "An error that Isthmus has no words for: a defect in Isthmus until shown otherwise.",
} as const satisfies Readonly<Record<string, string>>;

export type ProblemCode = keyof typeof PROBLEMS;

export class Problem extends Error {
  override readonly name = "Problem";
  readonly code: ProblemCode;
  /** What to do about it: one sentence. */
  readonly hint: string | undefined;

  constructor(
    code: ProblemCode,
    message: string,
    fields: { readonly hint?: string | undefined; readonly cause?: unknown } = {},
  ) {
    super(message, { cause: fields.cause });
    this.code = code;
    this.hint = fields.hint;
  }
}

export function isProblem(error: unknown, ...codes: readonly ProblemCode[]): error is Problem {
  return error instanceof Problem && (codes.length === 0 || codes.includes(error.code));
}
