// SPDX-License-Identifier: MIT
/** The calculator's picture: parameters over compute, both axes logarithmic. */

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT] = [360, 290];
const BOX = { left: 46, right: 340, top: 12, bottom: 246 };
const X = { low: 15, high: 27 }; // powers of ten
const Y = { low: 4, high: 14 };
const LINES = {
  kaplan: { dash: "2 4", label: "slope", at: 17.6, shift: [0, 22], anchor: "start" },
  refitted: { dash: "", label: "refitted law", at: 22.6, shift: [22, 46], anchor: "start" },
  constant: { dash: "8 5", label: "a parameter", at: 20.6, shift: [-10, -14], anchor: "end" },
};

export const PLOT_STYLE = `
.plot { display: block; height: auto; max-width: 34rem; width: 100%; }
.plot text { fill: var(--pst-color-text-base); font: 12px var(--pst-font-family-base, sans-serif); }
.plot .quiet { fill: var(--pst-color-text-muted); font-size: 11px; }
.plot .axis { fill: none; stroke: var(--pst-color-text-muted); }
.plot .grid { stroke: var(--pst-color-border); }
.plot .fitted { fill: var(--pst-color-text-muted); opacity: .16; }
.plot .leader { fill: none; stroke: var(--pst-color-text-muted); }
.plot .rule { fill: none; stroke: var(--pst-color-text-base); stroke-width: 1.6; }
.plot .rule.constant { stroke: var(--pst-color-primary); stroke-width: 2.6; }
.plot .you { fill: var(--pst-color-background); stroke: var(--pst-color-primary); stroke-width: 3; }
.plot .drop { stroke: var(--pst-color-primary); stroke-width: 1.5; }
.plot .name { font-weight: 600; paint-order: stroke; stroke: var(--pst-color-background);
  stroke-width: 4px; }
`;

/**
 * Draw the rules and the reader's point.
 * @param {import("../engine/scaling.mjs").ScalingRules} rules
 * @param {{flops: number, n: number}} point
 * @param {string} described What the picture says, in words.
 * @returns {SVGElement}
 */
export function scalingPlot(rules, point, described) {
  const svg = draw("svg", { class: "plot", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img",
    "aria-label": described });
  svg.append(...range(rules.fitted), ...axes());
  for (const name of ["refitted", "constant", "kaplan"]) svg.append(...line(rules, name));
  svg.append(...marker(point));
  return svg;
}

function draw(tag, attributes = {}, text = "") {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.textContent = text;
  return node;
}

/** Place of a power of ten on an axis. */
const across = (power) =>
  BOX.left + ((power - X.low) / (X.high - X.low)) * (BOX.right - BOX.left);
const up = (power) =>
  BOX.bottom - ((power - Y.low) / (Y.high - Y.low)) * (BOX.bottom - BOX.top);

function range(fitted) {
  const [low, high] = fitted.map((flops) => across(Math.log10(flops)));
  return [
    draw("rect", { class: "fitted", x: low, y: BOX.top, width: high - low,
      height: BOX.bottom - BOX.top }),
    draw("text", { x: (low + high) / 2, y: BOX.top + 14, "text-anchor": "middle" }, "fitted here"),
  ];
}

function axes() {
  const parts = [draw("path", { class: "axis",
    d: `M${BOX.left} ${BOX.top}V${BOX.bottom}H${BOX.right}` })];
  for (let power = X.low; power <= X.high; power += 3) {
    parts.push(draw("text", { class: "quiet", x: across(power), y: BOX.bottom + 15,
      "text-anchor": "middle" }, raised(power)));
  }
  for (let power = Y.low; power <= Y.high; power += 2) {
    parts.push(
      draw("path", { class: "grid", d: `M${BOX.left} ${up(power)}H${BOX.right}` }),
      draw("text", { class: "quiet", x: BOX.left - 5, y: up(power) + 4, "text-anchor": "end" },
        raised(power)));
  }
  const middle = (BOX.left + BOX.right) / 2;
  parts.push(
    draw("text", { x: middle, y: HEIGHT - 8, "text-anchor": "middle" }, "training FLOPs"),
    draw("text", { x: BOX.left + 6, y: BOX.top + 14 }, "parameters"));
  return parts;
}

/** Write a power of ten: 10²¹. */
function raised(power) {
  return `10${Array.from(String(power), (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("")}`;
}

/** The budget at a place of the picture, from 0 at its left edge to 1 at its right. */
export function budgetAt(share) {
  const across = (share * WIDTH - BOX.left) / (BOX.right - BOX.left);
  return 10 ** (X.low + Math.min(1, Math.max(0, across)) * (X.high - X.low));
}

function line(rules, name) {
  const look = LINES[name];
  const height = (power) =>
    up(Math.log10(rules.advise(10 ** power).find((rule) => rule.name === name).n));
  const number = { kaplan: rules.kaplan.slope, constant: rules.ratio }[name];
  const label = { kaplan: `${look.label} ${number}`, constant: `${number} ${look.label}` }[name];
  const [dx, dy] = look.shift;
  const ends = `M${across(X.low)} ${height(X.low)}L${across(X.high)} ${height(X.high)}`;
  return [
    draw("path", { class: `rule ${name}`, d: ends, "stroke-dasharray": look.dash }),
    draw("path", { class: "leader", d: `M${across(look.at)} ${height(look.at)}l${dx} ${0.7 * dy}` }),
    draw("text", { class: "name", x: across(look.at) + dx, y: height(look.at) + dy,
      "text-anchor": look.anchor }, label ?? look.label),
  ];
}

/** The reader's point, at the edge when it lies outside of the picture, and its place below. */
function marker({ flops, n }) {
  const clip = (power, { low, high }) => Math.min(high, Math.max(low, power));
  const x = across(clip(Math.log10(flops), X));
  const y = up(clip(Math.log10(n), Y));
  const isRight = x > (BOX.left + BOX.right) / 2;
  return [
    draw("path", { class: "drop", d: `M${x} ${y}V${BOX.bottom}` }),
    draw("circle", { class: "you", cx: x, cy: y, r: 6 }),
    draw("text", { class: "name", x: x + (isRight ? -5 : 5), y: BOX.bottom - 6,
      "text-anchor": isRight ? "end" : "start" }, "you"),
  ];
}
