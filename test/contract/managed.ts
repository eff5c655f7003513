// Contract: who is on record as the owner of which field after a plain create or update.

import { describe, expect, test } from "vitest";
import { CONFIG_MAP, LEASE } from "../../src/api/builtin.ts";
import { aConfigMap, aLease } from "./objects.ts";
import type { Server } from "./server.ts";
import { at, type WireObject } from "./wire.ts";

export function managedContract(server: Server): void {
  describe("managed fields of plain writes", () => {
    test("are recorded under the fieldManager, or else the start of the user agent", async () => {
      const ns = await server().namespace();
      const { wire } = server();
      const named = await wire.post(at(LEASE, ns), aLease("a"), { fieldManager: "me" });
      expect(named.object.metadata.managedFields).toEqual([
        expect.objectContaining({
          manager: "me",
          operation: "Update",
          apiVersion: "coordination.k8s.io/v1",
          fieldsType: "FieldsV1",
          fieldsV1: { "f:spec": { "f:holderIdentity": {} } },
        }),
      ]);
      const agent = await wire.send("POST", at(LEASE, ns), {
        body: aLease("b"),
        headers: { "user-agent": "robot/1.0 (linux)" },
      });
      expect(agent.object.metadata.managedFields?.[0]?.manager).toBe("robot");
    });

    test("an update takes over what it changes and leaves the rest", async () => {
      const ns = await server().namespace();
      const path = at(CONFIG_MAP, ns, "a");
      const { wire } = server();
      await wire.post(at(CONFIG_MAP, ns), aConfigMap("a", { x: "1", y: "1" }), {
        fieldManager: "first",
      });
      const updated = await wire.put(path, aConfigMap("a", { x: "1", y: "2" }), {
        fieldManager: "second",
      });
      expect(fieldsOf(updated.object, "first")).toEqual({
        "f:data": { ".": {}, "f:x": {} },
      });
      expect(fieldsOf(updated.object, "second")).toEqual({ "f:data": { "f:y": {} } });
    });
  });
}

function fieldsOf(object: WireObject, manager: string): unknown {
  return object.metadata.managedFields?.find((entry) => entry.manager === manager)?.fieldsV1;
}
