// Test tool: kubectl as a child process against one server. Arguments in, what it printed out; its cache stays out of
// the user's home.

import { execFile, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export interface Outcome {
  /** 0 when it went well. */
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** What tests look at in `-o json`. */
export interface PrintedObject {
  readonly apiVersion: string;
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly creationTimestamp: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly data?: Readonly<Record<string, string>>;
  readonly spec: {
    readonly [field: string]: unknown;
    readonly clusterIP?: string;
    readonly ports?: readonly { readonly name: string }[];
  };
}

export interface Follower {
  /** The next line that it prints. */
  next(): Promise<string>;
  stop(): Promise<void>;
}

/** A hang is a failure with a name, not a stuck run. */
const LONGEST_RUN_MS = 60_000;

export class Kubectl {
  readonly #binary: string;
  readonly #folder: string;
  readonly #namespace: string;

  private constructor(binary: string, folder: string, namespace: string) {
    this.#binary = binary;
    this.#folder = folder;
    this.#namespace = namespace;
  }

  static async create(options: {
    readonly binary: string;
    readonly kubeconfig: string;
    readonly namespace: string;
  }): Promise<Kubectl> {
    const folder = await mkdtemp(join(tmpdir(), "isthmus-kubectl-"));
    await writeFile(join(folder, "config"), options.kubeconfig, { mode: 0o600 });
    return new Kubectl(options.binary, folder, options.namespace);
  }

  /** Standard output; throws what kubectl complains about. */
  async run(args: readonly string[], input = ""): Promise<string> {
    const outcome = await this.attempt(args, input);
    if (outcome.code === 0) return outcome.out;
    throw new Error(`kubectl ${args.join(" ")} ended with ${outcome.code}: ${outcome.err}`);
  }

  /** Standard error of a run that must fail. */
  async refuse(args: readonly string[], input = ""): Promise<string> {
    const outcome = await this.attempt(args, input);
    if (outcome.code !== 0) return outcome.err;
    throw new Error(`kubectl ${args.join(" ")} went well: ${outcome.out}`);
  }

  async json(args: readonly string[]): Promise<PrintedObject> {
    return JSON.parse(await this.run([...args, "-o", "json"])) as PrintedObject;
  }

  attempt(args: readonly string[], input = ""): Promise<Outcome> {
    return new Promise((resolve) => {
      const child = execFile(
        this.#binary,
        this.#arguments(args),
        { env: this.#environment(), timeout: LONGEST_RUN_MS, maxBuffer: 64 * 1024 * 1024 },
        (error, out, err) => {
          const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
          resolve({ code, out, err });
        },
      );
      // A kubectl that fails early does not read what it was given.
      child.stdin?.on("error", () => {});
      child.stdin?.end(input);
    });
  }

  /** For commands that go on until they are stopped. */
  follow(args: readonly string[]): Follower {
    const child = spawn(this.#binary, this.#arguments(args), {
      env: this.#environment(),
      stdio: ["ignore", "pipe", "inherit"],
    });
    const closed = new Promise<void>((resolve) => {
      child.on("close", () => resolve());
    });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    return {
      next: async () => {
        const { done, value } = await lines.next();
        if (done === true) throw new Error(`kubectl ${args.join(" ")} ended by itself`);
        return value;
      },
      stop: async () => {
        child.kill();
        await closed;
      },
    };
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }

  #arguments(args: readonly string[]): string[] {
    const chosen = args.some((arg) => arg === "-A" || arg === "-n");
    return chosen ? [...args] : ["-n", this.#namespace, ...args];
  }

  #environment(): NodeJS.ProcessEnv {
    return {
      PATH: process.env["PATH"],
      HOME: this.#folder,
      KUBECONFIG: join(this.#folder, "config"),
      KUBECACHEDIR: join(this.#folder, "cache"),
    };
  }
}
