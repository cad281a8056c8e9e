// SPDX-License-Identifier: MIT
/** Shannon's guessing game: continue a line letter by letter, against the GPT on characters. */
import { cost, mean, sharesOfTries, TRIES } from "./engine/games.mjs";
import { best, bits } from "./engine/sampling.mjs";
import { row, softmax } from "./engine/tensors.mjs";
import { Applet, define } from "./ui/applet.mjs";
import { bars, button, choice, field, h, spoken, visible } from "./ui/controls.mjs";
import { getJson, getModel } from "./ui/files.mjs";
import { gap, GAME_STYLE, markedRows, quoted, scoreboard } from "./ui/scoreboard.mjs";

const N_SHOWN = 6;
const DEEPEST = 0.35; // share of the colour in the trace; more would swallow the numbers

/** A GPT that reads a line along with the reader, one character at a time. */
export class LineReader {
  /** @param {{model: GPT, tokenizer: CharTokenizer}} loaded @param {string} text Known so far. */
  constructor({ model, tokenizer }, text) {
    Object.assign(this, { model, tokenizer, cache: model.makeCache() });
    this.read(text);
  }

  /** Read on, and expect the next character anew: `probs`, V probabilities. */
  read(text) {
    const logits = this.model.forward(this.tokenizer.encode(text), { cache: this.cache });
    this.probs = softmax(row(logits, -1));
  }

  /** What this character costs, in bits. */
  cost(character) {
    return bits(this.probs[this.tokenizer.id(character)]);
  }
}

class NextLetter extends Applet {
  static offer = "Continue a line, letter by letter";
  static room = [411, 441];

  async build(panel) {
    const files = [getJson("next_letter.json"), getModel("gpt_chars")];
    [this.data, this.loaded] = await Promise.all(files);
    const { lines } = this.data;
    this.selection = choice("A line from", lines.map(({ source }, i) => [String(i), source]),
      (value) => {
        this.keep({ line: value });
        this.start(Number(value));
      }, "0");
    this.page = h("pre");
    this.input = h("input", { type: "text", maxlength: 2, autocomplete: "off",
      autocapitalize: "none", spellcheck: "false", oninput: () => this.guess() });
    this.news = h("p", { role: "status" });
    this.message = h("p", { class: "error", role: "alert" });
    this.trace = h("ol", { class: "trace", "aria-label": "The characters so far" });
    this.legend = h("p", { class: "note", hidden: true },
      "Below each character: your tries (✗: not found), then GPT’s bits.");
    this.answer = h("div", { class: "gpt" });
    this.sum = h("div", { class: "result" });
    const missed = cost(sharesOfTries(["?", "?", "?"]), "", this.data.characters.length);
    panel.replaceChildren(h("style", {}, GAME_STYLE), this.selection, this.page,
      field("Next character", this.input, `each key is a try: 1, 2 or 3 bits; ${missed.toFixed(1)} `
        + "after three misses. The space is a character, and capitals count."),
      this.message, this.news, this.trace, this.legend, this.answer, this.sum);
    const { control } = this.selection;
    control.selectedIndex = Math.min(lines.length - 1, Number(this.state.get("line")) || 0);
    this.start(control.selectedIndex);
  }

  start(index) {
    this.line = this.data.lines[index];
    this.known = this.line.start;
    this.guesses = [];
    this.paid = { reader: [], gpt: [], unigram: [] };
    this.reader = new LineReader(this.loaded, this.line.context + this.line.start);
    this.input.disabled = false;
    this.input.value = this.message.textContent = this.news.textContent = "";
    this.legend.hidden = true;
    this.trace.replaceChildren();
    this.answer.replaceChildren();
    this.sum.replaceChildren();
    this.show();
  }

  get isOver() {
    return this.paid.reader.length === this.line.rest.length;
  }

  show() {
    this.page.replaceChildren(
      this.line.context.trimStart(), this.known, ...(this.isOver ? [] : [gap()]));
  }

