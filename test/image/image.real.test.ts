// The image, made by the steps of the Containerfile and started as a container runtime starts it, on real API servers.

import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SERVICE_IMPORT } from "../../src/api/mcs.ts";
import { SYSTEM_NAMESPACE } from "../../src/api/names.ts";
import { VERSION } from "../../src/api/version.ts";
import { AGENT_NAME } from "../../src/hub/local.ts";
import { requestToken } from "../../src/kube/tokenrequest.ts";
import { buildRelease } from "../../tools/build.ts";
import { mustRun } from "../commandLine.ts";
import { temporaryDirectory } from "../loopback.ts";
import { joinArgs, type MembershipWorld, startMembershipWorld } from "../membershipWorld.ts";
import { eventually } from "../scenarios/poll.ts";
import { CHECKOUT_MS, checkOut } from "./checkout.ts";
import { readContainerfile, REPOSITORY } from "./containerfile.ts";
import { type Contained, requireRoom, startContained } from "./room.ts";

const ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount";
const FREE = ["--metrics-address", "127.0.0.1:0"];

/** Run inside: who it is, and what happens when it writes into the folders that it is given. */
const LOOK = `
const { readFileSync, writeFileSync } = require("node:fs");
const status = new Map(readFileSync("/proc/self/status", "utf8").split("\\n").map((line) => line.split(":\\t")));
const write = (folder) => {
  try {
    writeFileSync(folder + "/x", "");
  } catch ({ code }) {
    return code;
  }
};
console.log(JSON.stringify({
  pid: process.pid,
  uid: process.getuid(),
  gid: process.getgid(),
  groups: process.getgroups(),
  effective: status.get("CapEff"),
  permitted: status.get("CapPrm"),
  noNewPrivileges: status.get("NoNewPrivs"),
  writes: Object.fromEntries(process.argv.slice(1).map((folder) => [folder, write(folder) ?? "written"])),
  authorities: require("node:tls").rootCertificates.length,
}));`;

const containerfile = readContainerfile();
let home: string;
let image: typeof containerfile & { readonly root: string };
let inputs: readonly string[];
let world: MembershipWorld;

beforeAll(async () => {
  requireRoom();
  home = mkdtempSync(join(tmpdir(), "isthmus-image-"));
  image = { ...containerfile, root: join(home, "root") };
  const dist = join(home, "dist");
  inputs = Object.keys((await buildRelease(dist)).inputs);
  makeRoot(REPOSITORY, ["--dist", dist], image.root);
  world = await startMembershipWorld("image");
});
afterAll(async () => {
  await world?.stop();
  if (home !== undefined) rmSync(home, { recursive: true });
});

/** As the Containerfile's last step does, with this machine in place of the base image. */
function makeRoot(source: string, args: readonly string[], into: string, umask = "022"): void {
  const tool = ["--import", "tsx", "tools/image/rootfs.ts", ...args, "--into", into];
  const script = `umask ${umask}; exec "$@"`;
  execFileSync("bash", ["-c", script, "bash", process.execPath, ...tool], {
    cwd: source,
    stdio: "pipe",
  });
}

function listFiles(root: string): readonly string[] {
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length))
    .toSorted();
}

/** Of all that is in it: names, content, modes, times. */
function hashRoot(root: string): string {
  const all = ["--sort=name", "--format=gnu", "--numeric-owner", "-C", root, "-c", "."];
  const tar = execFileSync("tar", all, { maxBuffer: 1024 ** 3 });
  return createHash("sha256").update(tar).digest("hex");
}

interface Line {
  readonly msg: string;
  readonly metrics?: string;
}

function said(run: Contained, message: string): Line | undefined {
  const lines = run
    .output()
    .split("\n")
    .filter((line) => line.startsWith("{") && line.endsWith("}"));
  return lines.map((line) => JSON.parse(line) as Line).find(({ msg }) => msg === message);
}

async function untilReady(run: Contained, message: string): Promise<void> {
  await run.shows(() => said(run, message) !== undefined);
  await eventually("it is ready", async () => {
    const answer = await fetch(`http://${said(run, message)?.metrics}/readyz`);
    expect(await answer.text()).toBe("ok\n");
  });
}

