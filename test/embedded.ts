// Test double: an embedded cluster on a virtual clock and seeded chance, with short words for what tests say of it.

import type { KubeObject } from "../src/api/object.ts";
import { EmbeddedCluster, type EmbeddedClusterOptions } from "../src/embedded/cluster.ts";
import type { Json, ObjectAnswer, WireEvent } from "../src/embedded/types.ts";
import type { Random } from "../src/ports/clock.ts";
import { VirtualClock } from "./clock.ts";

/** The same seed tells the same story. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export interface RecordedWatch {
  readonly events: WireEvent[];
  /** Undefined while it runs. */
  readonly end: { readonly clean: boolean } | undefined;
  stop(): void;
}

export class TestCluster {
  readonly clock = new VirtualClock();
  readonly cluster: EmbeddedCluster;

  constructor(options: Partial<EmbeddedClusterOptions> & { readonly seed?: number } = {}) {
    const { seed = 1, ...rest } = options;
    this.cluster = new EmbeddedCluster({
      name: "test",
      clock: this.clock,
      random: seededRandom(seed),
      ...rest,
    });
  }

  /** At once and without faults. */
  call(
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
    path: string,
    body?: Json,
    contentType?: string,
  ): ObjectAnswer {
    const answer = this.cluster.handle({
      method,
      ...split(path),
      ...(body === undefined ? {} : { body }),
      ...(contentType === undefined ? {} : { contentType }),
    });
    if (answer.kind === "watch") throw new Error(`a watch answered ${method} ${path}`);
    return answer;
  }

  /** The object of a success. */
  must(
    method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE",
    path: string,
    body?: Json,
    contentType?: string,
  ): KubeObject & Readonly<Record<string, unknown>> {
    const answer = this.call(method, path, body, contentType);
    if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
    return answer.body as never;
  }

  watch(path: string): RecordedWatch {
    const answer = this.cluster.handle({ method: "GET", ...split(path) });
    if (answer.kind !== "watch") throw new Error(JSON.stringify(answer.body));
    const events: WireEvent[] = [];
    let end: { readonly clean: boolean } | undefined;
    const stream = answer.start(
      (event) => events.push(event),
      (how) => {
        end = how;
      },
    );
    return {
      events,
      get end() {
        return end;
      },
      stop: () => stream.stop(),
    };
  }

  /** Until no controller has anything left to do. */
  async settle(): Promise<void> {
    for (let round = 0; !this.cluster.idle(); round++) {
      if (round > 1000) throw new Error("the controllers never rest");
      await this.clock.advance(1);
    }
  }
}

function split(path: string): { readonly path: string; readonly query: URLSearchParams } {
  const url = new URL(path, "http://embedded");
  return { path: url.pathname, query: url.searchParams };
}

export function namesOf(list: ObjectAnswer): (string | undefined)[] {
  const { items } = list.body as unknown as { readonly items: readonly KubeObject[] };
  return items.map(({ metadata }) => metadata.name);
}
