// Observe: a kind of objects of one API server in, all of them out, page by page; or as many as somebody wants to hold.

import type { KubeObject, Resource } from "../api/object.ts";
import type { ListOptions, Store } from "../ports/store.ts";

const PAGE = 500;

type Scope = Omit<ListOptions, "limit" | "continue">;

export async function listAll<T extends KubeObject>(
  store: Store,
  resource: Resource<T>,
  options: Scope,
): Promise<readonly T[]> {
  return (await listUpTo(store, resource, { ...options, most: Number.POSITIVE_INFINITY })).items;
}

/** Whole pages: a few more than `most` may come. */
export async function listUpTo<T extends KubeObject>(
  store: Store,
  resource: Resource<T>,
  { most, ...options }: Scope & { readonly most: number },
): Promise<{ readonly items: readonly T[]; readonly isWhole: boolean }> {
  const items: T[] = [];
  let next = "";
  do {
    const page = await store.list(resource, {
      ...options,
      limit: PAGE,
      ...(next === "" ? {} : { continue: next }),
    });
    items.push(...page.items);
    next = page.continue ?? "";
  } while (next !== "" && items.length < most);
  return { items, isWhole: next === "" };
}
