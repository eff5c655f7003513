// The `isthmus` command as a person meets it: a real process, its output, its exit code, what it leaves behind.

import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { stringify } from "yaml";
import { NAMESPACE, SERVICE } from "../src/api/builtin.ts";
import { CRDS } from "../src/api/crds.ts";
import { SERVICE_EXPORT, SERVICE_IMPORT } from "../src/api/mcs.ts";
import { apiVersionOf } from "../src/api/object.ts";
import { createAuthority, issueCertificate } from "../src/embedded/certificate.ts";
import { encodeTicket } from "../src/hub/ticket.ts";
import { createClient } from "../src/kube/client.ts";
import { systemClock } from "../src/kube/clock.ts";
import { loadKubeconfig } from "../src/kube/config.ts";
import { bundleCommand } from "./commandProcess.ts";
import { serve, temporaryDirectory } from "./loopback.ts";

const isthmus = bundleCommand();

function kubeconfig(temp: string, cluster: object, user: object = { token: "sesame" }): string {
  const file = join(temp, "config.yaml");
  const content = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "east",
    clusters: [{ name: "east", cluster }],
    users: [{ name: "me", user }],
    contexts: [{ name: "east", context: { cluster: "east", user: "me" } }],
  };
  writeFileSync(file, stringify(content));
  return file;
}

describe("one clear sentence and a non-zero exit", () => {
  async function refuse(args: readonly string[], temp: string): Promise<string> {
    const run = isthmus(args, temp);
    const code = await run.exit;
    expect(code).toBe(run.output().includes("See ArgumentInvalid in") ? 2 : 1);
    expect(run.output()).not.toMatch(/^\s+at /m);
    return run.output();
  }

  test("for a kubeconfig that is not YAML, naming file and line", async () => {
    const temp = temporaryDirectory();
    const file = join(temp, "broken.yaml");
    writeFileSync(file, "apiVersion: v1\nclusters: [\n");
    const output = await refuse(["crds", "install", "--kubeconfig", file], temp);
    expect(output).toContain(file);
    expect(output).toMatch(/line 2|line 3/);
    expect(output).toContain("KubeconfigInvalid in docs/errors.md");
  });

  test("for a kubeconfig that is not there", async () => {
    const temp = temporaryDirectory();
    const output = await refuse(["crds", "install"], temp);
    expect(output).toContain(join(temp, ".kube", "config"));
    expect(output).toContain("KubeconfigMissing");
  });

  test("for an unknown context, naming those that exist", async () => {
    const temp = temporaryDirectory();
    const file = kubeconfig(temp, { server: "https://127.0.0.1:1" });
    const output = await refuse(
      ["crds", "install", "--kubeconfig", file, "--context", "west"],
      temp,
    );
    expect(output).toContain("west");
    expect(output).toContain("east");
    expect(output).toContain("ContextUnknown");
  });

  test("for a server that nobody answers at", async () => {
    const temp = temporaryDirectory();
    const file = kubeconfig(temp, { server: "https://127.0.0.1:1" });
    const output = await refuse(["crds", "install", "--kubeconfig", file], temp);
    expect(output).toContain("https://127.0.0.1:1");
    expect(output).toContain("ServerUnreachable");
    expect(output).not.toContain("sesame");
  });

  test("for a server whose certificate has expired", async () => {
    const temp = temporaryDirectory();
    const period = { notBefore: new Date("2020-01-01"), notAfter: new Date("2020-02-01") };
    const authority = await createAuthority({
      commonName: "test",
      notBefore: new Date("2019-01-01"),
      notAfter: new Date("2099-01-01"),
    });
    const { certPem, keyPem } = await issueCertificate(authority, {
      commonName: "127.0.0.1",
      ipAddresses: ["127.0.0.1"],
      usage: "server",
      ...period,
    });
    const server = await serve((_, response) => response.end("{}"), { cert: certPem, key: keyPem });
    const file = kubeconfig(temp, {
      server: server.url,
      "certificate-authority-data": Buffer.from(authority.certPem).toString("base64"),
    });
    const output = await refuse(["crds", "install", "--kubeconfig", file], temp);
    expect(output).toContain("expired");
    expect(output).toContain("CertificateExpired");
    expect(server.requests).toEqual([]);
  });

  test("for a port in use, leaving nothing behind", async () => {
    const temp = temporaryDirectory();
    const holder = createServer();
    await new Promise<void>((resolve) => holder.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void holder.close());
    const { port } = holder.address() as { port: number };
    const output = await refuse(["embedded", "--port", String(port)], temp);
    expect(output).toContain(String(port));
    expect(output).toContain("PortInUse");
    expect(readdirSync(temp)).toEqual([]);
  });

  test("for a name that would leave its folder, before anything is written", async () => {
    const temp = temporaryDirectory();
    const output = await refuse(["embedded", "--name", "../elsewhere"], temp);
    expect(output).toContain("../elsewhere");
    expect(output).toContain("ArgumentInvalid");
    expect(readdirSync(temp)).toEqual([]);
  });

  test("for a kubeconfig file that is already there, which stays as it was", async () => {
    const temp = temporaryDirectory();
    const file = kubeconfig(temp, { server: "https://127.0.0.1:1" });
    const output = await refuse(["embedded", "--kubeconfig", file], temp);
    expect(output).toContain(file);
    expect(existsSync(file)).toBe(true);
    expect(readdirSync(temp)).toEqual(["config.yaml"]);
  });

  test("for a hub that nobody answers at, a join token that is none, and a join that names no hub", async () => {
    const temp = temporaryDirectory();
    const file = kubeconfig(temp, { server: "https://127.0.0.1:1" });
    const at = ["--kubeconfig", file];
    expect(await refuse(["hub", "init", ...at], temp)).toContain("ServerUnreachable");
    expect(await refuse(["leave", ...at], temp)).toContain("ServerUnreachable");
    const garbled = await refuse(["join", "--token", "isthmus1.sesame", ...at], temp);
    expect(garbled).toContain("JoinTokenInvalid");
    expect(garbled).not.toContain("sesame");
    expect(await refuse(["join", "--cluster-id", "east", ...at], temp)).toContain("--token");
    expect(await refuse(["hub", "evict", ...at], temp)).toContain("--lost-for");
  });

  test("for a central process without a cluster", async () => {
    expect(await refuse(["central"], temporaryDirectory())).toContain("--kubeconfig");
  });
});

