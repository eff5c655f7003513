// Clusterset: a question about one thing and one service in, the same question out, answered once. Nothing that is asked of an
// observation changes, and a view asks the same for every importing cluster.

import type { ServiceKey } from "../../api/names.ts";

export function answerOnce<Of extends object, Answer>(
  ask: (of: Of, service: ServiceKey) => Answer,
): (of: Of, service: ServiceKey) => Answer {
  const known = new WeakMap<Of, Map<ServiceKey, { readonly answer: Answer }>>();
  return (of, service) => {
    let answers = known.get(of);
    if (answers === undefined) {
      answers = new Map();
      known.set(of, answers);
    }
    let found = answers.get(service);
    if (found === undefined) {
      found = { answer: ask(of, service) };
      answers.set(service, found);
    }
    return found.answer;
  };
}
