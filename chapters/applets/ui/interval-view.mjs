// SPDX-License-Identifier: MIT
/**
 * A magnified step of arithmetic coding: an interval, cut by what may come next, and below it the
 * piece that is kept, as wide as the whole and cut anew. A triangle marks the point that is sent.
 */
import { h, visible } from "./controls.mjs";

const LABELLED = 0.035; // narrower pieces have no room for a character
const SEEN = 0.004; // narrower ones would be all edge

export const INTERVAL_STYLE = `
.interval { border: 1px solid var(--pst-color-text-muted); height: 1.8rem; position: relative; }
.interval span { border-right: 1px solid var(--pst-color-text-muted); font-family: var(--pst-font-family-monospace, monospace);
  height: 100%; left: calc(100% * var(--from)); line-height: 1.65rem; overflow: hidden; position: absolute;
  text-align: center; white-space: pre; width: calc(100% * var(--share)); }
.interval .narrow { background: var(--pst-color-border); border: 0; }
.interval .kept { background: var(--ink); color: var(--pst-color-background); font-weight: 700; min-width: 2px; z-index: 1; }
.interval i { border: .3rem solid transparent; border-bottom: 0; border-top: .55rem solid var(--pst-color-text-base);
  left: calc(100% * var(--at)); margin-left: -.3rem; position: absolute; top: -.5rem; z-index: 2; }
.funnel { display: block; height: 1.5rem; width: 100%; }
.funnel polygon { fill: var(--ink); opacity: .22; }
.funnel line { stroke: var(--pst-color-text-base); stroke-dasharray: 3 3; vector-effect: non-scaling-stroke; }
.zoom { padding-top: .5rem; }
@media (prefers-reduced-motion: no-preference) {
  .funnel.grows { animation: grow .25s ease-out; transform-origin: top; }
  @keyframes grow { from { transform: scaleY(.1); opacity: 0; } }
}
@media (forced-colors: active) {
  .interval .kept { background: Highlight; color: HighlightText; forced-color-adjust: none; }
  .interval i { border-top-color: CanvasText; forced-color-adjust: none; }
}
`;

/** An element of a drawing. */
function drawn(name, attributes) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

/** Where the pieces of an interval begin and how wide they are, in the order of the code. */
function piecesOf(counts) {
  const total = counts.reduce((a, b) => a + b, 0);
  let below = 0;
  return counts.map((count) => {
    const piece = { from: below / total, share: count / total };
    below += count;
    return piece;
  });
}

/** One interval; without counts nothing cuts it any more. */
function bar(step, characters, at) {
  const pieces = step ? piecesOf(step.counts) : [{ from: 0, share: 1 }];
  const kept = step ? step.symbol : 0;
  const spans = pieces.flatMap(({ from, share }, i) => {
    if (i !== kept && share < SEEN) return [];
    const isNarrow = i !== kept && share < LABELLED;
    const text = step ? visible(characters[i]) : "all letters are named";
    return h("span", { class: i === kept ? "kept" : isNarrow ? "narrow" : undefined,
      style: { "--from": from, "--share": share } }, share < LABELLED ? "" : text);
  });
  const pin = h("i", { style: { "--at": at } });
  return { node: h("div", { class: "interval", "aria-hidden": "true" }, ...spans, pin), ...pieces[kept] };
}

/**
 * Draw a step and what follows it.
 * @param {object[]} steps Of `encode`.
 * @param {number} place Which of them.
 * @param {{code: bigint, nBits: number}} point The one that is sent.
 * @param {string[]} characters What the symbols stand for.
 * @param {boolean} grows Whether the lower interval unfolds.
 * @returns {HTMLElement}
 */
export function intervalView(steps, place, point, characters, grows) {
  const { before, after } = steps[place];
  const [above, below] = [before.placeOf(point), after.placeOf(point)];
  const upper = bar(steps[place], characters, above);
  const lower = bar(steps[place + 1], characters, below);
  const funnel = drawn("svg", { class: grows ? "funnel grows" : "funnel", viewBox: "0 0 1 1",
    preserveAspectRatio: "none", "aria-hidden": "true" });
  const { from, share } = upper;
  funnel.append(drawn("polygon", { points: `${from},0 ${from + share},0 1,1 0,1` }),
    drawn("line", { x1: above, y1: 0, x2: below, y2: 1 }));
  return h("div", { class: "zoom" }, upper.node, funnel, lower.node);
}
