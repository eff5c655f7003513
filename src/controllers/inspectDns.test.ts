// Looking at a cluster's DNS: what stands in front of CoreDNS is read as well, and where it sends names that it does not know.

import { expect, test } from "vitest";
import type { Resource } from "../api/object.ts";
import { answered } from "../core/check/inspection.ts";
import type { Store } from "../ports/store.ts";
import { inspectDns } from "./inspectDns.ts";

const { signal } = new AbortController();

/** Objects by kind and name; whatever else is asked for is not there. */
function aStore(objects: Readonly<Record<string, object>>): Store {
  const get = ({ kind }: Resource, { name }: { readonly name: string }) =>
    Promise.resolve(objects[`${kind} ${name}`]);
  const list = () => Promise.resolve({ items: [], resourceVersion: "1" });
  return { get, list } as unknown as Store;
}

async function look(objects: Readonly<Record<string, object>>) {
  return inspectDns(aStore(objects), async (_, ask) => answered(await ask(signal)));
}

const DAEMON = { "DaemonSet node-local-dns": { metadata: {} } };
const SERVICE = { "Service kube-dns": { spec: { clusterIP: "10.96.0.10" } } };

function nodeLocal(rest: string, more = ""): Readonly<Record<string, object>> {
  const text = `cluster.local:53 {\n    forward . __PILLAR__CLUSTER__DNS__\n}\n.:53 {\n    forward . ${rest}\n}\n${more}`;
  return { "ConfigMap node-local-dns": { data: { Corefile: text } } };
}

test.each([
  ["to the servers of the node: past CoreDNS", nodeLocal("__PILLAR__UPSTREAM__SERVERS__"), false],
  ["to CoreDNS", nodeLocal("__PILLAR__CLUSTER__DNS__"), true],
  ["to CoreDNS, by its address", nodeLocal("10.96.0.10"), true],
  [
    "elsewhere, with the zone by itself",
    nodeLocal("/etc/resolv.conf", "clusterset.local:53 {\n    forward . 10.96.0.10\n}\n"),
    true,
  ],
])("NodeLocal DNSCache that sends the rest %s", async (_, config, servesZone) => {
  const facts = await look({ ...DAEMON, ...SERVICE, ...config });
  expect(facts.nodeLocal).toMatchObject({
    value: { configMap: "kube-system/node-local-dns", servesZone },
  });
});

test("a ConfigMap of NodeLocal DNSCache that was left behind asks nobody", async () => {
  expect((await look(nodeLocal("/etc/resolv.conf"))).nodeLocal).toEqual(answered(undefined));
});

test("files that a Corefile imports are named, snippets of its own are not", async () => {
  const text =
    "import /etc/coredns/custom/*.server\n(own) {\n    errors\n}\n.:53 {\n    import own\n    kubernetes cluster.local\n}\n";
  const { corefile } = await look({ "ConfigMap coredns": { data: { Corefile: text } } });
  expect(corefile).toMatchObject({
    value: { servesZone: false, importedFiles: ["/etc/coredns/custom/*.server"] },
  });
});
