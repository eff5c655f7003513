// `isthmus policy` as a person meets it, without a cluster that has policies.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { parseAllDocuments } from "yaml";
import type { KubeObject } from "../src/api/object.ts";
import { EmbeddedCluster } from "../src/embedded/cluster.ts";
import { serveCluster } from "../src/embedded/server.ts";
import { systemClock as clock, systemRandom as random } from "../src/kube/clock.ts";
import { renderClusterPolicies } from "../src/policy/cluster.ts";
import { mustRefuse, mustRun } from "./commandLine.ts";
import { temporaryDirectory } from "./loopback.ts";

async function printed(...flags: string[]): Promise<readonly unknown[]> {
  const text = await mustRun(["policy", "print", ...flags]);
  return parseAllDocuments(text).map((document) => document.toJS() as unknown);
}

test("print shows what install would apply, by the same flags", async () => {
  expect(await printed()).toEqual(renderClusterPolicies());
  const flags = ["--controller-user", "a", "--controller-user", "b", "--controller-group", "c"];
  const lists = ["--allow-namespace", "default", "--deny-namespace", "shop"];
  expect(await printed(...flags, ...lists, "--hand-made-imports", "deny")).toEqual(
    renderClusterPolicies({
      controllers: { users: ["a", "b"], groups: ["c"] },
      namespaces: { allowed: ["default"], denied: ["shop"] },
      handmadeImports: "deny",
    }),
  );
});

test("with -o yaml install and remove print what they would apply and delete, and ask no cluster", async () => {
  const nowhere = ["-o", "yaml", "--kubeconfig", "nowhere.yaml"];
  const printedBy = async (verb: string): Promise<readonly KubeObject[]> => {
    const text = await mustRun(["policy", verb, ...nowhere]);
    return parseAllDocuments(text).map((document) => document.toJS() as KubeObject);
  };
  expect(await printedBy("install")).toEqual(renderClusterPolicies());
  const nameOf = ({ kind, metadata }: KubeObject): string => `${kind} ${metadata.name}`;
  const doomed = (await printedBy("remove")).map(nameOf).toSorted();
  expect(doomed).toEqual(renderClusterPolicies().map(nameOf).toSorted());
});

test("a cluster without policies is told from one that refuses, and has none to remove", async () => {
  const cluster = new EmbeddedCluster({ name: "old", clock, random });
  onTestFinished(() => cluster.stop());
  const server = await serveCluster(cluster, { clock });
  onTestFinished(() => server.close());
  const path = join(temporaryDirectory(), "old.yaml");
  writeFileSync(path, server.kubeconfig());
  const refusal = await mustRefuse(["policy", "install", "--kubeconfig", path]);
  expect(refusal).toContain("has no ValidatingAdmissionPolicies");
  expect(refusal).toContain("Kubernetes 1.30");
  expect(refusal).toContain("See PoliciesUnsupported in");
  expect(await mustRun(["policy", "remove", "--kubeconfig", path])).toBe(
    "In the cluster: nothing removed.",
  );
});
