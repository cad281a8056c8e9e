// SPDX-License-Identifier: MIT
/**
 * The span-corruption playground: cut words out, and watch T5's decoder write what was cut.
 *
 * The decoder's row grows token by token. In the encoder's row the hole that is being filled is lit, and
 * what was written into it stands in it; the tint behind the tokens is the attention of the step.
 */
import { gapsOf, writtenInto } from "./engine/infill.mjs";
import { randomNumbers } from "./engine/sampling.mjs";
import { partsOf, placesOfParts } from "./engine/sentence.mjs";
import { randomSpans } from "./engine/span-noise.mjs";
import { nameOf } from "./engine/views.mjs";
import { Applet, define } from "./ui/applet.mjs";
import { VIEW_STYLE } from "./ui/attention-view.mjs";
import { bars, button, h, keepFocus, roving, slider, spoken, visible } from "./ui/controls.mjs";
import { latest } from "./ui/latest.mjs";
import { openModel } from "./ui/open-model.mjs";
import { placesSaid, SENTENCE_STYLE, SentenceRow } from "./ui/sentence-row.mjs";

const START = "What say you, my lord? I pray you, speak.";
const CUT_AT_START = ["lord", "pray", "you, speak"]; // they begin words of START
const MOST_IDS = 60; // about what it was trained on
const MOST_GAPS = 6;
const PACE = 450; // ms from token to token
const STYLE = `
.pair { align-items: baseline; display: grid; gap: .4rem .75rem; grid-template-columns: max-content minmax(0, 1fr); }
.pair > b { font-size: .9em; }
.sequence { align-content: start; align-items: baseline; display: flex; flex-wrap: wrap; font-family: var(--pst-font-family-monospace, monospace); gap: .2rem 0; min-height: 1.7rem; }
.sequence > span { background: linear-gradient(color-mix(in srgb, var(--ink) calc(100% * var(--share, 0)), transparent) 0 0); padding: 0 .1rem; white-space: pre; }
.sequence > .most { outline: 2px dashed var(--ink); outline-offset: -1px; }
.sequence > .special[data-filled]:not([data-filled=""])::after { content: " ← " attr(data-filled); font-weight: 400; }
.sequence > .special.lit { box-shadow: 0 0 0 2px var(--ink); background: color-mix(in srgb, var(--ink) 25%, transparent); }
.sequence .special { border: 1px solid var(--ink); border-radius: .3rem; font-weight: 700; }
.sequence > .token { background: none; min-height: 1.7rem; min-width: 0; padding: 0 .15rem; }
.sequence .token[aria-pressed="true"] { background: none; color: inherit; outline: 2px solid var(--ink); }
.sequence .token.wrong { text-decoration: underline wavy; text-underline-offset: .2em; }
@media (width < 500px) { .pair { grid-template-columns: minmax(0, 1fr); gap: .1rem; } }
`;

class SpanCorruption extends Applet {
  static offer = "Cut your own sentence, and let T5 fill the gaps";
  static room = [633, 817];

  async build(panel) {
    this.t5 = await openModel("t5_subwords");
    this.tokenizer = this.t5.tokenizer;
    this.settings = { share: 0.3, meanLength: 2 };
    this.seed = 0;
    const text = this.state.get("text") ?? START;
    this.sentence = new SentenceRow({ text, mostGaps: MOST_GAPS }, () => this.change());
    this.hint = h("p", { role: "status" });
    panel.classList.add("t5");
    panel.replaceChildren(h("style", {}, VIEW_STYLE, SENTENCE_STYLE, STYLE), this.sentence.node,
      this.hint, this.pairPart(), this.stepPart(), this.chancePart());
    this.ask = latest(() => this.waitFor(this.answer()));
    this.sentence.readWith(this.tokenizer, { byWord: true, most: MOST_IDS });
    this.sentence.hide(this.state.has("text") ? placesSaid(this.state.get("cut"))
      : CUT_AT_START.map((word) => START.indexOf(word)));
    await this.ask();
  }

