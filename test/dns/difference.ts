// Test tool: the differences between CoreDNS and our server that are accepted, each with its reason. docs/coredns.md has the same
// list. An entry makes two replies alike where, and only where, its reason applies.

import type { ServiceImport } from "../../src/api/mcs.ts";
import type { Question, Reply } from "./ask.ts";
import { type DnsWorld, ZONE } from "./world.ts";

export interface Pair {
  readonly coredns: Reply;
  readonly ours: Reply;
}

interface Difference {
  readonly id: string;
  /** One sentence, as in the documentation. */
  readonly reason: string;
  /** The same pair, not a copy, where the reason does not apply. */
  readonly level: (asked: Asked, pair: Pair) => Pair;
}

interface Asked extends Question {
  /** Labels below the zone, in lower case, the leftmost first. */
  readonly labels: readonly string[];
  /** The import that the name belongs to. */
  readonly serviceImport: ServiceImport | undefined;
}

/** Takes ours for both where the two are as the reason has it. */
function ours(applies: (asked: Asked, pair: Pair) => boolean): Difference["level"] {
  return (asked, pair) => (applies(asked, pair) ? { coredns: pair.ours, ours: pair.ours } : pair);
}

const denies = ({ rcode, answer }: Reply): boolean => rcode === "NXDOMAIN" && answer.length === 0;
const isEmpty = ({ rcode, answer }: Reply): boolean => rcode === "NOERROR" && answer.length === 0;
const isVirtual = ({ serviceImport }: Asked): boolean =>
  serviceImport?.spec?.type === "ClusterSetIP";

