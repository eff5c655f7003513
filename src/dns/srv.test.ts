import { expect, test } from "vitest";
import { parseAddress } from "../core/address.ts";
import { MOST_SERVERS, planServerSets, type Server } from "./srv.ts";

const PORTS = [{ name: "db", protocol: "tcp", number: 5432 }];

function aServer(at: number, target: string): Server {
  return { target, address: parseAddress(`10.${at >> 8}.${at & 255}.1`)!, ports: PORTS };
}

function count(servers: readonly Server[]) {
  const [set] = planServerSets(servers, { port: PORTS[0]! });
  return { servers: set!.servers.length, additional: set!.additional.length };
}

test("what one name leads to is bounded, however many endpoints a cluster has", () => {
  const many = Array.from({ length: MOST_SERVERS + 1 }, (_, at) => aServer(at, `pod-${at}`));
  expect(count(many.slice(1))).toEqual({ servers: MOST_SERVERS, additional: MOST_SERVERS });
  expect(count(many)).toEqual({ servers: MOST_SERVERS, additional: MOST_SERVERS });
  const alike = many.map(({ address }) => ({ target: "pod", address, ports: PORTS }));
  expect(count(alike)).toEqual({ servers: 1, additional: MOST_SERVERS });
});