  pairPart() {
    this.inputs = h("div", { class: "sequence" });
    this.targets = h("div", { class: "sequence" });
    this.written = h("div", { class: "sequence", role: "group", "aria-label": "What T5 wrote: choose a token" });
    this.said = h("p", { role: "status" });
    this.again = button("Write again", () => this.play(), { class: "primary" });
    this.next = button("One token", () => this.step());
    this.pair = h("div", { class: "stack" },
      h("div", { class: "pair" }, h("b", {}, "The encoder reads"), this.inputs,
        h("b", {}, "The decoder writes"), this.written,
        h("b", {}, "What was cut"), this.targets),
      h("div", { class: "row" }, this.again, this.next, this.said));
    return this.pair;
  }

  stepPart() {
    this.stepName = h("h3");
    this.guesses = h("div");
    this.steps = h("div", { class: "stack" }, this.stepName, this.guesses);
    return this.steps;
  }

  chancePart() {
    const set = (name) => (value) => { this.settings[name] = value; };
    this.price = h("p", { class: "note" });
    return h("details", {}, h("summary", {}, "More: let chance cut"),
      h("div", { class: "row" },
        slider("Share cut out", { min: 0.05, max: 0.5, step: 0.05, value: this.settings.share }, set("share"),
          (value) => `${Math.round(100 * value)} %`),
        slider("Mean length of a gap", { min: 1, max: 8, step: 1, value: this.settings.meanLength }, set("meanLength")),
        button("Cut by chance", () => this.cutByChance())), this.price);
  }

  /** Cut pieces, as in training, with the next seed. */
  cutByChance() {
    const pieces = partsOf(this.tokenizer, this.sentence.text, { byWord: false, most: MOST_IDS })
      .filter(({ isUnread }) => !isUnread);
    if (pieces.length < 2) {
      this.sentence.say("Write at least two words to cut.");
      return;
    }
    const { share, meanLength } = this.settings;
    this.seed += 1;
    const spans = randomSpans(pieces.length, share, meanLength, randomNumbers(this.seed));
    this.sentence.hide(spans.slice(0, MOST_GAPS).flatMap(([start, end]) =>
      pieces.slice(start, end).map((piece) => piece.end - 1)));
    this.change();
  }

  /** Answer what the reader changed, and keep it in the address. */
  change() {
    const { text, said } = this.sentence;
    this.keep({ text, cut: said });
    this.ask();
  }

  /** Let T5 read and write; then show it token by token. */
  async answer() {
    const { parts, read, hidden } = this.sentence;
    this.pair.hidden = this.steps.hidden = !hidden.length;
    this.turn = {};
    this.hint.textContent = "";
    if (!hidden.length) {
      this.hint.textContent = read.length ? "Press the words to cut out." : "";
      return;
    }
    const [lineEnd] = this.tokenizer.pieces("\n").map(({ id }) => id);
    const ids = [lineEnd, ...read.flatMap((part) => part.ids), lineEnd];
    const places = placesOfParts(read, 1);
    const gaps = gapsOf(hidden.flatMap((i) =>
      Array.from({ length: places[i][1] - places[i][0] }, (_, n) => places[i][0] + n)));
    const account = await this.t5.ask("account", ids, gaps);
    if (parts !== this.sentence.parts) return; // the reader typed on: the next answer follows
    Object.assign(this, { account, truths: gaps.map(([start, end]) => ids.slice(start, end)) });
    const { tokenizer } = this;
    const total = (isCounted) => account.costs.filter((_, t) => isCounted(account.targets[t]))
      .reduce((a, b) => a + b, 0).toFixed(1);
    this.price.textContent = `The true target costs ${total((id) => !tokenizer.isSpecial(id))} bits for what `
      + `was cut and ${total((id) => tokenizer.isSpecial(id))} for the sentinels.`;
    this.show(this.inputs, account.inputs);
    this.show(this.targets, account.targets);
    this.play();
  }

  /** Give the rows the height that they have at the end, so that nothing below moves while they grow. */
  keepRoom() {
    const rows = [this.inputs, this.written, this.said.parentNode];
    for (const row of rows) row.style.minHeight = "";
    this.write(this.account.steps.length);
    this.said.textContent = this.summary();
    const heights = rows.map((row) => row.offsetHeight);
    rows.forEach((row, n) => { row.style.minHeight = `${heights[n]}px`; });
  }

