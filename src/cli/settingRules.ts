// CLI: one setting's value in, what is wrong with it and what to write instead out, or nothing. The schema says of which type and how
// many; what a text has to look like is judged by those who will read it.

import { Check } from "typebox/schema";
import { isProblem, Problem } from "../api/problem.ts";
import { redactText } from "../core/check/redact.ts";
import {
  type Configurable,
  SETTINGS,
  type Settings,
  type SettingSchema,
  settingsOf,
} from "../api/settings.ts";
import { isLoopback } from "../dashboard/gate.ts";
import { parseEndpoint } from "../traces/endpoint.ts";
import { joinWords, type Mistake } from "./configFile.ts";
import { parseAddresses, parseForward, parseListen, parseRegions, parseZones } from "./dnsFlags.ts";
import { requireClusterId } from "./dnsPlace.ts";
import { parseAddress } from "./metrics.ts";
import { requireSources } from "./source.ts";

/** Each throws a Problem that says what is wrong. */
const READERS: {
  readonly [C in Configurable]: {
    readonly [K in keyof Settings[C]]?: (value: NonNullable<Settings[C][K]>) => unknown;
  };
} = {
  agent: {
    metricsAddress: parseAddress,
    dashboardAddress: parseAddress,
    tracesEndpoint: parseEndpoint,
  },
  central: {
    metricsAddress: parseAddress,
    dashboardAddress: parseAddress,
    tracesEndpoint: parseEndpoint,
  },
  dns: {
    listen: parseListen,
    metricsAddress: parseAddress,
    zone: parseZones,
    nsAddress: parseAddresses,
    forward: parseForward,
    clusterId: requireClusterId,
    clusterRegion: parseRegions,
  },
  dashboard: { address: parseAddress },
};

type Fault = Pick<Mistake, "what" | "fix">;

export function findFault(command: Configurable, key: string, value: unknown): Fault | undefined {
  const schema = settingsOf(command)[key];
  if (schema === undefined) return undefined;
  if (!Check(SETTINGS[command].properties[key as never], value)) {
    const fix = `Give ${describeTaken(schema)}.`;
    return { what: `${quote(value)} is nothing that it takes`, fix };
  }
  const read = READERS[command][key as never] as ((value: unknown) => unknown) | undefined;
  try {
    read?.(value);
    return undefined;
  } catch (error) {
    if (!isProblem(error)) throw error;
    return { what: redactText(error.message), fix: error.hint };
  }
}

/** What holds between settings that are each right. Throws a Problem. */
export function requireFit<C extends Configurable>(command: C, settings: Settings[C]): void {
  if (command === "central") requireSources(settings as Settings["central"]);
  const { dashboardAddress, dashboardTokenFile } = settings as Partial<Settings["agent"]>;
  if (dashboardAddress !== undefined) requireGuarded(dashboardAddress, dashboardTokenFile);
}

/** A process that keeps a log prints no token: who opens the page to others brings one. */
export function requireGuarded(address: string, tokenFile: string | undefined): void {
  if (tokenFile !== undefined || isLoopback(parseAddress(address).host)) return;
  throw new Problem("ArgumentInvalid", `others can reach ${address}, and no token is demanded`, {
    hint: "Give --dashboard-token-file, or an address such as 127.0.0.1:8181, which kubectl port-forward reaches.",
  });
}

function describeTaken(schema: SettingSchema): string {
  const { type, enum: choices, anyOf, minimum, maximum, minItems, maxItems } = schema;
  if (choices !== undefined) return joinWords(choices);
  if (anyOf !== undefined) {
    const ways = anyOf.map((way) =>
      way.const === undefined ? describeTaken(way) : `"${way.const}"`,
    );
    return joinWords(ways);
  }
  switch (type) {
    case "integer":
      return `a whole number from ${minimum} to ${maximum}`;
    case "boolean":
      return "true or false";
    case "array": {
      const bounds = [
        ...(minItems === undefined ? [] : [`at least ${minItems}`]),
        ...(maxItems === undefined ? [] : [`at most ${maxItems}`]),
      ];
      return ["a list of texts", ...bounds].join(", ");
    }
    case "string":
    case undefined:
      return "a text, in quotes where YAML would take it for something else";
    default:
      return type satisfies never;
  }
}

const QUOTED_MAX = 80;

function quote(value: unknown): string {
  const text = JSON.stringify(
    redactText(typeof value === "string" ? value : JSON.stringify(value)),
  );
  const shown = typeof value === "string" ? text : text.slice(1, -1).replaceAll('\\"', '"');
  return shown.length > QUOTED_MAX ? `${shown.slice(0, QUOTED_MAX)}…` : shown;
}
