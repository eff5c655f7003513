// Bench: the command line → what to do, or the sentence that says why not. Pure.

import { parseArgs } from "node:util";
import type { BenchOptions } from "./table.ts";

export type Call =
  | {
      readonly kind: "measure";
      readonly names: readonly string[];
      readonly options: BenchOptions;
      readonly json?: string;
      readonly svg?: string;
    }
  | { readonly kind: "show"; readonly files: readonly string[]; readonly svg?: string }
  | { readonly kind: "wrong"; readonly sentence: string };

export function parseCall(args: readonly string[], known: readonly string[]): Call {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        quick: { type: "boolean" },
        rounds: { type: "string" },
        json: { type: "string" },
        svg: { type: "string" },
        from: { type: "boolean" },
      },
    });
    const { quick = false, rounds = "3", json, svg } = values;
    const plot = svg === undefined ? {} : { svg };
    if (values.from) {
      const measuring = (["quick", "rounds", "json"] as const).find((flag) => flag in values);
      if (measuring !== undefined)
        return wrong(`--from measures nothing, so --${measuring} has no meaning.`);
      if (positionals.length === 0)
        return wrong("--from needs at least one file of bench results.");
      return { kind: "show", files: positionals, ...plot };
    }
    const unknown = positionals.find((name) => !known.includes(name));
    if (unknown !== undefined)
      return wrong(`There is no bench ${unknown}, only ${known.join(", ")}.`);
    if (!/^[1-9]\d*$/.test(rounds))
      return wrong(`--rounds needs a whole number from 1, not ${rounds}.`);
    return {
      kind: "measure",
      names: positionals.length > 0 ? [...new Set(positionals)] : known,
      options: { quick, rounds: Number(rounds) },
      ...(json !== undefined && { json }),
      ...plot,
    };
  } catch (error) {
    return wrong(error instanceof Error ? error.message : String(error));
  }
}

export function renderUsage(known: readonly string[]): string {
  return `usage: npm run bench -- [--quick] [--rounds 3] [--json file] [--svg file] [${known.join("|")} …]
       npm run bench -- --from file … [--svg file]
`;
}

function wrong(sentence: string): Call {
  return { kind: "wrong", sentence };
}
