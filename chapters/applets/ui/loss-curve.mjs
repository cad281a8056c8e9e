// SPDX-License-Identifier: MIT
/** A small picture of a loss that falls, with one point marked. */

const WIDTH = 340;
const HEIGHT = 165;
const LEFT = 34;
const RIGHT = 24;
const TOP = 12;
const BOTTOM = 38;

export const CURVE_STYLE = `
.curve { height: auto; max-width: 34rem; width: 100%; }
`;

/**
 * The look that is nearest to a place of the picture.
 * @param {{x: number}[]} points
 * @param {number} share Of the picture's width, from 0 at the left edge to 1.
 * @returns {number} Its index.
 */
export function nearestPoint(points, share) {
  const step = ((share * WIDTH - LEFT) / (WIDTH - LEFT - RIGHT)) * points.at(-1).x;
  const far = points.map(({ x }) => Math.abs(x - step));
  return far.indexOf(Math.min(...far));
}

/**
 * Draw a curve through a few points.
 * @param {object} options
 * @param {{x: number, y: number}[]} options.points Steps, and loss in bits.
 * @param {number} options.chosen Index of the marked point.
 * @param {string} options.unit Of the loss, such as "bits per character".
 * @param {number} options.chance Loss of an even guess, drawn as a dashed line.
 * @returns {SVGElement}
 */
export function lossCurve({ points, chosen, unit, chance }) {
  const last = points.at(-1).x;
  const top = Math.ceil(Math.max(chance, ...points.map(({ y }) => y)));
  const atX = (x) => LEFT + (x / last) * (WIDTH - LEFT - RIGHT);
  const atY = (y) => TOP + (1 - y / top) * (HEIGHT - TOP - BOTTOM);
  const { x, y } = points[chosen];
  const label = `Loss from ${points[0].y.toFixed(2)} to ${points.at(-1).y.toFixed(2)} ${unit} over ` +
    `${last} steps; marked: ${y.toFixed(2)} at step ${x}`;
  const picture = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "curve", role: "img",
    "aria-label": label, "font-size": 11, fill: "currentColor" });
  const line = (x1, y1, x2, y2, more = {}) =>
    s("line", { x1, y1, x2, y2, stroke: "currentColor", "stroke-width": 1, ...more });
  const word = (x, y, text, anchor = "middle") => s("text", { x, y, "text-anchor": anchor }, text);
  picture.append(line(LEFT, TOP, LEFT, atY(0)), line(LEFT, atY(0), WIDTH - RIGHT, atY(0)));
  for (let bits = 0; bits <= top; bits += 2) {
    picture.append(line(LEFT - 3, atY(bits), LEFT, atY(bits)), word(LEFT - 6, atY(bits) + 4, bits, "end"));
  }
  for (let step = 0; step <= last; step += 300) {
    picture.append(line(atX(step), atY(0), atX(step), atY(0) + 3),
      word(atX(step), atY(0) + 15, step.toLocaleString("en")));
  }
  picture.append(
    line(LEFT, atY(chance), WIDTH - RIGHT, atY(chance), { "stroke-dasharray": "4 3" }),
    word(WIDTH - RIGHT, atY(chance) - 4, "even guess", "end"),
    word((WIDTH + LEFT) / 2, HEIGHT - 4, "training step: drag along the curve"),
    word(LEFT + 6, TOP + 4, unit, "start"),
    s("polyline", { points: points.map((p) => `${atX(p.x)},${atY(p.y)}`).join(" "), fill: "none",
      stroke: "var(--ink)", "stroke-width": 2 }),
    ...points.map((p) => s("circle", { cx: atX(p.x), cy: atY(p.y), r: 3, fill: "var(--ink)" })),
    s("circle", { cx: atX(x), cy: atY(y), r: 7, fill: "none", stroke: "currentColor",
      "stroke-width": 2.5 }),
    word(Math.min(atX(x) + 10, WIDTH - 40), atY(y) - 10, y.toFixed(2), "start"));
  return picture;
}

function s(tag, attributes, text = "") {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.textContent = text;
  return node;
}