/** "0" when all was well, else with what it said. */
async function endOf(run: Contained, exit: Promise<number | null>): Promise<string> {
  const code = await exit;
  return code === 0 ? "0" : `${code}\n${run.output()}`;
}

/** What a pod gets of its ServiceAccount. */
async function anAccountOfTheAgent(): Promise<{ readonly from: string; readonly to: string }> {
  const { admin, cluster } = world.away;
  const path = `/api/v1/namespaces/${SYSTEM_NAMESPACE}/serviceaccounts/${AGENT_NAME}/token`;
  const body = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    metadata: {},
    spec: { expirationSeconds: 3_600 },
  };
  const token = await requestToken(admin, { path, body }, { nowMs: Date.now() });
  const from = aFolder({ token, namespace: SYSTEM_NAMESPACE, "ca.crt": cluster.caPem });
  return { from, to: ACCOUNT };
}

/** That everybody can read, as mounted volumes are. */
function aFolder(files: Readonly<Record<string, string>>): string {
  const folder = join(temporaryDirectory(), "volume");
  mkdirSync(folder);
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content);
  execFileSync("chmod", ["-R", "a+rX", folder]);
  return folder;
}

describe("the root file system", () => {
  test("holds Node, what it needs to start, the command, names, licences, and nothing else", () => {
    const others = listFiles(image.root).filter(
      (path) =>
        !/^(\/usr)?\/lib(64)?\/([^/]+-linux-gnu\/)?(ld-linux|lib)[^/]+\.so\.\d+$/.test(path) &&
        !path.startsWith("/usr/share/doc/"),
    );
    expect(others).toEqual([
      "/etc/group",
      "/etc/nsswitch.conf",
      "/etc/passwd",
      "/usr/bin/node",
      "/usr/lib/isthmus/isthmus.mjs",
    ]);
    expect(listFiles(join(image.root, "usr/share/doc/isthmus"))).toEqual([
      "/LICENSE",
      "/THIRD-PARTY-NOTICES.txt",
      "/isthmus.cdx.json",
    ]);
  });

  test("lists in its bill of materials Node and whatever brought each library", () => {
    const file = join(image.root, "usr/share/doc/isthmus/isthmus.cdx.json");
    const { components } = JSON.parse(readFileSync(file, "utf8")) as {
      readonly components: readonly { readonly name: string; readonly version?: string }[];
    };
    expect(components).toContainEqual(
      expect.objectContaining({ name: "node", version: process.versions.node }),
    );
    const libraries = listFiles(image.root).filter((path) => path.includes(".so."));
    const names = components.map(({ name }) => name);
    expect(names).toContain("undici");
    for (const library of libraries) {
      // Packages say /lib or /usr/lib, which is one; where there are none, it is listed itself.
      const paths = [library, `/usr${library}`, library.replace(/^\/usr/, "")];
      const answer = spawnSync("dpkg-query", ["--search", ...paths], { encoding: "utf8" });
      expect(names).toContain(/^[^:]+/.exec(answer.stdout ?? "")?.[0] ?? library);
    }
  });

  test("is the same to the last byte, mode and time when equal sources are built in another folder", {
    timeout: CHECKOUT_MS,
  }, () => {
    const folder = checkOut(inputs);
    execFileSync(process.execPath, ["--import", "tsx", "tools/build.ts"], { cwd: folder });
    const again = join(folder, "rootfs");
    makeRoot(folder, [], again, "077");
    const first = join(folder, "first");
    makeRoot(REPOSITORY, ["--dist", join(home, "dist")], first);
    expect(listFiles(again)).toEqual(listFiles(first));
    expect(hashRoot(again)).toBe(hashRoot(first));
  });

  test("is refused with a sentence where it would be mixed with something else", () => {
    const folder = aFolder({ something: "" });
    expect(() => makeRoot(REPOSITORY, ["--dist", join(home, "dist")], folder)).toThrow(
      `${folder} is not empty: name a new folder.`,
    );
  });
});

