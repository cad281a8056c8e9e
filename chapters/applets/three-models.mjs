// SPDX-License-Identifier: MIT
/** Three models on one sentence: hide words, see what each answers, what it pays and what it may see. */
import { gapsOf } from "./engine/infill.mjs";
import { best } from "./engine/sampling.mjs";
import { placesOfParts } from "./engine/sentence.mjs";
import { Applet, define } from "./ui/applet.mjs";
import { VIEW_STYLE } from "./ui/attention-view.mjs";
import { bars, h, visible } from "./ui/controls.mjs";
import { latest } from "./ui/latest.mjs";
import { openModel } from "./ui/open-model.mjs";
import { placesSaid, SENTENCE_STYLE, SentenceRow } from "./ui/sentence-row.mjs";

const KINDS = {
  gpt: { name: "GPT", sees: "left side only" },
  bert: { name: "BERT", sees: "both sides" },
  t5: { name: "T5", sees: "both sides" },
};
const START = "I will not speak to him.";
const HIDDEN_AT_START = "not";
const MOST_HIDDEN = 8; // words
const MOST_GAPS = 4;
const MOST_IDS = 60; // GPT and BERT read 64, a line end on either side among them
const N_GUESSES = 4;
const STYLE = `
.verdict { border-collapse: collapse; table-layout: fixed; width: 100%; }
.verdict :is(th, td) { padding: .3rem .4rem; vertical-align: baseline; }
.verdict th:first-child { width: 9.5rem; }
.verdict :is(th, td):last-child { text-align: right; width: 6rem; }
@media (width < 500px) { .verdict th:first-child { width: 6.5rem; } }
.verdict tbody th { border-left: .5rem solid var(--ink); }
.verdict small { color: var(--pst-color-text-muted); display: block; font-weight: 400; }
.verdict .answer { font-family: var(--pst-font-family-monospace, monospace); overflow-wrap: anywhere; }
.verdict .right { font-weight: 700; }
.verdict tr.best td:last-child { font-weight: 700; }
.three { align-items: start; grid-template-columns: repeat(auto-fit, minmax(min(100%, 12.5rem), 1fr)); }
.line .hidden { background-color: var(--pst-color-text-muted); border-radius: .2rem; color: transparent; }
`;

class ThreeModels extends Applet {
  static offer = "Ask the three models about your own sentence";
  static room = [523, 600];

  async build(panel) {
    const text = this.state.get("text") ?? START;
    this.sentence = new SentenceRow({ text, mostHidden: MOST_HIDDEN, mostGaps: MOST_GAPS },
      () => this.change());
    const kinds = Object.keys(KINDS);
    const models = await Promise.all(kinds.map((kind) => openModel(`contest_${kind}`)));
    this.models = Object.fromEntries(kinds.map((kind, i) => [kind, models[i]]));
    this.tokenizer = models[0].tokenizer; // the three have one vocabulary
    this.rows = h("tbody");
    this.said = h("p", { role: "status" });
    this.looks = h("div", { class: "columns three" });
    const head = ["Model", "writes", "cost"].map((name) => h("th", { scope: "col" }, name));
    panel.replaceChildren(h("style", {}, VIEW_STYLE, SENTENCE_STYLE, STYLE), this.sentence.node,
      h("table", { class: "verdict" }, h("thead", {}, h("tr", {}, ...head)), this.rows), this.said,
      h("details", { ontoggle: () => this.ask() }, h("summary", {}, "What each may see, and where it looks"),
        h("p", { class: "note" }, "The frame marks what is asked first; a grey box is hidden from the "
          + "model. Bars: how much its last layer looks there, mean over the heads."), this.looks));
    this.ask = latest(() => this.waitFor(this.answer()));
    this.sentence.readWith(this.tokenizer, { byWord: true, most: MOST_IDS });
    this.sentence.hide(this.state.has("text") ? placesSaid(this.state.get("hide")) : [START.indexOf(HIDDEN_AT_START)]);
    await this.ask();
  }

  /** Answer what the reader changed, and keep it in the address. */
  change() {
    const { text, said } = this.sentence;
    this.keep({ text, hide: said });
    this.ask();
  }

