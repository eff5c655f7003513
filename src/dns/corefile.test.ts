// Switching a Corefile over and back: what is added, what is refused, and that everything else stays byte for byte.

import { describe, expect, test } from "vitest";
import { COREFILE as KUBEADM } from "../../test/dns/corefile.ts";
import { disableZone, enableZone, reloadsItself, servesZone, type ZoneSource } from "./corefile.ts";
import { CorefileError, parseCorefile } from "./corefileSyntax.ts";

const ZONE = "clusterset.local";
const OWN: ZoneSource = { kind: "multicluster" };
const STUB: ZoneSource = { kind: "stub", servers: ["10.96.0.53"] };

const enable = (text: string, source: ZoneSource = OWN): string => enableZone(text, ZONE, source);

/** The lines that are new, whole. */
function addedLines(before: string, after: string): readonly string[] {
  const old = before.split("\n");
  return after.split("\n").filter((line) => !old.includes(line));
}

function refusal(text: string, source: ZoneSource = OWN): string {
  try {
    enable(text, source);
  } catch (error) {
    if (error instanceof CorefileError) return error.message;
    throw error;
  }
  throw new Error("It was not refused.");
}

describe("kubeadm's Corefile", () => {
  test("gets the zone on the plugin's line, the option in its block, no cache for it as for cluster.local, and a comment that says so", () => {
    expect(addedLines(KUBEADM, enable(KUBEADM))).toEqual([
      "    kubernetes cluster.local in-addr.arpa ip6.arpa clusterset.local {",
      "       # isthmus dns enable clusterset.local (zone, option, cache:success, cache:denial): undo it with isthmus dns disable",
      "       multicluster clusterset.local",
      "       disable success cluster.local clusterset.local",
      "       disable denial cluster.local clusterset.local",
    ]);
  });

  test("gets a block of its own for the zone when CoreDNS is too old for the option", () => {
    expect(enable(KUBEADM, STUB)).toBe(`${KUBEADM}\
# isthmus dns enable clusterset.local (block): undo it with isthmus dns disable
clusterset.local:53 {
    errors
    forward . 10.96.0.53
}
`);
  });

  test("is itself again after disable, whichever way it was enabled", () => {
    for (const source of [OWN, STUB]) {
      expect(disableZone(enable(KUBEADM, source), ZONE)).toBe(KUBEADM);
    }
  });

  test("is enabled once however often it is asked for", () => {
    for (const source of [OWN, STUB]) {
      expect(enable(enable(KUBEADM, source), source)).toBe(enable(KUBEADM, source));
    }
  });

  test("moves from the stub block to the option when CoreDNS has become new enough, and back", () => {
    expect(enable(enable(KUBEADM, STUB))).toBe(enable(KUBEADM));
    expect(enable(enable(KUBEADM), STUB)).toBe(enable(KUBEADM, STUB));
  });

  test("follows a changed address of the server", () => {
    const moved: ZoneSource = { kind: "stub", servers: ["10.96.0.54", "10.96.0.55:5353"] };
    expect(enable(enable(KUBEADM, STUB), moved)).toBe(enable(KUBEADM, moved));
  });

  test("reloads itself, and does not without the reload plugin", () => {
    expect(reloadsItself(KUBEADM)).toBe(true);
    expect(reloadsItself(KUBEADM.replace("    reload\n", ""))).toBe(false);
  });
});

describe("edits in between", () => {
  test("stay when the zone is disabled", () => {
    const edited = enable(KUBEADM).replace("       ttl 30\n", "       ttl 10\n");
    expect(disableZone(edited, ZONE)).toBe(KUBEADM.replace("ttl 30", "ttl 10"));
  });

  test("do not bring back what a person already took away", () => {
    const edited = enable(KUBEADM).replace("       multicluster clusterset.local\n", "");
    expect(disableZone(edited, ZONE)).toBe(KUBEADM);
  });

  test("what a person enabled by hand is neither added again nor taken away", () => {
    const byHand = KUBEADM.replace("ip6.arpa {", "ip6.arpa ClusterSet.Local. {").replace(
      "       ttl 30",
      "       ttl 30\n       multicluster clusterset.local",
    );
    expect(enable(byHand)).toBe(byHand);
    expect(disableZone(byHand, ZONE)).toBe(byHand);
    expect(servesZone(byHand, ZONE)).toBe(true);
  });

  test("our comment behind somebody's words takes no words with it", () => {
    const moved = KUBEADM.replace(
      "    loop\n",
      "    loop # isthmus dns enable clusterset.local (zone, option): undo it\n",
    );
    expect(disableZone(moved, ZONE)).toBe(moved);
  });

  test("a second zone joins the first, and each can go without the other", () => {
    const both = enableZone(enable(KUBEADM), "other.local", OWN);
    expect(both).toContain("multicluster clusterset.local other.local\n");
    expect(enable(both)).toBe(both);
    expect(disableZone(both, "other.local")).toBe(enable(KUBEADM));
    const second = disableZone(both, ZONE);
    expect(second).toContain("       multicluster other.local\n");
    expect(servesZone(second, ZONE)).toBe(false);
  });
});

