// Kubeconfig files: what kubectl reads out of them, and errors that name the place but not the content.

import { describe, expect, it } from "vitest";
import { isProblem, type Problem } from "../api/problem.ts";
import { mergeKubeconfigs, parseKubeconfig, selectContext } from "./kubeconfig.ts";

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

function aFile(names: { cluster?: string; current?: string; server?: string }, file: string) {
  const { cluster = "east", current, server = "https://east" } = names;
  const text = `
clusters: [{ name: ${cluster}, cluster: { server: "${server}" } }]
users: [{ name: ${cluster}, user: {} }]
contexts: [{ name: ${cluster}, context: { cluster: ${cluster}, user: ${cluster} } }]
${current === undefined ? "" : `current-context: ${current}`}`;
  return parseKubeconfig(text, file);
}

describe("parseKubeconfig", () => {
  it("names file, line and column of broken YAML, and quotes nothing of it", () => {
    const text = `apiVersion: v1\nusers:\n- name: a\n  user:\n    token: ${SECRET}: [${SECRET}\n`;
    const problem = problemOf(() => parseKubeconfig(text, "/home/me/config"));
    expect(problem.code).toBe("KubeconfigInvalid");
    expect(problem.message).toMatch(/^\/home\/me\/config, line 5, column \d+: not valid YAML \(/);
    expect(problem.message + problem.hint).not.toContain(SECRET);
  });

  it.each([
    ["clusters: 5", "/c, line 1: clusters must be a list"],
    ["kind: Config\nclusters:\n- cluster: {}", "/c, line 3: clusters has no name"],
    [
      "clusters:\n- name: a\n  cluster:\n    server: 5",
      "/c, line 4: clusters.cluster.server must be a string",
    ],
    [
      `users:\n- name: a\n  user:\n    token: [${SECRET}]`,
      "/c, line 4: users.user.token must be a string",
    ],
    [
      `users:\n- name: a\n  user:\n    token: |\n      ${SECRET}\n      ${SECRET}\n`,
      "/c, line 4: users.user.token must be one line of plain text",
    ],
    [
      "clusters:\n- name: a\n  cluster: { insecure-skip-tls-verify: maybe }",
      "/c, line 3: clusters.cluster.insecure-skip-tls-verify must be true or false",
    ],
    [
      `users:\n- name: a\n  user:\n    client-key-data: ${SECRET}`,
      "/c, line 4: users.user.client-key-data must be base64 of PEM text",
    ],
    ["just text", "/c: the file must be a map of fields"],
  ])("refuses %j with its line", (text, message) => {
    const problem = problemOf(() => {
      selectContext(parseKubeconfig(text, "/c"));
    });
    expect(problem.message).toBe(message);
    expect(problem.code).toBe("KubeconfigInvalid");
  });

  it("takes a token without the line break of its YAML block", () => {
    const { users } = parseKubeconfig(
      "users:\n- name: a\n  user:\n    token: |\n      abc\n",
      "/c",
    );
    expect(users.map(({ token }) => token)).toEqual(["abc"]);
  });

  it("reads an empty file as a configuration without entries", () => {
    expect(parseKubeconfig("", "/c")).toEqual({
      files: ["/c"],
      currentContext: undefined,
      clusters: [],
      users: [],
      contexts: [],
    });
  });
});

describe("mergeKubeconfigs", () => {
  it("lets the first file win, for entries and for the current context", () => {
    const merged = mergeKubeconfigs([
      aFile({ server: "https://first" }, "/1"),
      aFile({ server: "https://second", current: "east" }, "/2"),
      aFile({ cluster: "west", current: "west" }, "/3"),
    ]);
    expect(merged.files).toEqual(["/1", "/2", "/3"]);
    expect(merged.currentContext).toBe("east");
    expect(merged.clusters.map(({ name, file }) => [name, file])).toEqual([
      ["east", "/1"],
      ["west", "/3"],
    ]);
  });
});

describe("selectContext", () => {
  const merged = mergeKubeconfigs([aFile({}, "/1"), aFile({ cluster: "west" }, "/2")]);

  it("takes the one asked for, or else the current one", () => {
    expect(selectContext(merged, "west").cluster.file).toBe("/2");
    expect(selectContext({ ...merged, currentContext: "east" }).cluster.file).toBe("/1");
  });

  it("lists the contexts that exist when the wanted one does not", () => {
    const problem = problemOf(() => selectContext(merged, "north"));
    expect(problem.code).toBe("ContextUnknown");
    expect(problem.message).toBe('there is no context "north" in /1, /2');
    expect(problem.hint).toBe("Choose one of: east, west.");
  });

  it("asks for a choice when there is no current context", () => {
    const problem = problemOf(() => selectContext(merged));
    expect(problem.message).toBe("/1, /2 sets no current context");
    expect(problem.hint).toBe("Choose one of: east, west.");
  });

  it("says so when a context names a cluster or user that is not there", () => {
    const context = { name: "x", file: "/1", cluster: "gone", user: "east", namespace: undefined };
    expect(problemOf(() => selectContext({ ...merged, contexts: [context] }, "x")).message).toBe(
      'context "x" of /1 names the cluster "gone", which is nowhere defined',
    );
    const other = { ...context, cluster: "east", user: "gone" };
    expect(problemOf(() => selectContext({ ...merged, contexts: [other] }, "x")).message).toBe(
      'context "x" of /1 names the user "gone", which is nowhere defined',
    );
  });
});
