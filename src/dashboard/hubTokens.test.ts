import { expect, test } from "vitest";
import type { ClusterId } from "../api/names.ts";
import type { HubCredential } from "../hub/credential.ts";
import { createHubTokens } from "./hubTokens.ts";

function aCredential(token: string, server = "https://a.example", ca?: string): HubCredential {
  const cluster = "east" as ClusterId;
  return { cluster, server, claim: "", token, ...(ca === undefined ? {} : { ca }) };
}

function open(...first: readonly HubCredential[]) {
  let credentials = first;
  const tokens = createHubTokens({
    hub: first[0]!,
    credentials: () => credentials,
    review: () => Promise.resolve(),
  });
  return {
    tokens,
    become: (...now: readonly HubCredential[]) => {
      credentials = now;
    },
  };
}

test("a renewed token is shown as soon as it is there", async () => {
  const { tokens, become } = open(aCredential("old"));
  expect(tokens.current()).toBe("old");
  become(aCredential("new"));
  expect(await tokens.refresh("old")).toBe(true);
  expect(tokens.current()).toBe("new");
});

test.each([
  ["of another server", aCredential("secret", "https://b.example")],
  ["of another authority", aCredential("secret", "https://a.example", "another")],
])("a token for a hub %s is never shown to this one", async (_, other) => {
  const { tokens, become } = open(aCredential("ours"));
  become(other);
  expect(tokens.current()).toBe("ours");
  expect(await tokens.refresh("ours")).toBe(false);
  expect(tokens.current()).toBe("ours");
});

test("where the token of one cluster is refused that of the next is shown, and when all are the first again", async () => {
  const { tokens } = open(aCredential("evicted"), aCredential("good"));
  expect(tokens.current()).toBe("evicted");
  expect(await tokens.refresh("evicted")).toBe(true);
  expect(tokens.current()).toBe("good");
  expect(await tokens.refresh("good")).toBe(false);
  expect(tokens.current()).toBe("evicted");
});
