// SPDX-License-Identifier: MIT
/** Masks on a few words, then the attention of trained models on the reader's own sentence. */
import { Applet, define } from "./ui/applet.mjs";
import { AttentionView, VIEW_STYLE } from "./ui/attention-view.mjs";
import { button, field, h } from "./ui/controls.mjs";
import { getModel } from "./ui/files.mjs";
import { GRID_STYLE, maskGrid } from "./ui/mask-grid.mjs";
import { readable } from "./ui/typed.mjs";

const START = "To be, or not to be";
const QUERY_AT_START = 12;
const LIMIT = 32;

class AttentionExplorer extends Applet {
  static offer = "Explore the masks, and where trained heads look";
  static room = [1699, 1842];

  async build(panel) {
    const [gpt, bert] = await Promise.all([getModel("gpt_chars"), getModel("bert_chars")]);
    this.tokenizer = gpt.tokenizer;
    this.views = [];
    const text = (this.state.get("text") || START).slice(0, LIMIT);
    const input = h("input", { type: "text", value: text, maxlength: LIMIT,
      oninput: () => { this.read(input.value); this.remember(); } });
    this.input = input;
    this.message = h("p", { class: "error", role: "alert" });
    this.pictures = h("div", { class: "columns" });
    this.adder = button("Add T5’s encoder", () => this.addT5());
    panel.replaceChildren(h("style", {}, GRID_STYLE, VIEW_STYLE), maskGrid(),
      h("h3", {}, "2. Where trained heads look"),
      field("Your sentence", input,
        `at most ${LIMIT} characters; a line end ↵ is added on either side`),
      this.message,
      h("p", {}, "Go over the letters, or press one: that is the query, and the bars are its weights. "
        + "In the square below, a dot means “may attend”, and more colour is more weight (its root, "
        + "so that small ones can be seen)."),
      this.pictures, h("div", {}, this.adder),
      h("p", {}, "The weights say where a head reads. They do not say what it does with what it "
        + "read, nor why the model answers as it does: the other heads, the layers between and "
        + "the stream around them take part."));
    this.query = Number(this.state.get("query") ?? QUERY_AT_START) || 0;
    this.read(text);
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

  /** Take a new sentence, without what the models do not know. */
  read(typed) {
    const { text, note } = readable(this.tokenizer, typed);
    this.message.textContent = text ? note : `${note} Type a few words: there is nothing to look at.`;
    this.pictures.hidden = !text;
    if (!text) return;
    this.sentence = `\n${text}\n`;
    this.query = Math.min(this.query, this.sentence.length - 1);
    for (const view of this.views) view.show(this.sentence, this.query);
  }

  /** Make a place the query, in all pictures. */
  pick(t) {
    this.query = t;
    for (const view of this.views) view.look(t);
    this.remember();
  }

  remember() {
    this.keep({ text: this.input.value, query: this.query });
  }
}

define("pt-attention-explorer", AttentionExplorer);