  /** Ask all three. */
  async answer() {
    const { parts, read, hidden } = this.sentence;
    if (!hidden.length) {
      this.rows.replaceChildren();
      this.looks.replaceChildren();
      this.said.textContent = read.length ? "Press a word to hide it from the three." : "";
      return;
    }
    const [lineEnd] = this.tokenizer.pieces("\n").map(({ id }) => id);
    const ids = [lineEnd, ...read.flatMap((part) => part.ids), lineEnd];
    const places = placesOfParts(read, 1);
    const gaps = gapsOf(hidden.flatMap((i) =>
      Array.from({ length: places[i][1] - places[i][0] }, (_, n) => places[i][0] + n)));
    const found = await this.askAll("infill", ids, gaps);
    const truths = gaps.map(([start, end]) => ids.slice(start, end));
    if (parts !== this.sentence.parts) return; // the reader typed on: the next answer follows
    this.showRows(found, truths);
    if (this.looks.parentElement.open) await this.showLooks(found, ids, gaps);
  }

  async askAll(...call) {
    const kinds = Object.keys(KINDS);
    const found = await Promise.all(kinds.map((kind) => this.models[kind].ask(...call)));
    return Object.fromEntries(kinds.map((kind, i) => [kind, found[i]]));
  }

  /** One line for each model: what it writes into the gaps, and what the true words cost it. */
  showRows(found, truths) {
    const sum = (costs) => costs.reduce((a, b) => a + b, 0);
    const costs = Object.fromEntries(Object.entries(found).map(([kind, one]) => [kind, sum(one.costs)]));
    const least = Math.min(...Object.values(costs));
    this.rows.replaceChildren(...Object.entries(KINDS).map(([kind, { name, sees }]) =>
      h("tr", { class: `${kind}${costs[kind] === least ? " best" : ""}` },
        h("th", { scope: "row" }, name, h("small", {}, sees)),
        h("td", { class: "answer" }, ...this.written(found[kind].answers, truths)),
        h("td", {}, `${costs[kind].toFixed(1)} bits`))));
    this.said.textContent = this.verdict(costs);
  }

  written(answers, truths) {
    return answers.flatMap((ids, n) => {
      const text = this.tokenizer.decode(ids);
      const isRight = text === this.tokenizer.decode(truths[n]);
      const shown = h("span", { class: isRight ? "right" : undefined },
        visible(text.trim() || text) || "nothing", isRight ? " ✓" : "");
      return n ? [" … ", shown] : [shown];
    });
  }

  /** Say who was least surprised, and why reading both sides does not always win. */
  verdict(costs) {
    const winner = Object.keys(costs).reduce((a, b) => (costs[b] < costs[a] ? b : a));
    const rest = "Cost: what the hidden words cost the model, the fewer bits the less surprise. ";
    if (winner === "gpt") {
      return `${rest}GPT wins from the left side alone: with equal arithmetic it learned from every `
        + "token, BERT from about one in seven. Reading both sides helps only when the right side tells.";
    }
    if (costs.t5 > costs.gpt) {
      return `${rest}BERT uses what stands behind the gap. T5 reads it too, but spent the same arithmetic `
        + "on two stacks, and must also decide where the gap ends.";
    }
    return `${rest}${KINDS[winner].name} uses what stands behind the gap; GPT cannot see it.`;
  }

  /** What each may see, where it looks, and its first guesses. */
  async showLooks(found, ids, gaps) {
    const views = await this.askAll("view", ids, gaps);
    this.looks.replaceChildren(...Object.entries(KINDS).map(([kind, { name }]) => {
      const { places, summary } = views[kind];
      const truth = ids[gaps[0][0]];
      const rows = best(found[kind].first, N_GUESSES).map(({ id, probability }) => ({
        text: this.tokenizer.tokens[id], share: probability, mark: id === truth ? "✓" : undefined }));
      const line = h("div", { class: "line", role: "img", "aria-label": `${name}: ${summary}` },
        ...places.map(({ text, share, isSeen, isAsked }) => h("span", {
          class: `${isAsked ? "query" : ""} ${isSeen ? "" : "hidden"}`.trim() || undefined,
          style: { "--share": share } }, visible(text))));
      return h("section", { class: `block ${kind}`, "aria-label": name },
        h("h3", { class: "legend" }, name), line, h("p", { class: "note" }, summary),
        bars(rows, `${name}: first piece of the first gap`));
    }));
  }
}

define("pt-three-models", ThreeModels);
