// SPDX-License-Identifier: MIT
/** Fill the blank: guess the hidden word of a sentence, then see what the book BERT expected. */
import { bitsOfWord, cost, readGuesses, sharesOfTries, verdict } from "./engine/games.mjs";
import { Applet, define } from "./ui/applet.mjs";
import { bars, button, field, h } from "./ui/controls.mjs";
import { getJson } from "./ui/files.mjs";
import { gap, GAME_STYLE, markedRows, scoreboard } from "./ui/scoreboard.mjs";

const NAMES = ["First guess (½)", "Second guess (¼)", "Third guess (⅛)"];
const PLAYERS = [
  ["reader", "you"], ["bert", "book BERT"], ["counts", "neighbours counted"],
  ["unigram", "word frequencies"],
];

class FillBlank extends Applet {
  static offer = "Guess the twelve hidden words";

  async build(panel) {
    this.data = await getJson("fill_blank.json");
    this.place = h("div");
    this.sum = h("div", { class: "result" });
    panel.replaceChildren(h("style", {}, GAME_STYLE), this.place, this.sum);
    this.restart();
  }

  restart() {
    this.paid = Object.fromEntries(PLAYERS.map(([key]) => [key, []]));
    this.sum.replaceChildren();
    this.ask();
  }

  /** Show the next sentence with its hidden word and three fields. */
  ask() {
    const { items } = this.data;
    const number = this.paid.reader.length;
    const item = items[number];
    const from = item.source === "ours" ? "a sentence of ours" : item.source;
    this.inputs = NAMES.map(() => h("input", { type: "text", maxlength: 20, autocomplete: "off",
      autocapitalize: "none", spellcheck: "false" }));
    this.message = h("p", { class: "error", role: "alert" });
    this.answer = h("div", { class: "result", role: "status" });
    this.shower = h("button", { type: "submit", class: "primary" }, "Show the word");
    const form = h("form", { class: "game",
      onsubmit: (event) => { event.preventDefault(); this.judge(item); } },
      ...this.inputs.map((input, i) => field(NAMES[i], input)), this.shower);
    this.place.replaceChildren(h("div", { class: "result" },
      h("h3", {}, `Line ${number + 1} of ${items.length}: ${from}`),
      h("p", { class: "quote" }, item.left, gap(), item.right), form,
      h("p", { class: "note" }, "A try that you leave empty goes to the rest, which all " +
        `${this.data.vocab_size.toLocaleString("en")} pieces of the vocabulary share. ` +
        "The same word twice adds up."),
      this.message, this.answer));
    if (number) this.inputs[0].focus();
  }

  /** Take the reader's guesses, and show the truth beside the model's distribution. */
  judge(item) {
    let guesses;
    try {
      guesses = readGuesses(this.inputs.map((input) => input.value));
    } catch (error) {
      this.message.textContent = error.message;
      return;
    }
    this.message.textContent = "";
    const mine = cost(sharesOfTries(guesses), item.word, this.data.vocab_size);
    this.paid.reader.push(mine);
    for (const [name, bits] of Object.entries(item.bits)) this.paid[name].push(bits);
    this.inputs.forEach((input) => { input.disabled = true; });
    this.shower.hidden = true;
    this.reveal(item, guesses.filter(Boolean), mine);
  }

  reveal(item, guesses, mine) {
    const best = item.top.map(([text, share]) => ({ text, share }));
    const truth = { text: item.word, share: 2 ** -item.bits.bert };
    const next = this.isLast ? button("Play again", () => this.restart())
      : button("Next line", () => this.ask(), { class: "primary" });
    this.answer.replaceChildren(
      h("p", {}, "The word is ", h("strong", {}, item.word), `. You pay ${mine.toFixed(1)} bits, ` +
        `the book BERT ${item.bits.bert.toFixed(1)}. ${this.prices(item, guesses)}`),
      h("div", { class: "bert" },
        bars(markedRows(best, truth, guesses), "What the book BERT expected")));
    const players = PLAYERS.map(([key, name]) =>
      ({ name, bits: this.paid[key], paradigm: key === "bert" ? "bert" : undefined }));
    this.sum.replaceChildren(h("div", {}, next), scoreboard("word", players));
    if (this.isLast) {
      this.sum.append(h("p", { role: "status" },
        verdict(this.paid.reader, this.paid.bert, "BERT", "word"),
        " Half of the sentences are ours, in the English of today."));
    }
    next.focus();
  }

  get isLast() {
    return this.paid.reader.length === this.data.items.length;
  }

  /** Say what the model would have paid for the reader's wrong guesses. */
  prices(item, guesses) {
    const wrong = [...new Set(guesses)].filter((word) => word !== item.word);
    return wrong.map((word) => {
      const bits = bitsOfWord(this.data, item, word);
      return bits === undefined ? `“${word}” is no piece of its vocabulary.`
        : `“${word}” would have cost it ${bits < 25.5 ? bits.toFixed(1) : "25.5 or more"}.`;
    }).join(" ");
  }
}

define("pt-fill-blank", FillBlank);
