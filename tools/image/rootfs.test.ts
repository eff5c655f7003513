// The root file system of systems that are made up here: for another machine, with links, with packages, with something missing.

import {
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { temporaryDirectory } from "../../test/loopback.ts";
import { readElf } from "./elf.ts";
import { buildRoot } from "./rootfs.ts";

const ARM = 183;
const INTERPRETER = "/lib/ld-linux-aarch64.so.1";
/** As in the real one, which tells its version so. */
const NODE = "https://nodejs.org/download/release/v26.1.2/node-v26.1.2-headers.tar.gz";

/** The smallest program that has an interpreter and libraries. */
function anElf(
  needed: readonly string[],
  options: { machine?: number; text?: string } = {},
): Buffer {
  const strings = Buffer.from(["", INTERPRETER, ...needed, options.text ?? "", ""].join("\0"));
  const table = 64 + 3 * 56;
  const dynamic = table + strings.length;
  // Where it is once loaded is not where it is in the file.
  const base = 0x40_0000;
  const entries = [
    ...needed.map((name) => [1, strings.indexOf(`${name}\0`)] as const),
    [5, base + table] as const,
    [0, 0] as const,
  ];
  const bytes = Buffer.alloc(dynamic + entries.length * 16);
  bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1]);
  bytes.writeUInt16LE(options.machine ?? ARM, 18);
  bytes.writeBigUInt64LE(64n, 32);
  bytes.writeUInt16LE(56, 54);
  bytes.writeUInt16LE(3, 56);
  const segments = [
    { type: 1, offset: 0, size: bytes.length },
    { type: 2, offset: dynamic, size: entries.length * 16 },
    { type: 3, offset: table + 1, size: INTERPRETER.length + 1 },
  ];
  for (const [index, { type, offset, size }] of segments.entries()) {
    const at = 64 + index * 56;
    bytes.writeUInt32LE(type, at);
    bytes.writeBigUInt64LE(BigInt(offset), at + 8);
    bytes.writeBigUInt64LE(BigInt(base + offset), at + 16);
    bytes.writeBigUInt64LE(BigInt(size), at + 32);
  }
  bytes.set(strings, table);
  for (const [index, [tag, value]] of entries.entries()) {
    bytes.writeBigUInt64LE(BigInt(tag), dynamic + index * 16);
    bytes.writeBigUInt64LE(BigInt(value), dynamic + index * 16 + 8);
  }
  return bytes;
}

function write(root: string, files: Readonly<Record<string, Buffer | string>>): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
}

function aWorld(files: Readonly<Record<string, Buffer | string>>) {
  const home = temporaryDirectory();
  const [system, dist, into] = ["system", "dist", "into"].map((name) => join(home, name)) as [
    string,
    string,
    string,
  ];
  write(system, { "/usr/local/bin/node": anElf(["libone.so.1"], { text: NODE }), ...files });
  write(dist, {
    "isthmus.mjs": "",
    "isthmus.cdx.json": '{"components":[]}',
    "THIRD-PARTY-NOTICES.txt": "",
  });
  return { system, dist, into, node: "/usr/local/bin/node" };
}

interface Bom {
  readonly components: readonly { readonly name: string; readonly purl: string }[];
}
const readBom = (into: string): Bom =>
  JSON.parse(readFileSync(join(into, "usr/share/doc/isthmus/isthmus.cdx.json"), "utf8")) as Bom;

const LIBRARIES = {
  "/usr/lib/aarch64-linux-gnu/libone.so.1.5": anElf(["libtwo.so.2", "ld-linux-aarch64.so.1"]),
  "/usr/lib/aarch64-linux-gnu/libtwo.so.2": anElf([]),
  "/usr/lib/aarch64-linux-gnu/ld.so": anElf([]),
  // In the way, and for somebody else.
  "/usr/lib64/libtwo.so.2": anElf([], { machine: 62 }),
};

function linkLibraries(system: string): void {
  symlinkSync("/usr/lib", join(system, "lib"));
  // Not by way of that link, which means this machine to whoever follows it here.
  symlinkSync("/lib/aarch64-linux-gnu/ld.so", join(system, "usr", INTERPRETER));
  symlinkSync("libone.so.1.5", join(system, "usr/lib/aarch64-linux-gnu/libone.so.1"));
}

test("takes the libraries of a program and those that they need in turn, through links that mean the system and not this machine", () => {
  const world = aWorld(LIBRARIES);
  linkLibraries(world.system);
  buildRoot(world);
  expect(readdirSync(join(world.into, "lib/aarch64-linux-gnu")).toSorted()).toEqual([
    "libone.so.1",
    "libtwo.so.2",
  ]);
  expect(readElf(readFileSync(join(world.into, INTERPRETER)))?.machine).toBe("aarch64");
  expect(statSync(join(world.into, "usr/bin/node"))).toMatchObject({ mtimeMs: 0, mode: 0o100755 });
  expect(readBom(world.into).components.map(({ name }) => name)).toEqual([
    "node",
    INTERPRETER,
    "/lib/aarch64-linux-gnu/libone.so.1",
    "/lib/aarch64-linux-gnu/libtwo.so.2",
  ]);
  expect(readBom(world.into).components[0]?.purl).toBe("pkg:generic/node@26.1.2");
});

test("lists a Debian package for the libraries that it brought, and takes its licence along", () => {
  const world = aWorld({
    ...LIBRARIES,
    "/etc/os-release": 'ID=debian\nVERSION_ID="13"\n',
    "/var/lib/dpkg/status": "Package: lib++1\nArchitecture: arm64\nVersion: 1:2+3\n",
    "/var/lib/dpkg/info/lib++1:arm64.list": `/.\n/usr/lib/aarch64-linux-gnu/libone.so.1\n/usr/lib/aarch64-linux-gnu/libtwo.so.2\n${INTERPRETER}\n`,
    "/usr/share/doc/lib++1/copyright": "as you like",
  });
  linkLibraries(world.system);
  buildRoot(world);
  expect(readBom(world.into).components.map(({ purl }) => purl)).toEqual([
    "pkg:generic/node@26.1.2",
    "pkg:deb/debian/lib%2B%2B1@1%3A2%2B3?arch=arm64&distro=debian-13",
  ]);
  const copyright = join(world.into, "usr/share/doc/lib++1/copyright");
  expect(readFileSync(copyright, "utf8")).toBe("as you like");
});

test("says which library a base image lacks", () => {
  const world = aWorld({ [INTERPRETER]: anElf([]) });
  expect(() => buildRoot(world)).toThrow(
    `/usr/local/bin/node needs libone.so.1, which is in no library folder of ${world.system}: take a base image that has it.`,
  );
});

test("says when the node is none for Linux on a machine that it knows", () => {
  for (const node of ["#!/bin/sh\n", anElf([], { machine: 40 })]) {
    const world = aWorld({ "/usr/local/bin/node": node });
    expect(() => buildRoot(world)).toThrow("is no program for Linux on amd64 or arm64");
  }
});
