// Page: the clusterset as a picture: clusters on a ring, the hub in the middle, who exports to whom between them.

import type { ClusterState } from "../state.ts";
import { ageNow, count, formatAge, formatCount } from "./age.ts";
import { type Child, type Element, h, SHAPES } from "./element.ts";
import type { Model, Told } from "./model.ts";
import { bendCurve, pickWays, type Place, planRing, type Ring } from "./ring.ts";
import { judgeSource, levelOf, type Level } from "./summary.ts";
import { listWays, type Way } from "./ways.ts";

export interface PictureWish {
  readonly width: number;
  readonly nowMs: number;
  /** Has the keyboard's focus when the picture gets it. */
  readonly current?: string | undefined;
  readonly pointedAt?: string | undefined;
}

const NAME_LENGTH = 16;
/** Below, the names of neighbours would meet. */
const ROOMY = 400;

export function renderPicture(model: Model, wish: PictureWish): readonly Child[] {
  const ids = [...model.clusters.keys()].toSorted((a, b) => a.localeCompare(b));
  if (ids.length === 0) return [h("p", { class: "empty" }, "No cluster is a member yet.")];
  const ring = planRing(ids, wish.width);
  const all = listWays(model.services);
  const ways = pickWays(all, ring, wish.pointedAt);
  const placeOf = new Map(ring.places.map((place) => [place.id, place]));
  const most = all[0]?.services ?? 1;
  const lines = ways.flatMap((way) => {
    const [from, to] = [placeOf.get(way.source), placeOf.get(way.importer)];
    if (from === undefined || to === undefined) return [];
    const curve = bendCurve(ring, from, to, way.services / most);
    return [renderWay(way, curve, { look: lookOf(model, way), pointedAt: wish.pointedAt })];
  });
  const current = wish.current !== undefined && placeOf.has(wish.current) ? wish.current : ids[0];
  const nodes = ring.places.flatMap((place) => {
    const told = model.clusters.get(place.id);
    if (told === undefined) return [];
    return [
      renderCluster(told, { place, ring, nowMs: wish.nowMs, isCurrent: place.id === current }),
    ];
  });
  const attributes = {
    class: ring.isCrowd ? "ring crowd" : "ring",
    viewBox: `0 0 ${ring.width} ${ring.height}`,
    width: ring.width,
    height: ring.height,
    role: "group",
    "aria-label": `${describe(model, all)} Arrow keys go from cluster to cluster, Enter opens one.`,
  };
  const hub = model.hub === undefined ? [] : [renderHub(model.hub, ring)];
  const spokes = model.hub === undefined ? [] : [renderSpokes(ring)];
  return [
    h(
      "svg",
      attributes,
      renderHeads(),
      ...spokes,
      h("g", { class: "ways" }, lines),
      ...hub,
      h("g", {}, nodes),
    ),
    h("p", { class: "note" }, noteWays(model, all, ways.length)),
  ];
}

/** The picture in words. */
export function describe(model: Model, ways: readonly Way[]): string {
  const states = new Map<string, number>();
  for (const { value } of model.clusters.values()) {
    states.set(value.liveness, (states.get(value.liveness) ?? 0) + 1);
  }
  const each = [...states].map(([state, number]) => `${number} ${state}`).join(", ");
  return `${count(model.clusters.size, "cluster")}: ${each}. ${count(ways.length, "way")} between them.`;
}

/** Solid: it leads to somebody. The others differ in their dashes as well as in their colour. */
type Look = "used" | "idle" | "drained" | "unknown";

const LOOKS: Readonly<Record<Exclude<Look, "used">, string>> = {
  idle: "Dashed: nothing is ready there.",
  drained: "Dotted: drained.",
  unknown: "Dots and dashes: its state is unknown.",
};

function lookOf({ clusters }: Model, { source, services, idle }: Way): Look {
  if (idle < services) return "used";
  const { level } = judgeSource(clusters, source, { ready: 0, total: services });
  return level === "drained" || level === "unknown" ? level : "idle";
}

function noteWays(model: Model, all: readonly Way[], shown: number): string {
  if (all.length === 0) return "No cluster imports from another yet.";
  const first =
    shown === all.length
      ? "Arrows lead from who exports to who imports; the broader, the more services."
      : `${formatCount(shown)} of ${count(all.length, "way")} are drawn: point at a cluster to see its own.`;
  const looks = new Set(all.map((way) => lookOf(model, way)));
  return [
    first,
    ...Object.entries(LOOKS).flatMap(([look, words]) => (looks.has(look as Look) ? words : [])),
  ].join(" ");
}

function renderHeads(): Element {
  const head = (id: string): Element =>
    h(
      "marker",
      {
        id,
        viewBox: "0 0 8 8",
        refX: 5,
        refY: 4,
        markerWidth: 7,
        markerHeight: 7,
        orient: "auto",
        markerUnits: "userSpaceOnUse",
      },
      h("path", { d: "M0 .6 7 4 0 7.4Z" }),
    );
  return h("defs", {}, head("head"), head("headIdle"), head("headCalm"));
}

