// Test set-up: Debian's chromium, driven by playwright-core: one browser per test file, one context per page, every page watched
// for what it must never do.

import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, expect, onTestFinished } from "vitest";

const NAMES = ["chromium", "chromium-browser", "google-chrome"];

/** A test without a browser fails, and says what to install. */
export function findChromium(path = process.env.PATH ?? ""): string {
  const folders = path.split(delimiter).filter((folder) => folder !== "");
  const found = NAMES.flatMap((name) => folders.map((folder) => join(folder, name))).find(
    existsSync,
  );
  if (found !== undefined) return found;
  throw new Error(
    "The tests of the dashboard need a browser: install the Debian package chromium (apt-get install chromium).",
  );
}

let browser: Promise<Browser> | undefined;

function startBrowser(): Promise<Browser> {
  browser ??= chromium.launch({
    executablePath: findChromium(),
    // Chromium refuses to shut itself in when it runs as root, as in a container.
    args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
  });
  return browser;
}

/** In each file that opens pages. */
export function closeBrowserAtEnd(): void {
  afterAll(async () => {
    await (await browser)?.close();
    browser = undefined;
  });
}

export const WIDE = { width: 1280, height: 800 } as const;
export const PHONE = { width: 360, height: 740 } as const;

/**
 * The test fails when the page does what it never may: an error, something that its content security policy forbids, a request
 * to anybody but its own server.
 */
export async function openPage(url: string, options: BrowserContextOptions = {}): Promise<Page> {
  const running = await startBrowser();
  const context = await running.newContext({ viewport: WIDE, reducedMotion: "reduce", ...options });
  // A busy machine takes its time; nothing is measured here.
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    // A server that is away, or has no answer, is part of some stories, and said on the page.
    const isExpected = /net::ERR_|status of (404|503)/.test(message.text());
    if (message.type() === "error" && !isExpected) complaints.push(message.text());
  });
  const hosts = new Set<string>();
  page.on("request", (request) => hosts.add(new URL(request.url()).host));
  onTestFinished(async () => {
    await context.close();
    expect(complaints).toEqual([]);
    expect(hosts.size).toBe(1);
  });
  await page.goto(url);
  return page;
}
