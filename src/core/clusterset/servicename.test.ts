import { expect, test } from "vitest";
import { parseServiceName } from "./servicename.ts";

test.each([
  ["web", "pay/web"],
  ["shop/web", "shop/web"],
  ["service/web", "pay/web"],
  ["serviceimport/web", "pay/web"],
  ["web.shop", "shop/web"],
  ["web.shop.svc", "shop/web"],
  ["web.shop.svc.clusterset.local", "shop/web"],
  ["WEB.shop.svc.clusterset.local.", "shop/web"],
  ["_http._tcp.web.shop.svc.clusterset.local", "shop/web"],
  ["web-1.east.web.shop.svc.clusterset.local", "shop/web"],
])("%s is %s", (text, key) => {
  expect(parseServiceName(text, "pay")).toEqual({ ok: true, value: key });
});

test.each(["", "a/b/c", "svc", "shop.svc.clusterset.local", "web.shop.east", "/web", "web_1"])(
  "%j names no service, and the sentence says how to write one",
  (text) => {
    const parsed = parseServiceName(text, "pay");
    expect(parsed.ok).toBe(false);
    expect(!parsed.ok && parsed.problem).toContain("web.shop.svc.clusterset.local");
  },
);

test("a namespace that cannot be one is blamed for itself, not the service", () => {
  expect(parseServiceName("checkout", "Bad NS")).toEqual({
    ok: false,
    problem: '"Bad NS" cannot be a namespace.',
  });
  expect(parseServiceName("Bad NS/checkout", "shop")).toMatchObject({
    problem: expect.stringContaining("names no service"),
  });
});