describe("a container of the image", () => {
  test("is process 1, nobody's user, without capabilities, and can write nowhere", async () => {
    const folders = readdirSync(image.root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(entry.parentPath, entry.name).slice(image.root.length))
      .filter((path) => !/^\/(dev|proc)$/.test(path));
    const run = startContained(image, ["-e", LOOK, "/", ...folders], {
      entrypoint: ["/usr/bin/node"],
    });
    expect(await endOf(run, run.exit)).toBe("0");
    const { writes, authorities, ...identity } = JSON.parse(run.output()) as {
      readonly writes: Readonly<Record<string, string>>;
      readonly authorities: number;
    };
    const { uid, gid } = containerfile.user;
    const none = "0000000000000000";
    expect(identity).toEqual({
      pid: 1,
      uid,
      gid,
      groups: [gid],
      effective: none,
      permitted: none,
      noNewPrivileges: "1",
    });
    expect(Object.keys(writes)).toEqual(expect.arrayContaining(["/", "/tmp", "/usr/lib/isthmus"]));
    expect(new Set(Object.values(writes))).toEqual(new Set(["EROFS"]));
    // Node brings the public ones itself: no file is needed.
    expect(authorities).toBeGreaterThan(100);
  });

  test("has no shell to start", async () => {
    const run = startContained(image, ["-c", "true"], { entrypoint: ["/bin/sh"] });
    expect(await run.exit).toBe(127);
  });

  test("says its version, also as a user that has no name in it", async () => {
    for (const uid of [containerfile.user.uid, 1_000_660_000]) {
      const run = startContained({ ...image, user: { uid, gid: uid } }, ["--version"]);
      expect(await endOf(run, run.exit)).toBe("0");
      expect(run.output()).toBe(`${VERSION}\n`);
    }
  });

  test("is an agent with a pod's identity: ready, its dashboard served, and ended by SIGTERM with 0", async () => {
    const { hub, away } = world;
    await mustRun(joinArgs(away, "east", "--hub-kubeconfig", hub.cluster.kubeconfigPath));
    const { hostname, port } = new URL(away.cluster.url);
    const run = startContained(image, ["agent", ...FREE, "--dashboard-address", "127.0.0.1:0"], {
      mounts: [await anAccountOfTheAgent()],
      env: { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port },
    });
    await untilReady(run, "agent starts");
    const page = await eventually("the dashboard is there", () => {
      const [, url] = /(http:\/\/127\.0\.0\.1:\d+)/.exec(run.output()) ?? [];
      if (url === undefined) throw new Error(run.output());
      return fetch(url);
    });
    expect(await page.text()).toContain("<!doctype html>");
    expect(await endOf(run, run.terminate())).toBe("0");
  });

  test("is a DNS server of two processes: ready, and ended by SIGTERM with 0", async () => {
    const kubeconfig = readFileSync(world.away.cluster.kubeconfigPath, "utf8");
    const mounts = [{ from: aFolder({ kubeconfig }), to: "/config" }];
    const args = ["dns", "--kubeconfig", "/config/kubeconfig", "--processes", "2", ...FREE];
    const run = startContained(image, [...args, "--listen", "127.0.0.1:0"], { mounts });
    await untilReady(run, "dns server starts");
    expect(await endOf(run, run.terminate())).toBe("0");
  });

  test("is central: at work, and ended by SIGTERM with 0", async () => {
    const read = (path: string): string => readFileSync(path, "utf8");
    const from = aFolder({
      east: read(world.away.cluster.kubeconfigPath),
      west: read(world.hub.cluster.kubeconfigPath),
    });
    const members = ["--kubeconfig", "east=/config/east", "--kubeconfig", "west=/config/west"];
    const run = startContained(image, ["central", ...members], {
      mounts: [{ from, to: "/config" }],
    });
    await eventually("it has installed its definitions", () =>
      world.hub.admin.list(SERVICE_IMPORT),
    );
    expect(await endOf(run, run.terminate())).toBe("0");
  });
});