export const ACCEPTED: readonly Difference[] = [
  {
    id: "serial",
    reason:
      "The serial of the SOA: CoreDNS gives the second of the last change it saw, 0 if none since it started; ours starts with the second it started in and counts changes.",
    level: (_, pair) => {
      const strip = (reply: Reply): Reply => ({
        ...reply,
        answer: reply.answer.map(withoutSerial),
        authority: reply.authority.map(withoutSerial),
      });
      const level = { coredns: strip(pair.coredns), ours: strip(pair.ours) };
      const isSame = renderReply(level.coredns) === renderReply(pair.coredns);
      return isSame ? pair : level;
    },
  },
  {
    id: "scoped-names",
    reason:
      "Names below `_zone` and `_region`: our own extension, unknown to CoreDNS (its `zonal` option, of another form, is not for clusterset zones).",
    level: ours(({ labels }, pair) => labels.at(-1) === "_zone" && denies(pair.coredns)),
  },
  {
    id: "no-ports",
    reason:
      "A ClusterSetIP service without ports: CoreDNS makes its records port by port, so there are none (R80); ours answers its IPs.",
    level: ours(
      (asked, pair) =>
        isVirtual(asked) &&
        asked.serviceImport?.spec?.ports?.length === 0 &&
        asked.labels.length === 3 &&
        denies(pair.coredns),
    ),
  },
  {
    id: "pods-of-virtual-ips",
    reason:
      "`<hostname>.<cluster>.<service>` of a ClusterSetIP service: CoreDNS answers with the endpoint; the schema has such names for headless services only (N6), so ours denies it.",
    level: ours(
      (asked, pair) =>
        isVirtual(asked) &&
        asked.labels.length === 5 &&
        asked.labels.slice(0, 2).every((label) => !label.startsWith("_")) &&
        denies(pair.ours),
    ),
  },
  {
    id: "half-written-ports",
    reason:
      "`_http.tcp.<service>`, `_._tcp.<service>`: CoreDNS lets one underscore be missing, and takes an empty port for any; ours knows `_<port>._<protocol>` only (N4, N7).",
    level: ours(({ labels, serviceImport }, pair) => {
      const [port = "", protocol = ""] = labels;
      const isHalf = port === "_" || port.startsWith("_") !== protocol.startsWith("_");
      const isService = serviceImport !== undefined && labels.length === 5;
      return isService && isHalf && denies(pair.ours);
    }),
  },
  {
    id: "soa-of-no-name",
    reason:
      "SOA of a name that does not exist: CoreDNS answers NODATA without looking for the name; ours NXDOMAIN.",
    level: ours(({ type }, pair) => type === "SOA" && isEmpty(pair.coredns) && denies(pair.ours)),
  },
  {
    id: "denied-types",
    reason:
      "TXT, and PTR at `ns.dns`, of names that exist without such a record (the zone, `svc`, a namespace): CoreDNS answers NXDOMAIN, which denies the name itself; ours NODATA.",
    level: ours(({ type, labels }, pair) => {
      const isType = type === "TXT" || (type === "PTR" && labels.join(".") === "ns.dns");
      return isType && labels.length <= 2 && denies(pair.coredns) && isEmpty(pair.ours);
    }),
  },
  {
    id: "schema-names",
    reason:
      "Other types at `dns-version`, any at `dns`: CoreDNS denies the names; ours NODATA, because there are records at the one and below the other.",
    level: ours(
      ({ labels }, pair) =>
        ["dns", "dns-version"].includes(labels.join(".")) &&
        denies(pair.coredns) &&
        pair.ours.rcode === "NOERROR",
    ),
  },
  {
    id: "schema-version",
    reason:
      "`dns-version`: CoreDNS says 1.1.0, the version of the schema within a cluster, in every zone; ours 1.0.0, that of the clusterset's (N1).",
    level: (_, pair) => {
      const [line = "", ...rest] = pair.coredns.answer;
      if (!line.endsWith(' 28800 TXT "1.1.0"') || rest.length > 0) return pair;
      const answer = [line.replace("1.1.0", "1.0.0")];
      return { ...pair, coredns: { ...pair.coredns, answer } };
    },
  },
  {
    id: "no-pods",
    reason:
      "`pod.<zone>`: CoreDNS knows it in every zone, for names that a clusterset zone does not have; ours denies it.",
    level: ours(({ labels }, pair) => labels.join(".") === "pod" && denies(pair.ours)),
  },
  {
    id: "name-server",
    reason:
      "NS of the zone and the address of `ns.dns`: CoreDNS finds out its own addresses (none here, on loopback); ours are those of `--ns-address`.",
    level: ours(
      ({ type, labels }, pair) =>
        ((labels.length === 0 && type === "NS") || labels.join(".") === "ns.dns") &&
        isEmpty(pair.coredns),
    ),
  },
  {
    id: "any",
    reason:
      "ANY: CoreDNS answers NODATA (its `any` plugin would do as ours); ours a HINFO as RFC 8482 has it, small whatever there is.",
    level: ours(
      ({ type, name }, pair) =>
        type === "ANY" &&
        isEmpty(pair.coredns) &&
        pair.ours.answer.join() === `${name.toLowerCase()} 3600 HINFO "RFC8482" ""`,
    ),
  },
];

function withoutSerial(line: string): string {
  return line.replace(/( SOA \S+ \S+) \d+ /u, "$1 * ");
}

export function levelReplies(
  question: Question,
  pair: Pair,
  world: DnsWorld,
  onUse: (id: string) => void,
): Pair {
  const asked = describe(question, world);
  return ACCEPTED.reduce((before, { id, level }) => {
    if (renderReply(before.coredns) === renderReply(before.ours)) return before;
    const after = level(asked, before);
    if (after !== before) onUse(id);
    return after;
  }, pair);
}

function describe(question: Question, { imports }: DnsWorld): Asked {
  const name = question.name.toLowerCase();
  const labels = name
    .slice(0, -`${ZONE}.`.length)
    .split(".")
    .filter((label) => label !== "");
  const [service, namespace, kind] = labels.slice(-3);
  const serviceImport = imports.find(
    ({ metadata }) =>
      kind === "svc" && metadata.name === service && metadata.namespace === namespace,
  );
  return { ...question, labels, serviceImport };
}

/** Order is nobody's promise; everything else is compared. */
export function renderReply(reply: Reply): string {
  const { rcode, isAuthoritative, isTruncated, asked, answer, authority, additional } = reply;
  const list = (lines: readonly string[]): string => `[${lines.toSorted().join("; ")}]`;
  const flags = `${isAuthoritative ? " aa" : ""}${isTruncated ? " tc" : ""}`;
  return `${rcode}${flags} ${asked} ${list(answer)} authority ${list(authority)} additional ${list(additional)}`;
}
