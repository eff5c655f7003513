// Logs of agents in a support bundle: the last lines of every container, without what a careless line gave away.

import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { stringify } from "yaml";
import { runCommand } from "./commandLine.ts";
import { temporaryDirectory } from "./loopback.ts";

const LOG = [
  "2026-01-02T03:04:05Z agent is at work cluster=east",
  "request failed header=Authorization: Bearer planted.token-of-somebody",
  'answer {"password":"planted-2","code":401}',
  "dialing https://eve:planted-3@hub.example.org",
].join("\n");

const POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { namespace: "isthmus-system", name: "agent-0" },
  spec: { containers: [{ name: "agent" }, { name: "broken" }] },
};

/** An API server that has one pod and nothing else. */
async function servePod(asked: string[]): Promise<string> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://localhost");
    asked.push(request.url ?? "");
    const answer = (code: number, type: string, body: string): void => {
      response.writeHead(code, { "content-type": type }).end(body);
    };
    if (url.pathname.endsWith("/pods/agent-0/log")) {
      const isBroken = url.searchParams.get("container") === "broken";
      answer(isBroken ? 500 : 200, "text/plain", isBroken ? "no such log" : LOG);
    } else if (url.pathname === "/api/v1/namespaces/isthmus-system/pods") {
      const list = {
        apiVersion: "v1",
        kind: "PodList",
        metadata: { resourceVersion: "1" },
        items: [POD],
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

test("logs are there, bounded where they come from, and without what opens anything", async () => {
  const asked: string[] = [];
  const server = await servePod(asked);
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
