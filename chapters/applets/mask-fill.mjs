// SPDX-License-Identifier: MIT
/** The mask-fill explorer: hide parts of your own sentence, and see what BERT writes there. */
import { best, bits } from "./engine/sampling.mjs";
import { row, softmax } from "./engine/tensors.mjs";
import { Applet, define } from "./ui/applet.mjs";
import { bars, choice, field, h, spoken, tokenRow, visible } from "./ui/controls.mjs";
import { getModel } from "./ui/files.mjs";

const LETTERS = "bert_chars";
const STRONG = "bert_plays";
const WORDS = "bert_words";
const START = "I will not speak to him.";
const HIDDEN_AT_START = 12; // a character of START; what holds it is hidden
const MOST_HIDDEN = 6;

class MaskFill extends Applet {
  static offer = "Hide letters or words of your own sentence";

  async build(panel) {
    Object.assign(this, await getModel(LETTERS), { name: LETTERS });
    this.input = h("input", { type: "text", value: START, oninput: () => this.read() });
    this.limit = h("small");
    const more = [[STRONG, "letters, strong"], [WORDS, "words"]].map(([name, what]) =>
      [name, `${what} (${this.more(name)} more)`]);
    this.models = choice("What BERT reads", [[LETTERS, "letters"], ...more],
      (name) => this.take(name), LETTERS);
    this.tokens = h("div");
    this.answers = h("div", { class: "columns", role: "status" });
    this.message = h("p", { class: "error", role: "alert" });
    const sentence = field("Your sentence", this.input);
    sentence.append(this.limit);
    panel.replaceChildren(sentence, this.models,
      h("p", {}, "Press what is to be hidden, up to six places. In the row, arrow keys move."),
      this.tokens, this.message, this.answers);
    this.begin();
  }

  /** Go on with another model; if it cannot be had, with the one before. */
  async take(name) {
    const { control } = this.models;
    control.disabled = true;
    this.message.textContent = "Loading …";
    try {
      Object.assign(this, await getModel(name), { name });
      this.begin();
    } catch (error) {
      this.message.textContent = error.message;
    }
    control.disabled = false;
    control.value = this.name;
  }

  /** Read the sentence with a model that is new; one place is hidden in the first sentence. */
  begin() {
    this.isWords = this.name === WORDS;
    const most = this.model.maxLength - 2; // one more token stands on either side
    this.limit.textContent = this.isWords ? `at most ${most} pieces` : `at most ${most} characters`;
    if (this.isWords) this.input.removeAttribute("maxlength");
    else {
      this.input.maxLength = most;
      this.input.value = this.input.value.slice(0, most);
    }
    this.read();
    const at = this.parts.findLastIndex(({ start }) => start <= HIDDEN_AT_START);
    if (this.input.value === START) this.toggle(at);
  }

  /** Take a new sentence; nothing in it is hidden. */
  read() {
    const text = this.input.value;
    this.blanks = new Set();
    this.message.textContent = this.complaint(text);
    this.parts = this.message.textContent ? [] : this.cut(text);
    const about = (i) => ({ "aria-pressed": "false", "aria-label": spoken(this.parts[i].text) });
    this.row = tokenRow(this.isWords ? "Words and pieces" : "Letters",
      this.parts.map(({ text: part }) => visible(part)), (i) => this.toggle(i), about);
    this.tokens.replaceChildren(this.row);
    this.answer();
  }

  /** Say why a sentence cannot be read; empty when it can. */
  complaint(text) {
    if (this.isWords) {
      const n = this.tokenizer.encode(text).length;
      const most = this.model.maxLength - 2;
      return n > most ? `This model reads at most ${most} pieces; the sentence has ${n}.` : "";
    }
    const unknown = this.tokenizer.unknown(text);
    return unknown.length
      ? `This model knows no ${unknown.join(" ")}: its 62 characters are those of the plays.` : "";
  }

  /** Cut a sentence into what can be hidden: texts, their ids and places. */
  cut(text) {
    if (!this.isWords) {
      return this.tokenizer.encode(text).map((id, start) => ({ id, start, text: text[start] }));
    }
    return this.tokenizer.encode(text).map(({ id, start }) =>
      ({ id, start, text: this.tokenizer.tokens[id] }));
  }

  /** Hide a part, or show it again. */
  toggle(i) {
    if (!this.blanks.delete(i)) {
      if (this.blanks.size === MOST_HIDDEN) return;
      this.blanks.add(i);
    }
    const isHidden = this.blanks.has(i);
    const shown = this.row.buttons[i];
    shown.setAttribute("aria-pressed", isHidden);
    shown.textContent = isHidden ? "▢" : visible(this.parts[i].text);
    this.answer();
  }

  /** Run the model once, and show the eight best guesses for every hidden place. */
  answer() {
    const places = [...this.blanks].sort((a, b) => a - b);
    if (!places.length) {
      this.answers.replaceChildren(h("p", {}, "Nothing is hidden yet."));
      return;
    }
    const mask = this.tokenizer.id("[MASK]");
    const inside = this.parts.map(({ id }, i) => (this.blanks.has(i) ? mask : id));
    const logits = this.model.forward([this.edge("[CLS]"), ...inside, this.edge("[SEP]")]);
    this.answers.replaceChildren(...places.map((i) =>
      this.guesses(i, softmax(row(logits, i + 1)))));
  }

  /** What stands beside a sentence: a special token, or the end of a line where there is none. */
  edge(special) {
    return this.isWords ? this.tokenizer.id(special) : this.tokenizer.encode("\n")[0];
  }

  guesses(i, probs) {
    const { tokens } = this.tokenizer;
    const truth = this.parts[i].id;
    const rows = best(probs, 8).map(({ id, probability }) => ({
      text: tokens[id], share: probability, mark: id === truth ? "✓ yours" : undefined }));
    const cost = `Your “${visible(tokens[truth])}” costs ${bits(probs[truth]).toFixed(1)} bits.`;
    return h("div", { class: "bert" },
      h("h3", {}, `Place ${i + 1}`), bars(rows, `Best guesses for place ${i + 1}`), h("p", {}, cost));
  }
}

define("pt-mask-fill", MaskFill);
