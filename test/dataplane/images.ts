// Container images for a kubelet without containers: the name of an image in, the command that it stands for out.

import { join } from "node:path";
import { build } from "esbuild";
import { READY_PORT } from "./programs/ports.ts";

/** By the name that Pods give in `image`. */
export type Images = ReadonlyMap<string, Image>;

export interface Image {
  /** File and first arguments; those of the container follow. */
  readonly command: readonly string[];
  /** For containers without a readiness probe of their own. Absent: ready as soon as it runs. */
  readonly ready?: Readiness;
  /** Whether it looks for what its Pod mounts. Programs of ours need nothing, and are spared it. */
  readonly hasVolumes?: boolean;
}

/** A connection, or status 200 when a path is named. */
export interface Readiness {
  readonly port: number;
  readonly path?: string;
}

const PROGRAMS = ["backend", "caller"] as const;

/** `backend` and `caller`, bundled into that folder: files that need nothing but Node. */
export async function bundlePrograms(folder: string): Promise<Images> {
  await build({
    entryPoints: PROGRAMS.map((name) => join(import.meta.dirname, "programs", `${name}.ts`)),
    outdir: folder,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    target: "node20.19",
    format: "esm",
    logLevel: "warning",
  });
  return new Map(
    PROGRAMS.map((name) => {
      const command = [process.execPath, join(folder, `${name}.mjs`)];
      return [name, { command, ready: { port: READY_PORT } }];
    }),
  );
}
