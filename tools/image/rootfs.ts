// `npm run rootfs`: what `npm run build` made and a system that has Node in, the image's root file system out: Node, the libraries that it
// needs, the command, the names of its users, licences and a bill of materials. The Containerfile runs it, and so do the tests. Nothing
// of the system is run, so that it may be one of another machine; and equal input gives equal files, times and modes included.
//
//   system (a base image) ─▶ node ─▶ its interpreter and libraries, and theirs ─▶ who packaged them ─▶ bill of materials
//   dist ──────────────────▶ command, notices

import { createHash } from "node:crypto";
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { type Component, renderComponent } from "../bom.ts";
import { BOM_FILE, COMMAND_FILE, NOTICES_FILE } from "../build.ts";
import { findPackages } from "./debian.ts";
import { type Elf, type Machine, readElf } from "./elf.ts";

const ROOT = join(import.meta.dirname, "../..");
/** Neither root nor anybody whom a machine knows. */
const USER_ID = 65_532;
const DOCS = "/usr/share/doc";

const FILES: Readonly<Record<string, string>> = {
  "/etc/passwd": `root:x:0:0:root:/:/sbin/nologin\nisthmus:x:${USER_ID}:${USER_ID}:isthmus:/:/sbin/nologin\n`,
  "/etc/group": `root:x:0:\nisthmus:x:${USER_ID}:\n`,
  // Names that the runtime writes into /etc/hosts come first; without this file they come last, or never.
  "/etc/nsswitch.conf": "hosts: files dns\n",
};

export interface RootOptions {
  /** The folder of a system that has Node and its libraries: a base image's files, or "/". */
  readonly system: string;
  /** Path of Node in it. */
  readonly node: string;
  /** What `npm run build` made. */
  readonly dist: string;
  /** Is made, and must not be there with anything in it. */
  readonly into: string;
}

export function buildRoot(options: RootOptions): void {
  const { system, node, dist } = options;
  const into = resolve(options.into);
  mkdirSync(into, { recursive: true });
  if (readdirSync(into).length > 0) throw new Error(`${into} is not empty: name a new folder.`);
  const program = readIn(system, node);
  const libraries = findLibraries(system, node, program);
  const packages = findPackages(system, [node, ...libraries.keys()]);
  const files = new Map<string, Buffer | string>([
    ...Object.entries(FILES),
    ...libraries,
    ["/usr/bin/node", program],
    [`/usr/lib/isthmus/${COMMAND_FILE}`, readFileSync(join(dist, COMMAND_FILE))],
    [`${DOCS}/isthmus/${NOTICES_FILE}`, readFileSync(join(dist, NOTICES_FILE))],
    [`${DOCS}/isthmus/LICENSE`, readFileSync(join(ROOT, "LICENSE"))],
    // Beside bin in what nodejs.org and npm give.
    ...copyDocument(system, join(dirname(node), "../LICENSE"), `${DOCS}/node/LICENSE`),
    ...packages.flatMap(({ copyright }) => copyDocument(system, copyright, copyright)),
  ]);
  const packaged = new Set(packages.flatMap(({ paths }) => paths));
  const strays = [...libraries].filter(([path]) => !packaged.has(path));
  const components = [describeNode(program), ...packages, ...strays.map(describeFile)];
  files.set(`${DOCS}/isthmus/${BOM_FILE}`, extendBom(join(dist, BOM_FILE), components));
  for (const [path, content] of files) {
    mkdirSync(dirname(join(into, path)), { recursive: true });
    writeFileSync(join(into, path), content);
  }
  // For those who mount something there: the root itself is read-only.
  mkdirSync(join(into, "tmp"));
  level(into, (path) => isProgram(path) || libraries.has(path));
  chmodSync(join(into, "tmp"), 0o1777);
  utimesSync(join(into, "tmp"), 0, 0);
}

const isProgram = (path: string): boolean => path === "/usr/bin/node" || path.endsWith(".mjs");

/** Path → content, of all that has to be there for the program to start, from where its interpreter looks by itself. */
function findLibraries(system: string, path: string, program: Buffer): ReadonlyMap<string, Buffer> {
  const elf = requireElf(path, program);
  const found = new Map<string, Buffer>();
  const { interpreter } = elf;
  if (interpreter === undefined) return found;
  found.set(interpreter, readIn(system, interpreter));
  const names = new Set(elf.needed);
  // Grows while it is walked.
  for (const name of names) {
    if (interpreter.endsWith(`/${name}`)) continue;
    const library = findLibrary(system, name, elf.machine);
    if (library === undefined) {
      throw new Error(
        `${path} needs ${name}, which is in no library folder of ${system}: take a base image that has it.`,
      );
    }
    found.set(library.path, library.content);
    for (const next of library.elf.needed) names.add(next);
  }
  return found;
}

