// Test tool: the Containerfile in, what its last stage says of the image and what it takes of the sources out.

import { readFileSync } from "node:fs";
import { join } from "node:path";

export const REPOSITORY = join(import.meta.dirname, "../..");

export interface Containerfile {
  /** Files and folders of the repository. */
  readonly sources: readonly string[];
  /** Of all stages, without the word RUN and mounts. */
  readonly steps: readonly string[];
  readonly entrypoint: readonly string[];
  readonly user: { readonly uid: number; readonly gid: number };
  readonly env: Readonly<Record<string, string>>;
  /** The instructions of the last stage, as they stand there. */
  readonly lastStage: readonly string[];
}

export function readContainerfile(): Containerfile {
  const lines = readFileSync(join(REPOSITORY, "Containerfile"), "utf8")
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  const lastStage = lines.slice(lines.findLastIndex((line) => line.startsWith("FROM ")));
  const read = (instruction: string, from: readonly string[]): readonly string[] =>
    from.flatMap((line) =>
      line.startsWith(`${instruction} `) ? line.slice(instruction.length + 1) : [],
    );
  const [user = ""] = read("USER", lastStage);
  const [uid = Number.NaN, gid = Number.NaN] = user.split(":").map(Number);
  return {
    sources: read("COPY", lines)
      .filter((copy) => !copy.startsWith("--from"))
      .flatMap((copy) => copy.split(" ").slice(0, -1)),
    steps: read("RUN", lines).map((step) => step.replace(/^(--mount=\S+ )*/, "")),
    entrypoint: JSON.parse(read("ENTRYPOINT", lastStage).join("")) as string[],
    user: { uid, gid },
    env: Object.fromEntries(read("ENV", lastStage).map((pair) => pair.split("=", 2))) as Record<
      string,
      string
    >,
    lastStage,
  };
}
