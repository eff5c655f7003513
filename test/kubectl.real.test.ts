// kubectl drives an embedded cluster, and a real one to the same effect: where they differ, the embedded one is wrong.

import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { parse } from "yaml";
import { EmbeddedCluster } from "../src/embedded/cluster.ts";
import { serveCluster } from "../src/embedded/server.ts";
import { systemClock, systemRandom } from "../src/kube/clock.ts";
import { requireKubectl } from "./controlplane/binaries.ts";
import { CRD, configMap, GADGET_CRD, gadget, list, rows } from "./gadget.ts";
import { Kubectl } from "./kubectl.ts";

const NAMESPACE = "kubectl";

interface Server {
  readonly kubeconfig: string;
  readonly deletesNamespaces: boolean;
  stop(): Promise<void>;
}

const servers = {
  "an embedded cluster": async (): Promise<Server> => {
    const clock = systemClock;
    const cluster = new EmbeddedCluster({ name: "embedded", clock, random: systemRandom });
    const server = await serveCluster(cluster, { clock });
    return {
      kubeconfig: server.kubeconfig(),
      deletesNamespaces: true,
      stop: async () => {
        await server.close();
        cluster.stop();
      },
    };
  },
  "a real control plane": async (): Promise<Server> => {
    const shared = inject("clusters")[0]!;
    return {
      kubeconfig: await readFile(shared.kubeconfigPath, "utf8"),
      deletesNamespaces: shared.hasControllerManager,
      stop: async () => {},
    };
  },
};

