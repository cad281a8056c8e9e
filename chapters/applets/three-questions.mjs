// SPDX-License-Identifier: MIT
/**
 * Three questions, one line: the first page.
 *
 * The static form, which the build drew from stored answers, becomes pressable: words are buttons,
 * gaps are fields. As long as the line is the page's own, every press is answered from answers that
 * stand in the page; a sentence or a word of the reader's own goes to the three models, which are fetched when
 * somebody first touches the lines.
 */
import { wordsOf } from "./engine/word-gaps.mjs";
import { define } from "./ui/applet.mjs";
import { button, h, percent } from "./ui/controls.mjs";
import { openModel } from "./ui/open-model.mjs";

const NAMES = { gpt: "GPT", bert: "BERT", t5: "T5" };
const MOST_GAPS = { gpt: 1, bert: 1, t5: 2 };
const LIMIT = 60; // characters of a sentence of one’s own; the models read 64 tokens
const PAUSE = 150; // ms after a key before the models are asked
const UNREAD = /[^A-Za-z !',.:;?-]+/g; // the models know the characters of the plays alone
const HOW = "Press any word to hide it, or type into a gap.";

/** Read stored guesses, such as "thee 34.2, not 5.1". */
function parsed(stored) {
  return stored.split(", ").map((one) => {
    const [word, share] = one.split(" ");
    return { word, share: share / 100 };
  });
}

/** Which gaps a new sentence gets: the end, the middle, two with words between. */
function gapsOfSentence(model, n) {
  if (model === "gpt") return [n - 1];
  if (model === "bert") return [Math.floor((n - 1) / 2)];
  return n > 3 ? [Math.floor(n / 3), Math.floor((2 * n) / 3)] : [n - 1];
}

/** What a reader is told about a line: what was left out of it, or that it is too short. */
function noteOn(text, isOwn) {
  if (text.trim() && !isOwn) return "Write two words or more, in letters from a to z.";
  const unread = text.match(UNREAD)?.join(" ").slice(0, LIMIT);
  return unread ? `Left out, as no model here has read it: ${unread}` : HOW;
}

/** One model's line. */
class Question {
  constructor(root, book) {
    this.root = root;
    this.book = book;
    this.model = root.dataset.model;
    this.line = h("div", { class: "question-line" });
    this.said = root.querySelector(".question-said");
    this.said.role = "status";
    this.guesses = root.querySelector(".question-guesses");
    root.querySelector(".question-line").replaceWith(this.line);
    this.take(book.text, book.start[this.model]);
  }

  /** Take a line, with these words hidden. */
  take(text, hidden) {
    Object.assign(this, { text, hidden, words: wordsOf(text) });
    this.draw();
  }

  /** Hide a word; the oldest gap closes when they would be too many. */
  hide(number) {
    this.hidden = [...this.hidden, number].slice(-MOST_GAPS[this.model]);
    this.draw();
    this.line.querySelector(`[data-number="${number}"]`)?.focus();
  }

  /** Write the line anew, and answer. */
  draw() {
    const { words, text, hidden } = this;
    const first = Math.min(...hidden);
    const tailOf = (number) => text.slice(words[number].end, words[number + 1]?.start).trim();
    this.fields = [];
    const parts = words.map((word, number) => {
      if (!hidden.includes(number)) {
        return this.word(word.text, tailOf(number), number, this.model !== "gpt" || number < first);
      }
      const isJoined = hidden.includes(number - 1) && !tailOf(number - 1);
      return isJoined ? this.fields.at(-1).input.parentElement : this.gap(number);
    });
    // Neighbours that are hidden are one gap; what follows a gap is seen, but not by GPT.
    hidden.forEach((number) => { parts[number].lastChild.data = tailOf(number); });
    this.line.replaceChildren(...new Set(parts));
    this.answer();
  }

  /** A word to press. */
  word(text, tail, number, isSeen) {
    return button(text + tail, () => this.hide(number), {
      class: `word ${isSeen ? "is-seen" : "is-dark"}`, style: { "--n": number },
      "aria-label": `Hide ${text}${isSeen ? "" : ", not seen"}`, "data-number": number });
  }

  /** A gap with a field for the reader's word. */
  gap(number) {
    const input = h("input", { class: "gap", type: "text", placeholder: "?", maxlength: 20,
      autocomplete: "off", autocapitalize: "off", spellcheck: "false", "data-number": number,
      "aria-label": `Your word for ${NAMES[this.model]}’s gap, word ${number + 1}`,
      oninput: () => this.answer(PAUSE) });
    this.fields.push({ input, number });
    return h("span", { class: "word is-gap", style: { "--n": number } }, input, "");
  }

  /** Answer from the file where it can, else by the model. */
  async answer(pause = 0) {
    const turn = this.turn = {};
    const isLast = () => turn === this.turn;
    const gaps = [...this.hidden].sort((a, b) => a - b);
    const typed = this.fields.map(({ input }) => input.value.match(/[A-Za-z][A-Za-z']*/)?.[0] ?? "");
    const stored = this.text === this.book.text && this.book.answers[this.model][gaps.join(" ")];
    if (stored) {
      this.show(stored.map(parsed).map((guesses, n) => ({
        guesses, share: guesses.find(({ word }) => word === typed[n])?.share })), typed);
      if (typed.every((word, n) => !word || stored[n]?.includes(`${word} `))) return;
    }
    this.root.setAttribute("aria-busy", "true");
    try {
      await new Promise((resolve) => { setTimeout(resolve, pause); });
      if (!isLast()) return;
      const { ask } = await openModel(`contest_${this.model}`);
      if (!isLast()) return;
      const found = await ask("words", this.text, gaps, typed);
      if (isLast()) this.show(found, typed);
    } catch (error) {
      if (isLast()) this.said.textContent = error.message;
    } finally {
      if (isLast()) this.root.removeAttribute("aria-busy");
    }
  }

  /** Draw the guesses as bars, and say how the reader's word does. */
  show(found, typed) {
    const truths = this.fields.map(({ number }) => this.words[number].text);
    this.root.removeAttribute("aria-busy");
    const lists = found.map(({ guesses }, n) => h("ol", { class: "guesses" },
      ...guesses.slice(0, 5).map(({ word, share }) => this.bar(word, share, word === truths[n]))));
    this.guesses.replaceChildren(...lists);
    this.said.textContent = found.map(({ share }, n) => {
      if (!typed[n]) return "";
      const hit = typed[n] === truths[n] ? " That is the word." : "";
      return share === undefined ? `“${typed[n]}” …` : `“${typed[n]}”: ${percent(share)}.${hit}`;
    }).filter(Boolean).join(" ");
  }

  bar(word, share, isTrue) {
    const shown = this.book.parts.has(word) ? `${word}…` : word;
    return h("li", { class: isTrue ? "is-true" : undefined, style: { "--share": share } },
      h("span", {}, shown), h("span", { class: "bar" }), h("span", {}, `${Math.round(100 * share)} %`));
  }
}

class ThreeQuestions extends HTMLElement {
  connectedCallback() {
    if (this.questions) return;
    const book = JSON.parse(this.querySelector("script[type='application/json']").textContent);
    this.book = { ...book, parts: new Set(book.parts.split(" ")) };
    this.questions = [...this.querySelectorAll(".question")].map((one) => new Question(one, this.book));
    const fetchThem = () => {
      for (const name of Object.keys(NAMES)) openModel(`contest_${name}`).catch(() => {});
    };
    for (const event of ["pointerdown", "focusin"]) {
      this.addEventListener(event, fetchThem, { once: true, passive: true });
    }
    this.querySelector(".questions-own").append(...this.own());
  }

  /** The field for a sentence of one's own. */
  own() {
    const input = h("input", { type: "text", maxlength: LIMIT, placeholder: "I would not do it for the world.",
      oninput: () => this.read(input.value) });
    this.note = h("p", { role: "status" }, HOW);
    return [h("label", {}, "Your own line", input), this.note];
  }

  /** Ask all three about a sentence; about the page's own when there is none. */
  read(text) {
    clearTimeout(this.waiting);
    const read = text.replace(UNREAD, " ").replace(/ +/g, " ").trim();
    const n = wordsOf(read).length;
    const isOwn = n > 1;
    this.waiting = setTimeout(() => {
      this.note.textContent = noteOn(text, isOwn);
      for (const one of this.questions) {
        const { model } = one;
        if (isOwn) one.take(read, gapsOfSentence(model, n));
        else if (one.text !== this.book.text) one.take(this.book.text, this.book.start[model]);
      }
    }, PAUSE);
  }
}

define("pt-three-questions", ThreeQuestions);
