// SPDX-License-Identifier: MIT
/** Three models on one sentence: hide letters, see what each model may read and what it answers. */
import {
  bertInfill, bertInOrder, gapsOf, gptBothSides, gptInfill, placesOf, t5Infill,
} from "./engine/infill.mjs";
import { best } from "./engine/sampling.mjs";
import { Applet, define } from "./ui/applet.mjs";
import { VIEW_STYLE } from "./ui/attention-view.mjs";
import { bars, button, field, h, spoken, tokenRow, visible } from "./ui/controls.mjs";
import { getModel } from "./ui/files.mjs";
import { bertView, gptView, t5View } from "./ui/infill-views.mjs";
import { Turns } from "./ui/turns.mjs";

const START = "Fair is foul, and foul is fair.";
const HIDDEN_AT_START = "foul";
const LIMIT = 60;
const MOST_HIDDEN = 16;
const MOST_GAPS = 4;
const N_GUESSES = 5;
const STYLE = `
.costs { display: grid; gap: .2rem; list-style: none; margin: 0; padding: 0; }
.costs li { align-items: center; display: grid; gap: .5rem; grid-template-columns: 12.5rem 1fr 4.5rem; }
@media (width < 500px) { .costs li { grid-template-columns: 8rem 1fr 4.5rem; } }
.three { align-items: start; grid-template-columns: repeat(auto-fit, minmax(min(100%, 12.5rem), 1fr)); }
.three .bars li { grid-template-columns: minmax(1.5rem, max-content) 1fr 4.5rem; }
.answer { font-family: var(--pst-font-family-monospace, monospace); overflow-wrap: anywhere; white-space: pre-wrap; }
.answer mark { background: none; color: inherit; font-weight: 700; text-decoration: underline; text-underline-offset: .2em; }
`;

class ThreeModels extends Applet {
  static offer = "Ask the three models about your own sentence";

  async build(panel) {
    const [gpt, bert, t5] = await Promise.all(
      ["gpt_chars", "bert_chars", "t5_chars"].map((name) => getModel(name)));
    Object.assign(this, { gpt, bert, t5, turns: new Turns() });
    const input = h("input", { type: "text", value: START, maxlength: LIMIT,
      oninput: () => this.read(input.value) });
    this.letters = h("div");
    this.message = h("p", { class: "error", role: "alert" });
    this.price = h("ul", { class: "costs", "aria-label": "Costs" });
    this.said = h("p", { role: "status" });
    this.blocks = h("div", { class: "columns three" });
    panel.replaceChildren(h("style", {}, VIEW_STYLE, STYLE),
      field("Your sentence", input, `at most ${LIMIT} characters`),
      h("p", {}, `Press the letters to hide: up to ${MOST_HIDDEN}, in up to ${MOST_GAPS} gaps. `
        + "In the row, arrow keys move."),
      this.letters, h("div", { class: "row" }, button("Show all again", () => this.hide([]))),
      this.message, h("h3", {}, "What the hidden letters cost each model"), this.price, this.said,
      h("h3", {}, "What each may see, where it looks, and what it answers"),
      h("p", {}, "The frame marks what is asked first. Struck out: hidden from the model. Bars over "
        + "the line: how much its last layer looks there, mean over the heads."),
      this.blocks);
    this.read(START);
    const from = START.indexOf(HIDDEN_AT_START);
    this.hide(Array.from(HIDDEN_AT_START, (_, i) => from + i));
  }

  /** Take a new sentence; nothing in it is hidden. */
  read(text) {
    const unknown = this.gpt.tokenizer.unknown(text);
    this.message.textContent = unknown.length
      ? `These models know no ${unknown.join(" ")}: their 62 characters are those of the plays.` : "";
    this.text = unknown.length ? "" : text;
    const about = (i) => ({ "aria-pressed": "false", "aria-label": spoken(this.text[i]) });
    this.row = tokenRow("Letters", [...visible(this.text)], (i) => this.toggle(i), about);
    this.letters.replaceChildren(this.row);
    this.hide([]);
  }

  /** Hide a letter, or show it again. */
  toggle(i) {
    const places = new Set(this.chosen);
    if (!places.delete(i)) places.add(i);
    this.hide([...places]);
  }

  /** Hide these letters and no others, unless they are too many. */
  hide(places) {
    const nGaps = gapsOf(places).length;
    if (places.length > MOST_HIDDEN || nGaps > MOST_GAPS) {
      this.message.textContent = places.length > MOST_HIDDEN
        ? `At most ${MOST_HIDDEN} letters can be hidden.` : `At most ${MOST_GAPS} gaps are possible.`;
      return;
    }
    if (this.text) this.message.textContent = "";
    this.chosen = places;
    this.row.buttons.forEach((one, i) => {
      const isHidden = places.includes(i);
      one.setAttribute("aria-pressed", isHidden);
      one.textContent = isHidden ? "▢" : visible(this.text[i]);
    });
    this.answer();
  }

