// Our server and CoreDNS with `multicluster`, both reading one real API server: every name of a generated world, of every type,
// is asked of both. What differs has to be on the list of accepted differences, and what is on the list has to occur.

import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { ENDPOINT_SLICE, NAMESPACE, SERVICE } from "../../src/api/builtin.ts";
import { MEMBER_CRDS } from "../../src/api/crds.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT } from "../../src/api/mcs.ts";
import { SERVICE_NAME_LABEL } from "../../src/api/names.ts";
import type { KubeObject, Resource } from "../../src/api/object.ts";
import type { CliContext } from "../../src/cli/context.ts";
import { startEmbeddedCluster } from "../../src/cli/embeddedCluster.ts";
import { runCli } from "../../src/cli/program.ts";
import { installCrds } from "../../src/controllers/crd.ts";
import { createClient, type KubeClient } from "../../src/kube/client.ts";
import { systemClock } from "../../src/kube/clock.ts";
import { loadKubeconfig } from "../../src/kube/config.ts";
import type { Store } from "../../src/ports/store.ts";
import { silentContext } from "../commandLine.ts";
import { type RealCluster, startCluster } from "../controlplane/cluster.ts";
import { type RealCoreDns, startCoreDns } from "../controlplane/coredns.ts";
import { anEndpoint, anExport, aService, aSlice, HEADLESS } from "../scenarios/objects.ts";
import { eventually } from "../scenarios/poll.ts";
import { askAll, askOnce } from "./ask.ts";
import { ACCEPTED, levelReplies, renderReply } from "./difference.ts";
import { type IsthmusDns, startIsthmusDns } from "./isthmusDns.ts";
import { denies } from "./kubeadm.ts";
import { type DnsWorld, generateWorld, listQuestions, NAMESPACES, ZONE } from "./world.ts";

const TIMEOUT_MS = 600_000;
const SEED = Number(process.env["ISTHMUS_DNS_SEED"] ?? 7);
const SERVICES = 48;

let cluster: RealCluster;
let store: KubeClient;
let coredns: RealCoreDns;
let ours: IsthmusDns;
let world: DnsWorld;

