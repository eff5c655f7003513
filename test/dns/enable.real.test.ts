// `isthmus dns enable` and `disable` on a real API server with CoreDNS as kubeadm installs it; and a real CoreDNS that runs what
// they wrote, with the rights that they gave it.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { CONFIG_MAP, CUSTOM_RESOURCE_DEFINITION } from "../../src/api/builtin.ts";
import { MEMBER_CRDS } from "../../src/api/crds.ts";
import { CLUSTER_ROLE, CLUSTER_ROLE_BINDING } from "../../src/api/rbac.ts";
import { installCrds } from "../../src/controllers/crd.ts";
import { enableZone } from "../../src/dns/corefile.ts";
import { writeCorefile } from "../../src/dns/switchover.ts";
import { createClient, type KubeClient } from "../../src/kube/client.ts";
import { systemClock } from "../../src/kube/clock.ts";
import { loadKubeconfig } from "../../src/kube/config.ts";
import type { Store } from "../../src/ports/store.ts";
import { mustRefuse, mustRun, runCommand } from "../commandLine.ts";
import { type RealCluster, startCluster } from "../controlplane/cluster.ts";
import type { RealCoreDns } from "../controlplane/coredns.ts";
import { askOnce } from "./ask.ts";
import { COREFILE } from "./corefile.ts";
import { createWeb, getCorefile, installCoreDns, runCorefile, writeKubeconfig } from "./kubeadm.ts";

const ACCESS = { name: "isthmus-coredns" };
const PLACE = { namespace: "kube-system", name: "coredns" };
const WEB = "web.shop.svc.clusterset.local";
const TIMEOUT_MS = 180_000;

let cluster: RealCluster;
let store: KubeClient;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "isthmus-dns-"));
  cluster = await startCluster({ name: "names", controllerManager: false });
  const paths = [cluster.kubeconfigPath];
  const config = loadKubeconfig({ paths, env: {}, home: "/nonexistent" });
  store = createClient(config, { clock: systemClock });
}, TIMEOUT_MS);
afterAll(async () => {
  await store?.close();
  await cluster?.stop();
  rmSync(folder, { recursive: true, force: true });
}, TIMEOUT_MS);
beforeEach(async () => {
  await installCoreDns(store);
  for (const resource of [CLUSTER_ROLE, CLUSTER_ROLE_BINDING]) await store.delete(resource, ACCESS);
});

const dns = (...args: readonly string[]): readonly string[] => {
  const [verb = "", ...flags] = args;
  return ["dns", verb, "--kubeconfig", cluster.kubeconfigPath, ...flags];
};

async function versions(): Promise<readonly (string | undefined)[]> {
  const objects = [
    await store.get(CONFIG_MAP, PLACE),
    await store.get(CLUSTER_ROLE, ACCESS),
    await store.get(CLUSTER_ROLE_BINDING, ACCESS),
  ];
  return objects.map((object) => object?.metadata.resourceVersion);
}

test("where ServiceImports are not served it is refused, because CoreDNS would deny nothing any more", async () => {
  const before = await versions();
  const said = await mustRefuse(dns("enable"));
  expect(said).toContain("does not serve ServiceImports of version v1alpha1");
  expect(said).toContain("isthmus crds install");
  expect(await versions()).toEqual(before);
});

