// Which of two CRDs is newer: by the release in their labels, and by the API versions they have. Pure; garbage is old.

import type { CustomResourceDefinition } from "../api/builtin.ts";
import { findCrdReleaseOwner, readCrdRelease } from "../api/names.ts";

type Spec = CustomResourceDefinition["spec"];

export interface Release {
  /** Undefined when the label is missing or not a version. */
  readonly release: Semver | undefined;
  /** -1 when the label is missing or not a number: older than any. */
  readonly revision: number;
}

interface Semver {
  readonly text: string;
  readonly numbers: readonly [major: number, minor: number, patch: number];
  readonly prerelease: readonly string[];
}

/** Only the labels of whoever numbers `desired` count: two projects' numbers cannot be compared. */
export function readRelease(
  crd: CustomResourceDefinition,
  desired: CustomResourceDefinition,
): Release {
  const owner = findCrdReleaseOwner(desired.metadata.labels);
  if (owner === undefined) {
    return { release: undefined, revision: -1 };
  }
  const { release, revision } = readCrdRelease(crd.metadata.labels, owner);
  return {
    release: parseSemver(release ?? ""),
    revision: /^\d{1,9}$/.test(revision ?? "") ? Number(revision) : -1,
  };
}

function parseSemver(text: string): Semver | undefined {
  const match = /^v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})(?:-([0-9A-Za-z.-]+))?$/.exec(text);
  return match === null
    ? undefined
    : {
        text,
        numbers: [Number(match[1]), Number(match[2]), Number(match[3])],
        prerelease: match[4]?.split(".") ?? [],
      };
}

export function describeRelease({ release, revision }: Release): string {
  return `${release?.text ?? "unknown"}${revision > 0 ? ` revision ${revision}` : ""}`;
}

/** Negative when `a` is older. No release is older than any: CRDs carry one since MCS v0.3.0. */
export function compareRelease(a: Release, b: Release): number {
  if (a.release === undefined || b.release === undefined) {
    return Number(a.release !== undefined) - Number(b.release !== undefined);
  }
  return compareSemver(a.release, b.release) || a.revision - b.revision;
}

function compareSemver(a: Semver, b: Semver): number {
  return (
    compareLists(a.numbers, b.numbers) ||
    // 1.0.0-rc.1 comes before 1.0.0.
    Number(a.prerelease.length === 0) - Number(b.prerelease.length === 0) ||
    comparePrerelease(a.prerelease, b.prerelease)
  );
}

/** Part by part: numbers before words, numbers by value, words by character, fewer parts first. */
function comparePrerelease(a: readonly string[], b: readonly string[]): number {
  for (const [index, part] of a.entries()) {
    const other = b[index];
    if (other === undefined) {
      return 1;
    }
    const numeric = [part, other].map((text) => /^\d+$/.test(text));
    const order =
      numeric[0] && numeric[1]
        ? Number(part) - Number(other)
        : Number(numeric[1]) - Number(numeric[0]) || Number(part > other) - Number(part < other);
    if (order !== 0) {
      return order;
    }
  }
  return a.length - b.length;
}

function compareLists(a: readonly number[], b: readonly number[]): number {
  const index = a.findIndex((number, at) => number !== b[at]);
  return index < 0 ? 0 : (a[index] ?? 0) - (b[index] ?? 0);
}

/** The highest version on the server that outranks all of ours: proof of a newer API, whatever the labels say. */
export function findVersionAhead(existing: Spec, desired: Spec): string | undefined {
  const [theirs, ours] = [existing, desired].map(
    ({ versions }) =>
      versions
        .map((version) => version.name)
        .toSorted((a, b) => compareLists(rank(b), rank(a)))[0] ?? "",
  );
  return compareLists(rank(theirs ?? ""), rank(ours ?? "")) > 0 ? theirs : undefined;
}

/** Kubernetes' order of API versions: v2, v1, v1beta2, v1beta1, v1alpha1, then names that are no versions. */
function rank(name: string): readonly number[] {
  const match = /^v(\d{1,9})(?:(alpha|beta)(\d{1,9}))?$/.exec(name);
  if (match === null) {
    return [0, 0, 0];
  }
  const stability = match[2] === undefined ? 3 : match[2] === "beta" ? 2 : 1;
  return [stability, Number(match[1]), Number(match[3] ?? 0)];
}
