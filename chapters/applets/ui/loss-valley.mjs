// SPDX-License-Identifier: MIT
/** One budget, divided in many ways: the loss over the number of parameters is a valley. */
import { written } from "../engine/scaling.mjs";

const [WIDTH, HEIGHT] = [360, 190];
const BOX = { left: 46, right: 346, top: 16, bottom: 146 };
const REACH = 2; // powers of ten to either side of the best
const N_POINTS = 81;

export const VALLEY_STYLE = `
.valley { display: block; height: auto; max-width: 34rem; width: 100%; }
.valley text { fill: var(--pst-color-text-base); font: 12px var(--pst-font-family-base, sans-serif); }
.valley .quiet { fill: var(--pst-color-text-muted); font-size: 11px; }
.valley .axis { fill: none; stroke: var(--pst-color-text-muted); }
.valley .loss { fill: none; stroke: var(--pst-color-text-base); stroke-width: 2; }
.valley .mark { fill: var(--pst-color-text-base); }
.valley .you { fill: var(--pst-color-background); stroke: var(--pst-color-primary); stroke-width: 3; }
.valley .drop { stroke: var(--pst-color-primary); stroke-width: 1.5; }
.valley .name { paint-order: stroke; stroke: var(--pst-color-background); stroke-width: 4px; }
`;

/** The parameters at a place of the picture, from 0 at its left edge to 1 at its right. */
export function sizeAt(share, best) {
  const across = (share * WIDTH - BOX.left) / (BOX.right - BOX.left);
  return best * 10 ** (REACH * (2 * Math.min(1, Math.max(0, across)) - 1));
}

/**
 * Draw the valley.
 * @param {import("../engine/scaling.mjs").ScalingRules} rules
 * @param {number} flops The budget.
 * @param {number} chosen Parameters of the marked division.
 * @param {{name: string, n: number}[]} marks Other divisions, and how they are called.
 * @param {string} described What the picture says, in words.
 * @returns {SVGElement}
 */
export function lossValley(rules, flops, chosen, marks, described) {
  const best = rules.bestSize(flops);
  const lossOf = (n) => rules.lossOfSplit(n, flops);
  const sizes = Array.from({ length: N_POINTS }, (_, i) =>
    best * 10 ** (REACH * ((2 * i) / (N_POINTS - 1) - 1)));
  const [low, high] = [lossOf(best), Math.max(lossOf(sizes[0]), lossOf(sizes.at(-1)))];
  const x = (n) => {
    const power = Math.min(REACH, Math.max(-REACH, Math.log10(n / best)));
    return BOX.left + ((power / REACH + 1) / 2) * (BOX.right - BOX.left);
  };
  const y = (n) => BOX.bottom - 8
    - ((Math.min(high, lossOf(n)) - low) / (high - low)) * (BOX.bottom - 8 - BOX.top);
  const svg = draw("svg", { class: "valley", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img",
    "aria-label": described });
  svg.append(
    draw("path", { class: "axis", d: `M${BOX.left} ${BOX.top}V${BOX.bottom}H${BOX.right}` }),
    draw("path", { class: "loss", d: `M${sizes.map((n) => `${x(n)} ${y(n)}`).join("L")}` }),
    word(BOX.left - 5, y(best) + 4, low.toFixed(2), "end", "quiet"),
    word(BOX.left - 5, BOX.top + 4, high.toFixed(2), "end", "quiet"),
    word(BOX.left + 6, BOX.top - 4, "loss (nats per token)", "start", "quiet"),
    ...[-REACH, 0, REACH].map((power) => word(x(best * 10 ** power), BOX.bottom + 15,
      written(best * 10 ** power), power < 0 ? "start" : power ? "end" : "middle", "quiet")),
    word((BOX.left + BOX.right) / 2, HEIGHT - 10, "parameters; the budget stays the same"),
    ...marks.flatMap(({ name, n }) => [
      draw("circle", { class: "mark", cx: x(n), cy: y(n), r: 3.5 }),
      word(x(n), y(n) - 10, name, "middle", "name")]),
    draw("path", { class: "drop", d: `M${x(chosen)} ${y(chosen)}V${BOX.bottom}` }),
    draw("circle", { class: "you", cx: x(chosen), cy: y(chosen), r: 7 }));
  return svg;
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
