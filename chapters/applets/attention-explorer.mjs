// SPDX-License-Identifier: MIT
/** Where the heads of a trained BERT look in the reader's own sentence. */
import { attentionOf, habit, topKeys } from "./engine/looking.mjs";
import { partsOf } from "./engine/sentence.mjs";
import { Applet, define } from "./ui/applet.mjs";
import { choice, field, h, keepFocus, percent, spoken } from "./ui/controls.mjs";
import { latest } from "./ui/latest.mjs";
import { LOOKED_STYLE, lookedRow } from "./ui/looked-row.mjs";
import { openModel } from "./ui/open-model.mjs";

const START = "The dog saw the cat and it was afraid.";
const QUERY_AT_START = "it"; // a word of START
const HEAD_AT_START = "4.3"; // layer and head, from 1: the one that lets "it" look at "cat"
const MOST = 30; // pieces
const CLEAR = 0.5; // from here on a head's habit is named
const STYLE = `${LOOKED_STYLE}
.looked .tokens { gap: .4rem .25rem; }
.looked .token { padding-left: .3rem; padding-right: .3rem; }
`;

class AttentionExplorer extends Applet {
  static offer = "See where a trained head looks in your sentence";
  static room = [330, 450];

  async build(panel) {
    this.bert = await openModel("bert_words");
    const text = this.state.get("text") ?? START;
    this.input = h("input", { type: "text", value: text, autocomplete: "off", spellcheck: "false",
      oninput: () => this.change() });
    this.hint = h("p", { class: "note", role: "status" });
    this.row = h("div", { class: "looked" });
    this.said = h("p", { role: "status" });
    this.heads = h("div");
    this.shown = h("div", { class: "stack" }, this.row, this.said, this.heads,
      h("p", { class: "note" }, "Press a word: it is the query, and the bars are the weights that it gives. "
        + "[CLS] and [SEP] mark the two ends. A head with nothing to find often looks there."));
    panel.classList.add("bert");
    panel.replaceChildren(h("style", {}, STYLE), field("Your sentence", this.input), this.message(), this.shown);
    this.head = this.state.get("head") ?? HEAD_AT_START;
    this.ask = latest(() => this.waitFor(this.read()));
    const query = Number(this.state.get("query")) || null;
    await this.ask();
    this.look(query ?? (text === START ? this.tokens?.indexOf(QUERY_AT_START) : 1));
  }

  /** The line below the field; it is also the panel's alert. */
  message() {
    this.alert = h("p", { class: "error", role: "alert" });
    return h("div", {}, this.alert, this.hint);
  }

  change() {
    this.ask();
    this.remember();
  }

  remember() {
    this.keep({ text: this.input.value, query: this.query, head: this.head });
  }

  /** Read the sentence: its pieces between the two ends, and what each layer's heads look at. */
  async read() {
    const { tokenizer } = this.bert;
    const parts = partsOf(tokenizer, this.input.value.slice(0, 1000), { byWord: false, most: MOST });
    const read = parts.filter(({ isUnread }) => !isUnread);
    const strange = parts.filter(({ isUnread, text }) => isUnread && !tokenizer.pieces(text)[0]?.id);
    this.hint.textContent = strange.length
      ? `Left out, because BERT’s list has no such piece: ${strange.slice(0, 5).map(({ text }) => text.trim()).join(" ")}`
      : read.length < parts.length ? `BERT reads the first ${read.length} pieces.` : "";
    this.alert.textContent = read.length ? "" : "Type a few words: there is nothing to look at.";
    this.shown.hidden = !read.length;
    if (!read.length) return;
    const ids = [tokenizer.id("[CLS]"), ...read.flatMap((part) => part.ids), tokenizer.id("[SEP]")];
    const layers = await this.bert.ask("attention", ids);
    this.layers = layers;
    this.tokens = ids.map((id) => tokenizer.tokens[id]);
    this.bars = lookedRow("What the chosen word looks at", this.tokens, (t) => {
      this.look(t);
      this.remember();
    });
    keepFocus(this.row, () => this.row.replaceChildren(this.bars));
    this.showHeads();
    this.look(Math.min(this.query ?? 1, this.tokens.length - 1));
  }

  /** Offer all heads, each with what it mostly does in this sentence. */
  showHeads() {
    const options = this.layers.flatMap((weights, layer) =>
      Array.from({ length: weights.shape[0] }, (_, head) => {
        const { words, share } = habit(weights, head);
        const mostly = share >= CLEAR ? `: mostly ${words}` : "";
        return [`${layer + 1}.${head + 1}`, `layer ${layer + 1}, head ${head + 1}${mostly}`];
      }));
    if (!options.some(([value]) => value === this.head)) this.head = HEAD_AT_START;
    const heads = choice("Head, and where it looks in this sentence", options, (value) => {
      this.head = value;
      this.look(this.query);
      this.remember();
    }, this.head);
    if (this.heads.contains(this.heads.getRootNode().activeElement)) return; // do not take it from a reader
    this.heads.replaceChildren(heads);
  }

  /** Show what one query looks at. */
  look(query) {
    if (!this.bars) return;
    this.query = Math.max(0, Math.min(query, this.tokens.length - 1));
    const [layer, head] = this.head.split(".").map((n) => Number(n) - 1);
    const { tokens } = this;
    this.bars.show(this.query, attentionOf(this.layers[layer], head, this.query));
    const top = topKeys(this.layers[layer], head, this.query, 3).filter(({ share }) => share >= 0.05);
    this.said.textContent = `“${spoken(tokens[this.query])}” looks at ${top.map(({ s, share }) =>
      `${s === this.query ? "itself" : `“${spoken(tokens[s])}”`} (${percent(share)})`).join(", ")}.`;
  }
}

define("pt-attention-explorer", AttentionExplorer);
