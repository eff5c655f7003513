// Command: `npm run fuzz:dns -- --packets 5000000 --seed 1`. Sends hostile packets to the DNS answers, without sockets; says how
// many per second, and what was wrong with the first answer that was. Exits with 1 then, with 2 for a wrong call.

import { parseArgs } from "node:util";
import { fuzzDns } from "../test/dnsFuzz.ts";

const USAGE = "usage: npm run fuzz:dns -- [--packets 1000000] [--seed 1]\n";

process.exitCode = main(process.argv.slice(2));

function main(args: string[]): number {
  const { packets, seed } = readNumbers(args);
  if (!Number.isSafeInteger(packets) || packets < 1 || !Number.isSafeInteger(seed)) {
    process.stderr.write(USAGE);
    return 2;
  }
  const startMs = performance.now();
  const outcome = fuzzDns({
    packets,
    seed,
    onProgress: (done) => process.stderr.write(`\r${done} packets`),
  });
  const perSecond = Math.round(outcome.packets / ((performance.now() - startMs) / 1000));
  const rcodes = Object.entries(outcome.byRcode).map(([rcode, count]) => `${rcode}: ${count}`);
  process.stderr.write("\r");
  process.stdout.write(
    [
      `${outcome.packets} packets of seed ${seed}, ${perSecond} per second, making and checking included`,
      `${outcome.answered} answered (by rcode ${rcodes.join(", ")}), ${outcome.dropped} dropped, ${outcome.forwarded} to forward`,
      `${outcome.decoded} answers read by dns-packet, all by our own checks; at most ${outcome.amplification.toFixed(1)} bytes over UDP for one of the query`,
      "",
    ].join("\n"),
  );
  const { failure } = outcome;
  if (failure === undefined) return 0;
  process.stdout.write(
    `packet ${failure.packet} over ${failure.isTcp ? "TCP" : "UDP"}: ${failure.sentence}\n${failure.query}\n`,
  );
  return 1;
}

function readNumbers(args: string[]): { readonly packets: number; readonly seed: number } {
  try {
    const options = { packets: { type: "string" }, seed: { type: "string" } } as const;
    const { values } = parseArgs({ args, options });
    return { packets: Number(values.packets ?? 1_000_000), seed: Number(values.seed ?? 1) };
  } catch {
    return { packets: Number.NaN, seed: Number.NaN };
  }
}
