// Gather: anything that may leave a cluster in a support bundle in, the same without what could open something out. Rather takes
// too much than too little: who needs a value that is missing can ask for it.

const REDACTED = "(redacted)";

const WORDS =
  "passw|passphrase|pwd|secret|token|api[-_.]?key|access[-_.]?key|private[-_.]?key|credential|authorization|claim";
/** Bounded, as all below: a log of one long line must not take for ever. */
const NAMED = `[\\w.-]{0,64}(?:${WORDS})[\\w.-]{0,64}`;

/** What a field, label, annotation, environment variable or option is called that holds something to be kept. */
const SECRET_NAME = new RegExp(`${WORDS}|bearer|cookie|signature|last-applied-configuration`, "i");

/** Names that only look like it: they hold a name, a count or a policy. */
const HARMLESS_NAME = /^(automountServiceAccountToken|secretName|serviceAccountToken|claimName)$/;

/** Annotations whose values are worth reading, and are ours or Kubernetes' own. */
const KEPT_ANNOTATION = /^(multicluster\.kubernetes\.io|isthmus\.dev|endpoints\.kubernetes\.io)\//;

type Json = unknown;

/** Objects and lists as an API server gives them, or data made of them. */
export function redactData(value: Json, name = ""): Json {
  if (typeof value === "string") return isSecretName(name) ? REDACTED : redactText(value);
  if (Array.isArray(value)) return redactList(value, name);
  if (!isRecord(value)) return value;
  const isSecret = value["kind"] === "Secret";
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== "managedFields")
      .map(([key, inner]) => {
        if (key === "annotations" && isRecord(inner)) return [key, redactAnnotations(inner)];
        const isHidden = isSecret && (key === "data" || key === "stringData");
        return [redactText(key), isHidden ? hideValues(inner) : redactData(inner, key)];
      }),
  );
}

/** Of environment variables the names are told, the values never. */
function redactList(list: readonly Json[], name: string): readonly Json[] {
  if (name !== "env") return list.map((item) => redactData(item, name));
  return list.map((item) =>
    isRecord(item) && item["value"] !== undefined
      ? { ...(redactData(item) as object), value: REDACTED }
      : redactData(item),
  );
}

function redactAnnotations(annotations: Readonly<Record<string, Json>>): Json {
  return Object.fromEntries(
    Object.entries(annotations).map(([key, value]) => [
      redactText(key),
      KEPT_ANNOTATION.test(key) ? redactData(value, key) : REDACTED,
    ]),
  );
}

function hideValues(value: Json): Json {
  if (!isRecord(value)) return REDACTED;
  return Object.fromEntries(Object.keys(value).map((key) => [key, REDACTED]));
}

function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) && !HARMLESS_NAME.test(name);
}

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z0-9 ]{1,40}-----[\s\S]*?(?:-----END [A-Z0-9 ]{1,40}-----|$)/g, REDACTED],
  // Join tokens of ours, JSON Web Tokens, those of well-known services.
  [/\bisthmus1\.[\w\-+/=]+/g, REDACTED],
  [/(?<![\w-])eyJ[\w-]{5,8192}(?:\.[\w-]{0,8192}){1,4}/g, REDACTED],
  [/\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g, REDACTED],
  [/\b(?:gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{10,})/g, REDACTED],
  // Bootstrap tokens of kubeadm.
  [/\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g, REDACTED],
  [/\b(Bearer|Basic|Negotiate)\s+[\w\-.~+/=]{6,}/gi, `$1 ${REDACTED}`],
  // In the address of a server or a database.
  [/(\b[a-z][a-z0-9+.-]{0,32}:\/\/)[^\s/@"']{1,512}@/gi, `$1${REDACTED}@`],
  // A line of YAML: all that stands on it.
  [new RegExp(`^([ \\t]*(?:- )?["']?${NAMED}["']?:[ \\t]+)\\S.*$`, "gim"), `$1${REDACTED}`],
  // name=value, "name":"value", the same inside of a text in quotes.
  [
    new RegExp(
      `(${NAMED}(?:\\\\*["'])?\\s{0,8}[:=]\\s{0,8})(?:\\(redacted\\)|\\\\+"[^"\\\\]*\\\\+"|"(?:[^"\\\\]|\\\\.)*"|'[^']*'|(?:(?:Bearer|Basic) )?[^\\s,;&}\\])"']+)`,
      "gi",
    ),
    `$1${REDACTED}`,
  ],
  [new RegExp(`(--${NAMED}\\s{1,8})(?:\\(redacted\\)|[^\\s-]\\S*)`, "gi"), `$1${REDACTED}`],
];

/** 32 bytes or more in hexadecimal or base64 are a key until shown otherwise; the digest of an image is none. */
const LONG_HEX = /(sha256:)?\b[0-9a-fA-F]{64,}\b/g;
const LONG_BASE64 = /(?<![\w+/=-])[A-Za-z0-9+/_-]{40,}={0,2}(?![\w+/=-])/g;

/** Logs, messages, configuration. */
export function redactText(text: string): string {
  const replaced = PATTERNS.reduce((rest, [pattern, by]) => rest.replaceAll(pattern, by), text);
  return replaced
    .replaceAll(LONG_HEX, (found, digest: string | undefined) =>
      digest === undefined ? REDACTED : found,
    )
    .replaceAll(LONG_BASE64, (found) => (looksRandom(found) ? REDACTED : found));
}

/** Not a path, nor a name of many words. */
function looksRandom(text: string): boolean {
  const isPath = /^\/[^+=]*\/[^+=]*\//.test(text) && !/[^/]{40}/.test(text);
  return !isPath && /[a-z]/.test(text) && /[A-Z]/.test(text) && /\d/.test(text);
}

/** Options of a Corefile stand on a line with what they hold: `secret`, `credentials`, `aws_access_key`. */
export function redactCorefile(text: string): string {
  const lines = text.split("\n").map((line) => {
    const match = /^(\s*)(\S+)(\s+)(\S.*)$/.exec(line);
    const [, indent = "", word = "", gap = ""] = match ?? [];
    const isKept = match === null || word.startsWith("#") || !isSecretName(word);
    return isKept ? line : `${indent}${word}${gap}${REDACTED}`;
  });
  return redactText(lines.join("\n"));
}

function isRecord(value: Json): value is Readonly<Record<string, Json>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
