// SPDX-License-Identifier: MIT
/** Masks on a few words, then the attention of trained models on the reader's own sentence. */
import { Applet, define } from "./ui/applet.mjs";
import { AttentionView, VIEW_STYLE } from "./ui/attention-view.mjs";
import { button, field, h, spoken, tokenRow, visible } from "./ui/controls.mjs";
import { getModel } from "./ui/files.mjs";
import { GRID_STYLE, maskGrid } from "./ui/mask-grid.mjs";

const START = "To be, or not to be, that is the question:";
const QUERY_AT_START = 15;
const LIMIT = 48;

class AttentionExplorer extends Applet {
  static offer = "Explore the masks, and where trained heads look";

  async build(panel) {
    const [gpt, bert] = await Promise.all([getModel("gpt_chars"), getModel("bert_chars")]);
    this.tokenizer = gpt.tokenizer;
    this.views = [];
    const input = h("input", { type: "text", value: START, maxlength: LIMIT,
      oninput: () => this.read(input.value) });
    this.letters = h("div");
    this.message = h("p", { class: "error", role: "alert" });
    this.pictures = h("div", { class: "columns" });
    this.adder = button("Add T5’s encoder", () => this.addT5());
    panel.replaceChildren(h("style", {}, GRID_STYLE, VIEW_STYLE), maskGrid(),
      h("h3", {}, "2. Where trained heads look"),
      field("Your sentence", input,
        `at most ${LIMIT} characters; a line end ↵ is added on either side`),
      h("p", {}, "Press a letter, or a row of a picture: that is the query. Arrow keys move. Dots "
        + "mark what the mask forbids; the strength of the colour is the root of the weight, so "
        + "that small ones can be seen."),
      this.letters, this.message, this.pictures, this.adder,
      h("p", {}, "The weights say where a head reads. They do not say what it does with what it "
        + "read, nor why the model answers as it does: the other heads, the layers between and "
        + "the stream around them take part."));
    this.query = QUERY_AT_START;
    this.read(START);
    this.add("gpt", gpt);
    this.add("bert", bert);
  }

  /** Add the picture of a model. */
  add(kind, loaded) {
    const view = new AttentionView(kind, loaded, (t) => this.pick(t));
    this.views.push(view);
    this.pictures.append(view.node);
    view.show(this.sentence, this.query);
  }

  /** Fetch T5 and add the picture of its encoder. */
  async addT5() {
    this.adder.disabled = true;
    try {
      this.add("t5", await getModel("t5_chars"));
      this.views.at(-1).node.querySelector("select").focus();
      this.adder.remove();
    } catch (error) {
      this.message.textContent = error.message;
      this.adder.disabled = false;
    }
  }

  /** Take a new sentence. */
  read(text) {
    const unknown = this.tokenizer.unknown(text);
    this.message.textContent = unknown.length
      ? `These models know no ${unknown.join(" ")}: their 62 characters are those of the plays.`
      : "";
    if (unknown.length || !text) return;
    this.sentence = `\n${text}\n`;
    this.query = Math.min(this.query, this.sentence.length - 1);
    const about = (i) => ({
      "aria-pressed": String(i === this.query), "aria-label": spoken(this.sentence[i]) });
    this.row = tokenRow("Query", [...visible(this.sentence)], (i) => this.pick(i), about);
    this.letters.replaceChildren(this.row);
    for (const view of this.views) view.show(this.sentence, this.query);
  }

  /** Make a place the query, in all pictures. */
  pick(t) {
    this.row.buttons[this.query].setAttribute("aria-pressed", "false");
    this.query = t;
    this.row.buttons[t].setAttribute("aria-pressed", "true");
    for (const view of this.views) view.look(t);
  }
}

define("pt-attention-explorer", AttentionExplorer);
