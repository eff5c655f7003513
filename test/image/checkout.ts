// Test tool: a folder with the files that the Containerfile copies and the packages that `npm install` gives, as in a clone of the
// repository on another machine.

import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { readContainerfile, REPOSITORY } from "./containerfile.ts";

/** Thousands of files are copied, and removed. */
export const CHECKOUT_MS = 600_000;

/** `bundled`: paths of what the command is made of. Removed when the test ends. */
export function checkOut(bundled: readonly string[]): string {
  const home = mkdtempSync(join(tmpdir(), "isthmus-checkout-"));
  onTestFinished(() => rmSync(home, { recursive: true }), CHECKOUT_MS);
  const folder = join(home, "another/folder");
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
  return folder;
}
