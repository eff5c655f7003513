// A newcomer's way, with only the README in hand: the files that a clone has, the README's first command typed into a terminal,
// Enter pressed whenever the story waits for it, the page opened that it ends with, Ctrl-C. Nothing is there but Node and npm.

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { startProcess } from "../commandProcess.ts";
import { temporaryDirectory } from "../loopback.ts";
import { closeBrowserAtEnd, openPage } from "./chromium.ts";

closeBrowserAtEnd();

const ROOT = join(import.meta.dirname, "../..");
const PROMPT = "Press Enter to go on";

/** As it would be after a commit of what is here now. */
function cloneInto(folder: string): void {
  const listed = execFileSync("git", ["ls-files", "-z", "-co", "--exclude-standard"], {
    cwd: ROOT,
  });
  const files = listed.toString().split("\0").filter(Boolean);
  for (const file of files) {
    const target = join(folder, file);
    mkdirSync(dirname(target), { recursive: true });
    cpSync(join(ROOT, file), target, { force: true });
  }
}

function readFirstCommand(folder: string): string {
  const [, command = ""] =
    /^```sh\n(.*)\n```$/m.exec(readFileSync(join(folder, "README.md"), "utf8")) ?? [];
  return command;
}

test("from a clone, the README's first command leads through the story to the page, and Ctrl-C leaves nothing", {
  timeout: 600_000,
}, async () => {
  const clone = temporaryDirectory();
  const temp = temporaryDirectory();
  cloneInto(clone);
  const command = readFirstCommand(clone);
  expect(command).toBe("npm install && npm run demo");

  // util-linux's, and thereby everywhere: a terminal, and what is typed into it.
  const terminal = startProcess("script", ["-qfec", command, "/dev/null"], {
    cwd: clone,
    env: { ...process.env, TMPDIR: temp },
    input: "pipe",
  });
  const waits = (): number => terminal.output().split(PROMPT).length - 1;
  for (let pressed = 0; ; pressed += 1) {
    await terminal.shows(
      (screen) => screen.includes("Ctrl-C ends everything.") || waits() > pressed,
    );
    if (waits() === pressed) break;
    terminal.process.stdin?.write("\r");
  }
  const screen = stripVTControlCharacters(terminal.output());
  const [first] =
    /First "answered from another cluster": \d+\.\d s after the demo started/.exec(screen) ?? [];
  expect(first).toBeDefined();
  process.stdout.write(`newcomer: ${first}\n`);

  const [, url = ""] = /in a browser, if you like: (\S+)/.exec(screen) ?? [];
  const page = await openPage(url);
  for (const cluster of ["east", "west", "edge"]) {
    await page.waitForSelector(`g.cluster.well[aria-label^='${cluster} live']`);
  }
  await page.waitForSelector("table.services tr:has(a[href='#/service/shop/checkout'])");

  terminal.process.stdin?.write("\u0003");
  await terminal.exit;
  expect(terminal.output()).toContain("Everything is cleaned up.");
  // npm and tsx keep caches there.
  expect(readdirSync(temp).filter((name) => name.startsWith("isthmus"))).toEqual([]);
});
