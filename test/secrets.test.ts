// Nothing that opens something is ever printed: commands at their most talkative level, over HTTPS to embedded clusters, when all goes
// well and when it does not, with secrets that are known here; then everything that was said is searched for them.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { parse, stringify } from "yaml";
import { NAMESPACE, SECRET } from "../src/api/builtin.ts";
import { HUB_CRDS, MEMBER_CRDS } from "../src/api/crds.ts";
import { type ClusterId, SYSTEM_NAMESPACE } from "../src/api/names.ts";
import type { CliContext } from "../src/cli/context.ts";
import { runCli } from "../src/cli/program.ts";
import { installCrds } from "../src/controllers/crd.ts";
import { EmbeddedCluster } from "../src/embedded/cluster.ts";
import { type EmbeddedServer, serveCluster } from "../src/embedded/server.ts";
import { HUB_SECRET, renderCredential } from "../src/hub/credential.ts";
import { encodeTicket } from "../src/hub/ticket.ts";
import { createClient, type KubeClient } from "../src/kube/client.ts";
import { systemClock, systemRandom } from "../src/kube/clock.ts";
import { loadKubeconfig } from "../src/kube/config.ts";
import { registerMember } from "./hubMember.ts";
import { temporaryDirectory } from "./loopback.ts";
import { eventually } from "./scenarios/poll.ts";

const CLAIM = "planted0claim".repeat(5);
const REVOKED = "planted-revoked-token-5f0c";
const PROXY_PASSWORD = "planted-proxy-password";
const SERVER_PASSWORD = "planted-server-password";
const PLUGIN_TOKEN = "planted-plugin-token-91ab";
const DASHBOARD_TOKEN = "planted-dashboard-token-77de";

interface Place {
  readonly name: string;
  readonly server: EmbeddedServer;
  readonly client: KubeClient;
  readonly kubeconfig: string;
}

/** Part of a kubeconfig, as far as a test changes it. */
interface Kubeconfig {
  readonly clusters: [{ cluster: Record<string, unknown> }];
  readonly users: [{ user: Record<string, unknown> }];
}

async function aPlace(home: string, name: string): Promise<Place> {
  const cluster = new EmbeddedCluster({ name, clock: systemClock, random: systemRandom });
  onTestFinished(() => cluster.stop());
  const server = await serveCluster(cluster, { clock: systemClock });
  onTestFinished(() => server.close());
  const kubeconfig = join(home, `${name}.yaml`);
  writeFileSync(kubeconfig, server.kubeconfig());
  const config = loadKubeconfig({ paths: [kubeconfig], env: {}, home });
  const client = createClient(config, { clock: systemClock });
  onTestFinished(() => client.close());
  const metadata = { name: SYSTEM_NAMESPACE };
  await client.create(NAMESPACE, { apiVersion: "v1", kind: "Namespace", metadata });
  return { name, server, client, kubeconfig };
}

/** All that anybody said. */
class Ear {
  readonly home = temporaryDirectory();
  readonly #secrets = new Set([
    CLAIM,
    REVOKED,
    PROXY_PASSWORD,
    SERVER_PASSWORD,
    PLUGIN_TOKEN,
    DASHBOARD_TOKEN,
  ]);
  readonly #heard: { readonly by: string; readonly line: string }[] = [];

  keep(...secrets: readonly string[]): void {
    for (const secret of secrets) this.#secrets.add(secret);
  }

  /** Runs until it has said the words, or to its end: then they must have been among what it said. */
  async listen(
    args: readonly string[],
    words: RegExp,
    fields: Partial<CliContext> = {},
  ): Promise<void> {
    const lines: string[] = [];
    const stopping = new AbortController();
    const by = args.join(" ");
    const say = (line: string): void => {
      lines.push(line);
      this.#heard.push({ by, line });
    };
    let isOver = false;
    const exit = runCli(args, {
      out: say,
      error: say,
      input: () => Promise.resolve(""),
      color: false,
      interactive: false,
      env: {},
      home: this.home,
      clock: systemClock,
      random: systemRandom,
      signal: stopping.signal,
      ...fields,
    }).finally(() => {
      isOver = true;
    });
    const sentence = `${by} says ${String(words)}`;
    await eventually(
      sentence,
      () => {
        if (!isOver && !words.test(lines.join("\n"))) throw new Error(lines.join("\n"));
      },
      150_000,
    );
    stopping.abort();
    await exit;
    if (!words.test(lines.join("\n"))) throw new Error(`${sentence}: it ended without`);
  }

  /** Also in the disguise of base64, and of a key each of its lines. */
  leaks(): readonly string[] {
    const forms = [...this.#secrets].flatMap((secret) => [
      secret,
      Buffer.from(secret).toString("base64").replace(/=+$/, "").slice(0, -1),
      ...(encodeURIComponent(secret) === secret ? [] : [encodeURIComponent(secret)]),
      ...(secret.startsWith("-----BEGIN") ? linesOfKey(secret) : []),
    ]);
    return this.#heard.flatMap(({ by, line }) =>
      forms.some((form) => line.includes(form)) ? [`${by}: ${line}`] : [],
    );
  }

  get lineCount(): number {
    return this.#heard.length;
  }
}

