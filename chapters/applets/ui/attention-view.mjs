// SPDX-License-Identifier: MIT
/** One trained model's attention over one text: a picture, and a line that shows one query's. */
import {
  attentionOf, bitsOfMasked, bitsOfNext, bitsOfSpans, clearest, habit, topKeys,
} from "../engine/looking.mjs";
import { bidirectional, causal } from "../engine/models.mjs";
import { choice, h, percent, spoken, visible } from "./controls.mjs";
import { LOOKED_STYLE, lookedRow } from "./looked-row.mjs";
import { matrix } from "./matrix.mjs";
import { Turns } from "./turns.mjs";

/** What differs between the models: their masks, how they read, and how a text is priced. */
const KINDS = {
  gpt: {
    name: "GPT",
    side: -1, // it has nothing else; BERT and T5 begin with what a GPT cannot have
    masks: [["its own: causal", causal], ["BERT’s: open", bidirectional]],
    readBy: (model, ids, options) => model.forward(ids, options),
    cost: async (model, ids, mask) => bitsOfNext(model, ids, mask),
    said: (own, other) => `Bits for the next character of this text: ${own} under its own mask, `
      + `${other} under the open one, although the answers are then in view.`,
  },
  bert: {
    name: "BERT",
    side: 1,
    masks: [["its own: open", bidirectional], ["GPT’s: causal", causal]],
    readBy: (model, ids, options) => model.forward(ids, options),
    cost: bitsOfMasked,
    said: (own, other) => `Bits for a hidden character of this text: ${own} under its own mask, `
      + `${other} under the causal one, which hides the right side.`,
  },
  t5: {
    name: "T5, encoder",
    side: 1,
    masks: [["its own: open", bidirectional], ["GPT’s: causal", causal]],
    readBy: (model, ids, options) => model.encode(ids, options),
    cost: bitsOfSpans,
    said: (own, other) => `Bits for a hidden character of this text: ${own} under its own mask, `
      + `${other} when the encoder looks only to the left.`,
  },
};

/** Look of a view, and of a line of looks elsewhere; an applet that shows one adds it to its own. */
export const VIEW_STYLE = `${LOOKED_STYLE}
.view { align-content: start; }
.line { display: flex; flex-wrap: wrap; font-family: var(--pst-font-family-monospace, monospace);
  row-gap: .4rem; }
.line span { background: linear-gradient(var(--ink) 0 0) left bottom 1.5em no-repeat;
  background-size: 100% calc(1.5em * var(--share, 0));
  min-width: .75em; padding-top: 1.6em; text-align: center; white-space: pre; }
.line .barred { color: var(--pst-color-text-muted); text-decoration: line-through; }
.line .query { font-weight: 700; outline: 2px solid currentColor; outline-offset: -1px; }
`;

const WIDE = "(min-width: 40rem)"; // here the square is shown from the start

/** A panel for one model: choices, picture, line and sentence. Not an element itself. */
export class AttentionView {
  /**
   * @param {"gpt"|"bert"|"t5"} kind
   * @param {{model: object, tokenizer: object}} loaded
   * @param {(t: number) => void} onpick Called with the query that was chosen in the picture.
   */
  constructor(kind, { model, tokenizer }, onpick) {
    Object.assign(this, KINDS[kind], { kind, model, tokenizer, onpick, chosen: null, query: 0 });
    this.mask = this.masks[0][1];
    this.turns = new Turns();
    const options = this.masks.map(([name], i) => [String(i), name]);
    this.heads = h("div", { class: "field" });
    this.picture = h("div");
    this.line = h("div", { class: "looked" });
    this.summary = h("p", { role: "status" });
    this.price = h("p");
    this.node = h("section", { class: `block view ${kind}`, "aria-label": this.name },
      h("h3", { class: "legend" }, this.name), this.line, this.summary, this.heads,
      h("details", { open: matchMedia(WIDE).matches }, h("summary", {}, "All letters at once"),
        this.picture),
      h("details", {}, h("summary", {}, "Another mask, and what it costs"),
        choice("Mask", options, (i) => {
          this.mask = this.masks[i][1];
          this.run();
        }, "0"), this.price));
  }

  /** Take a text and a query in it. */
  show(text, query) {
    this.ids = this.tokenizer.encode(text);
    this.tokens = this.ids.map((id) => this.tokenizer.tokens[id]);
    this.query = query;
    this.row = lookedRow(`${this.name}: what the chosen letter looks at`, this.tokens, this.onpick);
    this.line.replaceChildren(this.row);
    this.run();
    this.showPrice();
  }

  /** Run the model once; show the chosen head, at first one that shows what this model may do. */
  run() {
    this.layers = [];
    this.readBy(this.model, this.ids, { mask: this.mask, trace: this.layers });
    const found = this.layers.flatMap((weights, layer) =>
      Array.from({ length: weights.shape[0] }, (_, head) =>
        ({ layer, head, ...habit(weights, head) })));
    this.chosen ??= clearest(found, this.side);
    const options = found.map(({ layer, head, words, share }) => [`${layer} ${head}`,
      `layer ${layer + 1}, head ${head + 1}: ${words}, ${percent(share)}`]);
    this.heads.replaceChildren(choice("Head, and what it looks at most", options, (value) => {
      const [layer, head] = value.split(" ").map(Number);
      this.chosen = { layer, head };
      this.draw();
    }, `${this.chosen.layer} ${this.chosen.head}`));
    this.draw();
  }

  /** Draw the picture of the chosen head. */
  draw() {
    const { layer, head } = this.chosen;
    const weights = this.layers[layer];
    this.canvas = matrix({
      name: `${this.name}, layer ${layer + 1}, head ${head + 1}: rows are queries, columns are `
        + "keys, more colour is more weight, and a dot means that the query may look there.",
      tokens: this.tokens.map(visible),
      weight: (t, s) => Math.sqrt(attentionOf(weights, head, t)[s]), // or small ones would vanish
      isAllowed: this.mask,
      colour: `--book-${this.kind}`,
      onpick: (t) => this.onpick(t),
    });
    this.picture.replaceChildren(this.canvas);
    this.look(this.query);
  }

  /** Show what one query looks at. */
  look(t) {
    this.query = t;
    const { layer, head } = this.chosen;
    const { tokens } = this;
    const top = topKeys(this.layers[layer], head, t, 3);
    this.canvas.redraw(t);
    this.row.show(t, attentionOf(this.layers[layer], head, t), (s) => this.mask(t, s));
    const parts = top.filter(({ share }) => share >= 0.005).map(({ s, share }) =>
      `“${spoken(tokens[s])}” ${away(s - t)} ${percent(share)}`);
    this.summary.textContent =
      `“${spoken(tokens[t])}” at place ${t + 1} looks at ${parts.join(", ")}.`;
  }

  /** Say what the text costs under the model's own mask and under another, when that is known. */
  async showPrice() {
    const isOver = this.turns.begin();
    this.price.textContent = "Bits under both masks: …";
    const costs = [];
    for (const [, mask] of this.masks) {
      if (await isOver()) return;
      costs.push(await this.cost(this.model, this.ids, mask, this.tokenizer, isOver));
    }
    if (costs.includes(null)) return;
    this.price.textContent = this.said(...costs.map((cost) => cost.toFixed(2)));
  }
}

function away(offset) {
  if (!offset) return "(itself)";
  return `(${Math.abs(offset)} ${offset < 0 ? "before" : "after"})`;
}
