// Bench: work by key, some at a time. What is asked of a key while it is worked on is done once afterwards, the last of it
// only: no implementation writes what has been overtaken.

export interface Lane<T> {
  add(key: string, task: T): void;
}

export function createLane<T>(
  atOnce: number,
  work: (key: string, task: T) => Promise<void>,
): Lane<T> {
  const waiting = new Map<string, T>();
  const running = new Set<string>();

  function turn(): void {
    for (const [key, task] of waiting) {
      if (running.size >= atOnce) return;
      if (running.has(key)) continue;
      waiting.delete(key);
      running.add(key);
      void run(key, task);
    }
  }

  async function run(key: string, task: T): Promise<void> {
    await work(key, task);
    running.delete(key);
    turn();
  }

  return {
    add(key, task) {
      waiting.set(key, task);
      turn();
    },
  };
}
