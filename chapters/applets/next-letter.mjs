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

  async build(panel) {
    const files = [getJson("next_letter.json"), getModel("gpt_chars")];
    [this.data, this.loaded] = await Promise.all(files);
    const { lines } = this.data;
    this.selection = choice("A line from", lines.map(({ source }, i) => [String(i), source]),
      (value) => this.start(Number(value)), "0");
    this.page = h("pre");
    this.input = h("input", { type: "text", maxlength: TRIES.length, autocomplete: "off",
      autocapitalize: "none", spellcheck: "false" });
    this.shower = h("button", { type: "submit", class: "primary" }, "Show the character");
    const form = h("form", { class: "game",
      onsubmit: (event) => { event.preventDefault(); this.judge(); } },
      field("Next character", this.input, "one to three guesses, the surest first"), this.shower);
    this.message = h("p", { class: "error", role: "alert" });
    this.answer = h("div", { class: "result", role: "status" });
    this.sum = h("div", { class: "result" });
    panel.replaceChildren(h("style", {}, GAME_STYLE), this.selection, this.page, form,
      h("p", { class: "note" },
        "Type “ea” to put ½ on e and ¼ on a; a third character gets ⅛, " +
        "and the rest goes to all. The same one again adds up: “eee” is nearly sure. " +
        "A space is a character, and capitals count."),
      this.message, this.answer, this.sum);
    this.start(0);
  }

  start(index) {
    this.line = this.data.lines[index];
    this.known = this.line.start;
    this.paid = { reader: [], gpt: [], unigram: [] };
    this.reader = new LineReader(this.loaded, this.line.context + this.line.start);
    this.input.disabled = this.shower.hidden = false;
    this.input.value = this.message.textContent = "";
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

  /** Take the guesses, show the character, and let the model read it. */
  judge() {
    const guesses = Array.from(this.input.value);
    const unknown = guesses.filter((c) => !this.data.characters.includes(c));
    this.message.textContent = !guesses.length ? "Type one to three characters first."
      : unknown.length ? `The plays have no ${unknown.join(" ")}: they use 62 characters.` : "";
    if (this.message.textContent) return;
    const { characters, unigram } = this.data;
    const truth = this.line.rest[this.paid.reader.length];
    this.paid.reader.push(cost(sharesOfTries(guesses), truth, characters.length));
    this.paid.gpt.push(this.reader.cost(truth));
    this.paid.unigram.push(unigram[characters.indexOf(truth)]);
    this.reveal(truth, guesses);
    this.known += truth;
    this.input.value = "";
    this.show();
    if (this.isOver) this.finish();
    else this.reader.read(truth);
  }

  reveal(truth, guesses) {
    const { tokens } = this.reader.tokenizer;
    const found = best(this.reader.probs, N_SHOWN).map(({ id, probability }) => (
      { text: tokens[id], share: probability }));
    const own = { text: truth, share: this.reader.probs[this.reader.tokenizer.id(truth)] };
    const [mine, model] = [this.paid.reader.at(-1), this.paid.gpt.at(-1)];
    this.answer.replaceChildren(
      h("p", {}, "It is ", h("strong", {}, quoted(truth)),
        `. You pay ${mine.toFixed(1)} bits, GPT ${model.toFixed(1)}.`),
      h("div", { class: "gpt" }, bars(markedRows(found, own, guesses), "What GPT expected")));
    this.sum.replaceChildren(
      scoreboard("character", [
        { name: "you", bits: this.paid.reader },
        { name: "GPT", bits: this.paid.gpt, paradigm: "gpt" },
        { name: "frequencies", bits: this.paid.unigram },
      ]), this.history());
  }

  /** Every character so far with what it cost: the dear ones begin words. */
  history() {
    const letters = this.line.rest.slice(0, this.paid.reader.length);
    const cells = (values) => values.map((value) => h("td", {}, value.toFixed(1)));
    const table = h("table", { class: "letters" },
      h("caption", {}, "Bits, character by character"),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "true"), ...[...letters].map((c) =>
        h("th", { scope: "col", "aria-label": spoken(c) }, visible(c))))),
      h("tbody", {},
        h("tr", {}, h("th", { scope: "row" }, "you"), ...cells(this.paid.reader)),
        h("tr", { class: "gpt" }, h("th", { scope: "row" }, "GPT"), ...cells(this.paid.gpt))));
    const box = h("div", { class: "scroll", tabindex: "0", role: "region",
      "aria-label": "Bits, character by character" }, table);
    requestAnimationFrame(() => { box.scrollLeft = box.scrollWidth; });
    return box;
  }

  finish() {
    const next = (this.data.lines.indexOf(this.line) + 1) % this.data.lines.length;
    const onward = button("Another line", () => {
      this.selection.control.value = String(next);
      this.start(next);
      this.input.focus();
    }, { class: "primary" });
    this.input.disabled = this.shower.hidden = true;
    const [mine, model] = [mean(this.paid.reader), mean(this.paid.gpt)];
    const winner = mine < model ? "you are cheaper" : "GPT is cheaper";
    this.sum.prepend(h("p", { role: "status" },
      `The line is done. You paid ${mine.toFixed(2)} bits a character, GPT ${model.toFixed(2)}: ` +
      `here ${winner}. One line, whose letters depend on each other, ranks nobody.`),
      h("div", {}, onward));
    onward.focus();
  }
}

define("pt-next-letter", NextLetter);
