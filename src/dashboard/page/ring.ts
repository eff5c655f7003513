// Page: the clusters and the room there is in, where each is drawn and which ways between them out.

import type { Way } from "./ways.ts";

/** From here on: small marks, names turned outwards, and not every way drawn. */
const CROWD = 13;
/** More lines than that are a grey disc and not a picture. */
const MOST_WAYS = 60;

export interface Place {
  readonly id: string;
  readonly x: number;
  readonly y: number;
  /** Degrees; 0 is to the right. */
  readonly angle: number;
}

export interface Ring {
  readonly width: number;
  readonly height: number;
  readonly isCrowd: boolean;
  readonly centre: { readonly x: number; readonly y: number };
  readonly places: readonly Place[];
}

/** How far the marks stay from the borders: room for their names. */
const MARGINS = {
  few: { x: 64, top: 66, bottom: 70 },
  crowd: { x: 92, top: 84, bottom: 84 },
} as const;

export function planRing(ids: readonly string[], width: number): Ring {
  const isCrowd = ids.length >= CROWD;
  const height = chooseHeight(ids.length, width);
  const margins = isCrowd ? MARGINS.crowd : MARGINS.few;
  // Two stand side by side; more begin at the top.
  const first = ids.length === 2 ? 180 : -90;
  const angles = ids.map((_, index) => first + (360 * index) / ids.length);
  const across = Math.min(width - 2 * margins.x, isCrowd ? height : 460);
  const side = (width - across) / 2;
  const onX = stretch(angles.map(cosine), [side, width - side]);
  const onY = stretch(angles.map(sine), [margins.top, height - margins.bottom]);
  const places = ids.map((id, index) => {
    const angle = angles[index] ?? 0;
    return { id, angle, x: round(onX(cosine(angle))), y: round(onY(sine(angle))) };
  });
  return { width, height, isCrowd, centre: { x: round(onX(0)), y: round(onY(0)) }, places };
}

/** All of the room is used, also by three, of whom none is at the very bottom. */
function stretch(
  values: readonly number[],
  [from, to]: readonly [number, number],
): (value: number) => number {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (high - low < 0.01) return () => (from + to) / 2;
  return (value) => from + ((value - low) / (high - low)) * (to - from);
}

function cosine(degrees: number): number {
  return Math.cos((degrees * Math.PI) / 180);
}

function sine(degrees: number): number {
  return Math.sin((degrees * Math.PI) / 180);
}

function chooseHeight(clusters: number, width: number): number {
  if (clusters >= CROWD) return Math.min(width, 430);
  if (clusters < 3) return 200;
  return clusters > 6 ? 370 : 270;
}

/** All ways of the cluster that the reader points at; of all the others the broadest. */
export function pickWays(ways: readonly Way[], ring: Ring, pointedAt?: string): readonly Way[] {
  if (!ring.isCrowd) return ways;
  if (pointedAt === undefined) {
    // Of ways that are equally broad a few from everywhere, and always the same.
    return ways
      .toSorted((a, b) => b.services - a.services || scatter(a) - scatter(b))
      .slice(0, MOST_WAYS);
  }
  return ways.filter(({ source, importer }) => source === pointedAt || importer === pointedAt);
}

function scatter({ source, importer }: Way): number {
  let hash = 7;
  for (const letter of `${source} ${importer}`)
    hash = Math.imul(hash ^ letter.charCodeAt(0), 0x01000193);
  return hash;
}

export interface Curve {
  readonly path: string;
  readonly width: number;
}

/** There and back are two curves, each bent to its right; it ends before the marks, so that its head can be seen. */
export function bendCurve(ring: Ring, from: Place, to: Place, weight: number): Curve {
  const gap = ring.isCrowd ? 9 : 30;
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const length = Math.hypot(dx, dy) || 1;
  const bend = ring.isCrowd ? 0.1 : Math.min(26, length * 0.12) / length;
  const middle = {
    x: (from.x + to.x) / 2 - dy * bend,
    y: (from.y + to.y) / 2 + dx * bend,
  };
  const start = shorten(from, middle, gap);
  const end = shorten(to, middle, gap + 3);
  return {
    path: `M${start.x} ${start.y}Q${round(middle.x)} ${round(middle.y)} ${end.x} ${end.y}`,
    width: round((ring.isCrowd ? 0.75 : 1.25) + 2.75 * weight),
  };
}

interface Point {
  readonly x: number;
  readonly y: number;
}

function shorten(point: Point, towards: Point, by: number): Point {
  const [dx, dy] = [towards.x - point.x, towards.y - point.y];
  const length = Math.hypot(dx, dy) || 1;
  return { x: round(point.x + (dx / length) * by), y: round(point.y + (dy / length) * by) };
}

function round(number: number): number {
  return Math.round(number * 10) / 10;
}
