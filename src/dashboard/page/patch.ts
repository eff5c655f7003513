// Page: from what was shown and what is to be shown to the least changes of the document, so that focus, selection and what the
// reader opened stay as they are.

import type { Attributes, Child, Element as Shown } from "./element.ts";

const SVG = "http://www.w3.org/2000/svg";

/** Answers a function that shows, in `root`, what it is given. */
export function createView(root: Element): (children: readonly Child[]) => void {
  let shown: readonly Child[] = [];
  root.replaceChildren();
  return (children) => {
    patchChildren(root, shown, children);
    shown = children;
  };
}

function patchChildren(parent: Element, before: readonly Child[], after: readonly Child[]): void {
  const nodes = [...parent.childNodes];
  const kept = new Map<string, number>();
  for (const [index, child] of before.entries()) kept.set(nameOf(child, index), index);
  const used = new Set<number>();
  const wanted = after.map((child, index) => {
    const place = kept.get(nameOf(child, index));
    const node = place === undefined ? undefined : nodes[place];
    const old = place === undefined ? undefined : before[place];
    if (place === undefined || node === undefined || old === undefined)
      return create(child, parent);
    used.add(place);
    return patch(node, old, child);
  });
  for (const [index, node] of nodes.entries()) if (!used.has(index)) node.remove();
  let next: ChildNode | null = parent.firstChild;
  for (const node of wanted) {
    if (node === next) next = next.nextSibling;
    else parent.insertBefore(node, next);
  }
}

/** Only what has the same name can turn into the other. */
function nameOf(child: Child, index: number): string {
  if (typeof child === "string") return `text ${index}`;
  const { key } = child.attributes;
  return key === undefined ? `${child.tag} ${index}` : `${child.tag} key ${String(key)}`;
}

function patch(node: ChildNode, before: Child, after: Child): ChildNode {
  if (before === after) return node;
  if (typeof before === "string" || typeof after === "string") {
    if (before !== after && typeof after === "string") node.nodeValue = after;
    return node;
  }
  const element = node as Element & ChildNode;
  setAttributes(element, before.attributes, after.attributes);
  patchChildren(element, before.children, after.children);
  return element;
}

function create(child: Child, parent: Element): ChildNode {
  if (typeof child === "string") return document.createTextNode(child);
  return createElement(child, parent);
}

function createElement({ tag, attributes, children }: Shown, parent: Element): Element {
  const isSvg =
    tag === "svg" || (parent.namespaceURI === SVG && parent.tagName !== "foreignObject");
  const element = isSvg ? document.createElementNS(SVG, tag) : document.createElement(tag);
  setAttributes(element, {}, attributes);
  for (const child of children) element.append(create(child, element));
  return element;
}

function setAttributes(element: Element, before: Attributes, after: Attributes): void {
  for (const name of Object.keys(before)) {
    if (after[name] === undefined) setAttribute(element, name, undefined);
  }
  for (const [name, value] of Object.entries(after)) {
    if (value !== before[name]) setAttribute(element, name, value);
  }
}

function setAttribute(element: Element, name: string, value: Attributes[string]): void {
  if (name === "key") return;
  const attribute = name === "do" ? "data-do" : name;
  if (value === undefined || value === false) element.removeAttribute(attribute);
  else element.setAttribute(attribute, value === true ? "" : String(value));
}
