// Test tool: Helm as a child process on our chart, out of the user's home: arguments and values in, what it printed out.

import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseAllDocuments, stringify } from "yaml";
import type { KubeObject } from "../../src/api/object.ts";
import { requireHelm } from "../controlplane/binaries.ts";

export const CHART = fileURLToPath(new URL("../../charts/isthmus", import.meta.url));

export type Values = Readonly<Record<string, unknown>>;

export interface HelmRun {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A hang is a failure with a name, not a stuck run. */
const LONGEST_RUN_MS = 300_000;
const SYSTEM = ["--namespace", "isthmus-system"] as const;

export class Helm {
  readonly #binary: string;
  readonly #home: string;
  readonly #kubeconfig: string | undefined;

  private constructor(binary: string, home: string, kubeconfig: string | undefined) {
    this.#binary = binary;
    this.#home = home;
    this.#kubeconfig = kubeconfig;
  }

  /** Without a kubeconfig it can render and nothing else. */
  static async open(kubeconfig?: string): Promise<Helm> {
    const home = await mkdtemp(join(tmpdir(), "isthmus-helm-"));
    return new Helm(await requireHelm(), home, kubeconfig);
  }

  async close(): Promise<void> {
    await rm(this.#home, { recursive: true, force: true });
  }

  attempt(args: readonly string[], values?: Values): Promise<HelmRun> {
    const all = values === undefined ? args : [...args, "--values", "-"];
    return new Promise((resolve) => {
      const child = execFile(
        this.#binary,
        [...all],
        {
          env: {
            PATH: process.env["PATH"],
            HOME: this.#home,
            KUBECONFIG: this.#kubeconfig ?? join(this.#home, "none"),
          },
          timeout: LONGEST_RUN_MS,
          maxBuffer: 64 * 1024 * 1024,
        },
        (error, out, err) => {
          const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
          resolve({ code, out, err });
        },
      );
      // One that fails early does not read what it was given.
      child.stdin?.on("error", () => {});
      child.stdin?.end(values === undefined ? "" : stringify(values));
    });
  }

  /** Standard output; throws what Helm complains about. */
  async run(args: readonly string[], values?: Values): Promise<string> {
    const { code, out, err } = await this.attempt(args, values);
    if (code === 0) return out;
    throw new Error(`helm ${args.join(" ")} ended with ${code}:\n${out}${err}`);
  }

  /** What Helm complains about in a run that must fail. */
  async refuse(args: readonly string[], values?: Values): Promise<string> {
    const { code, out, err } = await this.attempt(args, values);
    if (code !== 0) return err;
    throw new Error(`helm ${args.join(" ")} went well:\n${out}`);
  }

  /** As text, as people would apply it. */
  render(values: Values): Promise<string> {
    return this.run(["template", "isthmus", CHART, ...SYSTEM], values);
  }

  async renderObjects(values: Values): Promise<readonly KubeObject[]> {
    return parseObjects(await this.render(values));
  }
}

export function parseObjects(text: string): readonly KubeObject[] {
  return parseAllDocuments(text).flatMap((document) => {
    if (document.errors.length > 0) throw document.errors[0] as Error;
    const object = document.toJS() as KubeObject | null;
    return object === null ? [] : [object];
  });
}
