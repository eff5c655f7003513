// Whose files these are: a Debian system's folder and paths in it in, the packages that brought them out, with their licences' texts. A
// system without dpkg has none. Only reads.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Component } from "../bom.ts";

export interface DebianPackage extends Component {
  /** In the system: its licence. */
  readonly copyright: string;
  readonly paths: readonly string[];
}

/** Those that brought one of the paths, by name. */
export function findPackages(system: string, paths: readonly string[]): readonly DebianPackage[] {
  const info = join(system, "var/lib/dpkg/info");
  if (!existsSync(info)) return [];
  const records = readRecords(join(system, "var/lib/dpkg/status"));
  const distribution = readDistribution(system);
  const wanted = new Set(paths.map(withoutUsr));
  return readdirSync(info)
    .filter((file) => file.endsWith(".list"))
    .sort()
    .flatMap((file) => {
      const brought = new Set(readFileSync(join(info, file), "utf8").split("\n").map(withoutUsr));
      const [name = ""] = file.slice(0, -".list".length).split(":");
      const record = records.get(name);
      if (record === undefined || ![...wanted].some((path) => brought.has(path))) return [];
      return {
        type: "library",
        name,
        version: record.version,
        purl: `pkg:deb/debian/${encodeURIComponent(name)}@${encodeURIComponent(record.version)}?arch=${record.architecture}&distro=${distribution}`,
        copyright: `/usr/share/doc/${name}/copyright`,
        paths: paths.filter((path) => brought.has(withoutUsr(path))),
      } satisfies DebianPackage;
    });
}

/** /lib and /usr/lib are one folder, and packages say either. */
function withoutUsr(path: string): string {
  return path.replace(/^\/usr\//, "/");
}

function readRecords(
  file: string,
): ReadonlyMap<string, { readonly version: string; readonly architecture: string }> {
  const paragraphs = readFileSync(file, "utf8").split("\n\n");
  return new Map(
    paragraphs.map((paragraph) => {
      const read = (field: string): string =>
        new RegExp(`^${field}: (.*)$`, "m").exec(paragraph)?.[1] ?? "";
      return [read("Package"), { version: read("Version"), architecture: read("Architecture") }];
    }),
  );
}

function readDistribution(system: string): string {
  const release = readFileSync(join(system, "etc/os-release"), "utf8");
  const read = (field: string): string =>
    new RegExp(`^${field}="?([^"\n]*)`, "m").exec(release)?.[1] ?? "";
  return `${read("ID")}-${read("VERSION_ID")}`;
}
