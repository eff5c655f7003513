// Gather: anything that may leave a cluster in a support bundle in, the same without what could open something out. Rather takes
// too much than too little: who needs a value that is missing can ask for it.

const REDACTED = "(redacted)";

const WORDS =
  "passw|passphrase|pass(?![a-z])|pwd|secret|token|api[-_.]?key|access[-_.]?key|private[-_.]?key|credential|authorization|claim";
/** Bounded, as all below: a log of one long line must not take for ever. */
const NAMED = `[\\w.-]{0,64}(?:${WORDS})[\\w.-]{0,64}`;

/** What a field, label, annotation, environment variable or option is called that holds something to be kept. */
const SECRET_NAME = new RegExp(`${WORDS}|bearer|cookie|signature|last-applied-configuration`, "i");

/** Names that only look like it: they hold a name, a count or a policy. */
const HARMLESS_NAME =
  /^(automountServiceAccountToken|secretName|secretKeyRef|secretRef|imagePullSecrets|serviceAccountToken|claimName)$/;

/** An option whose value is the next item of a list: "--token". */
const SECRET_OPTION = new RegExp(`^--?${NAMED}$`, "i");

/** Annotations whose values are worth reading, and are ours or Kubernetes' own. */
const KEPT_ANNOTATION = /^(multicluster\.kubernetes\.io|isthmus\.dev|endpoints\.kubernetes\.io)\//;

type Json = unknown;

/** Objects and lists as an API server gives them, or data made of them. */
export function redactData(value: Json, name = ""): Json {
  if (isSecretName(name) && !isHarmless(value, name)) return REDACTED;
  if (typeof value === "string") return redactText(value);
  if (Array.isArray(value)) return redactList(value, name);
  if (!isRecord(value)) return value;
  const isSecret = value["kind"] === "Secret";
  // A header of a probe, say: what it is called is a value itself.
  const isNamed = typeof value["name"] === "string" && isSecretName(value["name"]);
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== "managedFields")
      .map(([key, inner]) => {
        if (key === "annotations" && isRecord(inner)) return [key, redactAnnotations(inner)];
        const isHidden = isSecret && (key === "data" || key === "stringData");
        if (isNamed && key === "value") return [key, REDACTED];
        return [redactText(key), isHidden ? hideValues(inner) : redactData(inner, key)];
      }),
  );
}

/** Yes and no open nothing; "pass" is also how many checks went well. */
function isHarmless(value: Json, name: string): boolean {
  const isCount = typeof value === "number" && name === "pass";
  return isCount || typeof value === "boolean" || value === null || value === undefined;
}

/** Of environment variables the names are told, the values never. */
function redactList(list: readonly Json[], name: string): readonly Json[] {
  if (name !== "env") {
    return list.map((item, at) =>
      isValueOf(list[at - 1], item) ? REDACTED : redactData(item, name),
    );
  }
  return list.map((item) =>
    isRecord(item) && item["value"] !== undefined
      ? { ...(redactData(item) as object), value: REDACTED }
      : redactData(item),
  );
}

function isValueOf(option: Json, item: Json): boolean {
  const isOption = typeof option === "string" && SECRET_OPTION.test(option);
  return isOption && typeof item === "string" && !item.startsWith("--");
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

/** How YAML opens a text of several lines, and the first of them. */
const BLOCK = "[|>][-+\\d]{0,2}[ \\t]*\\r?\\n.*";

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z0-9 ]{1,40}-----[\s\S]*?(?:-----END [A-Z0-9 ]{1,40}-----|$)/g, REDACTED],
  // Join tokens of ours, JSON Web Tokens, those of well-known services.
  [/\bisthmus1\.[\w\-+/=]+/g, REDACTED],
  [/(?<![\w-])eyJ[\w-]{5,8192}(?:\.[\w-]{0,8192}){1,4}/g, REDACTED],
  [/\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g, REDACTED],
  [/\b(?:gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{10,})/g, REDACTED],
  // Bootstrap tokens of kubeadm.
  [/\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g, REDACTED],
  // Headers: whatever stands behind them, in whatever form.
  [
    /([\w-]{0,32}(?:authorization|cookie2?)\\*["']?[ \t]{0,8}[:=][ \t]{0,8})\S.*$/gim,
    `$1${REDACTED}`,
  ],
  [/\b(Bearer|Basic|Negotiate|Digest|ApiKey)\s+[\w\-.~+/=]{6,}/gi, `$1 ${REDACTED}`],
  // In the address of a server or a database.
  // Passwords hold slashes, quotes and @s; the digest of an image comes after an @, too.
  [
    /(\b[a-z][a-z0-9+.-]{0,32}:\/\/)(?:[^\s/@:"']{0,512}:[^\s"]{0,512}|[^\s/@"']{1,512})@(?!sha256:)/gi,
    `$1${REDACTED}@`,
  ],
  // A block of YAML: the line below, and all that are further in than the name; in the middle of a line, that of a log, the line below.
  [
    new RegExp(
      `^([ \\t]*)((?:- )?["']?${NAMED}["']?:[ \\t]{1,8})${BLOCK}(?:\\r?\\n(?:\\1[ \\t].*|(?=\\r?\\n)))*`,
      "gim",
    ),
    `$1$2${REDACTED}`,
  ],
  [new RegExp(`(${NAMED}["']?:[ \\t]{1,8})${BLOCK}`, "gi"), `$1${REDACTED}`],
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

/** Options of a Corefile stand on a line with what they hold: `secret`, `credentials`, `aws_access_key`. Also in a comment. */
export function redactCorefile(text: string): string {
  const lines = text.split(/\r?\n/).map((line) => {
    for (const option of [/^([\s#]*)(\S+)(\s+)\S/, /^([^{]*\{[\s#]*)(\S+)(\s+)\S/]) {
      const [, before = "", word = "", gap = ""] = option.exec(line) ?? [];
      if (isSecretName(word)) return `${before}${word}${gap}${REDACTED}`;
    }
    return line;
  });
  return redactText(lines.join("\n"));
}

function isRecord(value: Json): value is Readonly<Record<string, Json>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
