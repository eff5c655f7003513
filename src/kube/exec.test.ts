// Exec plugins: real child processes that behave, fail, babble, hang and rotate.

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../test/clock.ts";
import { rejectionOf, temporaryDirectory } from "../../test/loopback.ts";
import { isProblem } from "../api/problem.ts";
import { directConfig } from "./config.ts";
import type { ExecConfig } from "./connection.ts";
import { createExecCredential, readExecCredential } from "./exec.ts";

const V1 = "client.authentication.k8s.io/v1";
const SECRET = "sup3r-secret-token-value";

function plugin(script: string, fields: Partial<ExecConfig> = {}): ExecConfig {
  return {
    apiVersion: V1,
    command: process.execPath,
    args: ["-e", script],
    env: {},
    installHint: undefined,
    provideClusterInfo: false,
    interactiveMode: "IfAvailable",
    clusterExtension: undefined,
    environment: () => ({ PATH: process.env["PATH"] }),
    ...fields,
  };
}

function answer(status: object, apiVersion = V1): string {
  return JSON.stringify({ apiVersion, kind: "ExecCredential", status });
}

function print(text: string): string {
  return `process.stdout.write(${JSON.stringify(text)})`;
}

/** A plugin that hands out t1, t2, … and counts its runs in a file. */
function counting(lifetimeMs?: number) {
  const file = join(temporaryDirectory(), "runs");
  const clock = new VirtualClock();
  const expires =
    lifetimeMs === undefined
      ? ""
      : `, expirationTimestamp: new Date(${clock.now()} + n * ${lifetimeMs}).toISOString()`;
  const script = `
    const fs = require("node:fs");
    if (fs.existsSync("${file}.fail")) process.exit(9);
    const n = Number(fs.existsSync("${file}") ? fs.readFileSync("${file}", "utf8") : 0) + 1;
    fs.writeFileSync("${file}", String(n));
    process.stdout.write(JSON.stringify({ apiVersion: "${V1}", kind: "ExecCredential",
      status: { token: "t" + n${expires} } }));`;
  return {
    clock,
    source: start(plugin(script), clock),
    runs: () => Number(existsSync(file) ? readFileSync(file, "utf8") : 0),
    failFromNowOn: () => writeFileSync(`${file}.fail`, ""),
  };
}

function start(exec: ExecConfig, clock = new VirtualClock()) {
  const tls = { authority: { data: "-----BEGIN CERTIFICATE-----" }, serverName: "k" };
  const config = directConfig({ server: "https://east:6443", tls });
  return createExecCredential(exec, { clock, config });
}

async function failureOf(exec: ExecConfig): Promise<{ message: string; hint: string | undefined }> {
  const error = await rejectionOf(start(exec).current());
  if (!isProblem(error, "ExecPluginFailed")) throw error;
  expect(error.message + error.hint).not.toContain(SECRET);
  return error;
}

