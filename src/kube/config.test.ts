// Configuration: files and environment in, a connection out.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../test/loopback.ts";
import { isProblem, type Problem } from "../api/problem.ts";
import { inClusterConfig, loadKubeconfig } from "./config.ts";

const PEM = "-----BEGIN CERTIFICATE-----\n";
const PEM_DATA = Buffer.from(PEM).toString("base64");
const SECRET = "sup3r-secret-token-value";

function problemOf(action: () => unknown): Problem {
  try {
    action();
  } catch (error) {
    if (isProblem(error)) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

function write(fields: { cluster?: object; user?: object; context?: object }): string {
  const file = join(temporaryDirectory(), "config");
  const cluster = { server: "https://east:6443", ...fields.cluster };
  const text = JSON.stringify({
    clusters: [{ name: "c", cluster }],
    users: [{ name: "u", user: fields.user ?? {} }],
    contexts: [{ name: "east", context: { cluster: "c", user: "u", ...fields.context } }],
    "current-context": "east",
  });
  writeFileSync(file, text);
  return file;
}

function load(fields: Parameters<typeof write>[0], env: Record<string, string> = {}) {
  return loadKubeconfig({ paths: [write(fields)], env, home: "/nowhere" });
}

describe("loadKubeconfig", () => {
  it("falls back to ~/.kube/config", () => {
    const home = temporaryDirectory();
    mkdirSync(join(home, ".kube"));
    writeFileSync(
      join(home, ".kube", "config"),
      "{clusters: [{name: c, cluster: {server: 'https://h'}}], contexts: [{name: x, context: {cluster: c}}]}",
    );
    const config = loadKubeconfig({ context: "x", env: {}, home });
    expect(config.server).toBe("https://h");
    expect(config.auth).toEqual({ kind: "none" });
  });

  it("merges the KUBECONFIG list and skips files in it that are not there", () => {
    const first = write({ cluster: { server: "https://first" } });
    const second = write({ cluster: { server: "https://second" } });
    const env = { KUBECONFIG: `/not/there::${first}:${second}` };
    const config = loadKubeconfig({ env, home: "/nowhere" });
    expect(config.server).toBe("https://first");
    expect(config.source).toEqual({ kind: "kubeconfig", files: [first, second], context: "east" });
  });

  it("names every place it looked at when there is no file", () => {
    const missing = problemOf(() => loadKubeconfig({ env: {}, home: "/nowhere" }));
    expect(missing.code).toBe("KubeconfigMissing");
    expect(missing.message).toBe("there is no kubeconfig at /nowhere/.kube/config");
    const paths = [write({}), "/not/there"];
    expect(problemOf(() => loadKubeconfig({ paths, env: {}, home: "/" })).message).toBe(
      "there is no kubeconfig at /not/there",
    );
  });

  it("says that a directory is not a kubeconfig", () => {
    const paths = [temporaryDirectory()];
    const problem = problemOf(() => loadKubeconfig({ paths, env: {}, home: "/" }));
    expect(problem).toMatchObject({ code: "KubeconfigInvalid" });
    expect(problem.message).toContain("cannot be read");
  });

  it("resolves relative references against the file that names them", () => {
    const file = write({
      cluster: { "certificate-authority": "ca.crt" },
      user: { "client-certificate": "pki/me.crt", "client-key": "/abs/me.key", tokenFile: "../t" },
    });
    const config = loadKubeconfig({ paths: [file], env: {}, home: "/" });
    const directory = join(file, "..");
    expect(config.tls).toMatchObject({
      authority: { file: join(directory, "ca.crt") },
      certificate: {
        certificate: { file: join(directory, "pki/me.crt") },
        key: { file: "/abs/me.key" },
      },
    });
    expect(config.auth).toEqual({ kind: "tokenFile", file: join(directory, "../t") });
  });

  it("prefers data to files, and decodes it", () => {
    const { tls } = load({
      cluster: { "certificate-authority": "ca.crt", "certificate-authority-data": PEM_DATA },
    });
    expect(tls.authority).toEqual({ data: PEM });
  });

  it.each([
    ["https://h:1/", "https://h:1"],
    ["https://h:1/k8s/clusters/c-1/", "https://h:1/k8s/clusters/c-1"],
    ["https://user:pw@h:1", "https://h:1"],
    ["h:8080", "http://h:8080"],
  ])("reads the server %s as %s", (server, expected) => {
    expect(load({ cluster: { server } }).server).toBe(expected);
  });

  it.each(["ftp://h", "https://"])("refuses the server %s", (server) => {
    expect(problemOf(() => load({ cluster: { server } })).message).toMatch(/must be an http or/);
  });

  it("carries TLS name, insecurity, compression, namespace and impersonation", () => {
    const config = load({
      cluster: {
        "tls-server-name": "kubernetes",
        "insecure-skip-tls-verify": true,
        "disable-compression": true,
        "proxy-url": "http://p:1",
      },
      user: {
        token: SECRET,
        as: "jane",
        "as-uid": "7",
        "as-groups": ["dev", "ops"],
        "as-user-extra": { scope: ["a"] },
      },
      context: { namespace: "shop" },
    });
    expect(config).toMatchObject({
      tls: { serverName: "kubernetes", insecure: true },
      disableCompression: true,
      namespace: "shop",
      proxyUrl: "http://p:1",
      auth: { kind: "token", token: SECRET },
      impersonation: { user: "jane", uid: "7", groups: ["dev", "ops"], extra: { scope: ["a"] } },
    });
  });

  it("refuses groups without a user to impersonate", () => {
    expect(problemOf(() => load({ user: { "as-groups": ["a"] } })).code).toBe("KubeconfigInvalid");
  });

  it("refuses an authority together with insecure-skip-tls-verify", () => {
    const cluster = {
      "insecure-skip-tls-verify": true,
      "certificate-authority-data": PEM_DATA,
    };
    expect(problemOf(() => load({ cluster })).code).toBe("KubeconfigInvalid");
  });

  it("refuses a client certificate without its key", () => {
    const problem = problemOf(() => load({ user: { "client-certificate-data": PEM_DATA } }));
    expect(problem.message).toMatch(/lacks the client key$/);
  });

  it("refuses auth-provider and points at exec plugins", () => {
    const problem = problemOf(() => load({ user: { "auth-provider": { name: "gcp" } } }));
    expect(problem.code).toBe("KubeconfigUnsupported");
    expect(problem.hint).toContain("exec plugin");
  });

  it("hands the environment to an exec plugin without holding it as data", () => {
    const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "./bin/login" };
    const config = load({ user: { exec } }, { HOME_TOKEN: SECRET });
    expect(JSON.stringify(config)).not.toContain(SECRET);
    if (config.auth.kind !== "exec") throw new Error("not an exec plugin");
    expect(config.auth.exec.environment()).toEqual({ HOME_TOKEN: SECRET });
    expect(config.auth.exec.command).toMatch(/^\/.*\/bin\/login$/);
    expect(config.auth.exec.interactiveMode).toBe("IfAvailable");
  });

  it.each([
    [{ command: "x", apiVersion: "client.authentication.k8s.io/v1alpha1" }, /exec\.apiVersion/],
    [{ apiVersion: "client.authentication.k8s.io/v1" }, /names no command/],
    [
      { apiVersion: "client.authentication.k8s.io/v1", command: "x", interactiveMode: "Maybe" },
      /interactiveMode/,
    ],
  ])("refuses the exec plugin %j", (exec, message) => {
    expect(problemOf(() => load({ user: { exec } })).message).toMatch(message);
  });
});

describe("inClusterConfig", () => {
  const files: Record<string, string> = {
    "/var/run/secrets/kubernetes.io/serviceaccount/token": SECRET,
    "/var/run/secrets/kubernetes.io/serviceaccount/namespace": "isthmus-system\n",
  };
  function readFile(path: string): string {
    const text = files[path];
    if (text === undefined) throw new Error("ENOENT");
    return text;
  }
  const env = { KUBERNETES_SERVICE_HOST: "10.0.0.1", KUBERNETES_SERVICE_PORT: "443" };

  it("names the service account files rather than their content", () => {
    const config = inClusterConfig({ env, readFile });
    expect(config).toMatchObject({
      server: "https://10.0.0.1:443",
      namespace: "isthmus-system",
      source: { kind: "in-cluster" },
      tls: { authority: { file: "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt" } },
      auth: { kind: "tokenFile" },
    });
    expect(JSON.stringify(config)).not.toContain(SECRET);
  });

  it("puts brackets around an IPv6 address", () => {
    const v6 = { ...env, KUBERNETES_SERVICE_HOST: "fd00::1" };
    expect(inClusterConfig({ env: v6, readFile }).server).toBe("https://[fd00::1]:443");
  });

  it("says that this is no pod", () => {
    expect(problemOf(() => inClusterConfig({ env: {}, readFile })).code).toBe("NotInCluster");
    const unreadable = (): string => {
      throw new Error("ENOENT");
    };
    expect(problemOf(() => inClusterConfig({ env, readFile: unreadable })).code).toBe(
      "NotInCluster",
    );
  });
});