test("a wrong flag is refused with exit code 2, the flag's name and where to look", async () => {
  const run = isthmus(["demo", "--fats"], temporaryDirectory());
  expect(await run.exit).toBe(2);
  expect(run.output()).toContain("--fats");
  expect(run.output()).toContain("--help");
});

test("no colours go into a pipe, whatever CI and FORCE_COLOR make others guess", async () => {
  const temp = temporaryDirectory();
  const file = kubeconfig(temp, { server: "https://127.0.0.1:1" });
  const env = { CI: "true", FORCE_COLOR: "1" };
  const run = isthmus(["status", "--kubeconfig", file], temp, "ignore", env);
  expect(await run.exit).toBe(1);
  expect(run.output()).toContain("error: ");
  expect(run.output()).not.toContain("\u001b");
});

test("help names no default that goes without saying", async () => {
  const run = isthmus(["join", "--help"], temporaryDirectory());
  expect(await run.exit).toBe(0);
  expect(run.output()).toContain("--pod-cidr");
  expect(run.output()).not.toContain("(default: ");
});

test("a join token on standard input is waited for, however late and in how many pieces it comes", async () => {
  const temp = temporaryDirectory();
  const file = kubeconfig(temp, { server: "https://127.0.0.1:1" });
  const args = ["join", "--token", "-", "--cluster-id", "east", "--kubeconfig", file];
  const ticket = encodeTicket({ server: "https://127.0.0.1:2", token: "sesame", name: "abc" });
  const run = isthmus(args, temp, "pipe");
  const input = run.process.stdin!;
  // More than fits into a pipe: it is taken only by a process that reads on.
  await new Promise((resolve) => input.write("\n".repeat(4_000_000), resolve));
  input.end(`${ticket}\n`);
  expect(await run.exit).toBe(1);
  expect(run.output()).toContain("cannot reach https://127.0.0.1:1");

  const empty = isthmus(args, temp, "ignore");
  expect(await empty.exit).toBe(1);
  expect(empty.output()).toContain("standard input is empty");
});

