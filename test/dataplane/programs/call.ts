// Measuring: flows in, counts out while they never stop asking. A flow that hangs ends the whole process: silence must not pass
// for success.

import type { Asker } from "./ask.ts";
import { createFlowCounter, type Flow, type Tally } from "./tally.ts";
import { uptimeMs } from "./uptime.ts";

export interface CallOptions {
  readonly flows: readonly { readonly flow: Flow; readonly asker: Asker }[];
  /** From the beginning of one request to that of the next, or to the end of the first when that is later. */
  readonly everyMs: number;
  /** After which a request that has not ended is a defect of the caller. */
  readonly hangMs: number;
  /** Of this process. */
  readonly id: string;
  readonly onHang: (what: string) => void;
}

export interface Calling {
  read(): Tally;
  /** The window that ends now; a new one begins. */
  mark(): Tally;
  /** Resolves when no request is in flight. */
  stop(): Promise<void>;
}

const TICK_MS = 50;

export function startCalling(options: CallOptions): Calling {
  const { everyMs, hangMs, id, onHang } = options;
  const flows = options.flows.map(({ flow, asker }) => ({
    flow,
    asker,
    counter: createFlowCounter(flow, uptimeMs()),
  }));
  const stopping = new AbortController();
  let window = 0;
  let stalledMs = 0;

  let lastTickMs = uptimeMs();
  const ticker = setInterval(() => {
    const nowMs = uptimeMs();
    stalledMs = Math.max(stalledMs, nowMs - lastTickMs - TICK_MS);
    lastTickMs = nowMs;
  }, TICK_MS);

  async function runFlow({ flow, asker, counter }: (typeof flows)[number]): Promise<void> {
    while (!stopping.signal.aborted) {
      const askedMs = uptimeMs();
      counter.begin();
      const hung = setTimeout(() => {
        onHang(`A ${flow.protocol} request over IPv${flow.family} did not end in ${hangMs} ms.`);
      }, hangMs);
      const outcome = await asker.ask();
      clearTimeout(hung);
      const nowMs = uptimeMs();
      counter.end(outcome, { askedMs, nowMs, wallMs: Date.now() });
      const restMs = Math.max(0, askedMs + everyMs - nowMs);
      if (!stopping.signal.aborted) await new Promise((resolve) => setTimeout(resolve, restMs));
    }
    asker.close();
  }

  const ended = Promise.all(flows.map(runFlow));

  function read(): Tally {
    const nowMs = uptimeMs();
    return {
      caller: id,
      window,
      stalledMs: Math.round(Math.max(stalledMs, nowMs - lastTickMs - TICK_MS, 0)),
      flows: flows.map(({ counter }) => counter.read(nowMs)),
    };
  }

  return {
    read,
    mark() {
      const tally = read();
      window += 1;
      stalledMs = 0;
      for (const { counter } of flows) counter.mark();
      return tally;
    },
    async stop() {
      stopping.abort();
      clearInterval(ticker);
      await ended;
    },
  };
}
