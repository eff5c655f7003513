// Memory: something with endpoints in, JSON text out in which all that endpoints have besides their addresses is said once,
// and the same thing again. Most endpoints of a slice differ in their addresses only, and agents hold those of the fleet.
//
//   [{…, "endpoints": []}, [{"conditions": …, "zone": "a"}, …], [["10.0.0.1"], ["10.0.0.2"], …], [0, 0, …]]
//    the rest               traits                              addresses of each endpoint      trait of each
//   [anything]              what has no such endpoints is left as it is

import { isRecord, type UntrustedRecord } from "./untrusted.ts";

type Columns = readonly [
  rest: unknown,
  traits?: readonly UntrustedRecord[],
  addresses?: readonly unknown[],
  traitOf?: readonly number[],
];

/** Undefined for what JSON cannot tell. Whoever wrote the value, it is read back as JSON would be, key order aside. */
export function foldEndpoints(value: unknown): string | undefined {
  const endpoints = isRecord(value) ? value["endpoints"] : undefined;
  if (!isRecord(value) || !isFoldable(endpoints)) {
    const text = JSON.stringify(value) as string | undefined;
    return text === undefined ? undefined : `[${text}]`;
  }
  const traits = new Map<string, number>();
  const addresses: unknown[] = [];
  const traitOf: number[] = [];
  for (const { addresses: list, ...trait } of endpoints) {
    const text = JSON.stringify(trait);
    let index = traits.get(text);
    if (index === undefined) {
      index = traits.size;
      traits.set(text, index);
    }
    addresses.push(list);
    traitOf.push(index);
  }
  const rest = JSON.stringify({ ...value, endpoints: [] });
  const columns = `${JSON.stringify(addresses)},${JSON.stringify(traitOf)}`;
  return `[${rest},[${[...traits.keys()].join(",")}],${columns}]`;
}

export function unfoldEndpoints(text: string): unknown {
  const [rest, traits = [], addresses, traitOf = []] = JSON.parse(text) as Columns;
  if (addresses === undefined) return rest;
  const endpoints = addresses.map((list, at) => ({ addresses: list, ...traits[traitOf[at] ?? 0] }));
  return { ...(rest as UntrustedRecord), endpoints };
}

function isFoldable(value: unknown): value is readonly UntrustedRecord[] {
  if (!Array.isArray(value) || value.length === 0) return false;
  return value.every((one) => isRecord(one) && one["addresses"] !== undefined);
}
