// A bill of materials: components in, CycloneDX 1.6 as JSON out. Pure. It has neither time nor serial number, which the format leaves
// open: the same components are the same bytes.

export interface Component {
  readonly type: "application" | "library" | "file";
  readonly name: string;
  readonly version?: string;
  /** A package URL; what scanners look vulnerabilities up by. */
  readonly purl: string;
  readonly cpe?: string;
  /** SPDX. */
  readonly license?: string;
  readonly sha256?: string;
  readonly sha512?: string;
}

export function renderBom(
  command: { readonly version: string; readonly sha256: string },
  components: readonly Component[],
): string {
  const isthmus: Component = {
    type: "application",
    name: "isthmus",
    purl: `pkg:npm/isthmus@${command.version}`,
    license: "Apache-2.0",
    ...command,
  };
  const bom = {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: { component: renderComponent(isthmus) },
    components: components.map(renderComponent),
  };
  return `${JSON.stringify(bom, undefined, 2)}\n`;
}

/** As they stand in it. */
export function renderComponent(component: Component): Readonly<Record<string, unknown>> {
  const { type, name, version, purl, cpe, license, sha256, sha512 } = component;
  const hashes = [
    ...(sha256 === undefined ? [] : [{ alg: "SHA-256", content: sha256 }]),
    ...(sha512 === undefined ? [] : [{ alg: "SHA-512", content: sha512 }]),
  ];
  return {
    type,
    "bom-ref": purl,
    name,
    ...(version !== undefined && { version }),
    ...(hashes.length > 0 && { hashes }),
    ...(license !== undefined && { licenses: [renderLicense(license)] }),
    ...(cpe !== undefined && { cpe }),
    purl,
  };
}

function renderLicense(license: string): Readonly<Record<string, unknown>> {
  return /^[\w.+-]+$/.test(license) ? { license: { id: license } } : { expression: license };
}
