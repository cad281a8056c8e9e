// SPDX-License-Identifier: MIT
/** The mask-fill explorer: hide words of your own sentence, and see what BERT expects there. */
import { placesOfParts } from "./engine/sentence.mjs";
import { best, bits } from "./engine/sampling.mjs";
import { Applet, define } from "./ui/applet.mjs";
import { bars, button, choice, h, spoken, visible } from "./ui/controls.mjs";
import { latest } from "./ui/latest.mjs";
import { openModel } from "./ui/open-model.mjs";
import { placesSaid, SENTENCE_STYLE, SentenceRow } from "./ui/sentence-row.mjs";

const WORDS = "bert_words";
const MODELS = { [WORDS]: "words", bert_chars: "letters, small model", bert_plays: "letters, strong model" };
const START = "The film is better than the book.";
const HIDDEN_AT_START = "better"; // a word of START
const MOST_HIDDEN = 6;
const N_GUESSES = 6;

class MaskFill extends Applet {
  static offer = "Hide words of your own sentence";
  static room = [480, 531];

  async build(panel) {
    const text = this.state.get("text") ?? START;
    this.sentence = new SentenceRow({ text, mostHidden: MOST_HIDDEN }, () => this.change());
    this.said = h("p", { role: "status" });
    this.cover = button("Cover what follows", () => this.coverRight(!this.isCovered),
      { "aria-pressed": String(this.state.has("covered")) });
    this.lists = h("div", { class: "columns" });
    this.message = h("p", { class: "error", role: "alert" });
    const names = Object.entries(MODELS).map(([name, what]) =>
      [name, name === WORDS ? what : `${what} (${this.more(name)} more)`]);
    this.models = choice("BERT reads", names, (name) => this.take(name), WORDS);
    panel.classList.add("bert");
    panel.replaceChildren(h("style", {}, SENTENCE_STYLE), this.sentence.node,
      h("div", { class: "row" }, this.said, this.cover), this.lists,
      h("details", {}, h("summary", {}, "More"), this.models, this.message));
    this.ask = latest(() => this.waitFor(this.answer()));
    await this.use(this.state.get("model") ?? WORDS);
    this.sentence.hide(this.state.has("text") ? placesSaid(this.state.get("hide")) : [START.indexOf(HIDDEN_AT_START)]);
    await this.ask();
  }

  /** Read with a model that may have to be fetched. */
  async use(name) {
    this.bert = await openModel(name in MODELS ? name : WORDS);
    this.isWords = this.bert.name === WORDS;
    this.models.control.value = this.bert.name;
    // One token stands on either side: the ends of the text, for letters those of a line.
    this.sentence.readWith(this.bert.tokenizer, {
      byWord: this.isWords, most: this.bert.maxLength - 2 });
  }

  /** Go on with another model; if it cannot be had, with the one before. */
  async take(name) {
    const { control } = this.models;
    control.disabled = true;
    this.message.textContent = "";
    try {
      await this.waitFor(this.use(name));
      this.change();
    } catch (error) {
      this.message.textContent = error.message;
    }
    control.disabled = false;
    control.value = this.bert.name;
  }

  /** Does BERT read only up to the last hidden place? */
  get isCovered() {
    return this.cover.getAttribute("aria-pressed") === "true";
  }

  /** Take the right side away from BERT, or give it back. */
  coverRight(isCovered) {
    this.cover.setAttribute("aria-pressed", isCovered);
    this.change();
  }

  /** Answer what the reader changed, and keep it in the address. */
  change() {
    const { text, said } = this.sentence;
    this.keep({ text, hide: said,
      ...(this.isWords ? {} : { model: this.bert.name }), ...(this.isCovered ? { covered: 1 } : {}) });
    this.ask();
  }

  /** Ask for all hidden places at once; each hidden word is one mask, however many pieces it has. */
  async answer() {
    const { parts, read, hidden } = this.sentence;
    this.cover.hidden = !hidden.length;
    if (!hidden.length) {
      this.lists.replaceChildren();
      this.said.textContent = read.length ? "Press a word to hide it from BERT." : "";
      return;
    }
    const { bert, isWords } = this;
    const asked = read.map((part, i) => (hidden.includes(i) ? { ...part, ids: part.ids.slice(0, 1) } : part));
    const edge = (special) => (isWords ? bert.tokenizer.id(special) : bert.tokenizer.encode("\n")[0]);
    const ids = [edge("[CLS]"), ...asked.flatMap((part) => part.ids), edge("[SEP]")];
    const places = placesOfParts(asked, 1);
    const { isCovered } = this;
    const shown = isCovered ? ids.slice(0, places[hidden.at(-1)][1]) : ids;
    const found = await bert.ask("guess", shown, hidden.map((i) => places[i][0]));
    if (parts !== this.sentence.parts) return; // the reader typed on: the next answer follows
    const guesses = hidden.map((i, n) => ({ part: read[i], place: i,
      top: best(found[n], N_GUESSES), probs: found[n] }));
    this.sentence.fill(guesses.map(({ place, top }) => [place, this.name(top[0].id)]));
    this.lists.replaceChildren(...guesses.map((one) => this.list(one, guesses.length)));
    this.said.textContent = `${isCovered ? "Without what follows, " : ""}BERT expects ${guesses.map(({ top }) =>
      `“${this.spell(top[0].id)}”`).join(", then ")}.`;
  }

  name(id) {
    return this.bert.tokenizer.tokens[id];
  }

  spell(id) {
    const name = this.name(id);
    return name.length === 1 ? spoken(name) : name;
  }

  /** The likeliest words for one hidden place, and what the reader's own costs. */
  list({ part, place, top, probs }, n) {
    const [truth] = part.ids;
    const isWhole = part.ids.length === 1;
    const own = part.text.trim() || part.text;
    const rows = top.map(({ id, probability }) => ({ text: this.name(id), share: probability,
      mark: isWhole && id === truth ? "✓ yours" : undefined }));
    const cost = isWhole
      ? `Your “${visible(own)}” costs ${bits(probs[truth]).toFixed(1)} bits.`
      : `Your “${own}” is no single word of BERT’s list.`;
    const name = `Best guesses for place ${place + 1}`;
    return h("div", {}, ...(n > 1 ? [h("h3", {}, `Place ${place + 1}`)] : []), bars(rows, name),
      h("p", { class: "note" }, cost));
  }
}

define("pt-mask-fill", MaskFill);
