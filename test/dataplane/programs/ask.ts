// Measuring: one request at a time in, how it ended out, always, and within its time. Never asks twice for one request: what a
// cleverer client would mend by itself is a failure here. Only the question for a name may be repeated (resolve.ts).

import { createHttpAttempt } from "./askhttp.ts";
import { createTcpAttempt } from "./asktcp.ts";
import { createUdpAttempt } from "./askudp.ts";
import { describeFailure } from "./failure.ts";
import { createNameResolver, type NameResolver } from "./resolve.ts";
import type { Flow, Outcome } from "./tally.ts";

export interface Target {
  readonly name: string;
  readonly port: number;
  /** The name server to ask. */
  readonly dns: string;
  /** Of a whole request, the resolution of its name included. */
  readonly timeoutMs: number;
  /** Of it, for a connection: kernels make those, however busy the programs at both ends are. */
  readonly connectMs: number;
}

export interface Asker {
  /** Never rejects. One at a time. */
  ask(): Promise<Outcome>;
  close(): void;
}

type Step =
  | "answer from the name server"
  | "connection"
  | "answer"
  | "answer on the connection kept open";

/** One request of one protocol: rejects with what it failed of. Whatever it does after `late` is nobody's. */
export interface Attempt {
  run(request: {
    readonly nonce: string;
    /** What it waits for from now on, and the address that it has sent something to. */
    readonly progress: (waitsFor: Step, address?: string) => void;
    readonly late: AbortSignal;
  }): Promise<Outcome>;
  close(): void;
}

export interface AttemptOptions {
  readonly flow: Flow;
  readonly name: string;
  readonly port: number;
  readonly resolver: NameResolver;
}

export function createAsker(flow: Flow, target: Target): Asker {
  const { name, port, dns, timeoutMs, connectMs } = target;
  const resolver = createNameResolver({ family: flow.family, server: dns, timeoutMs });
  const attempt = createAttempt({ flow, name, port, resolver });
  let asked = 0;

  async function ask(): Promise<Outcome> {
    asked += 1;
    const late = new AbortController();
    let waitsFor = "";
    let address: string | undefined;
    const deadline = createDeadline();
    deadline.start(timeoutMs);
    let connected = (): void => {};
    const run = attempt.run({
      nonce: `${process.pid}-${asked}`,
      late: late.signal,
      progress(what, where) {
        connected();
        if (what === "connection") connected = deadline.start(connectMs);
        waitsFor = what;
        address = where;
      },
    });
    const ended = run.catch((error: unknown): Outcome => {
      return { ...(address !== undefined && { address }), ...describeFailure(error) };
    });
    const outcome = await Promise.race([ended, deadline.passed]);
    deadline.cancel();
    if (typeof outcome === "object") return outcome;
    const failed: Outcome = {
      ...(address !== undefined && { address }),
      reason: address === undefined ? "name server" : "timeout",
      what: `no ${waitsFor} within ${outcome} ms`,
    };
    late.abort();
    resolver.cancel();
    return failed;
  }

  return {
    ask,
    close() {
      resolver.cancel();
      attempt.close();
    },
  };
}

function createAttempt(options: AttemptOptions): Attempt {
  switch (options.flow.protocol) {
    case "tcp":
      return createTcpAttempt(options);
    case "http":
      return createHttpAttempt(options);
    case "udp":
      return createUdpAttempt(options);
    default:
      throw new Error(`There is no way to ask over ${String(options.flow.protocol)}.`);
  }
}

/** Before a time has passed, what has arrived is looked at: the caller itself may have been kept from running all that time. */
function createDeadline(): {
  /** The first of its times to pass. */
  readonly passed: Promise<number>;
  /** Answers how to end this one alone. */
  start(delayMs: number): () => void;
  cancel(): void;
} {
  const timers: NodeJS.Timeout[] = [];
  let pass: (delayMs: number) => void;
  const passed = new Promise<number>((resolve) => {
    pass = resolve;
  });
  return {
    passed,
    start(delayMs) {
      let isOver = false;
      const timer = setTimeout(() => {
        setImmediate(() => {
          if (!isOver) pass(delayMs);
        });
      }, delayMs);
      timers.push(timer);
      return () => {
        isOver = true;
        clearTimeout(timer);
      };
    },
    cancel() {
      for (const timer of timers) clearTimeout(timer);
    },
  };
}
