// DNS: what the reader and a server in another process say to each other. Plain data: it is copied from one process to the other.

import type { Report, ServerConfig } from "./server.ts";
import type { Change, RenderedName } from "./table.ts";

export type ToServer =
  | { readonly kind: "start"; readonly config: ServerConfig }
  /** Answered by "taken"; the next is sent only then. */
  | { readonly kind: "changes"; readonly changes: readonly Change[] }
  | { readonly kind: "synced" }
  | { readonly kind: "open" }
  | { readonly kind: "stop" };

export type FromServer =
  /** It listens: nothing that was sent before would be lost, but who never says this never started. */
  | { readonly kind: "hello" }
  | { readonly kind: "taken" }
  | { readonly kind: "opened" }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "report"; readonly report: Report };

/** Bytes that were received are parts of one large message, which would be kept as long as any of them. */
export function detachChange(change: Change): Change {
  return { ...change, names: change.names.map(detachName) };
}

function detachName({ name, answers }: RenderedName): RenderedName {
  return {
    name: name.slice(),
    answers: answers.map((answer) => ({
      ...answer,
      records: answer.records.slice(),
      starts: answer.starts.slice(),
      additional: answer.additional.slice(),
    })),
  };
}

/** About how much of a message a change takes. */
export function sizeOfChange({ names }: Change): number {
  let size = 64;
  for (const { name, answers } of names) {
    size += 64 + name.length;
    for (const { records, starts, additional } of answers) {
      size += 64 + records.length + starts.byteLength + additional.length;
    }
  }
  return size;
}
