import { expect, test } from "vitest";
import { fuzzDns } from "../../test/dnsFuzz.ts";

// Millions: npm run fuzz:dns -- --packets 5000000 --seed 1
test("hostile packets get an answer that is in order and not too large, or none", () => {
  const outcome = fuzzDns({ packets: 200_000, seed: 7 });
  expect(outcome.failure).toBeUndefined();
  expect(outcome.packets).toBe(200_000);
});

test("they reach every kind of answer, or they would show nothing", () => {
  const { byRcode, dropped, forwarded, decoded } = fuzzDns({ packets: 20_000, seed: 8 });
  for (const rcode of [0, 1, 2, 3, 4, 5]) expect(byRcode[rcode]).toBeGreaterThan(100);
  expect(Math.min(dropped, forwarded, decoded)).toBeGreaterThan(100);
});
