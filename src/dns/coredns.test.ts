// What a cluster's CoreDNS is taken to be: its version by the image's tag, and who keeps its ConfigMap.

import { expect, test } from "vitest";
import type { KubeObject } from "../api/object.ts";
import type { Store } from "../ports/store.ts";
import { findKeeper, hasMulticluster, parseCoreDnsVersion, readDeployed } from "./coredns.ts";

const PLACE = { namespace: "a", configMap: "b", configKey: "c", deployment: "d" };

async function versionOf(image: string): Promise<string | undefined> {
  const spec = {
    template: {
      spec: {
        containers: [
          { name: "proxy", image: "x:9.9.9" },
          { name: "coredns", image },
        ],
      },
    },
  };
  const deployment = { apiVersion: "apps/v1", kind: "Deployment", metadata: {}, spec };
  const get = (): Promise<never> => Promise.resolve(deployment as never);
  const store = { get } as unknown as Store;
  const deployed = await readDeployed(store, PLACE, new AbortController().signal);
  const { version } = deployed!;
  return version && `${version.major}.${version.minor}.${version.patch}`;
}

test.each([
  ["registry.k8s.io/coredns/coredns:v1.12.1", "1.12.1"],
  ["rancher/mirrored-coredns-coredns:1.12.0", "1.12.0"],
  ["example.org:5000/eks/coredns:v1.11.4-eksbuild.2", "1.11.4"],
  ["coredns/coredns:1.14.3@sha256:0123456789abcdef", "1.14.3"],
  ["example.org:5000/coredns", undefined],
  ["coredns@sha256:0123456789abcdef", undefined],
  ["coredns:latest", undefined],
])("the image %s is CoreDNS %s", async (image, version) => {
  expect(await versionOf(image)).toBe(version);
});

test.each([
  ["1.11.9", false],
  ["1.12.1", false],
  ["1.12.2", true],
  ["v1.13.0", true],
  ["1.15.0-beta", true],
  ["2.0.0", true],
  ["0.99.9", false],
])("CoreDNS %s can answer a clusterset zone itself: %s", (text, can) => {
  expect(hasMulticluster(parseCoreDnsVersion(text)!)).toBe(can);
});

test.each(["", "new", "1.12", "1.12.2.1", "v", "1.12.x"])("%j is no version", (text) => {
  expect(parseCoreDnsVersion(text)).toBeUndefined();
});

test.each<[KubeObject["metadata"], string | undefined]>([
  [{}, undefined],
  [{ labels: { "k8s-app": "kube-dns" } }, undefined],
  [{ labels: { "app.kubernetes.io/managed-by": "Helm" } }, "Helm"],
  [{ labels: { "app.kubernetes.io/managed-by": "kubeadm" } }, undefined],
  [{ annotations: { "argocd.argoproj.io/tracking-id": "x" } }, "Argo CD"],
  [{ labels: { "addonmanager.kubernetes.io/mode": "EnsureExists" } }, undefined],
  [{ labels: { "addonmanager.kubernetes.io/mode": "Reconcile" } }, "the addon manager"],
  [{ managedFields: [{ manager: "kubectl" }, { manager: "kustomize-controller" }] }, "Flux"],
])("a ConfigMap with %j is kept by %s", (metadata, keeper) => {
  expect(findKeeper({ apiVersion: "v1", kind: "ConfigMap", metadata })).toBe(keeper);
});
