// SPDX-License-Identifier: MIT
/** Accuracy over the number of labels, and the horizontal distance between two curves. */
import { count, valueAt, whole } from "../engine/label-worth.mjs";

const [WIDTH, HEIGHT] = [360, 246];
const BOX = { left: 40, right: 336, top: 10, bottom: 204 };
const Y = { low: 0.45, high: 0.9, ticks: [0.5, 0.6, 0.7, 0.8] };
const NAME_WIDTH = 125; // of a curve's name, at most
const HEAD = 7; // of the arrow
const NEAR = 5; // the method's own curve is that near to a short arrow

/** Where the picture's axis begins and ends, as percentages of its width: a slider stands below. */
export const AXIS = { left: (100 * BOX.left) / WIDTH, right: (100 * (WIDTH - BOX.right)) / WIDTH };

export const LABEL_PLOT_STYLE = `
.plot { display: block; height: auto; max-width: 27rem; width: 100%; }
.plot text { fill: var(--pst-color-text-base); font: 14px var(--pst-font-family-base, sans-serif);
  paint-order: stroke; stroke: var(--pst-color-background); stroke-linejoin: round; stroke-width: 4px; }
.plot .quiet { fill: var(--pst-color-text-muted); font-size: 13.4px; }
.plot .axis { fill: none; stroke: var(--pst-color-text-muted); }
.plot .grid { stroke: var(--pst-color-border); }
.plot .chance { stroke: var(--pst-color-text-muted); stroke-dasharray: 2 4; }
.plot .curve { fill: none; stroke: var(--ink); stroke-linejoin: round; }
.plot .own { --ink: var(--pst-color-text-base); stroke-width: 2.6; }
.plot .own.bert { --ink: var(--book-bert); }
.plot .other { --ink: var(--pst-color-text-muted); stroke-dasharray: 7 4; stroke-width: 2; }
.plot .band { fill: var(--ink); opacity: .1; }
.plot .dot { fill: var(--ink); }
.plot .handle, .plot .arrow, .plot .fall { fill: none; stroke: var(--pst-color-primary); }
.plot .handle { stroke-width: 1.5; }
.plot .arrow { stroke-linejoin: round; stroke-width: 3; }
.plot .arrow.open { stroke-dasharray: 6 4; }
.plot .head { fill: var(--pst-color-primary); }
.plot .fall { stroke-dasharray: 2 3; stroke-width: 1.5; }
.plot .grip { fill: var(--pst-color-background); stroke: var(--pst-color-primary); stroke-width: 3; }
.plot .times { fill: var(--pst-color-primary); font-size: 16px; font-weight: 700; }
@media (forced-colors: active) { .plot .curve, .plot .handle, .plot .arrow { stroke: CanvasText; } }
`;

/**
 * @typedef {{kind: string, name: string, values: number[], low: number[], high: number[]}} Curve
 * @typedef {{n: number, accuracy: number, labels: number, where: string}} Measure
 */

/**
 * Draw two curves, a handle at n, and the arrow to where the second reaches what the first has.
 * @param {number[]} nLabels
 * @param {{own: Curve, other: Curve}} curves The method's, which the handle is on, and the reference's.
 * @param {Measure} measure
 * @param {number} majority What the more frequent answer alone would get.
 * @param {{times: string, all: string}} words The factor, and what the picture says.
 * @returns {SVGElement}
 */
export function labelPlot(nLabels, curves, measure, majority, words) {
  const across = (n) => BOX.left + (Math.log(n / nLabels[0]) / Math.log(nLabels.at(-1) / nLabels[0]))
    * (BOX.right - BOX.left);
  const svg = draw("svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img",
    "aria-label": words.all });
  const both = [curves.other, curves.own];
  svg.append(...axes(nLabels, across), chance(majority),
    ...both.map((one) => band(one, nLabels, across)),
    ...both.flatMap((one) => line(one, nLabels, across)),
    ...ruler(measure, across, words.times, (place) => heightsAt(place, curves, nLabels, across)),
    ...names(curves, nLabels, across).map(({ y, name }) => word(BOX.right, y, name, "end", "name")),
    word(BOX.right, up(majority) + 15, "always “fresh”", "end", "quiet"));
  return svg;
}

/** The number of labels at a place of the picture, from 0 at its left edge to 1 at its right. */
export function labelsAt(share, nLabels) {
  const along = (share * WIDTH - BOX.left) / (BOX.right - BOX.left);
  return nLabels[0] * (nLabels.at(-1) / nLabels[0]) ** Math.min(1, Math.max(0, along));
}

const up = (accuracy) =>
  BOX.bottom - ((accuracy - Y.low) / (Y.high - Y.low)) * (BOX.bottom - BOX.top);

