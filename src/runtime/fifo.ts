// A first-in, first-out list whose both ends cost the same at any length. Arrays pay for `shift`, and a Map's first key
// costs as much as the deleted ones before it.

export interface Fifo<T> {
  push(item: T): void;
  shift(): T | undefined;
  /** The one that `shift` would take. */
  peek(): T | undefined;
  size(): number;
  clear(): void;
}

export function createFifo<T>(): Fifo<T> {
  let items: (T | undefined)[] = [];
  let head = 0;
  return {
    push(item) {
      items.push(item);
    },
    shift() {
      const item = items[head];
      if (head < items.length) items[head++] = undefined;
      // Half of it is used up: copying the rest now costs each item one move on average.
      if (head > 32 && head * 2 > items.length) {
        items = items.slice(head);
        head = 0;
      }
      return item;
    },
    peek: () => items[head],
    size: () => items.length - head,
    clear() {
      items = [];
      head = 0;
    },
  };
}
