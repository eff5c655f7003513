// Test tool: every series that agents, central and DNS servers have, by name with its labels.

import { Registry } from "prom-client";
import { createRegistry } from "../src/cli/registry.ts";
import { type Measured, registerDnsMetrics } from "../src/dns/metrics.ts";

interface Named {
  readonly name: string;
  readonly labels: readonly string[];
  readonly isHistogram: boolean;
}

export function listMetrics(): { readonly core: readonly Named[]; readonly dns: readonly Named[] } {
  const dns = new Registry();
  registerDnsMetrics(dns, { zones: [] } as unknown as Measured);
  const core = createRegistry({ measured: undefined, unready: undefined });
  return { core: namesOf(core), dns: namesOf(dns) };
}

function namesOf(registry: Registry): readonly Named[] {
  return registry.getMetricsAsArray().map((metric) => {
    const { name, labelNames } = metric as unknown as {
      readonly name: string;
      readonly labelNames: readonly string[];
    };
    // Those of prom-client have their own class; ours are plain.
    return { name, labels: labelNames, isHistogram: metric.constructor === Object };
  });
}
