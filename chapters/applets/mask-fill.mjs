// SPDX-License-Identifier: MIT
/** The mask-fill explorer: hide letters of your own sentence, and see what BERT writes there. */
import { best, bits } from "./engine/sampling.mjs";
import { row, softmax } from "./engine/tensors.mjs";
import { Applet, define } from "./ui/applet.mjs";
import { bars, field, h, spoken, tokenRow, visible } from "./ui/controls.mjs";
import { getModel } from "./ui/files.mjs";

const START = "I will not speak to him.";
const HIDDEN_AT_START = 12;
const MOST_HIDDEN = 6;

class MaskFill extends Applet {
  static offer = "Hide letters of your own sentence";

  async build(panel) {
    Object.assign(this, await getModel("bert_chars"));
    this.limit = this.model.maxLength - 2; // a line end stands on either side
    const input = h("input", { type: "text", value: START, maxlength: this.limit,
      oninput: () => this.read(input.value) });
    this.letters = h("div");
    this.answers = h("div", { class: "columns", role: "status" });
    this.message = h("p", { class: "error", role: "alert" });
    panel.replaceChildren(
      field("Your sentence", input, `at most ${this.limit} characters`),
      h("p", {}, "Press the letters to hide, up to six. In the row, arrow keys move."),
      this.letters, this.message, this.answers);
    this.read(START);
    this.toggle(HIDDEN_AT_START);
  }

  /** Take a new sentence; nothing in it is hidden. */
  read(text) {
    this.text = text;
    this.blanks = new Set();
    const unknown = this.tokenizer.unknown(text);
    this.message.textContent = unknown.length
      ? `This model knows no ${unknown.join(" ")}: its 62 characters are those of the plays.` : "";
    const shown = unknown.length ? "" : text;
    const about = (i) => ({ "aria-pressed": "false", "aria-label": spoken(text[i]) });
    this.row = tokenRow("Letters", [...visible(shown)], (i) => this.toggle(i), about);
    this.letters.replaceChildren(this.row);
    this.answer();
  }

  /** Hide a letter, or show it again. */
  toggle(i) {
    if (!this.blanks.delete(i)) {
      if (this.blanks.size === MOST_HIDDEN) return;
      this.blanks.add(i);
    }
    const isHidden = this.blanks.has(i);
    const shown = this.row.buttons[i];
    shown.setAttribute("aria-pressed", isHidden);
    shown.textContent = isHidden ? "▢" : visible(this.text[i]);
    this.answer();
  }

  /** Run the model once, and show the eight best guesses for every hidden place. */
  answer() {
    const places = [...this.blanks].sort((a, b) => a - b);
    if (!places.length) {
      this.answers.replaceChildren(h("p", {}, "Nothing is hidden yet."));
      return;
    }
    const ids = this.tokenizer.encode(`\n${this.text}\n`);
    const truths = places.map((i) => ids[i + 1]);
    places.forEach((i) => { ids[i + 1] = this.tokenizer.id("[MASK]"); });
    const logits = this.model.forward(ids);
    this.answers.replaceChildren(...places.map((i, n) =>
      this.guesses(i, truths[n], softmax(row(logits, i + 1)))));
  }

  guesses(i, truth, probs) {
    const { tokens } = this.tokenizer;
    const rows = best(probs, 8).map(({ id, probability }) => ({
      text: tokens[id], share: probability, mark: id === truth ? "✓ yours" : undefined }));
    const cost = `Your “${visible(tokens[truth])}” costs ${bits(probs[truth]).toFixed(1)} bits.`;
    return h("div", { class: "bert" },
      h("h3", {}, `Place ${i + 1}`), bars(rows, `Best guesses for place ${i + 1}`), h("p", {}, cost));
  }
}

define("pt-mask-fill", MaskFill);