function findLibrary(
  system: string,
  name: string,
  machine: Machine,
): { readonly path: string; readonly content: Buffer; readonly elf: Elf } | undefined {
  for (const folder of [`lib/${machine}-linux-gnu`, "lib64", "lib"]) {
    for (const path of [`/${folder}/${name}`, `/usr/${folder}/${name}`]) {
      const content = findIn(system, path);
      const elf = content && readElf(content);
      if (content !== undefined && elf?.machine === machine) return { path, content, elf };
    }
  }
  return undefined;
}

function requireElf(path: string, content: Buffer): Elf {
  const elf = readElf(content);
  if (elf !== undefined) return elf;
  throw new Error(
    `${path} is no program for Linux on amd64 or arm64: name the node of a base image for one of them.`,
  );
}

function describeNode(program: Buffer): Component {
  // Node names the address of its own headers.
  const text = program.indexOf("-headers.tar.gz");
  const version = /node-v([\d.]+)$/.exec(program.toString("latin1", text - 32, text))?.[1];
  if (version === undefined) throw new Error("The node does not say which version it is.");
  return {
    type: "application",
    name: "node",
    version,
    purl: `pkg:generic/node@${version}`,
    cpe: `cpe:2.3:a:nodejs:node.js:${version}:*:*:*:*:*:*:*`,
    license: "MIT",
    sha256: digest(program),
  };
}

function describeFile([path, content]: readonly [string, Buffer]): Component {
  const sha256 = digest(content);
  const encoded = path.split("/").map(encodeURIComponent).join("/");
  return {
    type: "file",
    name: path,
    purl: `pkg:generic${encoded}?checksum=sha256:${sha256}`,
    sha256,
  };
}

function digest(content: Buffer): string {
  return createHash("sha256").update(content).digest("hex");
}

/** The command's own bill, and what the image adds. */
function extendBom(file: string, components: readonly Component[]): string {
  const bom = JSON.parse(readFileSync(file, "utf8")) as { readonly components: readonly unknown[] };
  const all = [...bom.components, ...components.map(renderComponent)];
  return `${JSON.stringify({ ...bom, components: all }, undefined, 2)}\n`;
}

function copyDocument(system: string, from: string, to: string): readonly [string, Buffer][] {
  const content = findIn(system, from);
  return content === undefined ? [] : [[to, content]];
}

function readIn(system: string, path: string): Buffer {
  const content = findIn(system, path);
  if (content === undefined) throw new Error(`${path} is not in ${system}.`);
  return content;
}

/** Links are followed as in the system: an absolute one starts at its folder, not at ours. */
function findIn(system: string, path: string): Buffer | undefined {
  let real = "/";
  const ahead = path.split("/");
  for (let links = 0; ahead.length > 0; ) {
    const next = join(real, ahead.shift() ?? "");
    const status = lstatSync(join(system, next), { throwIfNoEntry: false });
    if (status === undefined || links > 40) return undefined;
    if (!status.isSymbolicLink()) {
      real = next;
      continue;
    }
    const target = readlinkSync(join(system, next));
    if (target.startsWith("/")) real = "/";
    ahead.unshift(...target.split("/"));
    links += 1;
  }
  return lstatSync(join(system, real)).isFile() ? readFileSync(join(system, real)) : undefined;
}

/** Whatever mask and clock it was made under. */
function level(into: string, isExecutable: (path: string) => boolean): void {
  const entries = readdirSync(into, { recursive: true, withFileTypes: true });
  const paths = entries.map((entry) => join(entry.parentPath, entry.name));
  for (const path of [...paths, into]) {
    const isFolder = lstatSync(path).isDirectory();
    chmodSync(path, isFolder || isExecutable(path.slice(into.length)) ? 0o755 : 0o644);
    utimesSync(path, 0, 0);
  }
}

function main(): void {
  const { values } = parseArgs({
    options: {
      system: { type: "string", default: "/" },
      node: { type: "string", default: process.execPath },
      dist: { type: "string", default: join(ROOT, "dist") },
      into: { type: "string" },
    },
  });
  const { into, ...options } = values;
  if (into === undefined) throw new Error("Name the folder to make with --into.");
  buildRoot({ ...options, into });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  try {
    main();
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}
