// Data plane, pure: what a backend answers, as both ends of a connection read it. A request carries a number, and its
// answer the same one: an answer to another request is none.

import { isIPv6 } from "node:net";
import type { Outcome } from "./tally.ts";

export interface Answer {
  readonly cluster: string;
  readonly pod: string;
  /** Address of the client as the backend sees it. */
  readonly from: string;
  readonly nonce: string;
}

/** Of anything that a client reads before it gives up on the other end. */
export const MAX_BYTES = 4096;

/** One line. */
export function encodeAnswer(answer: Answer): string {
  return `${JSON.stringify(answer)}\n`;
}

/** Either the pod that answered this very request, or what is wrong with the answer. */
export function judgeAnswer(text: string, nonce: string, address: string): Outcome {
  const answer = parseAnswer(text);
  if (answer === undefined) {
    return { address, reason: "wrong answer", what: `not an answer: ${quote(text)}` };
  }
  if (answer.nonce !== nonce) {
    const what = `the answer to ${quote(answer.nonce)} and not to ${quote(nonce)}`;
    return { address, reason: "wrong answer", what };
  }
  return { address, cluster: answer.cluster, pod: answer.pod };
}

function parseAnswer(text: string): Answer | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const { cluster, pod, from, nonce } = value as Readonly<Record<string, unknown>>;
  if (typeof cluster !== "string" || typeof pod !== "string") return undefined;
  if (typeof from !== "string" || typeof nonce !== "string") return undefined;
  return { cluster, pod, from, nonce };
}

/** An IPv4 client of a socket that takes both families has an address in IPv6 clothes. */
export function plainAddress(address: string | undefined): string {
  if (address === undefined) return "unknown";
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(address);
  return isIPv6(address) && mapped?.[1] !== undefined ? mapped[1] : address;
}

function quote(text: string): string {
  return JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}…` : text);
}
