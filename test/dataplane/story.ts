// Data plane: how a story is told: a bed with an engine in, its rows of the table out, whether it went well or not.

import { appendFileSync } from "node:fs";
import type { Bed } from "./bed.ts";
import type { Engine } from "./engines.ts";
import { ROWS_FILE } from "./printer.ts";
import { Shop } from "./shop.ts";
import type { Stream } from "./stream.ts";
import { encodeRows, type Row, toRows } from "./table.ts";

export interface StoryWorld {
  readonly bed: Bed;
  readonly engine: Engine;
}

/**
 * Every request of its callers has to be answered, but for those that it excuses and datagrams in flight. Answers what the table
 * should say besides.
 */
export type Story = (shop: Shop) => Promise<string | undefined>;

/** The story's name is that of its namespace as well. */
export async function tell(world: StoryWorld, name: string, story: Story): Promise<void> {
  const { bed, engine } = world;
  const shop = await Shop.open(bed, engine, name);
  let note: string | undefined = "did not come to its end";
  let lost: readonly unknown[];
  try {
    note = await story(shop);
  } finally {
    lost = await endTraffic(shop);
    const about = { story: name, mode: engine.mode, proxy: bed.proxy };
    const windows = shop.streams.flatMap((stream) => stream.counted);
    const notes = [note, ...describeFailures(shop)].filter((each) => each !== undefined);
    record(toRows(notes.length === 0 ? about : { ...about, note: notes.join("; ") }, windows));
    shop.leave();
  }
  for (const stream of shop.streams) stream.requireNoFailure();
  if (lost.length > 0) {
    throw new AggregateError(lost, `Of ${lost.length} callers nobody knows what failed last.`);
  }
}

/** All are stopped, whatever becomes of the others. Answers why some could not be asked for what they counted last. */
async function endTraffic(shop: Shop): Promise<readonly unknown[]> {
  const ends = await Promise.allSettled(shop.streams.map((stream) => stream.stop()));
  return ends.flatMap((end) => (end.status === "rejected" ? [end.reason as unknown] : []));
}

/** Those that neither end the story nor speak for themselves in the table. */
function describeFailures({ streams }: Shop): readonly string[] {
  const sum = (count: (stream: Stream) => number): number =>
    streams.reduce((total, stream) => total + count(stream), 0);
  const inFlight = sum((stream) => stream.countLostInMoves());
  const atStart = sum((stream) => stream.countFailedAtStart());
  return [
    ...(inFlight > 0 ? [`${inFlight} over UDP in flight when the flow moved`] : []),
    ...(atStart > 0 ? [`besides, ${atStart} failed before a caller's first answers`] : []),
  ];
}

/** The table is printed when all is over. */
function record(rows: readonly Row[]): void {
  const path = process.env[ROWS_FILE];
  if (path !== undefined) appendFileSync(path, encodeRows(rows));
}
