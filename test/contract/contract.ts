// Contract suite: every topic, for one server. embedded.test.ts and real.real.test.ts call it with theirs.

import { afterAll, beforeAll, describe } from "vitest";
import { NAMESPACE } from "../../src/api/builtin.ts";
import { applyContract } from "./apply.ts";
import { managedContract } from "./managed.ts";
import { crdContract } from "./crd.ts";
import { crudContract } from "./crud.ts";
import { deletionContract } from "./deletion.ts";
import { discoveryContract } from "./discovery.ts";
import { informerContract } from "./informer.ts";
import { listContract } from "./list.ts";
import { mcsContract } from "./mcs.ts";
import { namespaceContract } from "./namespace.ts";
import { patchContract } from "./patch.ts";
import { podsContract } from "./pods.ts";
import { serviceContract } from "./service.ts";
import { sliceContract } from "./slice.ts";
import { storeContract } from "./store.ts";
import { tableContract } from "./table.ts";
import { validationContract } from "./validation.ts";
import { watchContract } from "./watch.ts";
import type { ContractServer, Server, ServerUnderTest } from "./server.ts";
import { installWidgets, type Widgets } from "./widgets.ts";
import { at, openWire } from "./wire.ts";

const TOPICS: readonly ((server: Server) => void)[] = [
  crudContract,
  listContract,
  watchContract,
  patchContract,
  applyContract,
  managedContract,
  validationContract,
  deletionContract,
  namespaceContract,
  serviceContract,
  sliceContract,
  podsContract,
  crdContract,
  mcsContract,
  discoveryContract,
  tableContract,
  storeContract,
  informerContract,
];

export function runContract(open: () => Promise<ServerUnderTest>): void {
  describe("the contract", () => {
    let underTest: ServerUnderTest;
    let server: ContractServer;
    let namespaces = 0;
    let widgets: Promise<Widgets> | undefined;

    beforeAll(async () => {
      underTest = await open();
      const wire = await openWire(underTest.kubeconfigPath);
      server = {
        ...underTest,
        wire,
        namespace: async () => {
          const name = `contract-${namespaces}`;
          namespaces += 1;
          const created = await wire.post(at(NAMESPACE, ""), {
            apiVersion: "v1",
            kind: "Namespace",
            metadata: { name },
          });
          if (created.status !== 201) {
            throw new Error(`no namespace for the test: ${JSON.stringify(created.body)}`);
          }
          return name;
        },
        widgets: () => (widgets ??= installWidgets(server)),
      };
    });

    afterAll(async () => {
      await server.wire.close();
      await underTest.close();
    });

    for (const topic of TOPICS) {
      topic(() => server);
    }
  });
}
