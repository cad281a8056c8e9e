// SPDX-License-Identifier: MIT
/** Fill the gap: guess the hidden word of a sentence, then see what the book BERT expected. */
import { bitsOfWord, cost, oneIn, readWord, sharesOfTries, TRIES, verdict } from "./engine/games.mjs";
import { Applet, define } from "./ui/applet.mjs";
import { bars, button, field, h } from "./ui/controls.mjs";
import { getJson } from "./ui/files.mjs";
import { gap, GAME_STYLE, markedRows, scoreboard } from "./ui/scoreboard.mjs";

const DEAREST = 25.5; // bits; the file says no more of words that cost as much or more
const PLAYERS = [
  ["reader", "you"], ["bert", "book BERT"], ["counts", "neighbours counted"],
  ["unigram", "word frequencies"],
];

class FillBlank extends Applet {
  static offer = "Guess the twelve hidden words";
  static room = [360, 388];

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

  /** Show the next sentence with its hidden word and a field. */
  ask() {
    const { items } = this.data;
    const number = this.paid.reader.length;
    this.item = items[number];
    this.guesses = [];
    const from = this.item.source === "ours" ? "a sentence of ours" : this.item.source;
    this.hole = gap();
    this.input = h("input", { type: "text", maxlength: 20, autocomplete: "off",
      autocapitalize: "none", spellcheck: "false",
      oninput: () => { this.hole.textContent = this.input.value.trim() || "▢"; } });
    this.message = h("p", { class: "error", role: "alert" });
    this.tries = h("ol", { class: "tries" });
    this.answer = h("div", { class: "result", role: "status" });
    this.form = h("form", { class: "game",
      onsubmit: (event) => { event.preventDefault(); this.guess(); } },
      field("Your guess", this.input),
      h("div", { class: "row" }, h("button", { type: "submit", class: "primary" }, "Guess"),
        button("Show the word", () => this.judge())));
    this.place.replaceChildren(h("div", { class: "result" },
      h("h3", {}, `Line ${number + 1} of ${items.length}: ${from}`),
      h("p", { class: "quote" }, this.item.left, this.hole, this.item.right), this.form,
      h("p", { class: "note" }, "Three tries: the word costs 1 bit at the first, 2 at the second, 3 at "
        + `the third, and ${this.price(["-", "-", "-"]).toFixed(1)} if you do not find it.`),
      this.message, this.tries, this.answer));
    if (number) this.input.focus();
  }

  /** What the word costs whoever made these guesses. */
  price(guesses) {
    return cost(sharesOfTries(guesses), this.item.word, this.data.vocab_size);
  }

  /** Take a guess: right, wrong, or wrong for the third time. */
  guess() {
    let typed;
    try {
      typed = readWord(this.input.value);
    } catch (error) {
      this.message.textContent = error.message;
      return;
    }
    const isOld = this.guesses.includes(typed.word);
    this.message.textContent = isOld ? `You tried “${typed.shown}” already.` : "";
    if (isOld) return;
    this.guesses.push(typed.word);
    if (typed.word !== this.item.word) this.tries.append(h("li", {}, this.opinion(typed)));
    if (typed.word === this.item.word || this.guesses.length === TRIES.length) this.judge();
    else this.input.select();
  }

  /** Say what the model would have paid for a wrong guess. */
  opinion({ shown, word }) {
    const bits = bitsOfWord(this.data, this.item, word);
    if (bits === undefined) return `Not “${shown}”, which is no piece of BERT’s vocabulary.`;
    const price = bits < DEAREST ? `${bits.toFixed(1)} bits` : `${DEAREST} bits or more`;
    return `Not “${shown}”: it would have cost BERT ${price}, as sure as ${oneIn(bits)}.`;
  }

  /** Show the truth beside the model's distribution. */
  judge() {
    const { item } = this;
    const mine = this.price(this.guesses);
    this.paid.reader.push(mine);
    for (const [name, bits] of Object.entries(item.bits)) this.paid[name].push(bits);
    this.form.hidden = true;
    this.hole.textContent = item.word;
    this.message.textContent = "";
    const best = item.top.map(([text, share]) => ({ text, share }));
    const truth = { text: item.word, share: 2 ** -item.bits.bert };
    const next = this.isLast ? button("Play again", () => this.restart())
      : button("Next line", () => this.ask(), { class: "primary" });
    this.answer.replaceChildren(
      h("p", {}, "The word is ", h("strong", {}, item.word), `. You pay ${mine.toFixed(1)} bits, as `
        + `sure as ${oneIn(mine)}; the book BERT pays ${item.bits.bert.toFixed(1)}, as sure as `
        + `${oneIn(item.bits.bert)}.`),
      h("div", {}, next),
      h("div", { class: "bert" },
        bars(markedRows(best, truth, this.guesses), "What the book BERT expected")));
    const players = PLAYERS.map(([key, name]) =>
      ({ name, bits: this.paid[key], paradigm: key === "bert" ? "bert" : undefined }));
    this.sum.replaceChildren(scoreboard("word", players));
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
}

define("pt-fill-blank", FillBlank);