describe("the cache", () => {
  const SUCCESS = "       disable success cluster.local\n";
  const DENIAL = "       disable denial cluster.local\n";

  test("keeps the zone as it keeps cluster.local: where that is cached, nothing is said about either", () => {
    const cached = KUBEADM.replace(SUCCESS, "").replace(DENIAL, "");
    expect(enable(cached)).not.toContain("disable success");
    const half = KUBEADM.replace(SUCCESS, "");
    expect(addedLines(half, enable(half))).toContain(
      "       disable denial cluster.local clusterset.local",
    );
    expect(disableZone(enable(half), ZONE)).toBe(half);
  });

  test("is left alone where it has no exception for a zone of the plugin, or one for this zone already", () => {
    for (const line of [
      "disable success example.org",
      "disable success cluster.local local",
      "disable success clusterset.local. cluster.local",
    ]) {
      const text = KUBEADM.replace(SUCCESS.trim(), line);
      expect(enable(text)).toContain(`       ${line}\n`);
      expect(disableZone(enable(text), ZONE)).toBe(text);
    }
  });

  test("of several lines of one kind, the last gets the zone: it is the one that counts", () => {
    const text = KUBEADM.replace(SUCCESS, `${SUCCESS}${SUCCESS}`);
    expect(enable(text)).toContain(`${SUCCESS}${SUCCESS.replace("\n", " clusterset.local\n")}`);
    expect(disableZone(enable(text), ZONE)).toBe(text);
  });

  test("loses the whole line when only this zone is left in it: without one it would mean all", () => {
    const edited = enable(KUBEADM).replace(
      "disable success cluster.local clusterset.local",
      "disable success clusterset.local",
    );
    expect(disableZone(edited, ZONE)).toBe(KUBEADM.replace(SUCCESS, ""));
  });

  test("that several blocks have from one snippet gets the zone once", () => {
    const cache = "cache {\n  disable success cluster.local\n}";
    const block = (port: number): string =>
      `.:${port} {\n  kubernetes cluster.local\n  import shared\n}\n`;
    const text = `(shared) {\n${cache}\n}\n${block(53)}${block(1053)}`;
    expect(enable(text)).toContain("disable success cluster.local clusterset.local\n");
    expect(disableZone(enable(text), ZONE)).toBe(text);
  });
});

