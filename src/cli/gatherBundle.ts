// CLI: what was gathered in, one archive or one folder on disk out: bounded, readable by its owner only, never over something that
// is there already. Everything passes the redaction here, so that nothing can go around it.

import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { Problem } from "../api/problem.ts";
import { redactCorefile, redactData, redactText } from "../core/check/redact.ts";
import { packTar, type TarFile } from "./gatherTar.ts";
import { plain } from "./terminal.ts";

/** Of one file: who reads more needs another tool. */
const FILE_BYTES = 8 * 1024 * 1024;
/** Of all of them, before they are packed. */
const TOTAL_BYTES = 128 * 1024 * 1024;

export interface Bundle {
  addData(path: string, data: unknown): void;
  addText(path: string, text: string): void;
  addCorefile(path: string, text: string): void;
  /** Something that is not in it, and why: a sentence. */
  leaveOut(sentence: string): void;
  readonly leftOut: readonly string[];
  readonly files: readonly TarFile[];
}

export function createBundle(
  limits: { readonly fileBytes: number; readonly totalBytes: number } = {
    fileBytes: FILE_BYTES,
    totalBytes: TOTAL_BYTES,
  },
): Bundle {
  const files: TarFile[] = [];
  const leftOut: string[] = [];
  let total = 0;
  const add = (path: string, text: string): void => {
    let body = Buffer.from(text.endsWith("\n") ? text : `${text}\n`);
    if (body.length > limits.fileBytes) {
      leftOut.push(
        `${path} has ${body.length} bytes; only the first ${limits.fileBytes} are there.`,
      );
      body = body.subarray(0, limits.fileBytes);
    }
    if (total + body.length > limits.totalBytes) {
      leftOut.push(
        `${path} is not there: the bundle would have more than ${limits.totalBytes} bytes.`,
      );
      return;
    }
    total += body.length;
    files.push({ path, body });
  };
  return {
    addData: (path, data) => add(path, JSON.stringify(redactData(data), undefined, 2) ?? "null"),
    addText: (path, text) => add(path, redactText(text)),
    addCorefile: (path, text) => add(path, redactCorefile(text)),
    leaveOut: (sentence) => void leftOut.push(plain(redactText(sentence))),
    leftOut,
    files,
  };
}

export interface Target {
  readonly kind: "file" | "folder";
  readonly path: string;
}

/** Before anything is read: nobody waits for an answer that cannot be kept. */
export function requireFree({ kind, path }: Target): void {
  if (existsSync(path)) {
    throw new Problem("FileUnwritable", `there is a ${kind} at ${path} already`, {
      hint: "Name another, or move it away: nothing is overwritten.",
    });
  }
  if (!existsSync(dirname(path))) {
    throw new Problem("FileUnwritable", `there is no folder ${dirname(path)}`, {
      hint: "Make it, or name another place.",
    });
  }
}

export function writeBundle(target: Target, files: readonly TarFile[], nowMs: number): void {
  try {
    if (target.kind === "file") {
      const archive = gzipSync(packTar(files, nowMs));
      writeFileSync(target.path, archive, { flag: "wx", mode: 0o600 });
      return;
    }
    mkdirSync(target.path, { mode: 0o700 });
    for (const { path, body } of files) {
      const place = join(target.path, path);
      mkdirSync(dirname(place), { recursive: true, mode: 0o700 });
      writeFileSync(place, body, { flag: "wx", mode: 0o600 });
    }
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Problem("FileUnwritable", `the bundle cannot be written to ${target.path}: ${why}`, {
      hint: "Name another place with --file or --folder.",
      cause: error,
    });
  }
}