test("crds print gives YAML that names every definition", async () => {
  const run = isthmus(["crds", "print"], temporaryDirectory());
  expect(await run.exit).toBe(0);
  for (const name of ["serviceexports", "serviceimports", "clusterproperties", "clustermembers"]) {
    expect(run.output()).toContain(`name: ${name}.`);
  }
});

test("an embedded cluster runs until SIGTERM, takes its kubeconfig along, and CRDs install into it twice", async () => {
  const temp = temporaryDirectory();
  const file = join(temp, "trial.yaml");
  const cluster = isthmus(["embedded", "--name", "trial", "--kubeconfig", file], temp);
  await cluster.prints("Ctrl-C ends it");
  const first = isthmus(["crds", "install", "--kubeconfig", file], temp);
  expect(await first.exit).toBe(0);
  expect(first.output().match(/created/g)).toHaveLength(CRDS.length);
  const second = isthmus(["crds", "install", "--kubeconfig", file], temp);
  expect(await second.exit).toBe(0);
  expect(second.output().match(/unchanged/g)).toHaveLength(CRDS.length);
  cluster.process.kill("SIGTERM");
  expect(await cluster.exit).toBe(0);
  expect(readdirSync(temp)).toEqual([]);
});

test("central keeps two clusters in step until SIGTERM, and says who is missing meanwhile", async () => {
  const temp = temporaryDirectory();
  const start = async (name: string): Promise<string> => {
    const file = join(temp, `${name}.yaml`);
    await isthmus(["embedded", "--name", name, "--kubeconfig", file], temp).prints(
      "Ctrl-C ends it",
    );
    return file;
  };
  const [east, west] = await Promise.all([start("east"), start("west")]);
  const nowhere = kubeconfig(temp, { server: "https://127.0.0.1:1" });
  const members = [`east=${east}`, `west=${west}`, `edge=${nowhere}`];
  const central = isthmus(["central", ...members.flatMap((one) => ["--kubeconfig", one])], temp);
  await central.prints("cluster cannot be joined yet");

  const user = createClient(loadKubeconfig({ paths: [east], env: {}, home: temp }), {
    clock: systemClock,
  });
  const guest = createClient(loadKubeconfig({ paths: [west], env: {}, home: temp }), {
    clock: systemClock,
  });
  onTestFinished(() => user.close());
  onTestFinished(() => guest.close());
  await vi.waitUntil(() => central.output().split("cluster is synced").length === 3, 60_000);
  const metadata = { namespace: "shop", name: "web" };
  for (const store of [user, guest]) {
    await store.create(NAMESPACE, {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "shop" },
    });
  }
  const spec = { ports: [{ port: 80 }] };
  await user.create(SERVICE, { apiVersion: "v1", kind: "Service", metadata, spec });
  const apiVersion = apiVersionOf(SERVICE_EXPORT);
  await user.create(SERVICE_EXPORT, { apiVersion, kind: "ServiceExport", metadata });
  const imported = await vi.waitUntil(
    async () => {
      const serviceImport = await guest.get(SERVICE_IMPORT, metadata);
      return serviceImport?.spec?.ips === undefined ? undefined : serviceImport;
    },
    { timeout: 60_000, interval: 50 },
  );
  expect(imported.spec?.ports).toEqual([{ port: 80, protocol: "TCP" }]);

  central.process.kill("SIGTERM");
  expect(await central.exit).toBe(0);
  expect(central.output()).toContain("central stops");
  // What it wrote stays when it leaves.
  expect((await guest.get(SERVICE_IMPORT, metadata))?.spec).toEqual(imported.spec);
});
