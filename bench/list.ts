// Bench: what it costs to list many EndpointSlices into an informer, as a multiple of JSON.parse of the very same bytes in the
// same run. Goal: 3 times the time, and no more memory held than the parsed objects: the raw text is let go.

import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { Agent, request } from "undici";
import { ENDPOINT_SLICE, type EndpointSlice } from "../src/api/builtin.ts";
import { createClient } from "../src/kube/client.ts";
import { systemClock, systemRandom } from "../src/kube/clock.ts";
import { createInformer, type InformerError } from "../src/runtime/informer.ts";
import { type Cost, createStopwatch, type Measured, measureCost } from "./measure.ts";
import { type BenchOptions, type BenchResult, compareRounds, type Row } from "./table.ts";

const ENDPOINTS = 100;
const TIME_GOAL = 3;
/** Room for keys and the map they are in; the raw text would add about a half. */
const MEMORY_GOAL = 1.1;

interface Round {
  readonly floor: Cost;
  readonly full: Cost;
  readonly slim: Cost;
}

export async function runListBench({ quick, rounds }: BenchOptions): Promise<BenchResult> {
  const slices = quick ? 1_000 : 10_000;
  const child = fork(new URL("./slices.ts", import.meta.url), [String(slices), String(ENDPOINTS)]);
  try {
    const server = await serverOf(child);
    // Warms up both sides.
    const { bytes, measured } = await readPages(server);
    measured.made.length = 0;
    (await listInto(server, slices, identity)).made.length = 0;
    const results: Round[] = [];
    for (let round = 0; round < rounds; round++) {
      const floor = await measureCost(async () => (await readPages(server)).measured);
      const full = await measureCost(() => listInto(server, slices, identity));
      const slim = await measureCost(() => listInto(server, slices, toSlim));
      results.push({ floor, full, slim });
    }
    return { title: titleOf(slices, bytes), rows: rowsOf(results) };
  } finally {
    child.disconnect();
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }
}

function titleOf(slices: number, bytes: number): string {
  const megabytes = Math.round(bytes / 1e6);
  return `list ${slices} EndpointSlices of ${ENDPOINTS} endpoints (${megabytes} MB of JSON) ÷ JSON.parse of the same bytes`;
}

async function serverOf(child: ChildProcess): Promise<string> {
  const died = new AbortController();
  child.once("exit", (code) => died.abort(new Error(`the slices server ended with ${code}`)));
  const [message]: unknown[] = await once(child, "message", { signal: died.signal });
  if (typeof message === "object" && message !== null && "port" in message) {
    return `http://127.0.0.1:${Number(message.port)}`;
  }
  throw new Error("the slices server did not say its port");
}

/** The floor: only JSON.parse is timed, page by page; fetching and decoding to text are not. All objects are kept. */
async function readPages(server: string): Promise<{ bytes: number; measured: Measured }> {
  const agent = new Agent();
  const stopwatch = createStopwatch();
  const made: unknown[] = [];
  let bytes = 0;
  let next: string | undefined = "0";
  while (next !== undefined) {
    const url: string = `${server}/apis/discovery.k8s.io/v1/endpointslices?limit=500&continue=${next}`;
    const answer = await request(url, { dispatcher: agent });
    const text = await answer.body.text();
    bytes += Buffer.byteLength(text);
    const page: { metadata: { continue?: string } } = await stopwatch.time(() => JSON.parse(text));
    made.push(page);
    next = page.metadata.continue;
  }
  await agent.close();
  return { bytes, measured: { ...stopwatch.total(), made } };
}

/** Ours: from nothing to a synced informer, requests, decoding and storing included. */
async function listInto(
  server: string,
  slices: number,
  project: (slice: EndpointSlice) => unknown,
): Promise<Measured> {
  const client = createClient(
    {
      server,
      source: { kind: "given" },
      namespace: "default",
      tls: {},
      auth: { kind: "none" },
      disableCompression: true,
    },
    { clock: systemClock },
  );
  const errors: InformerError[] = [];
  const stopwatch = createStopwatch();
  const informer = await stopwatch.time(async () => {
    const informer = createInformer({
      store: client,
      resource: ENDPOINT_SLICE,
      project,
      clock: systemClock,
      random: systemRandom,
      onChange: () => undefined,
      onError: (error) => errors.push(error),
    });
    await informer.whenSynced();
    return informer;
  });
  const count = informer.list().length;
  await informer.stop();
  await client.close();
  if (errors.length > 0) throw new Error("the list failed on the way", { cause: errors[0]?.error });
  if (count !== slices) throw new Error(`${count} of ${slices} slices arrived`);
  return { ...stopwatch.total(), made: [informer] };
}

function identity(slice: EndpointSlice): EndpointSlice {
  return slice;
}

/** About what a controller that imports endpoints looks at. */
function toSlim(slice: EndpointSlice) {
  return {
    name: slice.metadata.name,
    namespace: slice.metadata.namespace,
    labels: slice.metadata.labels,
    addressType: slice.addressType,
    ports: slice.ports,
    endpoints: slice.endpoints.map((endpoint) => ({
      address: endpoint.addresses[0],
      ready: endpoint.conditions?.ready ?? true,
      zone: endpoint.zone,
    })),
  };
}

function rowsOf(rounds: readonly Round[]): Row[] {
  return [
    compareRounds(rounds, {
      name: "time",
      unit: "ms",
      ours: ({ full }) => full.wallMs,
      floor: ({ floor }) => floor.wallMs,
      goal: TIME_GOAL,
    }),
    compareRounds(rounds, {
      name: "processor",
      unit: "ms",
      ours: ({ full }) => full.cpuMs,
      floor: ({ floor }) => floor.cpuMs,
    }),
    compareRounds(rounds, {
      name: "memory held",
      unit: "MB",
      ours: ({ full }) => full.heldBytes / 1e6,
      floor: ({ floor }) => floor.heldBytes / 1e6,
      goal: MEMORY_GOAL,
    }),
    compareRounds(rounds, {
      name: "time, slim records",
      unit: "ms",
      ours: ({ slim }) => slim.wallMs,
      floor: ({ floor }) => floor.wallMs,
      goal: TIME_GOAL,
    }),
    compareRounds(rounds, {
      name: "memory held, slim records",
      unit: "MB",
      ours: ({ slim }) => slim.heldBytes / 1e6,
      floor: ({ floor }) => floor.heldBytes / 1e6,
      goal: MEMORY_GOAL,
    }),
  ];
}