describe("who serves what", () => {
  test("a plugin that lives in a block of its zone gets the zone as another key, at the same port", () => {
    const text = `.:53 {\n  forward . 1.1.1.1\n}\ncluster.local:53 {\n  kubernetes cluster.local\n}\n`;
    const enabled = enable(text);
    expect(enabled).toContain("\ncluster.local:53 clusterset.local:53 {\n");
    expect(disableZone(enabled, ZONE)).toBe(text);
  });

  test("a plugin without zones of its own gets the zone from its block", () => {
    const text = `.:1053 {\n\tkubernetes\n}\n`;
    const enabled = enable(text);
    expect(enabled).toContain(".:1053 clusterset.local:1053 {\n\tkubernetes {\n");
    expect(disableZone(enabled, ZONE)).toBe(text);
  });

  test("a plugin in a snippet is edited there, once, for all who import it", () => {
    const text = `(kube) {\n  kubernetes cluster.local {\n    ttl 3\n  }\n}\n.:53 {\n  import kube\n}\n.:54 {\n  import kube\n}\n`;
    const enabled = enable(text);
    expect(enabled.match(/multicluster clusterset\.local\n/gu)).toHaveLength(1);
    expect(disableZone(enabled, ZONE)).toBe(text);
  });

  test("each port at which a kubernetes plugin answers gets the zone", () => {
    const text = `.:53 {\n  kubernetes cluster.local\n}\ntls://.:853 {\n  kubernetes cluster.local {\n  }\n}\n`;
    expect(enable(text).match(/multicluster clusterset\.local\n/gu)).toHaveLength(2);
    expect(disableZone(enable(text), ZONE)).toBe(text);
  });

  test("so does each transport, though no port is written", () => {
    const text = ". {\n  kubernetes cluster.local\n}\ntls://. {\n  kubernetes cluster.local\n}\n";
    expect(enable(text).match(/multicluster clusterset\.local\n/gu)).toHaveLength(2);
    expect(disableZone(enable(text), ZONE)).toBe(text);
  });

  test("an option that two plugins import from one snippet gets the zone once", () => {
    const plugin = "  kubernetes cluster.local {\n    import zones\n  }\n";
    const text = `(zones) {\n  multicluster other.local\n}\n.:53 {\n${plugin}}\n.:54 {\n${plugin}}\n`;
    const enabled = enable(text);
    expect(enabled).toContain("  multicluster other.local clusterset.local\n");
    expect(disableZone(enabled, ZONE)).toBe(text);
  });

  test("words end where CoreDNS ends them: a carriage return is nothing, a stuck comment ends at a space", () => {
    const { blocks } = parseCorefile('.:53 {\n  fo\rrward#x y "a\\"b" c\r\n}\n');
    const [line] = blocks[0]!.lines;
    expect([line!.name.text, ...line!.args.map(({ text }) => text)]).toEqual([
      "forward",
      "y",
      'a"b',
      "c",
    ]);
  });

  test("braces in quotes, comments and environment variables are no braces", () => {
    const text = `.:{$PORT} {\n  # { kubernetes } "\n  log . "{combined} \\" {" # }\n  kubernetes {$DOMAIN} in-addr.arpa { # { \n  }\n}`;
    const enabled = enable(text);
    expect(enabled).toContain("kubernetes {$DOMAIN} in-addr.arpa clusterset.local { # { \n");
    expect(disableZone(enabled, ZONE)).toBe(text);
  });

  test("line breaks stay those of the file", () => {
    const text = KUBEADM.replaceAll("\n", "\r\n");
    const enabled = enable(text);
    expect(enabled.split("\r\n")).toHaveLength(text.split("\r\n").length + 2);
    expect(enabled.replaceAll("\r\n", "")).not.toContain("\n");
    expect(disableZone(enabled, ZONE)).toBe(text);
  });
});

test("a stub block listens where its neighbours do, as NodeLocal DNSCache needs it", () => {
  const text = `cluster.local:53 {
    errors
    bind 169.254.20.10 10.96.0.10
    forward . __PILLAR__CLUSTER__DNS__ {
        force_tcp
    }
}
.:53 {
    errors
    bind 169.254.20.10 10.96.0.10
    forward . __PILLAR__UPSTREAM__SERVERS__
}
`;
  const enabled = enable(text, STUB);
  expect(enabled).toContain(
    "\nclusterset.local:53 {\n    errors\n    bind 169.254.20.10 10.96.0.10\n    forward . 10.96.0.53\n}\n",
  );
  expect(disableZone(enabled, ZONE)).toBe(text);
});

describe("what cannot be done is refused in a sentence", () => {
  test.each([
    [
      "a block that someone else has for the zone",
      `${KUBEADM}${ZONE} {\n  whoami\n}\n`,
      OWN,
      "answers it in another way",
    ],
    [
      "the same for a stub",
      `${KUBEADM}${ZONE}:53 {\n  forward . 9.9.9.9\n}\n`,
      STUB,
      "answers it in another way",
    ],
    [
      "no kubernetes plugin",
      ".:53 {\n  whoami\n}\n",
      OWN,
      "No server block of the Corefile has a kubernetes plugin:",
    ],
    [
      "a plugin out of sight",
      ".:53 {\n  import custom/*.override\n}\n",
      OWN,
      "what it imports from custom/*.override is out of sight",
    ],
    [
      "keys from the environment",
      "{$ZONES} {\n  kubernetes cluster.local\n}\n",
      OWN,
      "decided by environment variables",
    ],
    [
      "a file without braces",
      ".:53\nkubernetes cluster.local\n",
      STUB,
      "put its lines in braces first",
    ],
    ["a brace too few", ".:53 {\n  kubernetes cluster.local {\n}\n", OWN, "ends inside a block"],
    ["a brace too many", ".:53 {\n}\n}\n", OWN, "Line 3 of the Corefile has a } out of place."],
    ["quotes that never close", '.:53 {\n  log "\n}\n', OWN, "The quotes that open in line 2"],
  ])("%s", (_, text, source, sentence) => {
    expect(refusal(text, source)).toContain(sentence);
  });
});