  /** Write token by token; all at once where motion is unwanted. */
  async play() {
    const turn = this.turn = {};
    const { steps } = this.account;
    if (this.panel.hidden) { // what is not seen yet has no height
      await new Promise((resolve) => { this.addEventListener("applet-open", resolve, { once: true }); });
      if (this.turn !== turn) return;
    }
    this.keepRoom();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.write(steps.length);
    } else {
      for (let n = 1; n <= steps.length; n++) {
        this.write(n);
        await new Promise((resolve) => { setTimeout(resolve, PACE); });
        if (this.turn !== turn) return;
      }
    }
    this.look(Math.min(1, steps.length - 1)); // the first that is no sentinel
    this.said.textContent = this.summary();
  }

  /** Write one token more and stay there; after the last one, begin anew. */
  step() {
    this.turn = {}; // what plays, stops
    const { steps } = this.account;
    const n = (this.keys.length % steps.length) + 1;
    this.write(n);
    if (n === steps.length) this.said.textContent = this.summary();
  }

  /** Show the first n tokens that it wrote. */
  write(n) {
    const { steps, targets } = this.account;
    const keys = steps.slice(0, n).map(({ id }, t) => {
      const isSpecial = this.tokenizer.isSpecial(id);
      return button(visible(nameOf(id, this.tokenizer)), () => this.look(t), {
        class: `token${isSpecial ? " special" : ""}${id === targets[t] ? "" : " wrong"}`,
        "aria-label": `Step ${t + 1}, ${this.name(id)}`,
        onpointerenter: () => this.look(t), onfocus: () => this.look(t) });
    });
    this.keys = keys;
    roving(this.written, keys);
    this.said.textContent = "";
    this.look(n - 1);
    keepFocus(this.written, () => this.written.replaceChildren(...keys));
  }

  /** Show one step: where it looked in the input, and what it expected. */
  look(t) {
    const { steps, targets } = this.account;
    const { guesses, looks } = steps[t];
    const most = Math.max(...looks);
    [...this.inputs.children].forEach((one, s) => {
      one.style.setProperty("--share", (0.6 * looks[s]) / most);
      one.classList.toggle("most", looks[s] === most);
    });
    this.keys.forEach((one, n) => one.setAttribute("aria-pressed", n === t));
    this.light(t);
    this.stepName.textContent = `Step ${t + 1}: it looked at the shaded tokens and expected`;
    const isOnTrack = steps.slice(0, t).every((step, n) => step.id === targets[n]);
    this.guesses.replaceChildren(bars(guesses.slice(0, 5).map((guess) => ({
      text: nameOf(guess.id, this.tokenizer), share: guess.probability,
      mark: isOnTrack && guess.id === targets[t] ? "✓" : undefined })), "Next token"));
  }

  /** Light the hole that step t fills, and write into all holes what was written so far. */
  light(t) {
    const { steps, inputs } = this.account;
    const written = steps.slice(0, this.keys.length).map(({ id }) => id);
    const open = written.slice(0, t + 1).findLast((id) => this.tokenizer.isSpecial(id));
    inputs.forEach((id, s) => {
      if (!this.tokenizer.isSpecial(id)) return;
      const hole = this.inputs.children[s];
      hole.classList.toggle("lit", id === open);
      const inside = this.tokenizer.decode(writtenInto(written, id, this.tokenizer)).trim();
      hole.dataset.filled = inside ? visible(inside) : "";
    });
  }

  /** What it filled in, in a sentence. */
  summary() {
    const written = this.account.steps.map(({ id }) => id);
    const answers = this.truths.map((_, n) =>
      writtenInto(written, this.tokenizer.id(`<extra_id_${n}>`), this.tokenizer));
    const nRight = this.truths.filter((ids, n) => String(ids) === String(answers[n])).length;
    const list = answers.map((ids, n) => `⟨${n}⟩ “${visible(this.tokenizer.decode(ids).trim())}”`);
    return `It filled ${list.join(" and ")}: ${nRight} of ${answers.length} as it was.`;
  }

  name(id) {
    return this.tokenizer.isSpecial(id) ? nameOf(id, this.tokenizer) : spoken(this.tokenizer.tokens[id].trim());
  }

  /** Show tokens as a row; special ones in a frame. */
  show(node, ids) {
    node.replaceChildren(...ids.map((id) => h("span", {
      class: this.tokenizer.isSpecial(id) ? "special" : undefined },
      visible(nameOf(id, this.tokenizer)))));
  }
}

define("pt-span-corruption", SpanCorruption);
