// What others' code is in the bundle: esbuild's account of it and the installed packages in, the packages and their licences out. `npm sbom`
// cannot say it: it lists what is installed, of which a good part never gets into the bundle.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Metafile } from "esbuild";
import type { Component } from "./bom.ts";

export interface BundledPackage extends Component {
  readonly notices: readonly string[];
}

const PACKAGE = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/;
const NOTICE = /^(licen[cs]e|notice|copying|copyrightnotice)/i;

/** Each package and version once, by name. */
export function listBundled(metafile: Metafile, root: string): readonly BundledPackage[] {
  const { packages: locked } = JSON.parse(
    readFileSync(join(root, "package-lock.json"), "utf8"),
  ) as {
    readonly packages: Readonly<Record<string, { readonly integrity?: string } | undefined>>;
  };
  const found = new Map<string, BundledPackage>();
  for (const folder of listFolders(metafile)) {
    const bundled = readPackage(join(root, folder), locked[folder]?.integrity);
    found.set(bundled.purl, bundled);
  }
  return [...found.values()].sort((a, b) => (a.purl < b.purl ? -1 : 1));
}

/** Of which something is left in the output: what was only looked at does not count. */
function listFolders(metafile: Metafile): ReadonlySet<string> {
  const inputs = Object.values(metafile.outputs).flatMap((output) => Object.entries(output.inputs));
  const paths = inputs.filter(([, { bytesInOutput }]) => bytesInOutput > 0).map(([path]) => path);
  return new Set(paths.flatMap((path) => PACKAGE.exec(path)?.[0] ?? []));
}

function readPackage(folder: string, integrity: string | undefined): BundledPackage {
  const { name, version, license } = JSON.parse(
    readFileSync(join(folder, "package.json"), "utf8"),
  ) as { readonly name: string; readonly version: string; readonly license?: string };
  if (license === undefined) {
    throw new Error(`${name} ${version} does not say under which licence it is: leave it out.`);
  }
  const files = readdirSync(folder).filter((file) => NOTICE.test(file));
  return {
    type: "library",
    name,
    version,
    purl: `pkg:npm/${name.replace("@", "%40")}@${version}`,
    license,
    ...(integrity?.startsWith("sha512-") && {
      sha512: Buffer.from(integrity.slice("sha512-".length), "base64").toString("hex"),
    }),
    notices: files.sort().map((file) => readFileSync(join(folder, file), "utf8").trim()),
  };
}

export function renderNotices(packages: readonly BundledPackage[]): string {
  const parts = packages.map(({ name, version, license, notices }) => {
    const texts = notices.length > 0 ? notices : ["The package has no text of its licence."];
    return [`${"=".repeat(80)}\n${name} ${version} (${license})`, ...texts].join("\n\n");
  });
  const head = "The command isthmus contains code of these packages, under these licences.";
  return `${[head, ...parts].join("\n\n").replaceAll("\r\n", "\n")}\n`;
}
