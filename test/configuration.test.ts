// Settings from a file, the environment and flags, as people meet them: `isthmus config`, which starts nothing.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { CONFIGURABLE, flagOf, settingsOf, variableOf } from "../src/api/settings.ts";
import { findFault } from "../src/cli/settingRules.ts";
import { type CommandRun, runCommand } from "./commandLine.ts";
import { temporaryDirectory } from "./loopback.ts";

function aFile(text: string): string {
  const file = join(temporaryDirectory(), "isthmus.yaml");
  writeFileSync(file, text);
  return file;
}

interface Entry {
  readonly setting: string;
  readonly value: unknown;
  readonly from: string;
  readonly where?: string;
}

function config(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return runCommand(["config", ...args], { env });
}

async function entryOf(
  setting: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Entry> {
  const run = await config([...args, "-o", "json"], env);
  expect(run.err).toBe("");
  const { settings } = JSON.parse(run.out) as { readonly settings: readonly Entry[] };
  return settings.find((each) => each.setting === setting)!;
}

describe("of one setting", () => {
  test("flags win over the environment, that over the file, that over the default", async () => {
    const file = aFile("dns:\n  # seconds\n  ttl: 7\n");
    const env = { ISTHMUS_TTL: "8" };
    const setting = "dns.ttl";
    expect(await entryOf(setting, ["dns"])).toEqual({ setting, value: 5, from: "default" });
    expect(await entryOf(setting, ["dns", "--config", file])).toEqual({
      setting,
      value: 7,
      from: "file",
      where: `${file}:3`,
    });
    expect(await entryOf(setting, ["dns", "--config", file], env)).toEqual({
      setting,
      value: 8,
      from: "environment",
      where: "ISTHMUS_TTL",
    });
    expect(await entryOf(setting, ["dns", "--config", file, "--ttl", "9"], env)).toEqual({
      setting,
      value: 9,
      from: "flag",
      where: "--ttl",
    });
  });

  test("the file may be named by the environment, and by a flag instead", async () => {
    const env = { ISTHMUS_CONFIG: aFile("dns: { ttl: 7 }\n") };
    expect(await entryOf("dns.ttl", ["dns"], env)).toMatchObject({ value: 7 });
    const other = aFile("dns: { ttl: 6 }\n");
    expect(await entryOf("dns.ttl", ["dns", "--config", other], env)).toMatchObject({ value: 6 });
  });

  test("lists replace each other, and have commas in the environment", async () => {
    const file = aFile("agent:\n  denyNamespace: [a, b]\n");
    const args = ["agent", "--config", file];
    const setting = "agent.denyNamespace";
    expect(await entryOf(setting, args)).toMatchObject({ value: ["a", "b"] });
    const env = { ISTHMUS_DENY_NAMESPACE: "c, d," };
    expect(await entryOf(setting, args, env)).toMatchObject({ value: ["c", "d"] });
    const flags = ["--deny-namespace", "e", "--deny-namespace", "f"];
    expect(await entryOf(setting, [...args, ...flags], env)).toMatchObject({ value: ["e", "f"] });
  });

  test("what is on unless it is switched off can be switched off everywhere", async () => {
    const args = ["central", "--kubeconfig", "east.yaml"];
    const file = aFile("central: { installCrds: false }\n");
    const setting = "central.installCrds";
    expect(await entryOf(setting, args)).toMatchObject({ value: true });
    expect(await entryOf(setting, [...args, "--config", file])).toMatchObject({ value: false });
    const env = { ISTHMUS_INSTALL_CRDS: "false" };
    expect(await entryOf(setting, args, env)).toMatchObject({ value: false });
    expect(await entryOf(setting, [...args, "--no-install-crds"])).toMatchObject({ value: false });
  });

  test("what is empty, in the file or in the environment, is not said", async () => {
    const file = aFile("agent:\n  logLevel:\n  kubeconfig: ~\ndns:\n");
    const args = ["agent", "--config", file];
    const env = { ISTHMUS_LOG_LEVEL: "" };
    expect(await entryOf("agent.logLevel", args, env)).toMatchObject({ from: "default" });
    expect(await entryOf("agent.kubeconfig", args, env)).toMatchObject({ value: null });
  });
});

describe("isthmus config", () => {
  test("prints a table that says where each setting comes from", async () => {
    const { code, out } = await config(["agent", "--context", "east"]);
    expect(code).toBe(0);
    expect(out).toMatch(/^SETTING +VALUE +FROM$/m);
    expect(out).toMatch(/^agent\.context +east +flag --context$/m);
    expect(out).toMatch(/^agent\.kubeconfig +<none> +default$/m);
  });

  test.each(CONFIGURABLE)("prints a file of %s that means the same", async (name) => {
    const kubeconfig = ["--kubeconfig", "a: b # c.yaml"];
    const { out } = await config([name, ...kubeconfig, "-o", "yaml"]);
    const again = await config([name, "--config", aFile(out), "-o", "yaml"]);
    expect(again.err).toBe("");
    expect(parse(again.out)).toEqual(parse(out));
    expect(again.out).toContain(" # file ");
    expect(again.out).not.toContain(" # default");
  });

  test("shows no secret that somebody took a setting for", async () => {
    const token = "q7Z1mPlantedKey0aB3dE5fG7hJ9kL1nP3rT5vX7zA9";
    const { out } = await config(["agent", "--dashboard-token-file", token]);
    expect(out).toContain("(redacted)");
    expect(out).not.toContain(token);
  });

  test("judges what holds between settings as the command does", async () => {
    expect((await config(["central"])).err).toContain("no cluster is named");
    const open = await config(["agent", "--dashboard-address", ":8181"]);
    expect(open.code).toBe(2);
    expect(open.err).toContain("no token is demanded");
  });
});

/** The lines that say what is wrong, in any order. */
function mistakesOf({ err }: CommandRun): readonly string[] {
  return err
    .split("\n")
    .filter((line) => line.startsWith("  "))
    .toSorted();
}

describe("refused are, before anything is started,", () => {
  test("all mistakes at once, in all sections, each with its place and what to write", async () => {
    const text = `agent:
  metricsAdress: :9402
  logLevel: loud
  allowNamespace: kube-system
  kubeconfig: 12
logLevel: debug
dns:
  ttl: 5s
  zone: [a.b, b]
  processes: many
  listen: []
central:
  installCrds: "no"
agents: {}
dashboard: 1
`;
    const file = aFile(text);
    const env = { ISTHMUS_METRICS_ADDRESS: "9402", ISTHMUS_LOGLEVEL: "info" };
    const args = ["agent", "--config", file, "--dashboard-address", "nowhere"];
    const address =
      "is no address to listen on. Give an address and a port, such as 127.0.0.1:9402, [::1]:9402 or :9402.";
    const run = await runCommand(args, { env });
    expect(run).toMatchObject({ code: 2, out: "" });
    const expected = [
      `  agent.metricsAdress (${file}:2): there is no such setting of agent. Did you mean metricsAddress?`,
      `  agent.logLevel (${file}:3): "loud" is nothing that it takes. Give debug, info, warn or error.`,
      `  agent.allowNamespace (${file}:4): "kube-system" is nothing that it takes. Give a list of texts.`,
      `  agent.kubeconfig (${file}:5): 12 is nothing that it takes. Give a text, in quotes where YAML would take it for something else.`,
      `  logLevel (${file}:6): it stands at the top. Put it below agent, central or dns.`,
      `  dns.ttl (${file}:8): "5s" is nothing that it takes. Give a whole number from 0 to 86400.`,
      `  dns.zone (${file}:9): the zone a.b is inside the zone b. Give zones of which none is in another.`,
      `  dns.processes (${file}:10): "many" is nothing that it takes. Give a whole number from 1 to 64 or "auto".`,
      `  dns.listen (${file}:11): [] is nothing that it takes. Give a list of texts, at least 1, at most 16.`,
      `  central.installCrds (${file}:13): "no" is nothing that it takes. Give true or false.`,
      `  agents (${file}:14): there is no such command. Did you mean agent?`,
      `  dashboard (${file}:15): it has no settings. Put the settings below it, indented, each as name: value.`,
      `  ISTHMUS_LOGLEVEL: there is no such variable. Did you mean ISTHMUS_LOG_LEVEL?`,
      `  agent.metricsAddress (ISTHMUS_METRICS_ADDRESS): "9402" ${address}`,
      `  agent.dashboardAddress (--dashboard-address): "nowhere" ${address}`,
    ];
    expect(mistakesOf(run)).toEqual(expected.toSorted());
  });

  test.each([
    ["metrics-address", "Did you mean metricsAddress?"],
    ["METRICS_ADDRESS", "Did you mean metricsAddress?"],
    ["loglvl", "Did you mean logLevel?"],
    ["constructor", "There are namespaces, allowNamespace, "],
    ["__proto__", "There are namespaces, allowNamespace, "],
  ])("the key %s, with what was meant or what there is", async (key, words) => {
    const { code, err } = await config(["agent", "--config", aFile(`agent: { ${key}: 1 }`)]);
    expect(code).toBe(2);
    expect(err).toContain(`agent.${key} (`);
    expect(err).toContain(words);
    expect(err).toContain("See ConfigurationInvalid in");
  });

  test.each([
    ["a list", "- agent", "it has no settings by name"],
    ["a tab", "agent:\n\tpassword: hunter2", ":2: not valid YAML"],
    ["a key twice", "agent:\n  ttl: hunter2\n  ttl: hunter2", ":3: not valid YAML"],
    ["an alias of nothing", "agent: *hunter2", "not there"],
    ["two documents", "agent: {}\n---\nagent: { a: hunter2 }", "not valid YAML"],
    ["a secret that is no setting", "agent:\n  joinToken: hunter2", "no such setting"],
  ])("%s in the file, which is not quoted", async (_, text, words) => {
    const { code, err } = await config(["agent", "--config", aFile(text)]);
    expect(code).toBe(2);
    expect(err).toContain(words);
    expect(err).not.toContain("hunter2");
    expect(err).not.toMatch(/^\s+at /m);
  });

  test("a file that is not there, is a folder, or has no end", async () => {
    const folder = temporaryDirectory();
    for (const file of [join(folder, "none.yaml"), folder, "/dev/zero"]) {
      const { code, err } = await config(["agent", "--config", file]);
      expect(code).toBe(2);
      expect(err).toContain(`the configuration file ${file} `);
    }
  });

  test("nothing that Kubernetes puts into the environment of a pod beside Services of such names", async () => {
    const env = {
      ISTHMUS_PORT: "tcp://10.0.0.1:80",
      ISTHMUS_SERVICE_HOST: "10.0.0.1",
      ISTHMUS_HUB_SERVICE_PORT: "443",
      ISTHMUS_DNS_PORT_53_UDP: "udp://10.0.0.1:53",
    };
    expect(await config(["agent"], env)).toMatchObject({ code: 0, err: "" });
  });
});

describe.each(CONFIGURABLE)("of the settings of %s", (name) => {
  const settings = Object.entries(settingsOf(name));

  test("every default is one that is taken", () => {
    const wrong = settings.filter(
      ([key, { default: usual }]) => usual !== undefined && findFault(name, key, usual),
    );
    expect(wrong).toEqual([]);
  });

  test("none is a secret itself, and none has a name that Kubernetes gives a Service's variable", () => {
    const secret = settings.filter(([key]) => /token|password|secret|key$/i.test(key));
    expect(secret.filter(([key]) => !key.endsWith("File"))).toEqual([]);
    const variables = settings.map(([key]) => variableOf(key));
    expect(variables.filter((each) => /_PORT$|_PORT_|_SERVICE_(HOST|PORT)/.test(each))).toEqual([]);
  });

  test("every flag is one that the command takes", async () => {
    const { out } = await runCommand([name, "--help"]);
    for (const [key, schema] of settings) expect(out).toContain(`  ${flagOf(key, schema)} `);
  });
});

test("whatever is called an address is judged as one before anything starts, of every command", () => {
  const faults = CONFIGURABLE.flatMap((command) =>
    Object.keys(settingsOf(command))
      .filter((key) => /^(?:address|.+Address)$/.test(key) && key !== "nsAddress")
      .map((key) => [`${command}.${key}`, findFault(command, key, "9402")?.what]),
  );
  expect(faults.map(([path]) => path)).toContain("central.metricsAddress");
  for (const [path, what] of faults)
    expect([path, what]).toEqual([path, '"9402" is no address to listen on']);
});
