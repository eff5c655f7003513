// Embedded server, names: a name, label, annotation key or finalizer in, the API server's complaints out. Pure.

const LABEL_CHARACTERS = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN_CHARACTERS = `${LABEL_CHARACTERS}(\\.${LABEL_CHARACTERS})*`;
const QUALIFIED_CHARACTERS = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE_CHARACTERS = `(${QUALIFIED_CHARACTERS})?`;

const LABEL = new RegExp(`^${LABEL_CHARACTERS}$`);
const SUBDOMAIN = new RegExp(`^${SUBDOMAIN_CHARACTERS}$`);
const QUALIFIED = new RegExp(`^${QUALIFIED_CHARACTERS}$`);
const LABEL_VALUE = new RegExp(`^${LABEL_VALUE_CHARACTERS}$`);

const LABEL_TEXT = `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '${LABEL_CHARACTERS}')`;
const SUBDOMAIN_TEXT = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '${SUBDOMAIN_CHARACTERS}')`;
const QUALIFIED_TEXT = `must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${QUALIFIED_CHARACTERS}')`;
const PREFIX_TEXT = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
const LABEL_VALUE_TEXT = `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '${LABEL_VALUE_CHARACTERS}')`;

const LABEL_LENGTH = 63;
const SUBDOMAIN_LENGTH = 253;

export type NameRule = (name: string) => readonly string[];

export function checkLabelName(name: string): readonly string[] {
  const complaints: string[] = [];
  if (name.length > LABEL_LENGTH) complaints.push(tooLong(LABEL_LENGTH));
  if (!LABEL.test(name)) {
    complaints.push(SUBDOMAIN.test(name) ? "must not contain dots" : LABEL_TEXT);
  }
  return complaints;
}

export function checkSubdomainName(name: string): readonly string[] {
  const complaints: string[] = [];
  if (name.length > SUBDOMAIN_LENGTH) complaints.push(tooLong(SUBDOMAIN_LENGTH));
  if (!SUBDOMAIN.test(name)) complaints.push(SUBDOMAIN_TEXT);
  return complaints;
}

/** Keys of labels and annotations, names of finalizers: "name" or "sub.domain/name". */
export function checkQualifiedName(name: string): readonly string[] {
  const complaints: string[] = [];
  const slash = name.indexOf("/");
  const prefix = slash < 0 ? undefined : name.slice(0, slash);
  const rest = slash < 0 ? name : name.slice(slash + 1);
  if (rest.includes("/")) return [`a valid label key ${QUALIFIED_TEXT} ${PREFIX_TEXT}`];
  if (prefix !== undefined) {
    if (prefix === "") complaints.push("prefix part must be non-empty");
    else complaints.push(...checkSubdomainName(prefix).map((text) => `prefix part ${text}`));
  }
  if (rest === "") complaints.push("name part must be non-empty");
  else if (rest.length > LABEL_LENGTH) complaints.push(`name part ${tooLong(LABEL_LENGTH)}`);
  if (!QUALIFIED.test(rest)) complaints.push(`name part ${QUALIFIED_TEXT}`);
  return complaints;
}

export function checkLabelValue(value: string): readonly string[] {
  const complaints: string[] = [];
  if (value.length > LABEL_LENGTH) complaints.push(tooLong(LABEL_LENGTH));
  if (!LABEL_VALUE.test(value)) complaints.push(LABEL_VALUE_TEXT);
  return complaints;
}

/** Names of container and target ports: an IANA service name. */
export function checkPortName(name: string): readonly string[] {
  const complaints: string[] = [];
  if (name.length > 15) complaints.push("must be no more than 15 characters");
  if (!/^[-a-z0-9]+$/.test(name)) {
    complaints.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  }
  if (!/[a-z]/.test(name)) complaints.push("must contain at least one letter (a-z)");
  if (name.includes("--")) complaints.push("must not contain consecutive hyphens");
  if (name.startsWith("-") || name.endsWith("-")) {
    complaints.push("must not begin or end with a hyphen");
  }
  return complaints;
}

function tooLong(limit: number): string {
  return `must be no more than ${limit} bytes`;
}
