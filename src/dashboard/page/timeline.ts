// Page: the time line: what happened while the server watched, newest first.

import type { TimelineEvent } from "../state.ts";
import { type Child, type Element, glyph, h } from "./element.ts";
import { linkToSubject } from "./route.ts";

/** As many as one looks through; the others are asked for. */
export const FIRST_EVENTS = 60;
export const MORE_EVENTS = 120;

/** [shape, level] */
const LOOKS: Readonly<Record<TimelineEvent["kind"], readonly [string, string]>> = {
  exported: ["plus", "accent"],
  unexported: ["minus", "quiet"],
  conflict: ["warn", "warn"],
  resolved: ["well", "well"],
  lost: ["bad", "bad"],
  returned: ["well", "well"],
  drained: ["drained", "quiet"],
  undrained: ["well", "well"],
  failover: ["turn", "accent"],
  joined: ["in", "accent"],
  left: ["out", "quiet"],
};

/** To be said aloud as it happens. */
const GRAVE: ReadonlySet<string> = new Set<TimelineEvent["kind"]>([
  "lost",
  "returned",
  "conflict",
  "failover",
]);

export interface TimelineWish {
  readonly startedAt: string;
  readonly most: number;
}

export function renderTimeline(
  events: readonly TimelineEvent[],
  { startedAt, most }: TimelineWish,
): readonly Child[] {
  if (events.length === 0) {
    return [
      h(
        "p",
        { class: "empty" },
        `Nothing has happened since ${formatTime(startedAt)}, when watching began.`,
      ),
    ];
  }
  const older = Math.max(0, events.length - most);
  return [
    h("ol", { class: "events" }, events.slice(older).toReversed().map(renderEvent)),
    ...(older === 0
      ? []
      : [
          h("button", { type: "button", class: "older", do: "older" }, `Show older: ${older} more`),
        ]),
  ];
}

function renderEvent({ id, at, kind, subject, sentence }: TimelineEvent): Element {
  const [shape, level] = LOOKS[kind] ?? ["unknown", "quiet"];
  return h(
    "li",
    { key: id, class: `event ${level}` },
    glyph(shape, level),
    h("time", { datetime: at, title: at }, formatTime(at)),
    h(
      "span",
      { class: "what" },
      h("span", { class: "kind" }, kind),
      " ",
      h("a", { href: linkToSubject(subject) }, subject),
    ),
    h("span", { class: "sentence" }, sentence),
  );
}

/** By the reader's own clock and time zone; with its date, unless that is today's. */
export function formatTime(at: string, now = new Date()): string {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return at;
  const time = [date.getHours(), date.getMinutes(), date.getSeconds()]
    .map((part) => String(part).padStart(2, "0"))
    .join(":");
  if (dayOf(date) === dayOf(now)) return time;
  const year = date.getFullYear() === now.getFullYear() ? "" : ` ${date.getFullYear()}`;
  return `${date.getDate()} ${MONTHS[date.getMonth()] ?? ""}${year}, ${time}`;
}

function dayOf(date: Date): number {
  return (date.getFullYear() * 12 + date.getMonth()) * 31 + date.getDate() - 1;
}

// Not toLocaleDateString, which takes a millisecond and is asked for every event, every second.
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** What a screen reader is to hear of the events that are new. */
export function announce(events: readonly TimelineEvent[]): string {
  return events
    .filter(({ kind }) => GRAVE.has(kind))
    .map(({ sentence }) => sentence)
    .slice(-5)
    .join(" ");
}
