// Health: how long the loops of a process have stood still in; a sentence when one of them is stuck out, undefined when all move.
// An API server that is away is no reason: every request ends within a minute, and so does what waits for it.

export interface LoopState {
  /** What a person calls it, as in `the import queue of cluster "east"`. */
  readonly name: string;
  /** It is due, and has done nothing for so long. */
  readonly stillMs: number;
}

export interface QueueState extends LoopState {
  /** The one handler that has been at work for longest. */
  readonly longestRunningMs: number;
}

/** Heartbeats come every few seconds, and the longest pause between two attempts is below two minutes. */
export const LOOP_BOUND_MS = 5 * 60_000;
/** One service of thousands of slices on an API server that answers slowly takes minutes, and is not stuck. */
export const HANDLER_BOUND_MS = 15 * 60_000;

export function explainStuck(input: {
  readonly loops: readonly LoopState[];
  readonly queues: readonly QueueState[];
}): string | undefined {
  const loop = input.loops.find(({ stillMs }) => stillMs > LOOP_BOUND_MS);
  if (loop !== undefined) {
    return `${loop.name} has not come round for ${minutes(loop.stillMs)} minutes.`;
  }
  const queue = input.queues.find(({ stillMs }) => stillMs > LOOP_BOUND_MS);
  if (queue !== undefined) {
    return `${queue.name} has work waiting and has done none for ${minutes(queue.stillMs)} minutes.`;
  }
  const handler = input.queues.find(({ longestRunningMs }) => longestRunningMs > HANDLER_BOUND_MS);
  if (handler === undefined) return undefined;
  return `${handler.name} has worked on one service for ${minutes(handler.longestRunningMs)} minutes.`;
}

function minutes(ms: number): number {
  return Math.floor(ms / 60_000);
}
