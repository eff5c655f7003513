// Logs of agents in a support bundle: the last lines of every container, without what a careless line gave away.

import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { stringify } from "yaml";
import { createBundle } from "../src/cli/gatherBundle.ts";
import { runCommand } from "./commandLine.ts";
import { temporaryDirectory } from "./loopback.ts";

const LOG = [
  "2026-01-02T03:04:05Z agent is at work cluster=east",
  "request failed header=Authorization: Bearer planted.token-of-somebody",
  'answer {"password":"planted-2","code":401}',
  "dialing https://eve:planted-3@hub.example.org",
].join("\n");

function aPod(name: string, containers: readonly string[]) {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: "isthmus-system", name },
    spec: { containers: containers.map((container) => ({ name: container })) },
  };
}

type FakePod = ReturnType<typeof aPod>;
const POD = aPod("agent-0", ["agent", "broken"]);

/** An API server that has some pods and nothing else. */
async function servePods(asked: string[], ...pods: readonly FakePod[]): Promise<string> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://localhost");
    asked.push(request.url ?? "");
    const answer = (code: number, type: string, body: string): void => {
      response.writeHead(code, { "content-type": type }).end(body);
    };
    if (url.pathname.endsWith("/log")) {
      const isBroken = url.searchParams.get("container") === "broken";
      answer(isBroken ? 500 : 200, "text/plain", isBroken ? "no such log" : LOG);
    } else if (url.pathname === "/api/v1/namespaces/isthmus-system/pods") {
      const list = {
        apiVersion: "v1",
        kind: "PodList",
        metadata: { resourceVersion: "1" },
        items: pods,
      };
      answer(200, "application/json", JSON.stringify(list));
    } else {
      const status = { kind: "Status", apiVersion: "v1", status: "Failure", reason: "NotFound" };
      const body = { ...status, code: 404, details: { name: "it" }, message: "not found" };
      answer(404, "application/json", JSON.stringify(body));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function writeConfig(server: string): { readonly home: string; readonly path: string } {
  const home = temporaryDirectory();
  const path = join(home, "east.yaml");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "east",
    contexts: [{ name: "east", context: { cluster: "east", user: "east" } }],
    clusters: [{ name: "east", cluster: { server } }],
    users: [{ name: "east", user: { token: "planted-kubeconfig-token" } }],
  };
  writeFileSync(path, stringify(config));
  return { home, path };
}

test("logs are there, bounded where they come from, and without what opens anything", async () => {
  const asked: string[] = [];
  const { home, path } = writeConfig(await servePods(asked, POD));

  const folder = join(home, "bundle");
  const args = ["gather", "--folder", folder, "--kubeconfig", `east=${path}`];
  const run = await runCommand(args, { home });
  expect(run).toMatchObject({ code: 0 });
  const log = readFileSync(join(folder, "clusters/east/logs/agent-0.agent.log"), "utf8");
  expect(log).toContain("agent is at work cluster=east");
  expect(log).toContain('"code":401');
  expect(log).toContain("@hub.example.org");
  expect(log).not.toContain("planted");
  const order = asked.find((url) => url.includes("/log?"));
  expect(order).toContain("tailLines=2000");
  expect(order).toContain("limitBytes=1048576");
  expect(run.err).toContain("logs/agent-0.broken.log: the API server answered with 500.");
  // But for the credential of the hub, which is used and kept nowhere.
  const secrets = asked.filter((url) => url.includes("/secrets"));
  expect(new Set(secrets)).toEqual(
    new Set(["/api/v1/namespaces/isthmus-system/secrets/isthmus-hub"]),
  );
});

test("pods that are called like paths, are long, or would steer a terminal stay in the bundle, each by itself", async () => {
  const long = "p".repeat(253);
  const pods = [
    aPod("../../../../escaped", ["../../up", "\u001b[2Jbroken"]),
    aPod(`${long.slice(1)}a`, ["c".repeat(63)]),
    aPod(`${long.slice(1)}b`, ["c".repeat(63), "broken"]),
  ];
  const { home, path } = writeConfig(await servePods([], ...pods));
  const at = ["--kubeconfig", `east=${path}`];
  const folder = join(home, "bundle");
  const run = await runCommand(["gather", "--folder", folder, ...at], { home });
  expect(run).toMatchObject({ code: 0 });
  expect(readdirSync(home).toSorted()).toEqual(["bundle", "east.yaml"]);
  const short = `${"p".repeat(60)}.${"c".repeat(25)}`;
  expect(readdirSync(join(folder, "clusters/east/logs")).toSorted()).toEqual(
    [`_escaped._2Jbroken.log`, `_escaped._up.log`, `${short}-2.log`, `${short}.log`].toSorted(),
  );
  expect(run.err).toContain(`not in it: clusters/east/logs/${"p".repeat(60)}.broken.log: `);
  expect(run.err).not.toContain("\u001b");
  const file = join(home, "a.tar.gz");
  expect(await runCommand(["gather", "-f", file, ...at], { home })).toMatchObject({ code: 0 });
  const listed = execFileSync("tar", ["tzf", file], { encoding: "utf8" });
  expect(listed).toContain(`clusters/east/logs/${short}-2.log`);
});

test("a sentence about what is left out never steers a terminal, nor a reader of the README", () => {
  const bundle = createBundle();
  bundle.leaveOut("clusters/east: it said \u001b]0;owned\u0007\nand more.");
  expect(bundle.leftOut).toEqual(["clusters/east: it said ?]0;owned? and more."]);
});