  /** Judge a key at once: right, wrong, or wrong for the third time. */
  guess() {
    const [typed] = this.input.value;
    this.input.value = "";
    if (typed === undefined) return;
    const isKnown = this.data.characters.includes(typed);
    this.message.textContent = isKnown ? ""
      : `The plays have no ${typed}: they use ${this.data.characters.length} characters.`;
    if (!isKnown || this.guesses.includes(typed)) return;
    this.guesses.push(typed);
    const truth = this.line.rest[this.paid.reader.length];
    const nLeft = TRIES.length - this.guesses.length;
    if (typed === truth || !nLeft) this.settle(truth);
    else this.news.textContent = `Not ${quoted(typed)}. Tries left: ${nLeft}.`;
  }

  /** Show the character and its price, and let the model read it. */
  settle(truth) {
    const { characters, unigram } = this.data;
    this.paid.reader.push(cost(sharesOfTries(this.guesses), truth, characters.length));
    this.paid.gpt.push(this.reader.cost(truth));
    this.paid.unigram.push(unigram[characters.indexOf(truth)]);
    this.reveal(truth);
    this.guesses = [];
    this.known += truth;
    this.show();
    if (this.isOver) this.finish();
    else this.reader.read(truth);
  }

  reveal(truth) {
    const { tokens } = this.reader.tokenizer;
    const found = best(this.reader.probs, N_SHOWN).map(({ id, probability }) => (
      { text: tokens[id], share: probability }));
    const own = { text: truth, share: this.reader.probs[this.reader.tokenizer.id(truth)] };
    const [mine, model] = [this.paid.reader.at(-1), this.paid.gpt.at(-1)];
    const isFound = this.guesses.includes(truth);
    this.news.textContent = `${isFound ? "Yes, " : "It is "}${quoted(truth)}. You pay `
      + `${mine.toFixed(1)} bits, GPT ${model.toFixed(1)}.`;
    this.legend.hidden = false;
    this.trace.append(step(truth, isFound ? this.guesses.length : "✗", mine, model));
    this.answer.replaceChildren(bars(markedRows(found, own, this.guesses), "What GPT expected"));
    this.sum.replaceChildren(
      scoreboard("character", [
        { name: "you", bits: this.paid.reader },
        { name: "GPT", bits: this.paid.gpt, paradigm: "gpt" },
        { name: "frequencies", bits: this.paid.unigram },
      ]));
  }

  finish() {
    const next = (this.data.lines.indexOf(this.line) + 1) % this.data.lines.length;
    const onward = button("Another line", () => {
      this.selection.control.value = String(next);
      this.start(next);
      this.input.focus();
    }, { class: "primary" });
    this.input.disabled = true;
    const [mine, model] = [mean(this.paid.reader), mean(this.paid.gpt)];
    const winner = mine < model ? "you are cheaper" : "GPT is cheaper";
    this.sum.prepend(h("p", { role: "status" },
      `The line is done. You paid ${mine.toFixed(2)} bits a character, GPT ${model.toFixed(2)}: ` +
      `here ${winner}. One line, whose letters depend on each other, ranks nobody.`),
      h("div", {}, onward));
    onward.focus();
  }
}

/**
 * One step of the trace: a character, the reader's tries and GPT's bits below it; the more it cost,
 * the stronger the colour.
 */
function step(character, tries, mine, model) {
  const cell = (kind, text, bits) =>
    h("span", { class: kind, style: { "--share": Math.min(DEEPEST, bits / 20) } }, text);
  const said = `${spoken(character)}: you ${mine.toFixed(1)} bits, GPT ${model.toFixed(1)}`;
  return h("li", { "aria-label": said }, h("b", {}, visible(character)),
    cell("you", String(tries), mine), cell("gpt", model.toFixed(1), model));
}

define("pt-next-letter", NextLetter);