const HEADS: Readonly<Record<Look, string>> = {
  used: "url(#head)",
  idle: "url(#headIdle)",
  drained: "url(#headCalm)",
  unknown: "url(#headCalm)",
};

function renderWay(
  { source, importer, services, idle }: Way,
  curve: { readonly path: string; readonly width: number },
  { look, pointedAt }: { readonly look: Look; readonly pointedAt: string | undefined },
): Element {
  const isAside = pointedAt !== undefined && source !== pointedAt && importer !== pointedAt;
  const why = look === "drained" ? "drained" : "with nothing ready";
  const words = `${source} → ${importer}: ${count(services, "service")}${idle > 0 ? `, ${idle} ${why}` : ""}`;
  const attributes = {
    key: `${source} ${importer}`,
    class: `way ${look}${isAside ? " aside" : ""}`,
    d: curve.path,
    "stroke-width": curve.width,
    "marker-end": HEADS[look],
  };
  return h("path", attributes, h("title", {}, words));
}

/** Between each cluster and the hub: its Lease. */
function renderSpokes({ centre, places }: Ring): Element {
  const spokes = places.map(({ id, x, y }) =>
    h("path", { key: id, class: "spoke", d: `M${centre.x} ${centre.y}L${x} ${y}` }),
  );
  return h("g", { class: "spokes" }, spokes);
}

function renderHub(hub: NonNullable<Model["hub"]>, { centre }: Ring): Element {
  const isBad = hub.problem !== undefined;
  return h(
    "g",
    { class: isBad ? "hub bad" : "hub", transform: `translate(${centre.x} ${centre.y})` },
    h("title", {}, hub.problem ?? `The hub: ${hub.server}`),
    h("rect", { x: -27, y: -15, width: 54, height: 30, rx: 8 }),
    h("text", { y: 4.5 }, isBad ? "hub !" : "hub"),
  );
}

interface ClusterWish {
  readonly place: Place;
  readonly ring: Ring;
  readonly nowMs: number;
  readonly isCurrent: boolean;
}

function renderCluster(told: Told<ClusterState>, wish: ClusterWish): Element {
  const { place, ring, isCurrent } = wish;
  const { id, liveness } = told.value;
  const level = levelOf(liveness);
  const lease = ring.width < ROOMY ? "" : ` · ${sayLease(told, wish.nowMs)}`;
  const attributes = {
    key: id,
    class: `cluster ${level}`,
    transform: `translate(${place.x} ${place.y})`,
    role: "button",
    tabindex: isCurrent ? 0 : -1,
    do: `cluster ${id}`,
    "aria-label": `${id} ${liveness}${lease}`,
  };
  const body = ring.isCrowd
    ? renderSmall(told.value, place, level)
    : [...renderBody(level), ...renderWords(told.value, lease, place.y < ring.centre.y - 1)];
  return h("g", attributes, ...body);
}

function sayLease(told: Told<ClusterState>, nowMs: number): string {
  const { leaseAgeSeconds, exports } = told.value;
  if (leaseAgeSeconds === undefined) {
    return exports === undefined ? "not read" : count(exports, "export");
  }
  return `lease ${formatAge(ageNow(told, leaseAgeSeconds, nowMs))}`;
}

function renderBody(level: Level): readonly Element[] {
  return [
    h("circle", { class: "focus", r: 27 }),
    h("circle", { class: "body", r: 22 }),
    h("path", {
      class: "mark",
      d: SHAPES[level] ?? "",
      "fill-rule": "evenodd",
      transform: "translate(-10 -10) scale(1.25)",
    }),
  ];
}

function renderWords(
  { id, liveness }: ClusterState,
  lease: string,
  isUpper: boolean,
): readonly Element[] {
  // Away from the middle, where the arrows are.
  const [nameY, subY] = isUpper ? [-48, -32] : [40, 56];
  return [
    // The space is for those who hear the two as one.
    h("text", { class: "name", y: nameY }, `${shorten(id)} `),
    h("text", { class: "sub", y: subY }, h("tspan", { class: "state" }, liveness), lease),
  ];
}

function renderSmall({ id }: ClusterState, place: Place, level: Level): readonly Element[] {
  const isLeft = Math.cos((place.angle * Math.PI) / 180) < -0.001;
  const turned = isLeft ? place.angle + 180 : place.angle;
  return [
    h("circle", { class: "focus", r: 10 }),
    h("path", {
      class: "mark",
      d: SHAPES[level] ?? "",
      "fill-rule": "evenodd",
      transform: "translate(-7 -7) scale(.875)",
    }),
    h(
      "text",
      {
        class: isLeft ? "name left" : "name",
        x: isLeft ? -13 : 13,
        y: 4,
        transform: `rotate(${turned})`,
      },
      shorten(id),
    ),
  ];
}

function shorten(id: string): string {
  return id.length > NAME_LENGTH ? `${id.slice(0, NAME_LENGTH - 1)}…` : id;
}
