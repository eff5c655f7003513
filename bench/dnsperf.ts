// Bench: a file of questions and a server in, what dnsperf measured of it out.

import { execFile } from "node:child_process";
import { promisify } from "node:util";

export interface Load {
  readonly port: number;
  readonly questionsPath: string;
  readonly seconds: number;
  /** Processor that dnsperf is kept to. */
  readonly core: string;
  /** Questions per second; absent: as many as the server answers. */
  readonly rate?: number;
}

export interface Throughput {
  readonly perSecond: number;
  readonly microsEach: number;
}

const OUTPUT_BYTES = 512 * 1024 * 1024;

const run = promisify(execFile);

/** Throws unless every question was answered, and none with an error. */
export async function measureThroughput(load: Load): Promise<Throughput> {
  const output = await dnsperf(load, []);
  const perSecond = read(output, /Queries per second:\s+([\d.]+)/u);
  return { perSecond, microsEach: 1e6 / perSecond };
}

/** The 99th percentile of the time to an answer, in microseconds. */
export async function measureLatency(load: Load & { readonly rate: number }): Promise<number> {
  const output = await dnsperf(load, ["-v"]);
  const times = [...output.matchAll(/^> NOERROR .* ([\d.]+)$/gmu)].map(([, time]) => Number(time));
  const sorted = Float64Array.from(times).toSorted();
  const at99 = sorted[Math.floor(sorted.length * 0.99)];
  if (at99 === undefined) throw new Error("dnsperf reported no answer at all.");
  return at99 * 1e6;
}

async function dnsperf(load: Load, more: readonly string[]): Promise<string> {
  const { port, questionsPath, seconds, core, rate } = load;
  const pace = rate === undefined ? [] : ["-Q", String(Math.round(rate))];
  const args = ["-s", "127.0.0.1", "-p", String(port), "-d", questionsPath, "-l", String(seconds)];
  const { stdout } = await run(
    "taskset",
    ["-c", core, "dnsperf", ...args, "-e", "-c", "4", "-q", "200", ...pace, ...more],
    { maxBuffer: OUTPUT_BYTES },
  );
  const lost = read(stdout, /Queries lost:\s+(\d+)/u);
  const done = read(stdout, /Queries completed:\s+(\d+)/u);
  const good = read(stdout, /NOERROR (\d+)/u);
  if (good !== done || lost > done / 1_000) {
    throw new Error(`Of ${done} questions ${good} were answered well, and ${lost} were lost.`);
  }
  return stdout;
}

function read(output: string, pattern: RegExp): number {
  const value = Number(pattern.exec(output)?.[1]);
  if (Number.isNaN(value)) throw new Error(`dnsperf printed nothing like ${pattern}:\n${output}`);
  return value;
}
