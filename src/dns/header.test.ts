import { describe, expect, test } from "vitest";
import { decodeReply } from "../../test/dns/ask.ts";
import { encodeQuery } from "../../test/dnsServer.ts";
import {
  cutToQuestion,
  idOf,
  isResponseTo,
  questionEnd,
  rcodeOf,
  renderServfail,
  setId,
} from "./header.ts";

/** A response with one A record, and an OPT record when the query has one. */
function respond(query: Buffer): Buffer {
  const end = questionEnd(query, query.length);
  const hasOpt = query.length > end;
  const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4, 10, 0, 0, 1]);
  const message = Buffer.concat([query.subarray(0, end), record, query.subarray(end)]);
  message[2] = 0x84;
  message[7] = 1;
  message[11] = hasOpt ? 1 : 0;
  return message;
}

describe("a message cut to its question", () => {
  test("says that it was, and has no records", () => {
    const message = respond(encodeQuery("web.shop"));
    const cut = decodeReply(message.subarray(0, cutToQuestion(message, message.length)));
    expect(cut).toMatchObject({ isTruncated: true, isAuthoritative: true, asked: "web.shop." });
    expect(cut.answer).toEqual([]);
  });

  test("keeps the OPT record that a client with EDNS expects", () => {
    const message = respond(encodeQuery("web.shop", { udpSize: 1_232 }));
    const length = cutToQuestion(message, message.length);
    expect(length).toBe(questionEnd(message, length) + 11);
    expect(message.readUInt16BE(10)).toBe(1);
    expect(decodeReply(message.subarray(0, length)).isTruncated).toBe(true);
  });

  test("is its header when the question cannot be read", () => {
    const message = Buffer.from([0, 1, 0x80, 1, 0, 1, 0, 0, 0, 0, 0, 0, 63, 1, 2]);
    expect(cutToQuestion(message, message.length)).toBe(12);
    expect(message.readUInt16BE(4)).toBe(0);
  });
});

describe("the end of a question", () => {
  test.each([
    ["a header that is not whole", encodeQuery("a").subarray(0, 11)],
    [
      "two questions",
      Buffer.concat([Buffer.from([0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0]), Buffer.alloc(20)]),
    ],
    ["a compressed name", Buffer.from([0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 12, 0, 1, 0, 1])],
    ["a label beyond the end", Buffer.from([0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 60, 1])],
    ["a question without its class", encodeQuery("a").subarray(0, -2)],
  ])("is not found in %s", (_, message) => {
    expect(questionEnd(message, message.length)).toBe(0);
  });

  test("does not depend on bytes behind the length that counts", () => {
    const query = encodeQuery("web.shop");
    expect(questionEnd(Buffer.concat([query, query]), query.length)).toBe(query.length);
    expect(questionEnd(query, query.length - 1)).toBe(0);
  });
});

describe("a response", () => {
  const query = encodeQuery("web.shop");
  test("to the question is told whatever its letter case", () => {
    expect(isResponseTo(respond(encodeQuery("WEB.shop")), query)).toBe(true);
  });
  test.each([
    ["to another name", respond(encodeQuery("wet.shop"))],
    ["to another type", respond(encodeQuery("web.shop", { type: 28 }))],
    ["that is a query", encodeQuery("web.shop")],
    ["without a question", Buffer.from([0x12, 0x34, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0])],
  ])("%s is not", (_, response) => {
    expect(isResponseTo(response, query)).toBe(false);
  });
});

test("a failure has the id and the question of the query, and no records", () => {
  const query = encodeQuery("Web.Shop", { id: 0xbeef, udpSize: 4_096 });
  const failure = renderServfail(query);
  expect(idOf(failure)).toBe(0xbeef);
  expect(rcodeOf(failure)).toBe(2);
  expect(decodeReply(failure)).toMatchObject({ rcode: "SERVFAIL", asked: "Web.Shop." });
  setId(failure, 7);
  expect(idOf(failure)).toBe(7);
});
