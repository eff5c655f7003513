// Demo: flags and whether a person is there in, whether the story waits for Enter and stays at its end out.

import process from "node:process";
import pc from "picocolors";
import type { CliContext } from "../context.ts";
import { untilEnter } from "./keyboard.ts";

export interface DemoFlags {
  readonly fast?: boolean;
  readonly stay?: boolean;
  readonly script?: boolean;
}

export interface Manner {
  readonly stays: boolean;
  readonly goOn: () => Promise<void>;
}

/** Nobody is there to press Enter or Ctrl-C in a pipeline. */
export function chooseManner(context: CliContext, flags: DemoFlags): Manner {
  const { interactive, signal } = context;
  const isScript = flags.script === true;
  const waits = interactive && !isScript && flags.fast !== true;
  const { dim } = pc.createColors(context.color);
  return {
    stays: isScript ? false : (flags.stay ?? interactive),
    async goOn() {
      if (!waits) return;
      context.out("");
      context.out(`   ${dim("Press Enter to go on, Ctrl-C to end.")}`);
      await untilEnter(process.stdin, signal);
    },
  };
}
