// Formats: what fits and what does not, one line each.

import { describe, expect, it } from "vitest";
import { fitsFormat } from "./format.ts";

const CASES: Readonly<Record<string, readonly [readonly string[], readonly string[]]>> = {
  "date-time": [
    ["2030-02-28T23:59:59Z", "2032-02-29T00:00:00.123+02:00"],
    ["2030-02-29T00:00:00Z", "2030-01-01", "2030-01-01T24:00:00Z", "2030-01-01 00:00:00Z", ""],
  ],
  date: [["2000-02-29"], ["1900-02-29", "2000-13-01", "2000-00-10", "2000-1-1"]],
  duration: [
    ["1h30m", "0", "1.5s", "5 minutes"],
    ["", "5", "h"],
  ],
  ipv4: [["10.0.0.1"], ["10.0.0", "10.0.0.256", "::1", "010.0.0.1"]],
  ipv6: [
    ["::1", "fd00::1"],
    ["10.0.0.1", "fe80::1%eth0"],
  ],
  cidr: [
    ["10.0.0.0/8", "fd00::/64"],
    ["10.0.0.0", "10.0.0.0/33", "fd00::/129", "10.0.0.0/08"],
  ],
  mac: [
    ["00:00:5e:00:53:01", "0000.5e00.5301"],
    ["00:00:5e:00:53", "00:00-5e:00:53:01"],
  ],
  hostname: [
    ["a.example.com", "a"],
    ["-a.example.com", "a..b", "a_b"],
  ],
  uuid: [["01234567-89ab-cdef-0123-456789abcdef"], ["01234567"]],
  uuid4: [["01234567-89ab-4def-8123-456789abcdef"], ["01234567-89ab-cdef-8123-456789abcdef"]],
  byte: [
    ["", "YQ==", "YWJj"],
    ["YQ=", "$$$$"],
  ],
  uri: [["https://example.com/x", "/path"], ["not a uri"]],
  email: [["a@example.com"], ["a"]],
  "k8s-short-name": [["a-b"], ["A", "-a", "a".repeat(64)]],
  "k8s-long-name": [["a.b-c"], ["a..b"]],
  password: [["anything"], []],
  "made-up": [["anything"], []],
};

describe("string formats", () => {
  it.each(Object.entries(CASES))("%s", (format, [good, bad]) => {
    expect(good.filter((text) => !fitsFormat(format, text))).toEqual([]);
    expect(bad.filter((text) => fitsFormat(format, text))).toEqual([]);
  });
});
