import { describe, expect, test } from "vitest";
import { encodeTicket, isLoopbackServer, isServer, parseTicket, type Ticket } from "./ticket.ts";

const CA = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
const TICKET: Ticket = {
  server: "https://hub.example.org:6443",
  ca: CA,
  token: "eyJhbGciOiJSUzI1NiJ9.sup3r-secret.c2ln",
  name: "k3x9q",
};

function problemOf(text: string): string {
  const parsed = parseTicket(text);
  if (parsed.ok) throw new Error("it was read");
  return parsed.problem;
}

function encodeOther(content: unknown): string {
  return `isthmus1.${Buffer.from(JSON.stringify(content)).toString("base64url")}`;
}

test("a join token comes back as it went in, authority or not", () => {
  expect(parseTicket(encodeTicket(TICKET))).toEqual({ ok: true, value: TICKET });
  const { ca: _, ...plain } = TICKET;
  expect(parseTicket(encodeTicket(plain))).toEqual({ ok: true, value: plain });
});

test("it is one word that needs no quotes in a shell", () => {
  expect(encodeTicket(TICKET)).toMatch(/^isthmus1\.[-_A-Za-z0-9]+$/);
});

test("blanks and line breaks that a terminal put in do not matter", () => {
  const word = encodeTicket(TICKET);
  const broken = `  ${word.slice(0, 60)}\r\n  ${word.slice(60, 140)}\n${word.slice(140)}\n`;
  expect(parseTicket(broken)).toEqual({ ok: true, value: TICKET });
});

test("cut off anywhere it is refused, and the sentence says so", () => {
  const word = encodeTicket(TICKET);
  for (let length = "isthmus1.".length; length < word.length; length += 1) {
    expect(problemOf(word.slice(0, length))).toBe(
      "It is damaged or cut off: copy the whole of it.",
    );
  }
});

describe("what is no join token is refused", () => {
  test.each([
    ["nothing", "", /not a join token/],
    ["a bare ServiceAccount token", TICKET.token, /isthmus hub token/],
    ["a later version", encodeTicket(TICKET).replace("isthmus1.", "isthmus2."), /version 2/],
    ["foreign characters", `${encodeTicket(TICKET)}%`, /not a join token/],
    ["an endless text", `isthmus1.${"A".repeat(300_000)}`, /not a join token/],
    ["no JSON", "isthmus1.AAAA", /damaged/],
    ["a JSON null", encodeOther(null), /damaged/],
    ["a list", encodeOther([]), /damaged/],
    ["no server", encodeOther({ ...TICKET, server: undefined }), /damaged/],
    ["a server without TLS", encodeOther({ ...TICKET, server: "http://hub" }), /damaged/],
    ["a server with a password", encodeOther({ ...TICKET, server: "https://a:b@hub" }), /damaged/],
    ["a token that breaks the header", encodeOther({ ...TICKET, token: "a\r\nb" }), /damaged/],
    ["an empty token", encodeOther({ ...TICKET, token: "" }), /damaged/],
    ["a name that is a path", encodeOther({ ...TICKET, name: "../x" }), /damaged/],
    ["an authority that is no PEM", encodeOther({ ...TICKET, ca: "x" }), /damaged/],
  ])("%s", (_, text, sentence) => {
    const problem = problemOf(text);
    expect(problem).toMatch(sentence);
    expect(problem).not.toContain("sup3r-secret");
  });
});

test("a hub's address is an https URL without a password", () => {
  expect(isServer("https://10.0.0.1:6443/hub")).toBe(true);
  expect(isServer("https://[fd00::1]:6443")).toBe(true);
  for (const text of ["hub.example.org", "http://hub", "https://u@hub", "https://hub?a=1", ""]) {
    expect(isServer(text)).toBe(false);
  }
});

test("a loopback address is told from one that others can reach", () => {
  for (const host of ["127.0.0.1:6443", "localhost", "a.localhost:1", "[::1]:6443"]) {
    expect(isLoopbackServer(`https://${host}`)).toBe(true);
  }
  for (const host of ["10.0.0.1", "hub.example.org", "[fd00::1]", "localhost.example.org"]) {
    expect(isLoopbackServer(`https://${host}`)).toBe(false);
  }
});
