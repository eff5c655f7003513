// What plans asked about members, and the answers they got in; the services whose answers are others now out. A plan follows from the
// objects of its cluster, the shares of its service and these answers. Objects and shares tell when they change; members are many and
// change all the time, and to plan everything anew each time would keep an agent of a large fleet busy for nothing.
//
//   plan asks ─▶ Asking ─▶ keep ─▶ services by what they asked ─▶ members changed: ask again, once for all who asked the same

import type { ClusterId, ServiceKey } from "../api/names.ts";
import type { Questions } from "./questions.ts";

/** The same questions, and what was answered so far. */
export interface Asking extends Questions {
  /** By question. */
  readonly answers: ReadonlyMap<string, Answer>;
}

export interface Answers {
  /** For one plan. */
  ask(): Asking;
  /** The service stands on these. False when they are out of date by now: it has to be planned again. */
  keep(service: ServiceKey, asking: Asking): boolean;
  /** Nothing is left of it. */
  forget(service: ServiceKey): void;
  /** Those that would be answered otherwise now. */
  outdated(): readonly ServiceKey[];
}

interface Answer {
  readonly value: unknown;
  readonly askAgain: () => unknown;
}

/** Services that asked the same and were answered the same. */
interface Group {
  readonly key: string;
  readonly answers: ReadonlyMap<string, Answer>;
  readonly services: Set<ServiceKey>;
}

export function createAnswers(questions: Questions): Answers {
  const groups = new Map<string, Group>();
  const groupOf = new Map<ServiceKey, Group>();

  function forget(service: ServiceKey): void {
    const group = groupOf.get(service);
    if (group === undefined) return;
    groupOf.delete(service);
    group.services.delete(service);
    if (group.services.size === 0) groups.delete(group.key);
  }

  function join(service: ServiceKey, { answers }: Asking): void {
    const key = [...answers].map(([question, { value }]) => `${question} ${String(value)}`).join();
    if (groupOf.get(service)?.key === key) return;
    forget(service);
    // Who asked nothing is never asked for.
    if (answers.size === 0) return;
    const group = groups.get(key) ?? { key, answers, services: new Set() };
    groups.set(key, group);
    group.services.add(service);
    groupOf.set(service, group);
  }

  return {
    ask: () => createAsking(questions),
    keep(service, asking) {
      join(service, asking);
      return holds(asking.answers, new Map());
    },
    forget,
    outdated() {
      const asked = new Map<string, unknown>();
      return [...groups.values()].flatMap(({ answers, services }) =>
        holds(answers, asked) ? [] : [...services],
      );
    },
  };
}

/** `asked`: what was asked before at the same time. */
function holds(answers: ReadonlyMap<string, Answer>, asked: Map<string, unknown>): boolean {
  for (const [question, { value, askAgain }] of answers) {
    if (!asked.has(question)) asked.set(question, askAgain());
    if (asked.get(question) !== value) return false;
  }
  return true;
}

function createAsking(questions: Questions): Asking {
  const answers = new Map<string, Answer>();
  function ask<T>(question: string, askAgain: () => T): T {
    const known = answers.get(question);
    if (known !== undefined) return known.value as T;
    const value = askAgain();
    answers.set(question, { value, askAgain });
    return value;
  }
  function about<T>(
    question: string,
    answer: (cluster: ClusterId) => T,
  ): (cluster: ClusterId) => T {
    return (cluster) => ask(`${question} ${cluster}`, () => answer(cluster));
  }
  return {
    answers,
    livenessOf: about("livenessOf", (cluster) => questions.livenessOf(cluster)),
    isUnheard: about("isUnheard", (cluster) => questions.isUnheard(cluster)),
    isDrained: about("isDrained", (cluster) => questions.isDrained(cluster)),
    isAwaited: about("isAwaited", (cluster) => questions.isAwaited(cluster)),
    hasStrangers: () => ask("hasStrangers", () => questions.hasStrangers()),
    isComplete: () => ask("isComplete", () => questions.isComplete()),
  };
}
