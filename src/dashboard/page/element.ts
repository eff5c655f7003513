// Page: elements as plain data, so that everything the page shows is a pure function of what it knows. patch.ts puts them in
// the document.

export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;
export type Child = Element | string;
type Children = Child | undefined | false | readonly (Child | undefined | false)[];

export interface Element {
  readonly tag: string;
  readonly attributes: Attributes;
  readonly children: readonly Child[];
}

/** The attribute "key" tells elements of one list apart; "do" is what a click on it asks for. */
export function h(tag: string, attributes: Attributes = {}, ...children: Children[]): Element {
  const flat = children.flat() as readonly (Child | undefined | false)[];
  return {
    tag,
    attributes,
    children: flat.filter((child) => child !== undefined && child !== false),
  };
}

/** A shape that says the same as its colour; screen readers hear the words beside it. */
export function glyph(name: string, level: string): Element {
  const shape = SHAPES[name] ?? "M8 2a6 6 0 1 1 0 12A6 6 0 1 1 8 2Z";
  const attributes = { class: `glyph ${level}`, viewBox: "0 0 16 16", "aria-hidden": "true" };
  return h("svg", attributes, h("path", { d: shape, "fill-rule": "evenodd" }));
}

const DISC = "M8 1.5a6.5 6.5 0 1 1 0 13a6.5 6.5 0 1 1 0-13Z";
const CROSS =
  "M5.9 4.8 8 6.9l2.1-2.1 1.1 1.1L9.1 8l2.1 2.1-1.1 1.1L8 9.1l-2.1 2.1-1.1-1.1L6.9 8 4.8 5.9Z";
const TRIANGLE = "M8 1.6 15.3 14.4H.7Z";
const MARK = "M7.2 6h1.6v4.2H7.2Zm0 5.2h1.6v1.6H7.2Z";

/** Drawn in a square of 16. */
export const SHAPES: Readonly<Record<string, string>> = {
  well: `${DISC}M4.6 8.2 7 10.6l4.4-4.7-1.1-1L7 8.4 5.7 7.1Z`,
  warn: `${TRIANGLE}${MARK}`,
  bad: `${DISC}${CROSS}`,
  unknown: `${DISC}M8 4.1c-1.5 0-2.5.9-2.6 2.2l1.5.2c.1-.6.5-1 1.1-1s1 .4 1 .9c0 1-1.7 1.2-1.7 2.9h1.5c0-1.1 1.8-1.4 1.8-3C10.6 5 9.5 4.1 8 4.1ZM7.2 10.3h1.6v1.6H7.2Z`,
  drained: `${DISC}M5.3 5h1.8v6H5.3Zm3.6 0h1.8v6H8.9Z`,
  in: `M3 7.2h6.7L7.4 4.9l1.1-1.1L12.7 8l-4.2 4.2-1.1-1.1 2.3-2.3H3Z`,
  out: `M13 7.2H6.3l2.3-2.3-1.1-1.1L3.3 8l4.2 4.2 1.1-1.1-2.3-2.3H13Z`,
  turn: `M3 4.2h4.2c2.5 0 4.3 1.6 4.3 3.9v1.4l1.4-1.4 1 1-3.2 3.2-3.2-3.2 1-1 1.4 1.4V8.1c0-1.5-1.1-2.4-2.7-2.4H3Z`,
  plus: "M7.2 3h1.6v4.2H13v1.6H8.8V13H7.2V8.8H3V7.2h4.2Z",
  minus: "M3 7.2h10v1.6H3Z",
};
