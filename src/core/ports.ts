// Merge: the ordered shares' ports in, the import's ports and what had to give way out (R24–R29).

import type { ServiceShare, SharedPort } from "../api/share.ts";
import type { ClusterId } from "../api/names.ts";
import { compareText } from "./order.ts";

export interface DroppedPort {
  readonly cluster: ClusterId;
  readonly port: SharedPort;
  /** The older entry that stands in its way. */
  readonly keeps: SharedPort;
}

export interface MergedPorts {
  readonly ports: readonly SharedPort[];
  readonly dropped: readonly DroppedPort[];
  /** Clusters whose set of ports is not that of the oldest export (R24: a subset counts). */
  readonly disagreeing: readonly ClusterId[];
}

/** Union, oldest first: by name, then by protocol and number (R26). */
export function mergePorts(ordered: readonly ServiceShare[]): MergedPorts {
  const ports: SharedPort[] = [];
  const dropped: DroppedPort[] = [];
  for (const share of ordered) {
    for (const port of share.ports) {
      const keeps =
        ports.find((kept) => kept.name === port.name) ??
        ports.find((kept) => isSameNumber(kept, port)) ??
        // A Service may have a port without a name only as its sole one (R25).
        ports.find((kept) => kept.name === "" || port.name === "");
      if (keeps === undefined) ports.push(port);
      else if (!isSamePort(keeps, port)) dropped.push({ cluster: share.cluster, port, keeps });
    }
  }
  const oldest = portSet(ordered[0]?.ports ?? []);
  const disagreeing = ordered
    .filter((share) => portSet(share.ports) !== oldest)
    .map((share) => share.cluster);
  return { ports, dropped, disagreeing };
}

/** The import's port really is what this share exposes: name, number and protocol (R28). */
export function exposesPort(share: ServiceShare, merged: SharedPort): boolean {
  return share.ports.some(
    (port) =>
      port.name === merged.name && port.port === merged.port && port.protocol === merged.protocol,
  );
}

export function isSameNumber(a: SharedPort, b: SharedPort): boolean {
  return a.protocol === b.protocol && a.port === b.port;
}

/** All that R27 compares. */
function isSamePort(a: SharedPort, b: SharedPort): boolean {
  return describePort(a) === describePort(b);
}

/** Order is not a difference (R27). */
function portSet(ports: readonly SharedPort[]): string {
  return ports.map(describePort).toSorted(compareText).join(", ");
}

export function describePort(port: SharedPort): string {
  const name = port.name === "" ? "" : `${port.name} `;
  const app = (port.appProtocol ?? "") === "" ? "" : ` (${port.appProtocol})`;
  return `${name}${port.port}/${port.protocol}${app}`;
}
