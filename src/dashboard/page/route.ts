// Page: what is selected, to and from the address's hash: a link to a service can be sent to somebody.

export type Route =
  | { readonly kind: "service"; readonly key: string }
  | { readonly kind: "cluster"; readonly id: string };

export function parseRoute(hash: string): Route | undefined {
  const match = /^#\/(service|cluster)\/(.+)$/.exec(hash);
  if (match === null) return undefined;
  const [, kind, rest = ""] = match;
  try {
    const name = rest.split("/").map(decodeURIComponent).join("/");
    return kind === "service" ? { kind, key: name } : { kind: "cluster", id: name };
  } catch {
    return undefined; // A hash that nobody could have got from us.
  }
}

export function linkToService(key: string): string {
  return `#/service/${key.split("/").map(encodeURIComponent).join("/")}`;
}

export function linkToCluster(id: string): string {
  return `#/cluster/${encodeURIComponent(id)}`;
}

/** What a time line event is about. */
export function linkToSubject(subject: string): string {
  return subject.includes("/") ? linkToService(subject) : linkToCluster(subject);
}
