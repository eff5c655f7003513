// Contract: server-side tables, which `kubectl get` prints.

import { describe, expect, test } from "vitest";
import {
  CONFIG_MAP,
  ENDPOINT_SLICE,
  LEASE,
  NAMESPACE,
  SECRET,
  SERVICE,
} from "../../src/api/builtin.ts";
import { aConfigMap, aLease, aService, aSlice } from "./objects.ts";
import type { Server } from "./server.ts";
import { at, type Query } from "./wire.ts";

interface Table {
  readonly kind: string;
  readonly apiVersion: string;
  readonly metadata: { readonly resourceVersion?: string };
  readonly columnDefinitions: readonly {
    readonly name: string;
    readonly type: string;
    readonly priority: number;
  }[];
  readonly rows: readonly {
    readonly cells: readonly unknown[];
    readonly object?: { readonly kind: string; readonly metadata: { readonly name: string } };
  }[];
}

export function tableContract(server: Server): void {
  const tableOf = async (path: string, query: Query = {}): Promise<Table> =>
    (
      await server().wire.send("GET", path, {
        query,
        headers: {
          accept: "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
        },
      })
    ).body as Table;
  /** The cells of the only row, by column. */
  const cellsOf = (table: Table) =>
    Object.fromEntries(
      table.columnDefinitions.map((column, index) => [column.name, table.rows[0]?.cells[index]]),
    );
  const AGE = expect.stringMatching(/^\d+s$/);

  describe("a table", () => {
    test("of a list has columns, rows with their metadata, and the list's version", async () => {
      const ns = await server().namespace();
      await server().wire.post(at(LEASE, ns), aLease("a", "me"));
      const table = await tableOf(at(LEASE, ns));
      expect(table).toMatchObject({ kind: "Table", apiVersion: "meta.k8s.io/v1" });
      expect(table.metadata.resourceVersion).toMatch(/^\d+$/);
      expect(table.columnDefinitions.map((column) => column.name)).toEqual([
        "Name",
        "Holder",
        "Age",
      ]);
      expect(table.rows).toEqual([
        {
          cells: ["a", "me", AGE],
          object: expect.objectContaining({
            kind: "PartialObjectMetadata",
            apiVersion: "meta.k8s.io/v1",
            metadata: expect.objectContaining({ name: "a", namespace: ns }),
          }),
        },
      ]);
    });

    test("of Services shows type, addresses and ports", async () => {
      const ns = await server().namespace();
      const ports = [
        { name: "a", port: 80 },
        { name: "b", port: 53, protocol: "UDP" },
      ];
      const { object } = await server().wire.post(
        at(SERVICE, ns),
        aService("a", { ports, selector: { app: "x" } }),
      );
      expect(cellsOf(await tableOf(at(SERVICE, ns)))).toEqual({
        Name: "a",
        Type: "ClusterIP",
        "Cluster-IP": object.spec?.clusterIP,
        "External-IP": "<none>",
        "Port(s)": "80/TCP,53/UDP",
        Age: AGE,
        Selector: "app=x",
      });
    });

    test("of EndpointSlices shows address type, ports and endpoints", async () => {
      const ns = await server().namespace();
      const endpoints = ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"].map((address) => ({
        addresses: [address],
      }));
      await server().wire.post(at(ENDPOINT_SLICE, ns), aSlice("a", { endpoints }));
      expect(cellsOf(await tableOf(at(ENDPOINT_SLICE, ns)))).toEqual({
        Name: "a",
        AddressType: "IPv4",
        Ports: "80",
        Endpoints: "192.0.2.1,192.0.2.2,192.0.2.3 + 1 more...",
        Age: AGE,
      });
    });

    test("of Namespaces shows their status", async () => {
      const ns = await server().namespace();
      expect(cellsOf(await tableOf(at(NAMESPACE, "", ns)))).toEqual({
        Name: ns,
        Status: "Active",
        Age: AGE,
      });
    });

    test("of ConfigMaps and Secrets counts their data", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      await wire.post(at(CONFIG_MAP, ns), aConfigMap("a", { x: "1", y: "2" }));
      expect(cellsOf(await tableOf(at(CONFIG_MAP, ns, "a")))).toEqual({
        Name: "a",
        Data: 2,
        Age: AGE,
      });
      await wire.post(at(SECRET, ns), {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "a" },
        data: { x: "eA==" },
      });
      expect(cellsOf(await tableOf(at(SECRET, ns, "a")))).toEqual({
        Name: "a",
        Type: "Opaque",
        Data: 1,
        Age: AGE,
      });
    });

    test("of a list in pages carries the token", async () => {
      const ns = await server().namespace();
      await server().wire.post(at(LEASE, ns), aLease("a"));
      await server().wire.post(at(LEASE, ns), aLease("b"));
      const table = await tableOf(at(LEASE, ns), { limit: 1 });
      expect(table.rows).toHaveLength(1);
      expect(table.metadata).toMatchObject({
        continue: expect.stringMatching(/./),
        remainingItemCount: 1,
      });
    });

    test("with includeObject=Object has the whole objects in its rows", async () => {
      const ns = await server().namespace();
      await server().wire.post(at(LEASE, ns), aLease("a", "me"));
      const table = await tableOf(at(LEASE, ns), { includeObject: "Object" });
      expect(table.rows[0]?.object).toMatchObject({
        kind: "Lease",
        spec: { holderIdentity: "me" },
      });
    });

    test("is not made of errors: a missing object is a Status", async () => {
      const ns = await server().namespace();
      expect((await tableOf(at(LEASE, ns, "none"))).kind).toBe("Status");
    });
  });
}
