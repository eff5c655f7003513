// kubectl finds the bundled command on the PATH under the name of a plugin: the same verbs, the same exit codes, its own name in
// the help.

import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { MEMBER_CRDS } from "../src/api/crds.ts";
import { NAMESPACE } from "../src/api/builtin.ts";
import { SERVICE_EXPORT } from "../src/api/mcs.ts";
import { installCrds } from "../src/controllers/crd.ts";
import { EmbeddedCluster } from "../src/embedded/cluster.ts";
import { serveCluster } from "../src/embedded/server.ts";
import { systemClock, systemRandom } from "../src/kube/clock.ts";
import { bundle } from "../tools/build.ts";
import { requireKubectl } from "./controlplane/binaries.ts";
import { temporaryDirectory } from "./loopback.ts";

let kubectl = "";
beforeAll(async () => {
  kubectl = process.env["KUBECTL"] || (await requireKubectl());
});

/** As npm installs it, by a link; and as people do, by a copy without an ending. */
const INSTALLERS: Readonly<Record<string, (bundled: string, plugin: string) => void>> = {
  "a link": symlinkSync,
  "a copy": copyFileSync,
};

async function install(how: string, kubeconfig = "") {
  const folder = temporaryDirectory();
  const bin = join(folder, "bin");
  mkdirSync(bin);
  INSTALLERS[how]!(await bundle(folder), join(bin, "kubectl-isthmus"));
  writeFileSync(join(folder, "config"), kubeconfig);
  const env = {
    PATH: [bin, dirname(process.execPath), process.env["PATH"]].join(":"),
    HOME: folder,
    KUBECONFIG: join(folder, "config"),
    KUBECACHEDIR: join(folder, "cache"),
  };
  return (...args: readonly string[]) =>
    new Promise<{ readonly code: unknown; readonly out: string; readonly err: string }>((done) => {
      execFile(kubectl, args, { env, timeout: 60_000 }, (error, out, err) => {
        done({ code: error === null ? 0 : error.code, out, err });
      });
    });
}

test.each(Object.keys(INSTALLERS))("kubectl runs it from %s, and the help says so", async (how) => {
  const run = await install(how);
  expect((await run("plugin", "list")).out).toMatch(/\/kubectl-isthmus$/m);
  const help = await run("isthmus", "export", "--help");
  expect(help.code).toBe(0);
  expect(help.out).toMatch(/^Usage: kubectl isthmus export /);
  expect((await run("isthmus", "nonsense")).code).toBe(2);
});

test("its verbs work on kubectl's own kubeconfig, and their exit codes come through", async () => {
  const clock = systemClock;
  const cluster = new EmbeddedCluster({ name: "east", clock, random: systemRandom });
  onTestFinished(() => cluster.stop());
  const server = await serveCluster(cluster, { clock });
  onTestFinished(() => server.close());
  const store = cluster.store({ userAgent: "user" });
  await installCrds({ store, crds: MEMBER_CRDS, clock });
  const metadata = { name: "shop" };
  await store.create(NAMESPACE, { apiVersion: "v1", kind: "Namespace", metadata });
  const run = await install("a link", server.kubeconfig());
  const refused = await run("isthmus", "export", "web", "-n", "shop");
  expect(refused.code).toBe(1);
  expect(refused.err).toContain('there is no Service "web" in namespace "shop"');
  await run("create", "service", "clusterip", "web", "--tcp", "80:8080", "-n", "shop");
  const made = await run("isthmus", "export", "web", "-n", "shop");
  expect(made).toMatchObject({ code: 0, out: "shop/web: exported.\n" });
  expect(await store.get(SERVICE_EXPORT, { namespace: "shop", name: "web" })).toBeDefined();
});
