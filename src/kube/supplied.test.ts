import { expect, test } from "vitest";
import { connect, sendJson } from "../../test/connect.ts";
import { serve } from "../../test/loopback.ts";

/** Takes only the token that it is told; the supply hands out its tokens one by one as they are refused. */
async function aSupply(good: string, ...tokens: readonly string[]) {
  const seen: (string | undefined)[] = [];
  const server = await serve((request, response) => {
    seen.push(request.headers.authorization);
    const isGood = request.headers.authorization === `Bearer ${good}`;
    sendJson(response, isGood ? 200 : 401, { kind: "Status" });
  });
  const left = [...tokens];
  let refreshes = 0;
  const supply = {
    current: () => left[0]!,
    async refresh(refused: string) {
      refreshes += 1;
      if (left.length === 1 || left[0] !== refused) return false;
      left.shift();
      return true;
    },
  };
  const { client } = connect(server, { auth: { kind: "supplied", tokens: supply } });
  return { client, seen, left, refreshes: () => refreshes };
}

test("each request carries the token of now", async () => {
  const { client, seen, left } = await aSupply("new", "old", "new");
  left.shift();
  expect((await client.request("GET", "/")).status).toBe(200);
  expect(seen).toEqual(["Bearer new"]);
});

test("after a 401 the request is made once more, with what the supply has then", async () => {
  const { client, seen } = await aSupply("new", "old", "new");
  expect((await client.request("GET", "/")).status).toBe(200);
  expect(seen).toEqual(["Bearer old", "Bearer new"]);
});

test("a token that was renewed while the request was under way is not renewed again", async () => {
  const { client, left, refreshes } = await aSupply("new", "old", "new");
  const asked = client.request("GET", "/");
  // The token is taken before the first await of the transport.
  left.shift();
  expect((await asked).status).toBe(200);
  expect(refreshes()).toBe(0);
});

test("when there is no other the refusal stands", async () => {
  const { client, seen } = await aSupply("new", "old");
  expect((await client.request("GET", "/")).status).toBe(401);
  expect(seen).toEqual(["Bearer old"]);
});