function axes(nLabels, across) {
  return [
    ...Y.ticks.flatMap((value) => [
      draw("path", { class: "grid", d: `M${BOX.left} ${up(value)}H${BOX.right}` }),
      word(BOX.left - 5, up(value) + 4, `${Math.round(100 * value)} %`, "end", "quiet")]),
    draw("path", { class: "axis", d: `M${BOX.left} ${BOX.top}V${BOX.bottom}H${BOX.right}` }),
    ...nLabels.map((n) => draw("path", { class: "axis", d: `M${across(n)} ${BOX.bottom}v4` })),
    ...nLabels.map((n) => word(across(n), BOX.bottom + 18, whole(n), "middle", "quiet")),
    word(BOX.left + 6, BOX.top + 8, "accuracy", "start", "quiet"),
    word((BOX.left + BOX.right) / 2, HEIGHT - 6, "labels", "middle", "quiet"),
  ];
}

function chance(majority) {
  return draw("path", { class: "chance", d: `M${BOX.left} ${up(majority)}H${BOX.right}` });
}

function band({ kind, low, high }, nLabels, across) {
  const point = (values) => (n, i) => `${across(n)} ${up(values[i])}`;
  const edge = [...nLabels.map(point(high)), ...nLabels.map(point(low)).reverse()];
  return draw("path", { class: `band ${kind}`, d: `M${edge.join("L")}Z` });
}

function line({ kind, values }, nLabels, across) {
  const points = values.map((value, i) => [across(nLabels[i]), up(value)]);
  return [
    draw("path", { class: `curve ${kind}`, d: `M${points.map((one) => one.join(" ")).join("L")}` }),
    ...points.map(([cx, cy]) => draw("circle", { class: `dot ${kind}`, cx, cy, r: 3 })),
  ];
}

/** The curves' names and their heights at the right ends: one above both, one below both. */
function names({ own, other }, nLabels, across) {
  const last = BOX.right - NAME_WIDTH;
  const ends = nLabels.filter((n) => across(n) > last);
  const places = [labelsAt(last / WIDTH, nLabels), ...ends];
  const all = [own, other].flatMap(({ values }) => places.map((n) => up(valueAt(nLabels, values, n))));
  const [above, below] = own.values.at(-1) >= other.values.at(-1) ? [own, other] : [other, own];
  return [{ y: Math.min(...all) - 8, name: above.name }, { y: Math.max(...all) + 17, name: below.name }];
}

/** How high the curves are at a place, and their names where it is below or above those. */
function heightsAt(place, curves, nLabels, across) {
  const found = [curves.own, curves.other].map(({ values }) =>
    up(valueAt(nLabels, values, labelsAt(place / WIDTH, nLabels))));
  const beside = place > BOX.right - NAME_WIDTH ? names(curves, nLabels, across) : [];
  return [...found, ...beside.map(({ y }) => y - 5)];
}

/**
 * The handle at n, and the arrow from the method's point to the reference's; the factor stands on
 * that side of the arrow where the next thing, whose heights `heights` gives, is farther.
 */
function ruler({ n, accuracy, labels, where }, across, times, heights) {
  const [from, y] = [across(n), up(accuracy)];
  const beyond = { more: BOX.right + 16, fewer: BOX.left - 12 }[where];
  const to = beyond ?? across(labels);
  const way = Math.sign(to - from) || 1;
  const head = Math.min(HEAD, Math.abs(to - from));
  const middle = Math.min(BOX.right - 24, Math.max(BOX.left + 24, (from + to) / 2));
  const isLate = to > BOX.right - 44;
  const gaps = heights(middle).map((height) => height - y);
  const room = (side) => Math.min(...gaps.map((gap) => side * gap).filter((gap) => gap > NEAR), BOX.bottom);
  const shift = room(1) > room(-1) && y + 24 < BOX.bottom ? 21 : -11;
  return [
    draw("path", { class: "handle", d: `M${from} ${BOX.top}V${BOX.bottom}` }),
    ...(beyond ? [] : [
      draw("path", { class: "fall", d: `M${to} ${y}V${BOX.bottom}` }),
      word(to + (way > 0 && !isLate ? 5 : -5), BOX.bottom - 6, count(labels),
        way > 0 && !isLate ? "start" : "end", "needed")]),
    draw("path", { class: `arrow ${beyond ? "open" : ""}`, d: `M${from} ${y}H${to - way * head}` }),
    draw("path", { class: "head", d: `M${to} ${y}l${-way * head} ${-head}v${2 * head}Z` }),
    draw("circle", { class: "grip", cx: from, cy: y, r: 6.5 }),
    word(middle, y + shift, times, "middle", "times"),
  ];
}

function word(x, y, text, anchor = "middle", kind = "") {
  return draw("text", { x, y, "text-anchor": anchor, class: kind }, text);
}

function draw(tag, attributes = {}, text = "") {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.textContent = text;
  return node;
}