function linesOfKey(pem: string): readonly string[] {
  return pem.split("\n").filter((line) => line.length > 20 && !line.startsWith("-----"));
}

/** A kubeconfig of the place with something else in it. */
function twist(ear: Ear, place: Place, how: (kubeconfig: Kubeconfig) => void): string {
  const kubeconfig = parse(place.server.kubeconfig()) as Kubeconfig;
  how(kubeconfig);
  const file = join(ear.home, `${place.name}-${Math.floor(systemRandom() * 1e9)}.yaml`);
  writeFileSync(file, stringify(kubeconfig));
  return file;
}

function keepSecretsOf(ear: Ear, { server }: Place): void {
  ear.keep(server.token, server.client!.keyPem);
}

async function enlist({ client, name }: Place, hub: Place, token: string): Promise<void> {
  const { url: server, caPem: ca } = hub.server;
  const cluster = name as ClusterId;
  await client.create(SECRET, renderCredential({ cluster, server, ca, claim: CLAIM, token }));
}

/** A proxy that lets nobody through. */
async function aStrictProxy(): Promise<string> {
  const proxy = createServer();
  proxy.on("connect", (_, socket) => {
    // Who is turned away does not wait for the end.
    socket.on("error", () => undefined);
    socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void proxy.close());
  const { port } = proxy.address() as AddressInfo;
  return `http://eve:${PROXY_PASSWORD}@127.0.0.1:${port}`;
}

const DEBUG = ["--log-level", "debug"];
const METRICS = ["--metrics-address", "127.0.0.1:0"];

async function openWorld() {
  const ear = new Ear();
  const hub = await aPlace(ear.home, "hub");
  const east = await aPlace(ear.home, "east");
  await installCrds({ store: hub.client, crds: HUB_CRDS, clock: systemClock });
  await installCrds({ store: east.client, crds: MEMBER_CRDS, clock: systemClock });
  const spec = { podCIDRs: ["10.1.0.0/16"], serviceCIDRs: ["10.96.0.0/16"] };
  await registerMember(hub.client, "east" as ClusterId, spec);
  keepSecretsOf(ear, hub);
  keepSecretsOf(ear, east);
  return { ear, hub, east };
}

/** Each in its kubeconfig, and what must be said of it by whoever is given that. */
async function badKubeconfigs(ear: Ear, place: Place): Promise<readonly [string, RegExp][]> {
  const proxy = await aStrictProxy();
  const broken = join(ear.home, "broken.yaml");
  writeFileSync(broken, `users:\n- user: { token: ${REVOKED}\n`);
  const noKey = { "client-certificate-data": undefined, "client-key-data": undefined };
  return [
    [broken, /not valid YAML/],
    [
      twist(ear, place, ({ users: [{ user }] }) => {
        Object.assign(user, noKey, { token: REVOKED });
      }),
      /does not accept the credentials|401|Unauthorized/,
    ],
    [
      twist(ear, place, ({ users: [{ user }] }) => {
        user["client-key-data"] = Buffer.from(REVOKED).toString("base64");
      }),
      /client-key-data|ClientCertificateInvalid/,
    ],
    [
      twist(ear, place, ({ clusters: [{ cluster }] }) => {
        cluster["proxy-url"] = proxy;
      }),
      /the proxy/,
    ],
    [
      twist(ear, place, ({ clusters: [{ cluster }] }) => {
        cluster["server"] = `https://eve:${SERVER_PASSWORD}@127.0.0.1:1`;
      }),
      /refused/,
    ],
  ];
}

/** One whose command fails, and says too much. */
function failingPlugin(ear: Ear, place: Place): string {
  return twist(ear, place, ({ users: [entry] }) => {
    const script = `echo "login failed: token=${PLUGIN_TOKEN}" >&2; exit 1`;
    const apiVersion = "client.authentication.k8s.io/v1";
    entry.user = { exec: { apiVersion, command: "sh", args: ["-c", script] } };
  });
}

test("isthmus agent says nothing secret, at work, refused by the hub, and with its API server away", async () => {
  const { ear, hub, east } = await openWorld();
  const tokenFile = join(ear.home, "token");
  writeFileSync(tokenFile, DASHBOARD_TOKEN);
  const dashboard = ["--dashboard-address", "127.0.0.1:0", "--dashboard-token-file", tokenFile];
  const agent = ["agent", ...DEBUG, ...METRICS, "--kubeconfig", east.kubeconfig];
  await ear.listen(agent, /has not joined a hub/);
  await enlist(east, hub, hub.server.token);
  await ear.listen([...agent, ...dashboard], /agent is at work/);
  await east.client.delete(SECRET, HUB_SECRET);
  await enlist(east, hub, REVOKED);
  await ear.listen(agent, /hub informer failed/);
  await hub.server.close();
  await ear.listen(agent, /hub informer failed/);
  await east.server.close();
  await ear.listen(agent, /cluster does not answer yet/);
  expect(ear.lineCount).toBeGreaterThan(10);
  expect(ear.leaks()).toEqual([]);
});

test("whoever is given a kubeconfig that cannot be used says why, and nothing of what is in it", async () => {
  const { ear, east } = await openWorld();
  const tell = async (file: string, words: RegExp): Promise<void> => {
    const at = ["--kubeconfig", file];
    await ear.listen(["agent", ...DEBUG, ...METRICS, ...at], words);
    await ear.listen(["dns", ...DEBUG, ...METRICS, "--listen", "127.0.0.1:0", ...at], words);
    await ear.listen(["central", ...DEBUG, ...at], words);
  };
  for (const [file, words] of await badKubeconfigs(ear, east)) {
    await tell(file, words);
    await ear.listen(["status", "--kubeconfig", file], words);
  }
  // What a plugin says goes to the terminal of who runs a command by hand, as with kubectl, but into no log.
  await tell(failingPlugin(ear, east), /login failed/);
  expect(ear.leaks()).toEqual([]);
});

test("isthmus central and dns say nothing secret when all goes well", async () => {
  const { ear, east } = await openWorld();
  const at = ["--kubeconfig", `east=${east.kubeconfig}`];
  await ear.listen(["central", ...DEBUG, ...at], /cluster is synced/);
  const dns = ["dns", ...DEBUG, ...METRICS, "--kubeconfig", east.kubeconfig];
  await ear.listen([...dns, "--listen", "127.0.0.1:0"], /dns server starts/);
  expect(ear.leaks()).toEqual([]);
});

test("isthmus join says nothing of its token, however it ends", async () => {
  const { ear, hub, east } = await openWorld();
  const { url: server, caPem: ca, token } = hub.server;
  const ticket = (secret: string): string => {
    const word = encodeTicket({ server, ca, token: secret, name: "first" });
    ear.keep(word, word.slice(-64));
    return word;
  };
  const at = [
    "join",
    "--kubeconfig",
    east.kubeconfig,
    "--cluster-id",
    "east",
    "--pod-cidr",
    "10.1.0.0/16",
  ];
  at.push("--service-cidr", "10.96.0.0/16");
  const refused = ticket(REVOKED);
  await ear.listen([...at, "--token", refused], /See JoinTokenRefused/);
  await ear.listen([...at, "--token", refused.slice(0, -9)], /See JoinTokenInvalid/);
  await ear.listen([...at, "--token", "-"], /See JoinTokenInvalid/, {
    input: () => Promise.resolve(`${refused} ${refused}`),
  });
  await ear.listen([...at, "--token", ticket(token)], /See /);
  await hub.server.close();
  await ear.listen([...at, "--token", refused], /See ServerUnreachable/);
  expect(ear.leaks()).toEqual([]);
});

test("what is searched for would be found", async () => {
  const { ear, east } = await openWorld();
  const file = join(ear.home, REVOKED);
  await ear.listen(["agent", "--kubeconfig", file], /KubeconfigMissing/);
  expect(ear.leaks()).toHaveLength(1);
  const key = linesOfKey(east.server.client!.keyPem)[1]!;
  await ear.listen(["agent", "--kubeconfig", key], /KubeconfigMissing/);
  expect(ear.leaks()).toHaveLength(2);
});
