import { expect, test } from "vitest";
import { planCluster } from "./plan.ts";
import { addressesOf, createNumbers, namespaceOf } from "./podnetwork.ts";

const plan = planCluster("west");

test("a pod has an address of each family, within the ranges of its cluster", () => {
  expect(addressesOf(plan, 5)).toEqual({ 4: "10.12.0.5", 6: "fd42:10:2::5" });
  expect(addressesOf(plan, 300)).toEqual({ 4: "10.12.1.44", 6: "fd42:10:2::12c" });
  expect(namespaceOf(plan, 5)).toBe("west-pod-5");
});

test("an address is not given again right after its pod is gone", () => {
  const numbers = createNumbers();
  const given = Array.from({ length: 100 }, () => numbers.next(() => false));
  expect(new Set(given).size).toBe(100);
});

test("no pod gets an address that looks like one of a network, or that another pod has", () => {
  const numbers = createNumbers();
  const given = Array.from({ length: 600 }, () => numbers.next((number) => number === 7));
  expect(given).not.toContain(7);
  expect(given.filter((number) => [0, 255].includes(number % 256))).toEqual([]);
});

test("numbers begin again after the last one, and the end of them is told", () => {
  const numbers = createNumbers();
  const first = numbers.next(() => false);
  numbers.next((number) => number < 64_999);
  numbers.next((number) => number < 65_000);
  expect(numbers.next(() => false)).toBe(first);
  expect(() => numbers.next(() => true)).toThrow("no address left");
});