describe("an exec plugin", () => {
  it("runs once while its credential has no end", async () => {
    const { source, clock, runs } = counting();
    const both = await Promise.all([source.current(), source.current()]);
    await clock.advance(86_400_000);
    expect(await source.current()).toEqual({ authorization: "Bearer t1", certificate: undefined });
    expect(both[0]).toBe(both[1]);
    expect(runs()).toBe(1);
  });

  it("runs again a minute before its credential expires", async () => {
    const { source, clock } = counting(600_000);
    expect((await source.current()).authorization).toBe("Bearer t1");
    await clock.advance(539_999);
    expect((await source.current()).authorization).toBe("Bearer t1");
    await clock.advance(1);
    expect((await source.current()).authorization).toBe("Bearer t2");
  });

  it("serves the old credential until its end when the renewal fails, then reports", async () => {
    const { source, clock, failFromNowOn } = counting(600_000);
    await source.current();
    failFromNowOn();
    await clock.advance(570_000);
    expect((await source.current()).authorization).toBe("Bearer t1");
    await clock.advance(30_000);
    await expect(source.current()).rejects.toMatchObject({ code: "ExecPluginFailed" });
  });

  it("runs again after a refusal, once for all who were refused", async () => {
    const { source, runs } = counting();
    const refused = await source.current();
    expect(await Promise.all([source.refresh(refused), source.refresh(refused)])).toEqual([
      true,
      true,
    ]);
    expect(await source.refresh(refused)).toBe(true);
    expect((await source.current()).authorization).toBe("Bearer t2");
    expect(runs()).toBe(2);
  });

  it("is told the cluster when it asks, and gets its own environment on top of ours", async () => {
    const script = `process.stdout.write(JSON.stringify({ apiVersion: "${V1}", kind: "ExecCredential",
      status: { token: JSON.stringify([process.env.KUBERNETES_EXEC_INFO, process.env.MINE, !!process.env.PATH]) } }))`;
    const source = start(
      plugin(script, { provideClusterInfo: true, env: { MINE: "x" }, clusterExtension: { a: 1 } }),
    );
    const { authorization } = await source.current();
    const [info, mine, path] = JSON.parse(authorization!.slice("Bearer ".length)) as string[];
    expect([mine, path]).toEqual(["x", true]);
    expect(JSON.parse(info!)).toEqual({
      apiVersion: V1,
      kind: "ExecCredential",
      spec: {
        interactive: false,
        cluster: {
          server: "https://east:6443",
          "tls-server-name": "k",
          "certificate-authority-data": Buffer.from("-----BEGIN CERTIFICATE-----").toString(
            "base64",
          ),
          config: { a: 1 },
        },
      },
    });
  });

  it("that fails is named with its exit code, its last words and its install hint", async () => {
    const script = `console.error("first"); console.error("please log in, pa55word and eyJhbGciOi.eyJzdWIi.sig"); process.exit(3)`;
    const failure = await failureOf(
      plugin(script, { env: { KEY: "pa55word" }, installHint: "Install it.\n" }),
    );
    expect(failure.message).toBe(
      `the credential plugin ${process.execPath} failed: it exited with 3; it said: please log in, [hidden] and [hidden]`,
    );
    expect(failure.hint).toBe("Install it.");
  });

  it("that does not exist is reported as such", async () => {
    const failure = await failureOf(plugin("", { command: "/no/such/plugin" }));
    expect(failure.message).toBe(
      "the credential plugin /no/such/plugin failed: there is no such command",
    );
  });

  it.each([
    [print(`junk ${SECRET}`), /is not JSON$/],
    [print(`{"token":"${SECRET}"}`), /is not an ExecCredential$/],
    [print(answer({ token: SECRET }, "client.authentication.k8s.io/v1beta1")), /did not answer in/],
    [print(answer({})), /neither a token nor a client certificate$/],
    [print(answer({ clientKeyData: SECRET })), /without a key, or the reverse$/],
    [print(answer({ token: `${SECRET}\n${SECRET}` })), /is not one line of plain text$/],
    [print(answer({ token: SECRET, expirationTimestamp: "soon" })), /is not a time$/],
    ["process.kill(process.pid, 'SIGTERM')", /was ended by SIGTERM$/],
    [
      `for (let n = 0; n < 50; n++) require("node:fs").writeSync(1, "${SECRET}".repeat(2000)); setInterval(() => {}, 1000)`,
      /printed more than 1048576 bytes$/,
    ],
  ])("that runs %s is refused without showing what it printed", async (script, message) => {
    expect((await failureOf(plugin(script))).message).toMatch(message);
  });

  it("that hangs is ended after a minute, with all that it started", async () => {
    const file = join(temporaryDirectory(), "pid");
    const script = `
      const child = require("node:child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
      require("node:fs").writeFileSync("${file}.part", String(child.pid));
      require("node:fs").renameSync("${file}.part", "${file}");
      setInterval(() => {}, 1000);`;
    const clock = new VirtualClock();
    const failure = rejectionOf(start(plugin(script), clock).current());
    await expect.poll(() => existsSync(file), { timeout: 60_000 }).toBe(true);
    await clock.advance(60_000);
    expect(await failure).toMatchObject({
      code: "ExecPluginFailed",
      message: expect.stringContaining("did not finish within 60 seconds"),
    });
    const pid = Number(readFileSync(file, "utf8"));
    await expect.poll(() => isAlive(pid), { timeout: 60_000 }).toBe(false);
  });

  it("that needs a terminal is refused where there is none", async () => {
    const failure = await failureOf(plugin(print(answer({})), { interactiveMode: "Always" }));
    expect(failure.message).toContain("insists on a terminal");
  });
});

describe("readExecCredential", () => {
  it("takes a client certificate, in v1beta1 as well", () => {
    const apiVersion = "client.authentication.k8s.io/v1beta1";
    const text = answer({ clientCertificateData: "c", clientKeyData: "k" }, apiVersion);
    expect(readExecCredential(text, plugin("", { apiVersion }), 0)).toEqual({
      credential: { authorization: undefined, certificate: { certificate: "c", key: "k" } },
      expiresAtMs: undefined,
      renewAtMs: undefined,
    });
  });

  it("does not renew a short-lived credential for most of its life", () => {
    const text = answer({ token: "t", expirationTimestamp: "1970-01-01T00:00:10Z" });
    expect(readExecCredential(text, plugin(""), 0)).toMatchObject({
      expiresAtMs: 10_000,
      renewAtMs: 8_000,
    });
  });
});

/** A process that was ended but not yet reaped by init counts as gone. */
function isAlive(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
  } catch {
    return false;
  }
}
