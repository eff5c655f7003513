// Page: asks the server why the selected service is as it is, again whenever something about it changed, one question at a time.

import { ROUTES, type ServiceState } from "../state.ts";
import type { Explained, Explanation } from "./explained.ts";
import type { Model } from "./model.ts";

export interface Explaining {
  select(key: string | undefined): void;
  /** To be told of every model. */
  look(model: Model): void;
  explained(): Explained;
}

const ASKING: Explained = { state: "asking" };

export function startExplaining(onAnswer: () => void): Explaining {
  let selected: string | undefined;
  let explained: Explained = ASKING;
  let services: Model["services"] = new Map();
  /** What the answer is about. */
  let seen: ServiceState | undefined;
  let isAsking = false;
  let isStale = false;

  const ask = async (): Promise<void> => {
    if (selected === undefined) return;
    if (isAsking) {
      isStale = true;
      return;
    }
    isAsking = true;
    const key = selected;
    const answer = await fetchExplanation(key);
    isAsking = false;
    if (key === selected) explained = answer;
    onAnswer();
    if (isStale || key !== selected) {
      isStale = false;
      await ask();
    }
  };

  return {
    select(key) {
      if (key === selected) return;
      selected = key;
      seen = key === undefined ? undefined : services.get(key)?.value;
      explained = ASKING;
      void ask();
    },
    look(model) {
      ({ services } = model);
      const now = selected === undefined ? undefined : services.get(selected)?.value;
      if (now === seen) return;
      seen = now;
      void ask();
    },
    explained: () => explained,
  };
}

async function fetchExplanation(key: string): Promise<Explained> {
  const path = key.split("/").map(encodeURIComponent).join("/");
  try {
    const response = await fetch(ROUTES.explain + path);
    if (response.ok) return { state: "told", explanation: (await response.json()) as Explanation };
    return { state: "failed", why: (await response.text()).trim() };
  } catch {
    return { state: "failed", why: "The server does not answer. It is asked again when it does." };
  }
}
