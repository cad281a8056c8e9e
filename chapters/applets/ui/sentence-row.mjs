// SPDX-License-Identifier: MIT
/**
 * A sentence of one's own: a field, and below it its words or letters, which can be hidden.
 *
 * What the model cannot read is struck out in the row and left out of what it gets. Marks stay with
 * their words while the reader types.
 */
import { movedMarks, partsOf } from "../engine/sentence.mjs";
import { field, h, keepFocus, roving, spoken, visible } from "./controls.mjs";

const MOST_SHOWN = 160; // keys; a longer text is still read as far as the model can

export const SENTENCE_STYLE = `
.sentence { display: grid; gap: .5rem; }
.words { column-gap: .3rem; row-gap: .25rem; }
.words .token { padding: 0 .4rem; }
.token.unread, .unread { border-style: dashed; color: var(--pst-color-text-muted); text-decoration: line-through; }
.token.filled { background: var(--pst-color-background); border: 2px dashed var(--ink, currentColor);
  color: inherit; font-weight: 700; }
.token.chosen { border-style: solid; }
`;

/** Where a part begins for a reader: a word's space is not the word. */
function beginning({ text, start }) {
  return start + (text.trim() ? text.length - text.trimStart().length : 0);
}

/** The places of a text that `said` wrote; none for a state without them. */
export function placesSaid(said) {
  return said ? said.split(".").map(Number) : [];
}

export class SentenceRow {
  /**
   * @param {object} options
   * @param {string} options.text The sentence at the start.
   * @param {number} [options.mostHidden] Parts that can be hidden.
   * @param {number} [options.mostGaps] Runs of neighbours that can be hidden.
   * @param {() => void} onchange Called after every change by the reader.
   */
  constructor({ text, mostHidden = Infinity, mostGaps = Infinity }, onchange) {
    Object.assign(this, { text, mostHidden, mostGaps, onchange, marks: new Set(), parts: [], answers: new Map() });
    this.input = h("input", { type: "text", value: text, autocomplete: "off", spellcheck: "false",
      oninput: () => this.type(this.input.value) });
    this.keys = h("div", { class: "tokens", role: "group" });
    this.note = h("p", { class: "note", role: "status" });
    this.node = h("div", { class: "sentence" }, field("Your sentence", this.input), this.keys, this.note);
  }

  /** Read with a tokeniser; see `partsOf` for the options. */
  readWith(tokenizer, options) {
    Object.assign(this, { tokenizer, options });
    this.cut();
  }

  /** Take another text, with marks of its own or with those of before, moved. */
  type(text) {
    this.marks = movedMarks(this.marks, this.text, text);
    this.text = text;
    this.cut();
    this.onchange();
  }

  cut() {
    this.parts = partsOf(this.tokenizer, this.text, this.options);
    for (const part of this.parts) this.mark(part, this.isHidden(part)); // a word that grew is hidden whole
    this.answers.clear();
    this.draw();
  }

  /** The parts that the model reads. */
  get read() {
    return this.parts.filter(({ isUnread }) => !isUnread);
  }

  /** Is most of a part marked? An edit may have brought a mark into another word. */
  isHidden(part) {
    return this.nMarked(part) * 2 >= part.end - beginning(part);
  }

  nMarked(part) {
    let n = 0;
    for (let place = beginning(part); place < part.end; place++) n += this.marks.has(place);
    return n;
  }

  /** Where the hidden parts begin in the text, as `hide` takes it and as an address can say it. */
  get said() {
    return this.parts.filter((part) => this.isHidden(part)).map(beginning).join(".");
  }

  /** Places among `read` of the parts that are hidden. */
  get hidden() {
    return this.read.flatMap((part, i) => (this.isHidden(part) ? [i] : []));
  }

  /** Hide the parts that touch these places of the text, and no others. */
  hide(places) {
    this.marks = new Set(places);
    for (const part of this.parts) this.mark(part, this.nMarked(part) > 0);
    this.draw();
  }

  mark({ start, end }, isHidden = true) {
    for (let place = start; place < end; place++) {
      if (isHidden) this.marks.add(place);
      else this.marks.delete(place);
    }
  }

  /** Hide a part, or show it again. */
  toggle(part) {
    const wasHidden = this.isHidden(part);
    const before = new Set(this.marks);
    this.mark(part, !wasHidden);
    const gaps = this.hidden.filter((place, i, all) => all[i - 1] !== place - 1).length;
    if (!wasHidden && (this.hidden.length > this.mostHidden || gaps > this.mostGaps)) {
      this.marks = before;
      this.say(this.hidden.length >= this.mostHidden ? `At most ${this.mostHidden} can be hidden.`
        : `At most ${this.mostGaps} gaps are possible.`);
      return;
    }
    this.draw();
    this.onchange();
  }

  /** Write what a model filled in onto the hidden keys: texts by place among `read`. */
  fill(answers) {
    this.answers = new Map(answers);
    this.read.forEach((part, i) => this.dress(part, i));
  }

  draw() {
    const shown = this.parts.slice(0, MOST_SHOWN);
    this.keys.classList.toggle("words", Boolean(this.options.byWord));
    this.keys.setAttribute("aria-label", this.options.byWord ? "Words: press one to hide it"
      : "Letters: press one to hide it");
    let n = 0;
    const keys = shown.map((part) => {
      part.place = part.isUnread ? undefined : n++;
      part.key = part.isUnread
        ? h("span", { class: "token unread", title: "not read by the model" }, this.written(part))
        : h("button", { type: "button", class: "token", onclick: () => this.toggle(part) });
      if (!part.isUnread) this.dress(part, part.place);
      return part.key;
    });
    roving(this.keys, shown.filter(({ isUnread }) => !isUnread).map(({ key }) => key));
    keepFocus(this.keys, () => this.keys.replaceChildren(...keys));
    this.say(this.unreadWords());
  }

  /** Write on a key what it holds, and say it. */
  dress(part, place) {
    if (!part.key) return;
    const isHidden = this.isHidden(part);
    const answer = this.answers.get(place);
    part.key.setAttribute("aria-pressed", isHidden);
    const what = `Place ${place + 1}, ${spoken(part.text.trim() || part.text)}`;
    part.key.setAttribute("aria-label", isHidden
      ? `${what}, hidden${answer === undefined ? "" : `, filled with ${spoken(answer)}`}` : what);
    part.key.classList.toggle("filled", isHidden && answer !== undefined);
    const blank = "▢".repeat(this.options.byWord ? Math.min(4, part.text.trim().length) : 1);
    part.key.textContent = isHidden ? visible(answer || blank) : this.written(part);
  }

  written(part) {
    return visible(this.options.byWord ? part.text.trim() || part.text : part.text);
  }

  /** Explain what is struck out, once. */
  unreadWords() {
    if (!this.text.trim()) return "Write a sentence.";
    const unread = this.parts.filter(({ isUnread }) => isUnread);
    if (!unread.length) return "";
    const nIds = this.read.reduce((sum, { ids }) => sum + ids.length, 0);
    const isFull = this.read.length && unread.some(({ start }) => start > this.read.at(-1).start)
      && nIds >= this.options.most - 2;
    return isFull
      ? `The model reads the first ${this.read.length} ${this.options.byWord ? "words" : "characters"}; `
        + "the rest does not fit."
      : "Struck out: characters that this model has never seen. It reads the rest.";
  }

  say(words) {
    this.note.textContent = words;
    this.note.hidden = !words;
  }
}