describe.each(Object.entries(servers))("kubectl on %s", (_name, start) => {
  let server: Server;
  let kubectl: Kubectl;

  const apply = (manifest: string, ...flags: string[]): Promise<string> =>
    kubectl.run(["apply", "-f", "-", ...flags], manifest);

  beforeAll(async () => {
    server = await start();
    kubectl = await Kubectl.create({
      binary: process.env["KUBECTL"] || (await requireKubectl()),
      kubeconfig: server.kubeconfig,
      namespace: NAMESPACE,
    });
    await kubectl.run(["create", "namespace", NAMESPACE]);
    await apply(GADGET_CRD);
    await kubectl.run(["wait", "--for=condition=Established", `crd/${CRD}`, "--timeout=50s"]);
  });

  afterAll(async () => {
    await kubectl?.run(["delete", "crd", CRD]);
    await kubectl?.run(["delete", "namespace", NAMESPACE, "--wait=false"]);
    await kubectl?.remove();
    await server?.stop();
  });

  describe("get", () => {
    beforeAll(async () => {
      await apply(
        list(
          gadget("get-a", { size: 1, tags: ["x", "y"] }),
          gadget("get-b", { size: 2 }),
          configMap("get-c", { data: { k: "v" } }, { get: "yes" }),
        ),
      );
    });

    test("prints a table with the columns of the type", async () => {
      const printed = rows(await kubectl.run(["get", "gadgets"])).filter(({ NAME }) =>
        NAME?.startsWith("get-"),
      );
      expect(printed).toMatchObject([
        { NAME: "get-a", SIZE: "1", READY: "" },
        { NAME: "get-b", SIZE: "2", READY: "" },
      ]);
      expect(printed[0]?.["AGE"]).toMatch(/^\d+s$/);
      expect(printed[0]).not.toHaveProperty("TAGS");
    });

    test("prints more columns when asked for wide", async () => {
      const [printed] = rows(await kubectl.run(["get", "gg", "get-a", "-o", "wide"]));
      expect(printed?.["TAGS"]).toBe('["x","y"]');
    });

    test("prints YAML, JSON and names", async () => {
      const args = ["get", "gadget", "get-a"];
      expect(parse(await kubectl.run([...args, "-o", "yaml"])).spec.size).toBe(1);
      expect((await kubectl.json(args)).spec.tags).toEqual(["x", "y"]);
      const names = await kubectl.run(["get", "gadget/get-a", "configmap/get-c", "-o", "name"]);
      expect(names).toBe("gadget.kubectl.isthmus.test/get-a\nconfigmap/get-c\n");
    });

    test("looks into all namespaces", async () => {
      const [printed] = rows(await kubectl.run(["get", "cm", "-A", "-l", "get=yes"]));
      expect(printed).toMatchObject({ NAMESPACE, NAME: "get-c", DATA: "1" });
    });

    test("selects by label and by field", async () => {
      const byLabel = ["get", "cm", "-o", "name", "-l"];
      expect(await kubectl.run([...byLabel, "get in (yes,no)"])).toBe("configmap/get-c\n");
      expect(await kubectl.run([...byLabel, "get=no"])).toBe("");
      const byField = ["get", "gadgets", "-o", "name", "--field-selector"];
      expect(await kubectl.run([...byField, "metadata.name=get-b"])).toBe(
        "gadget.kubectl.isthmus.test/get-b\n",
      );
    });

    test("finds types by category and asks the version that is named", async () => {
      expect(await kubectl.run(["get", "toys", "-o", "name"])).toContain("/get-a\n");
      const old = await kubectl.json(["get", "gadgets.v1alpha1.kubectl.isthmus.test", "get-a"]);
      expect(old.apiVersion).toBe("kubectl.isthmus.test/v1alpha1");
    });

    test("says what it did not find", async () => {
      expect(await kubectl.refuse(["get", "gadget", "none"])).toBe(
        'Error from server (NotFound): gadgets.kubectl.isthmus.test "none" not found\n',
      );
      expect(await kubectl.refuse(["get", "nonsense"])).toContain(
        `the server doesn't have a resource type "nonsense"`,
      );
    });

    test("reads in pages", async () => {
      const names = Array.from({ length: 12 }, (_, index) => `page-${index}`);
      await apply(list(...names.map((name) => configMap(name, {}, { page: "yes" }))));
      const args = ["get", "cm", "-l", "page=yes", "-o", "name", "--chunk-size=5", "-v=6"];
      const { out, err } = await kubectl.attempt(args);
      expect(out.trimEnd().split("\n")).toHaveLength(12);
      expect(err.split("\n").filter((line) => line.includes("limit=5"))).toHaveLength(3);
    });

    test("watches: what is there, then what changes", async () => {
      await apply(gadget("watched", { size: 1 }));
      const args = ["get", "gadgets", "--watch", "--no-headers", "--output-watch-events"];
      const follower = kubectl.follow([...args, "--field-selector", "metadata.name=watched"]);
      const cells = async (): Promise<string[]> => (await follower.next()).split(/ +/).slice(0, 3);
      try {
        expect(await cells()).toEqual(["ADDED", "watched", "1"]);
        await apply(gadget("watched", { size: 2 }));
        expect(await cells()).toEqual(["MODIFIED", "watched", "2"]);
        await kubectl.run(["delete", "gadget", "watched"]);
        expect(await cells()).toEqual(["DELETED", "watched", "2"]);
      } finally {
        await follower.stop();
      }
    });
  });

  describe("apply", () => {
    test("creates, then sees that nothing changed, then changes", async () => {
      const first = list(
        configMap("plain", { data: { a: "1", b: "1" } }),
        gadget("plain", { size: 1 }),
      );
      const second = list(configMap("plain", { data: { a: "2" } }), gadget("plain", { size: 2 }));
      expect(await apply(first)).toBe(
        "configmap/plain created\ngadget.kubectl.isthmus.test/plain created\n",
      );
      expect(await apply(first)).toBe(
        "configmap/plain unchanged\ngadget.kubectl.isthmus.test/plain unchanged\n",
      );
      expect(await apply(second)).toBe(
        "configmap/plain configured\ngadget.kubectl.isthmus.test/plain configured\n",
      );
      expect((await kubectl.json(["get", "cm", "plain"])).data).toEqual({ a: "2" });
      expect((await kubectl.json(["get", "gadget", "plain"])).spec).toEqual({ size: 2 });
    });

    test("merges the ports of a Service by their key", async () => {
      const service = (...ports: object[]): string =>
        JSON.stringify({
          apiVersion: "v1",
          kind: "Service",
          metadata: { name: "ported" },
          spec: { ports },
        });
      await apply(service({ name: "a", port: 80 }, { name: "b", port: 81 }));
      const before = (await kubectl.json(["get", "svc", "ported"])).spec;
      expect(await apply(service({ name: "b", port: 81 }, { name: "c", port: 82 }))).toBe(
        "service/ported configured\n",
      );
      const after = (await kubectl.json(["get", "svc", "ported"])).spec;
      expect(after.ports?.map((port) => port.name)).toEqual(["b", "c"]);
      expect(after.clusterIP).toBe(before.clusterIP);
      const [row] = rows(await kubectl.run(["get", "svc", "ported"]));
      expect(row).toMatchObject({
        TYPE: "ClusterIP",
        "CLUSTER-IP": before.clusterIP,
        "EXTERNAL-IP": "<none>",
        "PORT(S)": "81/TCP,82/TCP",
      });
    });

    test("refuses a field that nobody knows, and names it", async () => {
      const unknown = await kubectl.refuse(["apply", "-f", "-"], gadget("typo", { sise: 1 }));
      expect(unknown).toContain('strict decoding error: unknown field "spec.sise"');
      const builtin = configMap("typo", { dato: { a: "1" } });
      expect(await kubectl.refuse(["apply", "-f", "-"], builtin)).toContain(
        'strict decoding error: unknown field "dato"',
      );
      expect(await kubectl.refuse(["get", "gadget", "typo"])).toContain("NotFound");
      const { code, err } = await kubectl.attempt(
        ["apply", "--validate=warn", "-f", "-"],
        gadget("typo", { sise: 1 }),
      );
      expect(code).toBe(0);
      expect(err).toContain('Warning: unknown field "spec.sise"');
    });

    test("refuses a value that the schema forbids", async () => {
      const err = await kubectl.refuse(["apply", "-f", "-"], gadget("negative", { size: -1 }));
      expect(err).toContain(
        'The Gadget "negative" is invalid: spec.size: Invalid value: -1: spec.size in body should be greater than or equal to 0',
      );
    });

    test("on the server: two managers, a conflict, and force", async () => {
      const serverSide = ["--server-side", "--field-manager"];
      expect(await apply(gadget("owned", { size: 1 }), ...serverSide, "one")).toBe(
        "gadget.kubectl.isthmus.test/owned serverside-applied\n",
      );
      const args = ["apply", "-f", "-", ...serverSide, "two"];
      const conflict = await kubectl.refuse(args, gadget("owned", { size: 2 }));
      expect(conflict).toContain('Apply failed with 1 conflict: conflict with "one": .spec.size');
      await kubectl.run([...args, "--force-conflicts"], gadget("owned", { size: 2 }));
      expect((await kubectl.json(["get", "gadget", "owned"])).spec.size).toBe(2);
    });

    test("as a dry run on the server it changes nothing", async () => {
      expect(await apply(gadget("dry", { size: 1 }), "--dry-run=server")).toBe(
        "gadget.kubectl.isthmus.test/dry created (server dry run)\n",
      );
      expect(await kubectl.refuse(["get", "gadget", "dry"])).toContain("NotFound");
    });

    test("shows the difference first when asked", async () => {
      await apply(gadget("different", { size: 1 }));
      const { code, out } = await kubectl.attempt(
        ["diff", "-f", "-"],
        gadget("different", { size: 7 }),
      );
      expect(code).toBe(1);
      expect(out).toMatch(/^-\s+size: 1$/m);
      expect(out).toMatch(/^\+\s+size: 7$/m);
    });
  });

  describe("create and change", () => {
    test("create makes what its subcommands describe", async () => {
      await kubectl.run(["create", "configmap", "made", "--from-literal", "key=value"]);
      await kubectl.run(["create", "secret", "generic", "made", "--from-literal", "key=value"]);
      await kubectl.run(["create", "serviceaccount", "made"]);
      await kubectl.run(["create", "service", "clusterip", "made", "--tcp", "80:8080"]);
      expect((await kubectl.json(["get", "cm", "made"])).data).toEqual({ key: "value" });
      expect((await kubectl.json(["get", "secret", "made"])).data).toEqual({ key: "dmFsdWU=" });
      expect((await kubectl.json(["get", "sa", "made"])).metadata.name).toBe("made");
      const { spec } = await kubectl.json(["get", "svc", "made"]);
      expect(spec.ports).toEqual([
        { name: "80-8080", port: 80, protocol: "TCP", targetPort: 8080 },
      ]);
      expect(spec.selector).toEqual({ app: "made" });
    });

    test("create says that it exists already", async () => {
      await kubectl.run(["create", "-f", "-"], gadget("twice", {}));
      expect(await kubectl.refuse(["create", "-f", "-"], gadget("twice", {}))).toContain(
        'Error from server (AlreadyExists): error when creating "STDIN": gadgets.kubectl.isthmus.test "twice" already exists',
      );
    });

    test("patch merges strategically, merges plainly, and edits by path", async () => {
      const manifest = {
        apiVersion: "v1",
        kind: "Service",
        metadata: { name: "patched" },
        spec: {
          ports: [
            { name: "a", port: 80 },
            { name: "b", port: 81 },
          ],
        },
      };
      await apply(JSON.stringify(manifest));
      await kubectl.run([
        "patch",
        "svc",
        "patched",
        "-p",
        '{"spec":{"ports":[{"port":80,"appProtocol":"http"}]}}',
      ]);
      const { ports } = (await kubectl.json(["get", "svc", "patched"])).spec;
      expect(ports).toMatchObject([{ name: "a", appProtocol: "http" }, { name: "b" }]);

      await apply(gadget("patched", { size: 1, tags: ["x"] }));
      const patch = ["patch", "gadget", "patched", "--type"];
      await kubectl.run([...patch, "merge", "-p", '{"spec":{"size":2,"tags":null}}']);
      expect((await kubectl.json(["get", "gadget", "patched"])).spec).toEqual({ size: 2 });
      const operations =
        '[{"op":"test","path":"/spec/size","value":2},{"op":"replace","path":"/spec/size","value":3}]';
      await kubectl.run([...patch, "json", "-p", operations]);
      expect((await kubectl.json(["get", "gadget", "patched"])).spec).toEqual({ size: 3 });
      expect(await kubectl.refuse([...patch, "strategic", "-p", "{}"])).toContain(
        "application/strategic-merge-patch+json is not supported",
      );
    });

    test("label and annotate add, refuse to overwrite, and remove", async () => {
      await apply(gadget("marked", {}));
      const target = ["gadget", "marked"];
      expect(await kubectl.run(["label", ...target, "colour=red"])).toContain("labeled");
      expect(await kubectl.run(["annotate", ...target, "note=one"])).toContain("annotated");
      expect(await kubectl.refuse(["label", ...target, "colour=blue"])).toContain(
        "already has a value (red), and --overwrite is false",
      );
      await kubectl.run(["label", ...target, "colour=blue", "--overwrite"]);
      await kubectl.run(["annotate", ...target, "note-"]);
      const { metadata } = await kubectl.json(["get", ...target]);
      expect(metadata.labels).toEqual({ colour: "blue" });
      expect(metadata.annotations).not.toHaveProperty("note");
    });

    test("wait sees a condition come true", async () => {
      await apply(gadget("ready", {}));
      const target = "gadget/ready";
      const waiting = kubectl.run(["wait", "--for=condition=Ready", target, "--timeout=50s"]);
      const status = '{"status":{"conditions":[{"type":"Ready","status":"True"}]}}';
      await kubectl.run(["patch", target, "--subresource=status", "--type=merge", "-p", status]);
      expect(await waiting).toBe("gadget.kubectl.isthmus.test/ready condition met\n");
      expect(rows(await kubectl.run(["get", target]))[0]).toMatchObject({ READY: "True" });
    });
  });

  describe("delete", () => {
    test("waits until the object is gone", async () => {
      const manifest = JSON.parse(gadget("held", {}));
      manifest.metadata.finalizers = ["kubectl.isthmus.test/hold"];
      await apply(JSON.stringify(manifest));
      let done = false;
      const deleting = kubectl.run(["delete", "gadget", "held"]).finally(() => {
        done = true;
      });
      await kubectl.run([
        "wait",
        "gadget/held",
        "--timeout=50s",
        "--for=jsonpath={.metadata.deletionTimestamp}",
      ]);
      expect(done).toBe(false);
      await kubectl.run([
        "patch",
        "gadget",
        "held",
        "--type=merge",
        "-p",
        '{"metadata":{"finalizers":null}}',
      ]);
      expect(await deleting).toContain('gadget.kubectl.isthmus.test "held" deleted');
      expect(await kubectl.refuse(["get", "gadget", "held"])).toContain("NotFound");
    });

    test("takes all that a selector names", async () => {
      const labels = { doomed: "yes" };
      await apply(list(configMap("doomed-1", {}, labels), configMap("doomed-2", {}, labels)));
      await kubectl.run(["delete", "cm", "-l", "doomed=yes"]);
      expect(await kubectl.run(["get", "cm", "-l", "doomed=yes", "-o", "name"])).toBe("");
    });

    test("of a namespace takes what is in it", async ({ skip }) => {
      skip(!server.deletesNamespaces, "without a controller manager nobody empties namespaces");
      await kubectl.run(["create", "namespace", "kubectl-doomed"]);
      const inside = ["-n", "kubectl-doomed"];
      await kubectl.run(["apply", "-f", "-", ...inside], list(configMap("in"), gadget("in", {})));
      expect(await kubectl.run(["delete", "namespace", "kubectl-doomed"])).toContain(
        'namespace "kubectl-doomed" deleted',
      );
      expect(await kubectl.refuse(["get", "namespace", "kubectl-doomed"])).toContain("NotFound");
      expect(await kubectl.run(["get", "gadgets", ...inside, "-o", "name"])).toBe("");
    });
  });

  describe("looking closer", () => {
    test("describe shows a Service and a Namespace", async () => {
      await kubectl.run(["create", "service", "clusterip", "described", "--tcp", "80:8080"]);
      const { spec } = await kubectl.json(["get", "svc", "described"]);
      const service = await kubectl.run(["describe", "service", "described"]);
      expect(service).toMatch(/^Selector: +app=described$/m);
      expect(service).toMatch(new RegExp(`^IP: +${spec.clusterIP}$`, "m"));
      expect(service).toMatch(/^TargetPort: +8080\/TCP$/m);
      const namespace = await kubectl.run(["describe", "namespace", NAMESPACE]);
      expect(namespace).toMatch(/^Status: +Active$/m);
    });

    test("describe shows a custom object with its events", async () => {
      await apply(gadget("eventful", { size: 4 }));
      const { metadata } = await kubectl.json(["get", "gadget", "eventful"]);
      const event = {
        apiVersion: "v1",
        kind: "Event",
        metadata: { name: "eventful.1" },
        involvedObject: {
          apiVersion: "kubectl.isthmus.test/v1",
          kind: "Gadget",
          name: "eventful",
          namespace: NAMESPACE,
          uid: metadata.uid,
        },
        type: "Warning",
        reason: "Wobbles",
        message: "it wobbles",
        source: { component: "tester" },
        firstTimestamp: metadata.creationTimestamp,
        lastTimestamp: metadata.creationTimestamp,
        count: 1,
      };
      await kubectl.run(["create", "-f", "-"], JSON.stringify(event));
      const described = await kubectl.run(["describe", "gadget", "eventful"]);
      expect(described).toMatch(/^ {2}Size: +4$/m);
      expect(described).toMatch(/Warning +Wobbles +\S+ +tester +it wobbles/);
      const [row] = rows(
        await kubectl.run(["get", "events", "--field-selector", "reason=Wobbles"]),
      );
      expect(row).toMatchObject({
        TYPE: "Warning",
        OBJECT: "gadget/eventful",
        MESSAGE: "it wobbles",
      });
    });

    test("explain knows what the CRD says of its fields", async () => {
      const explained = await kubectl.run(["explain", "gadgets.spec.size"]);
      expect(explained).toContain("FIELD: size <integer>");
      expect(explained).toContain("How large the gadget is.");
      expect(await kubectl.run(["explain", "gadget"])).toContain(
        "A gadget is a thing to try things",
      );
    });

    test("api-resources lists types as they come and go", async () => {
      const args = ["api-resources", "--api-group=passing.isthmus.test", "--no-headers"];
      const passing = GADGET_CRD.replaceAll("kubectl.isthmus.test", "passing.isthmus.test");
      await apply(passing);
      const crd = "gadgets.passing.isthmus.test";
      await kubectl.run(["wait", "--for=condition=Established", `crd/${crd}`, "--timeout=50s"]);
      await expect
        .poll(async () => (await kubectl.run(args)).split(/ +/), { timeout: 60_000 })
        .toEqual(["gadgets", "gg", "passing.isthmus.test/v1", "true", "Gadget\n"]);
      await kubectl.run(["delete", "crd", crd]);
      await expect.poll(() => kubectl.run(args), { timeout: 60_000 }).toBe("");
    });
  });

  test("wrong credentials are told as such", async () => {
    const args = ["get", "ns", "--token=wrong"];
    const config = parse(server.kubeconfig);
    config.users[0].user = {};
    const stranger = await Kubectl.create({
      binary: process.env["KUBECTL"] || (await requireKubectl()),
      kubeconfig: JSON.stringify(config),
      namespace: NAMESPACE,
    });
    try {
      expect(await stranger.refuse(args)).toMatch(/must be logged in to the server|Unauthorized/);
    } finally {
      await stranger.remove();
    }
  });
});
