// SPDX-License-Identifier: MIT
/** Fill the gap: guess the hidden word of a sentence, then see what BERT and a counter expected. */
import { bitsOfWord, cost, readWord, sharesOfTries, TRIES, verdict } from "./engine/games.mjs";
import { Applet, define } from "./ui/applet.mjs";
import { bars, button, field, h, percent } from "./ui/controls.mjs";
import { getJson } from "./ui/files.mjs";
import { gap, GAME_STYLE, markedRows, scoreboard } from "./ui/scoreboard.mjs";

const N_SHOWN = 5; // words of each list
const GREY = "#808080"; // of all that is no network
const PLAYERS = [
  ["reader", "you"], ["bert", "BERT"], ["counts", "counting neighbours"],
  ["unigram", "word frequencies"],
];
const STYLE = `
.lists { display: grid; gap: .75rem 1.5rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 14rem), 1fr)); }
.lists h4 { font-size: 1em; margin: 0 0 .25rem; }
summary { cursor: pointer; }
`;

class FillBlank extends Applet {
  static offer = "Guess the twelve hidden words";
  static room = [250, 300];

  async build(panel) {
    this.data = await getJson("fill_blank.json");
    this.place = h("div");
    this.sum = h("div", { class: "result" });
    panel.replaceChildren(h("style", {}, GAME_STYLE + STYLE), this.place, this.sum);
    this.restart();
  }

  restart() {
    this.paid = Object.fromEntries(PLAYERS.map(([key]) => [key, []]));
    this.hits = { reader: 0, bert: 0, counts: 0 }; // how often the first guess was right
    this.sum.replaceChildren();
    this.ask();
  }

  /** Show the next sentence with its hidden word and a field. */
  ask() {
    const { items } = this.data;
    const number = this.paid.reader.length;
    this.item = items[number];
    this.guesses = [];
    const from = this.item.source === "ours" ? "" : `, from ${this.item.source}`;
    this.hole = gap();
    this.input = h("input", { type: "text", maxlength: 20, autocomplete: "off",
      autocapitalize: "none", spellcheck: "false",
      oninput: () => { this.hole.textContent = this.input.value.trim() || "▢"; } });
    this.message = h("p", { class: "error", role: "alert" });
    this.tries = h("ol", { class: "tries" });
    this.answer = h("div", { class: "result", role: "status" });
    this.form = h("form", { class: "game",
      onsubmit: (event) => { event.preventDefault(); this.guess(); } },
      field("Your guess", this.input, "You have three tries."),
      h("div", { class: "row" }, h("button", { type: "submit", class: "primary" }, "Guess"),
        button("Show the word", () => this.judge())));
    this.place.replaceChildren(h("div", { class: "result" },
      h("h3", {}, `Line ${number + 1} of ${items.length}${from}`),
      h("p", { class: "quote" }, this.item.left, this.hole, this.item.right), this.form,
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

  /** Say how likely the model found a wrong guess. */
  opinion({ shown, word }) {
    const bits = bitsOfWord(this.data, this.item, word);
    return bits === undefined ? `Not “${shown}”, a word that this BERT does not have.`
      : `Not “${shown}”: BERT gave it ${percent(2 ** -bits)}.`;
  }

  /** Show the truth, and what both of the reader's rivals expected. */
  judge() {
    const { item } = this;
    this.paid.reader.push(this.price(this.guesses));
    for (const [name, bits] of Object.entries(item.bits)) this.paid[name].push(bits);
    const lists = { bert: wordsOf(item.top), counts: wordsOf(item.top_counts) };
    this.hits.reader += this.guesses[0] === item.word;
    this.hits.bert += lists.bert[0].text === item.word;
    this.hits.counts += lists.counts[0].text === item.word;
    this.form.hidden = true;
    this.hole.textContent = item.word;
    this.message.textContent = "";
    const next = this.isLast ? button("Play again", () => this.restart())
      : button("Next line", () => this.ask(), { class: "primary" });
    const shares = { bert: 2 ** -item.bits.bert, counts: 2 ** -item.bits.counts };
    this.answer.replaceChildren(
      h("p", {}, "The word is ", h("strong", {}, item.word), `. BERT gave it ${percent(shares.bert)}, `
        + `counting ${percent(shares.counts)}.`),
      h("div", {}, next),
      h("div", { class: "lists" },
        this.list("What BERT expected", lists.bert, shares.bert, "bert"),
        this.list("What counting neighbours expected", lists.counts, shares.counts)));
    this.showScore();
    next.focus();
  }

  /** One player's likeliest words, the true one among them. */
  list(name, words, share, paradigm) {
    const rows = markedRows(words, { text: this.item.word, share }, this.guesses);
    return h("div", { class: paradigm }, h("h4", {}, name), bars(rows, name, paradigm ? undefined : GREY));
  }

  showScore() {
    const { reader, bert, counts } = this.hits;
    const count = this.paid.reader.length;
    const players = PLAYERS.map(([key, name]) =>
      ({ name, bits: this.paid[key], paradigm: key === "bert" ? "bert" : undefined }));
    const wasOpen = this.sum.querySelector("details")?.open;
    this.sum.replaceChildren(
      h("p", {}, `Right with the first word, of ${count}: you ${reader}, BERT ${bert}, counting ${counts}.`),
      h("details", { open: wasOpen }, h("summary", {}, "The score in bits"),
        h("p", { class: "note" }, "The word costs you 1 bit at the first try, 2 at the second, 3 at the "
          + `third, and ${this.price(["-", "-", "-"]).toFixed(1)} if you do not find it.`),
        scoreboard("word", players)));
    if (this.isLast) {
      this.sum.append(h("p", { role: "status" },
        verdict(this.paid.reader, this.paid.bert, "BERT", "word"),
        " The first six lines are ours, in the English of today; the others are Shakespeare’s."));
    }
  }

  get isLast() {
    return this.paid.reader.length === this.data.items.length;
  }
}

/** The likeliest whole words of a list; pieces of words are left out. */
function wordsOf(top) {
  return top.filter(([text]) => !text.startsWith("##")).slice(0, N_SHOWN)
    .map(([text, share]) => ({ text, share }));
}

define("pt-fill-blank", FillBlank);
