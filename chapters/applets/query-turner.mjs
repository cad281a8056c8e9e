// SPDX-License-Identifier: MIT
/** Turn the query of "it" in the plane of the keys, and see the weights and the mixture follow. */
import { Applet, define } from "./ui/applet.mjs";
import { bars, h, slider } from "./ui/controls.mjs";
import { onDrag } from "./ui/dragging.mjs";

const TOKENS = ["the", "cat", "saw", "it"];
const KEYS = [[0, 0], [2, 0], [0, 2], [1, 0]]; // (noun, verb): those of the chapter
const VALUES = [[0, 0], [1, 0], [0, 1], [0, 0]]; // (animal, action)
const START = { angle: 0, length: 2 };
const LONGEST = 4;
const [SIDE, REACH, INK] = [260, 4.4, "var(--book-gpt)"]; // px, units from the middle to the edge
const STYLE = `
.plane { display: block; height: auto; max-width: 17rem; width: 100%; }
.plane text { fill: var(--pst-color-text-base); font: 13px var(--pst-font-family-base, sans-serif);
  paint-order: stroke; stroke: var(--pst-color-background); stroke-width: 3px; }
.plane .axis { stroke: var(--pst-color-border); }
.plane .key { stroke: var(--pst-color-text-base); stroke-width: 2; }
.plane .end { fill: var(--pst-color-text-base); }
.plane .query { stroke: ${INK}; stroke-linecap: round; stroke-width: 6; }
.plane .grip { fill: ${INK}; stroke: var(--pst-color-background); stroke-width: 2; }
`;

/** The weights of a query, and the mixture of the values. */
export function lookUp(query) {
  const exps = KEYS.map((key) => Math.exp((key[0] * query[0] + key[1] * query[1]) / Math.SQRT2));
  const sum = exps.reduce((a, b) => a + b, 0);
  const weights = exps.map((one) => one / sum);
  return { weights, mixed: [0, 1].map((i) => weights.reduce((all, w, s) => all + w * VALUES[s][i], 0)) };
}

class QueryTurner extends Applet {
  static offer = "Turn the query, and see what it finds";
  static room = [410, 690];

  async build(panel) {
    this.angle = Number(this.state.get("angle") ?? START.angle) || 0;
    this.length = Number(this.state.get("length") ?? START.length) || 0;
    this.plane = h("div");
    this.said = h("p", { role: "status" });
    this.found = h("div", { class: "gpt" });
    const degrees = (value) => `${value}°`;
    this.turn = slider("Direction", { min: -180, max: 180, step: 5, value: this.angle },
      (angle) => this.set({ angle }), degrees);
    this.stretch = slider("Length", { min: 0, max: LONGEST, step: 0.1, value: this.length },
      (length) => this.set({ length }), (value) => value.toFixed(1));
    onDrag(this.plane, (x, y) => this.drag(x, y));
    this.plane.style.touchAction = "none"; // the arrow follows in every direction
    panel.replaceChildren(h("style", {}, STYLE), h("p", {}, "Drag the blue arrow, the query of “it”."),
      h("div", { class: "columns" }, this.plane,
        h("div", { class: "stack" }, this.found, this.said, this.turn, this.stretch)));
    this.draw();
  }

  /** Follow a pointer: the arrow's tip is where it is, on the steps of the sliders. */
  drag(x, y) {
    const [across, up] = [(2 * x - 1) * REACH, (1 - 2 * y) * REACH];
    const length = Math.min(LONGEST, Math.round(10 * Math.hypot(across, up)) / 10);
    const angle = Math.round((Math.atan2(up, across) * 36) / Math.PI) * 5;
    this.turn.set(angle);
    this.stretch.set(length);
    this.set({ angle, length });
  }

  set(change) {
    Object.assign(this, change);
    this.draw();
    this.keep({ angle: this.angle, length: this.length });
  }

  draw() {
    const radians = (this.angle * Math.PI) / 180;
    const query = [this.length * Math.cos(radians), this.length * Math.sin(radians)];
    const { weights, mixed } = lookUp(query);
    this.found.replaceChildren(bars(weights.map((share, s) => ({ text: TOKENS[s], share,
      number: share.toFixed(2) })), "Weights of the four keys"));
    const [animal, action] = mixed.map((one) => one.toFixed(2));
    this.said.textContent = `Now “it” carries ${animal} of animal and ${action} of action.`;
    this.plane.replaceChildren(drawPlane(query, this.said.textContent));
  }
}

function drawPlane(query, label) {
  const at = ([x, y]) => [SIDE / 2 * (1 + x / REACH), SIDE / 2 * (1 - y / REACH)];
  const [middle] = at([0, 0]);
  const line = (to, kind) => svg("line", { x1: middle, y1: middle, x2: to[0], y2: to[1], class: kind });
  const word = ([x, y], text, anchor = "middle") => svg("text", { x, y, "text-anchor": anchor }, text);
  const tip = at(query);
  const picture = svg("svg", { viewBox: `0 0 ${SIDE} ${SIDE}`, class: "plane", role: "img",
    "aria-label": `A query among four keys. ${label}` });
  picture.append(
    svg("path", { class: "axis", d: `M0 ${middle}H${SIDE}M${middle} 0V${SIDE}` }),
    word([SIDE - 4, middle + 30], "noun →", "end"), word([middle + 6, 14], "↑ verb", "start"),
    line(tip, "query"),
    ...KEYS.flatMap((key) => [line(at(key), "key"),
      svg("circle", { cx: at(key)[0], cy: at(key)[1], r: 4, class: "end" })]),
    svg("circle", { cx: tip[0], cy: tip[1], r: 9, class: "grip" }),
    ...KEYS.map((key, s) => {
      const [x, y] = at(key);
      return word([x + (s ? 0 : -16), y + (s === 0 ? 16 : s === 2 ? -8 : -12)], TOKENS[s]);
    }));
  return picture;
}

function svg(tag, attributes = {}, text = "") {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.textContent = text;
  return node;
}

define("pt-query-turner", QueryTurner);
