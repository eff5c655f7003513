// Edge, negotiation: an Accept header in, the form of the answer out. Undefined means that nothing we can send is wanted (406).

import type { DiscoveryForm } from "./discovery.ts";

export interface Representation {
  readonly format: "json" | "yaml";
  /** "partial" is metadata only. */
  readonly as: "object" | "table" | "partial";
}

interface MediaRange {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
}

export function chooseRepresentation(
  header: string | undefined,
  options: { readonly watch: boolean },
): Representation | undefined {
  for (const range of parseAccept(header)) {
    const format = chooseFormat(range, options.watch);
    const as = chooseShape(range);
    if (format !== undefined && as !== undefined) return { format, as };
  }
  return undefined;
}

export function chooseDiscoveryForm(header: string | undefined): DiscoveryForm | undefined {
  for (const range of parseAccept(header)) {
    if (chooseFormat(range, true) === undefined) continue;
    const as = range.parameters.get("as");
    if (as === undefined) return "unaggregated";
    if (
      as === "APIGroupDiscoveryList" &&
      range.parameters.get("g") === "apidiscovery.k8s.io" &&
      range.parameters.get("v") === "v2"
    ) {
      return "v2";
    }
  }
  return undefined;
}

function chooseFormat(range: MediaRange, jsonOnly: boolean): "json" | "yaml" | undefined {
  if (["application/json", "application/*", "*/*"].includes(range.type)) return "json";
  return range.type === "application/yaml" && !jsonOnly ? "yaml" : undefined;
}

function chooseShape(range: MediaRange): Representation["as"] | undefined {
  const as = range.parameters.get("as");
  if (as === undefined) return "object";
  const isMeta = range.parameters.get("g") === "meta.k8s.io" && range.parameters.get("v") === "v1";
  if (!isMeta) return undefined;
  if (as === "Table") return "table";
  return as === "PartialObjectMetadata" || as === "PartialObjectMetadataList"
    ? "partial"
    : undefined;
}

/** Most wanted first; equals in the order of the client. */
function parseAccept(header: string | undefined): readonly MediaRange[] {
  if (header === undefined || header.trim() === "") {
    return [{ type: "application/json", parameters: new Map() }];
  }
  return header
    .split(",")
    .map((clause) => {
      const [type = "", ...rest] = clause.split(";").map((part) => part.trim());
      const parameters = new Map(
        rest.map((part): [string, string] => {
          const equals = part.indexOf("=");
          return [part.slice(0, equals).trim(), part.slice(equals + 1).trim()];
        }),
      );
      return { type: type.toLowerCase(), parameters, quality: readQuality(parameters.get("q")) };
    })
    .filter((range) => range.quality > 0)
    .sort((a, b) => b.quality - a.quality);
}

function readQuality(text: string | undefined): number {
  const quality = Number(text ?? 1);
  return Number.isNaN(quality) ? 0 : quality;
}