describe("with ServiceImports", () => {
  beforeAll(async () => {
    await installCrds({ store, crds: MEMBER_CRDS, clock: systemClock });
    await createWeb(store);
    return async () => {
      for (const { metadata } of MEMBER_CRDS) {
        await store.delete(CUSTOM_RESOURCE_DEFINITION, { name: metadata.name! });
      }
    };
  });

  test("a dry run says what would change and changes nothing", async () => {
    const before = await versions();
    const said = await mustRun(dns("enable", "--dry-run"));
    expect(said).toContain("+        multicluster clusterset.local\n");
    expect(said).toContain("-     kubernetes cluster.local in-addr.arpa ip6.arpa {\n");
    expect(said).toContain("kind: ClusterRoleBinding");
    await mustRun(dns("disable", "--dry-run"));
    expect(await versions()).toEqual(before);
  });

  test(
    "a real CoreDNS takes the Corefile, may read what it needs, and answers both zones",
    async () => {
      expect(await mustRun(dns("enable"))).toContain("by itself, usually within two minutes");
      const coredns = await runAsCoreDns();
      expect(await askOnce(coredns, { name: WEB, type: "A" })).toMatchObject({
        rcode: "NOERROR",
        isAuthoritative: true,
        answer: [`${WEB}. 30 A 10.201.0.7`],
      });
      const nobody = { name: "nobody.shop.svc.clusterset.local", type: "A" } as const;
      expect((await askOnce(coredns, nobody)).rcode).toBe("NXDOMAIN");
      const local = { name: "kubernetes.default.svc.cluster.local", type: "A" } as const;
      expect((await askOnce(coredns, local)).answer).toHaveLength(1);
    },
    TIMEOUT_MS,
  );

  test("run again it writes nothing, and says so", async () => {
    await mustRun(dns("enable"));
    const before = await versions();
    expect(await mustRun(dns("enable"))).toContain("clusterset.local was enabled already");
    expect(await versions()).toEqual(before);
  });

  test("disable leaves the Corefile byte for byte as it was, and no right behind", async () => {
    await mustRun(dns("enable"));
    expect(await getCorefile(store)).not.toBe(COREFILE);
    expect(await mustRun(dns("disable"))).toContain("clusterset.local is disabled.");
    expect(await getCorefile(store)).toBe(COREFILE);
    expect((await versions()).slice(1)).toEqual([undefined, undefined]);
    expect(await mustRun(dns("disable"))).toContain("clusterset.local was not enabled.");
  });

  test("the right stays while another zone needs it", async () => {
    await mustRun(dns("enable"));
    await mustRun(dns("enable", "--zone", "other.local"));
    await mustRun(dns("disable"));
    expect((await versions()).slice(1)).not.toContain(undefined);
    await mustRun(dns("disable", "--zone", "other.local"));
    expect(await getCorefile(store)).toBe(COREFILE);
    expect((await versions()).slice(1)).toEqual([undefined, undefined]);
  });

  test("a role of that name that is not ours stays", async () => {
    const role = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", rules: [] };
    await store.create(CLUSTER_ROLE, { ...role, metadata: ACCESS });
    await mustRun(dns("disable"));
    expect((await versions())[1]).toBeDefined();
  });

  test("an edit that comes in between is kept: the Corefile is read and changed again", async () => {
    let rivals = 3;
    const crowded: Store = {
      ...store,
      get: (...args) => store.get(...args),
      async replace(resource, object, options) {
        if (rivals > 0) {
          rivals -= 1;
          const current = (await store.get(CONFIG_MAP, PLACE))!;
          const text = `${current.data?.["Corefile"]}# rival ${rivals}\n`;
          await store.replace(CONFIG_MAP, { ...current, data: { Corefile: text } });
        }
        return store.replace(resource, object, options);
      },
    };
    await writeCorefile(crowded, {
      place: { ...PLACE, configMap: "coredns", configKey: "Corefile", deployment: "coredns" },
      edit: (text) => enableZone(text, "clusterset.local", { kind: "multicluster" }),
      signal: new AbortController().signal,
    });
    const edited = `${COREFILE}# rival 2\n# rival 1\n# rival 0\n`;
    const wanted = enableZone(edited, "clusterset.local", { kind: "multicluster" });
    expect(await getCorefile(store)).toBe(wanted);
  });

  test("who keeps the ConfigMap from elsewhere is named, because he may undo it", async () => {
    await installCoreDns(store, { labels: { "argocd.argoproj.io/instance": "dns" } });
    const run = await runCommand(dns("enable"));
    expect(run.code).toBe(0);
    expect(run.err).toContain("warning: the ConfigMap kube-system/coredns is kept by Argo CD");
  });

  test("an older CoreDNS is refused, and told where to forward to with --server", async () => {
    await installCoreDns(store, { image: "registry.k8s.io/coredns/coredns:v1.12.1" });
    const said = await mustRefuse(dns("enable"));
    expect(said).toContain("CoreDNS 1.12.1 cannot answer clusterset.local itself");
    expect(await getCorefile(store)).toBe(COREFILE);
    await mustRun(dns("enable", "--server", "10.96.0.53:1053"));
    expect(await getCorefile(store)).toContain(
      "\nclusterset.local:53 {\n    errors\n    forward . 10.96.0.53:1053\n}\n",
    );
    expect((await versions()).slice(1)).toEqual([undefined, undefined]);
    await mustRun(dns("disable"));
    expect(await getCorefile(store)).toBe(COREFILE);
  });

  test.each([
    [
      "an image without a version",
      "example.org:5000/coredns@sha256:abc",
      [],
      "does not say which CoreDNS",
    ],
    ["a version that is none", undefined, ["--coredns-version", "new"], '"new" is not a version'],
    [
      "another ConfigMap",
      undefined,
      ["--config-map", "dns"],
      "there is no ConfigMap kube-system/dns",
    ],
    ["another key", undefined, ["--config-key", "conf"], "has no conf, only Corefile"],
    [
      "another Deployment",
      undefined,
      ["--deployment", "dns"],
      "there is no Deployment kube-system/dns",
    ],
    ["a name for a server", undefined, ["--server", "dns.example"], "is not an address"],
    ["the cluster's own zone", undefined, ["--zone", "cluster.local"], "cannot be the zone"],
  ])("%s is refused in a sentence", async (_, image, flags, sentence) => {
    await installCoreDns(store, image === undefined ? {} : { image });
    expect(await mustRefuse(dns("enable", ...flags))).toContain(sentence);
    expect(await getCorefile(store)).toBe(COREFILE);
  });

  async function runAsCoreDns(corefile?: string): Promise<RealCoreDns> {
    const kubeconfigPath = await writeKubeconfig(cluster, store, folder);
    const coredns = await runCorefile(corefile ?? (await getCorefile(store)), kubeconfigPath);
    onTestFinished(() => coredns.stop());
    return coredns;
  }
});