  /** Ask all three. */
  answer() {
    const isOver = this.turns.begin();
    if (!this.chosen.length) {
      for (const one of [this.blocks, this.price]) one.replaceChildren();
      this.said.textContent = "Nothing is hidden yet.";
      return;
    }
    // A line end before and after: the first letter has something to its left.
    const line = `\n${this.text}\n`;
    const gaps = gapsOf(this.chosen.map((i) => i + 1));
    const { gpt, bert, t5 } = this;
    const ids = gpt.tokenizer.encode(line);
    const vocabulary = { maskId: bert.tokenizer.id("[MASK]"),
      isSpecial: (id) => bert.tokenizer.isSpecial(id) };
    const found = {
      gpt: gptInfill(gpt.model, ids, gaps),
      bert: bertInfill(bert.model, bert.tokenizer.encode(line), gaps, vocabulary),
      t5: t5Infill(t5.model, t5.tokenizer.encode(line), gaps, t5.tokenizer),
    };
    const parts = [
      ["gpt", "GPT", gptView(gpt, ids, gaps), "It reads what stands to the left, its own answers "
        + "included. We stop it at the end of a gap."],
      ["bert", "BERT", bertView(bert, ids, gaps), "It reads both sides and one mask for each letter, "
        + "and fills all masks at once."],
      ["t5", "T5", t5View(t5, t5.tokenizer.encode(line), gaps), "It reads both sides and one sentinel "
        + "for each gap, and itself decides where a gap ends."],
    ];
    this.blocks.replaceChildren(...parts.map((part) =>
      this.block(...part, found[part[0]], gaps)));
    this.showPrice(found, gaps, vocabulary, isOver);
  }

  /** What one model sees, answers and believes. */
  block(kind, name, view, rule, { answers, first }, gaps) {
    const { tokenizer } = this[kind];
    const truth = this.text[gaps[0][0] - 1];
    const rows = best(first, N_GUESSES).map(({ id, probability }) => ({
      text: tokenizer.tokens[id], share: probability,
      mark: tokenizer.tokens[id] === truth ? "✓" : undefined }));
    const written = answers.map((ids) => tokenizer.decode(ids));
    const line = h("div", { class: "line", role: "img", "aria-label": `${name}: ${view.summary}` },
      ...view.places.map(({ text, share, isSeen, isAsked }) => h("span", {
        class: `${isAsked ? "query" : ""} ${isSeen ? "" : "barred"}`.trim() || undefined,
        style: { "--share": share } }, visible(text))));
    return h("section", { class: `block ${kind}`, "aria-label": name },
      h("h3", { class: "legend" }, name), h("p", {}, rule), line, h("p", {}, view.summary),
      h("p", { class: "answer" }, ...this.filled(written, gaps)),
      h("p", {}, `Its likeliest first letters for the first gap, and how sure it is:`),
      bars(rows, `${name}: first letter of the first gap`));
  }

  /** The sentence with what a model wrote into the gaps. */
  filled(written, gaps) {
    let done = 0;
    const pieces = gaps.flatMap(([start, end], n) => {
      const piece = [this.text.slice(done, start - 1), h("mark", {}, visible(written[n] || "∅"))];
      done = end - 1;
      return piece;
    });
    return [...pieces, this.text.slice(done)];
  }

  /** Compare what the true letters cost; the slowest answer comes last. */
  async showPrice(found, gaps, vocabulary, isOver) {
    const sum = (costs) => costs.reduce((a, b) => a + b, 0);
    const line = `\n${this.text}\n`;
    const inOrder = await bertInOrder(this.bert.model, this.bert.tokenizer.encode(line), gaps,
      vocabulary, isOver);
    if (!inOrder) return;
    const costs = [
      ["GPT, from the left", sum(found.gpt.costs), "--book-gpt"],
      ["BERT, one after the other", sum(inOrder.costs), "--book-bert"],
      ["T5, the letters", sum(found.t5.costs), "--book-t5"],
      ["T5, with its ends of gaps", sum(found.t5.costs) + found.t5.ends, "--book-t5"],
    ];
    this.drawCosts(costs);
    const places = placesOf(gaps);
    const word = places.length === 1 ? "letter" : "letters";
    this.said.textContent = `${places.length} hidden ${word}. Fewer bits are better: `
      + "each bit less is twice the probability.";
    if (places.length > 1) return;
    const { tokenizer, model } = this.gpt;
    const ids = tokenizer.encode(line);
    const candidates = tokenizer.tokens.map((_, id) => id).filter((id) => !tokenizer.isSpecial(id));
    const probs = await gptBothSides(model, ids, places[0], candidates, isOver);
    if (!probs) return;
    const cost = -Math.log2(probs[candidates.indexOf(ids[places[0]])]);
    this.drawCosts(costs.toSpliced(1, 0, ["GPT, every letter tried", cost, "--book-gpt"]));
  }

  drawCosts(costs) {
    const most = Math.max(...costs.map(([, cost]) => cost));
    this.price.replaceChildren(...costs.map(([name, cost, ink]) => h("li", {}, h("span", {}, name),
      h("span", { class: "bar", "aria-hidden": "true",
        style: { "--share": cost / most, "--ink": `var(${ink})` } }),
      h("span", {}, `${cost.toFixed(1)} bits`))));
  }
}

define("pt-three-models", ThreeModels);