beforeAll(async () => {
  cluster = await startCluster({ name: "compare", controllerManager: false });
  const paths = [cluster.kubeconfigPath];
  store = createClient(loadKubeconfig({ paths, env: {}, home: "/nonexistent" }), {
    clock: systemClock,
  });
  await installCrds({ store, crds: MEMBER_CRDS, clock: systemClock });
  world = generateWorld(SEED, SERVICES);
  for (const name of NAMESPACES) {
    await store.create(NAMESPACE, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
  for (const serviceImport of world.imports) await store.create(SERVICE_IMPORT, serviceImport);
  for (const slice of world.slices) await store.create(ENDPOINT_SLICE, slice);
  [coredns, ours] = await Promise.all([
    startCoreDns({
      corefile: ({ host, port }) => `.:${port} {
  bind ${host}
  errors
  kubernetes cluster.local ${ZONE} {
    kubeconfig ${cluster.kubeconfigPath}
    multicluster ${ZONE}
  }
}
`,
      isReady: (address) => denies(address, `nobody.nowhere.svc.${ZONE}`),
    }),
    startIsthmusDns({
      kubeconfigPath: cluster.kubeconfigPath,
      flags: ["--ns-address", "127.0.0.1"],
    }),
  ]);
}, TIMEOUT_MS);
afterAll(async () => {
  await Promise.all([ours?.stop(), coredns?.stop(), store?.close()]);
  await cluster?.stop();
}, TIMEOUT_MS);

/** What differs and is not accepted; which accepted differences occurred. */
async function compare(asked: DnsWorld): Promise<{
  readonly questions: number;
  readonly unexplained: readonly string[];
  readonly occurred: readonly string[];
}> {
  const questions = listQuestions(asked);
  const [theirs, own] = [await askAll(coredns, questions), await askAll(ours, questions)];
  const occurred = new Set<string>();
  const unexplained: string[] = [];
  for (const [index, question] of questions.entries()) {
    const pair = { coredns: theirs[index]!, ours: own[index]! };
    const level = levelReplies(question, pair, asked, (id) => occurred.add(id));
    if (renderReply(level.coredns) === renderReply(level.ours)) continue;
    const [left, right] = [renderReply(pair.coredns), renderReply(pair.ours)];
    unexplained.push(`${question.name} ${question.type}\n  CoreDNS: ${left}\n  ours:    ${right}`);
  }
  return { questions: questions.length, unexplained, occurred: [...occurred].sort() };
}

test(
  "both answer the same to every question, but for the accepted differences",
  async () => {
    const { questions, unexplained, occurred } = await compare(world);
    expect(questions).toBeGreaterThan(20_000);
    expect(unexplained).toEqual([]);
    const listed = ACCEPTED.map(({ id }) => id).sort();
    expect(occurred, "what no longer occurs is to be taken off the list").toEqual(listed);
  },
  TIMEOUT_MS,
);

test(
  "over UDP both send what fits, and TC where answers are missing; ours only there (RFC 2181, section 9)",
  async () => {
    const names = world.imports.map(
      ({ metadata }) => `${metadata.name}.${metadata.namespace}.svc.${ZONE}.`,
    );
    const types = ["A", "AAAA", "SRV"] as const;
    const questions = names.flatMap((name) => types.map((type) => ({ name, type })));
    const whole = await askAll(ours, questions);
    const cut = { coredns: 0, ours: 0 };
    for (const [index, question] of questions.entries()) {
      const all = new Set(whole[index]!.answer);
      for (const udpSize of [512, 1232]) {
        const theirs = await askOnce(coredns, question, { udpSize });
        const own = await askOnce(ours, question, { udpSize });
        expect(own.answer.every((line) => all.has(line))).toBe(true);
        expect(own.isTruncated).toBe(own.answer.length < all.size);
        expect(own.isTruncated ? theirs.isTruncated : true).toBe(true);
        if (own.isTruncated) cut.ours += 1;
        if (theirs.isTruncated) cut.coredns += 1;
      }
    }
    expect(cut.ours).toBeGreaterThan(0);
    expect(cut.coredns).toBeGreaterThan(cut.ours);
  },
  TIMEOUT_MS,
);

test(
  "both still answer the same when services, endpoints and a namespace have come, changed and gone",
  async () => {
    const before = world;
    const { imports, slices } = generateWorld(SEED + 1, SERVICES);
    const rest = imports.filter((_, index) => index % 5 !== 0);
    world = { imports: rest, slices: slices.filter((_, index) => index % 4 !== 0) };
    await replaceAll(SERVICE_IMPORT, before.imports, world.imports);
    await replaceAll(ENDPOINT_SLICE, before.slices, world.slices);
    await removeNamespace("idle");
    const { metadata, spec } = rest.findLast((one) => one.spec?.ips?.[0] && one.spec.ports?.[0])!;
    const name = `${metadata.name}.${metadata.namespace}.svc.${ZONE}.`;
    const type = spec!.ips![0]!.includes(":") ? "AAAA" : "A";
    await eventually(
      "both have read all of it",
      async () => {
        // What was there before is asked for as well.
        const { unexplained } = await compare({
          imports: [...world.imports, ...before.imports],
          slices: [...world.slices, ...before.slices],
        });
        expect(unexplained).toEqual([]);
        for (const server of [coredns, ours]) {
          const idle = { name: `idle.svc.${ZONE}.`, type: "A" } as const;
          const [reply, denied] = await askAll(server, [{ name, type }, idle]);
          expect(reply?.answer).toEqual([`${name} 5 ${type} ${spec!.ips![0]}`]);
          expect(denied?.rcode).toBe("NXDOMAIN");
        }
      },
      60_000,
    );
  },
  TIMEOUT_MS,
);

/** There is no namespace controller here: what it would do last is done by hand. */
async function removeNamespace(name: string): Promise<void> {
  await store.delete(NAMESPACE, { name });
  const namespace = await store.get(NAMESPACE, { name });
  const body = { ...namespace, spec: { finalizers: [] } };
  const answer = await store.request("PUT", `/api/v1/namespaces/${name}/finalize`, { body });
  expect(answer.status).toBe(200);
}

/** What is no longer there goes, what is new or other is written. */
async function replaceAll<T extends KubeObject>(
  resource: Resource<T>,
  before: readonly T[],
  after: readonly T[],
): Promise<void> {
  const keyOf = ({ metadata }: T): string => `${metadata.namespace}/${metadata.name}`;
  const wanted = new Set(after.map(keyOf));
  for (const object of before.filter((one) => !wanted.has(keyOf(one)))) {
    const { namespace = "", name = "" } = object.metadata;
    await store.delete(resource, { namespace, name });
  }
  for (const object of after)
    await store.apply(resource, object, { fieldManager: "test", force: true });
}

test(
  "both answer the same for what the real controllers write, of a real and of an embedded cluster",
  async () => {
    const context = createContext();
    onTestFinished(() => context.end());
    const west = await startEmbeddedCluster(context.cli, { name: "west" });
    onTestFinished(() => west.stop());
    await installCrds({ store: west.client, crds: MEMBER_CRDS, clock: systemClock });
    for (const [member, index] of [
      [store, 1],
      [west.client, 2],
    ] as const) {
      await writeExports(member, `10.7.${index}`);
    }
    const members = [`east=${cluster.kubeconfigPath}`, `west=${west.kubeconfigPath}`];
    const central = runCli(
      [
        "central",
        ...members.flatMap((member) => ["--kubeconfig", member]),
        "--metrics-address=127.0.0.1:0",
      ],
      context.cli,
    );
    onTestFinished(async () => {
      context.end();
      await central;
    });
    await eventually(
      "all is imported, and both servers have read it",
      async () => {
        const written = await readWorld("mart");
        expect(written.imports).toHaveLength(2);
        expect(written.slices).toHaveLength(4);
        const { unexplained } = await compare(written);
        expect(unexplained).toEqual([]);
        for (const server of [coredns, ours]) {
          const [web, pods, pod] = await askAll(server, [
            { name: `_http._tcp.web.mart.svc.${ZONE}.`, type: "SRV" },
            { name: `db.mart.svc.${ZONE}.`, type: "A" },
            { name: `db-0.west.db.mart.svc.${ZONE}.`, type: "A" },
          ]);
          expect(web?.answer).toHaveLength(1);
          expect(pods?.answer).toHaveLength(2);
          expect(pod?.answer).toEqual([`db-0.west.db.mart.svc.${ZONE}. 5 A 10.7.2.20`]);
        }
      },
      60_000,
    );
  },
  TIMEOUT_MS,
);

/** The same two services in each cluster; of the headless one a pod is ready and one is not. */
async function writeExports(member: Store, network: string): Promise<void> {
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "mart" } };
  await member.create(NAMESPACE, namespace);
  await member.create(SERVICE, aService("mart", "web"));
  await member.create(SERVICE, aService("mart", "db", HEADLESS));
  const pod = anEndpoint(`${network}.20`, { hostname: "db-0" });
  const down = anEndpoint(`${network}.21`, { hostname: "db-1", conditions: { ready: false } });
  await member.create(
    ENDPOINT_SLICE,
    aSlice("mart", "web", { service: "web", endpoints: [anEndpoint(`${network}.10`)] }),
  );
  await member.create(
    ENDPOINT_SLICE,
    aSlice("mart", "db", { service: "db", endpoints: [pod, down] }),
  );
  for (const name of ["web", "db"]) await member.create(SERVICE_EXPORT, anExport("mart", name));
}

/** What a DNS server reads, as it is on the API server now. */
async function readWorld(namespace: string): Promise<DnsWorld> {
  const imports = await store.list(SERVICE_IMPORT, { namespace });
  const slices = await store.list(ENDPOINT_SLICE, { namespace, labelSelector: SERVICE_NAME_LABEL });
  return { imports: imports.items, slices: slices.items };
}

function createContext(): { readonly cli: CliContext; readonly end: () => void } {
  const ending = new AbortController();
  const cli = { ...silentContext, home: "/nonexistent", signal: ending.signal };
  return { cli, end: () => ending.abort() };
}

test("every accepted difference is in the documentation, word for word, and no other", () => {
  const page = readFileSync(new URL("../../docs/coredns.md", import.meta.url), "utf8");
  const [, differences = ""] = page.split("\n## Where they differ\n");
  const rows = [...differences.matchAll(/^\| `([a-z0-9-]+)` \| (.*) \|$/gmu)].map(
    ([, id, reason]) => `${id}: ${reason}`,
  );
  expect(rows).toEqual(ACCEPTED.map(({ id, reason }) => `${id}: ${reason}`));
});
