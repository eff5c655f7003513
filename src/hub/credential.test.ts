import { expect, test } from "vitest";
import type { Secret } from "../api/builtin.ts";
import type { ClusterId } from "../api/names.ts";
import { type HubCredential, parseCredential, renderCredential } from "./credential.ts";

const CREDENTIAL: HubCredential = {
  cluster: "east" as ClusterId,
  server: "https://hub.example.org:6443",
  ca: "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
  claim: "ab".repeat(32),
  token: "eyJ.x.y",
  namespaceUid: "c0ffee",
};

function without(key: string): Secret {
  const secret = renderCredential(CREDENTIAL);
  const { [key]: _, ...data } = secret.data ?? {};
  return { ...secret, data };
}

test("a credential comes back from its Secret as it went in, finished or not", () => {
  expect(parseCredential(renderCredential(CREDENTIAL))).toEqual({ ok: true, value: CREDENTIAL });
  const { token: _, ca: __, namespaceUid: ___, ...claim } = CREDENTIAL;
  expect(parseCredential(renderCredential(claim))).toEqual({ ok: true, value: claim });
});

test("what others wrote into the Secret stays, what we wrote before goes", () => {
  const before = renderCredential(CREDENTIAL);
  const found: Secret = {
    ...before,
    metadata: { ...before.metadata, resourceVersion: "7", labels: { team: "a" } },
    data: { ...before.data, note: "aGk=" },
  };
  const { token: _, ...claim } = CREDENTIAL;
  const after = renderCredential({ ...claim, claim: "cd".repeat(32) }, found);
  expect(after.metadata).toMatchObject({ resourceVersion: "7", labels: { team: "a" } });
  expect(Object.keys(after.data ?? {}).toSorted()).toEqual(
    ["ca.crt", "claim", "cluster", "namespace-uid", "note", "server"].toSorted(),
  );
});

test("a Secret without an id or an address is refused with a sentence that names it", () => {
  expect(parseCredential(without("cluster"))).toMatchObject({
    ok: false,
    problem: expect.stringContaining("isthmus-system/isthmus-hub names no cluster"),
  });
  expect(parseCredential(without("server"))).toMatchObject({
    ok: false,
    problem: expect.stringContaining('no address of a hub under "server"'),
  });
});
