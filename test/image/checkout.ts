// Test tool: a folder in; out come in it the files that the Containerfile copies and the packages that `npm install` gives, as in a
// clone of the repository on another machine.

import { cpSync, mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { readContainerfile, REPOSITORY } from "./containerfile.ts";

/** `bundled`: paths of what the command is made of. */
export function checkOut(folder: string, bundled: readonly string[]): void {
  for (const name of [...readContainerfile().sources, "README.md"]) {
    cpSync(join(REPOSITORY, name), join(folder, name), { recursive: true });
  }
  // What the bundler reads has to be in the folder itself; the rest are tools, and large.
  const read = new Set(bundled.map((path) => /^node_modules\/([^/]+)/.exec(path)?.[1]));
  const installed = join(REPOSITORY, "node_modules");
  mkdirSync(join(folder, "node_modules"));
  for (const name of readdirSync(installed)) {
    const [from, to] = [join(installed, name), join(folder, "node_modules", name)];
    if (read.has(name)) cpSync(from, to, { recursive: true });
    else symlinkSync(from, to);
  }
}
