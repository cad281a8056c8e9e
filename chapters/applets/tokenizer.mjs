// SPDX-License-Identifier: MIT
/** The tokeniser playground: your own text, cut in four ways side by side. */
import { CharTokenizer } from "./engine/characters.mjs";
import { countBytes, countCharacters, Subwords, wellFormed } from "./engine/subwords.mjs";
import { byteTokens, characterTokens } from "./engine/units.mjs";
import { Applet, define } from "./ui/applet.mjs";
import { choice, field, h } from "./ui/controls.mjs";
import { getJson } from "./ui/files.mjs";
import { CHIP_STYLE, chips, seen } from "./ui/token-chips.mjs";
import { cutSteps, matchSteps, mergeSteps, STEP_STYLE } from "./ui/word-steps.mjs";

const LONGEST = 300;
const TEXTS = {
  "A rare word, an accent": "The seaman's unhappiness is her unkindness, dear Zoë.",
  "A line of an unseen play": "Life is as tedious as a twice-told tale",
  "Modern English": "My smartphone's battery died during the livestream.",
  "German": "Guten Morgen, ich hätte gern eine Tasse Tee, bitte.",
  "Greek": "Καλημέρα, θα ήθελα ένα φλιτζάνι τσάι, παρακαλώ.",
  "Chinese": "早上好，我想要一杯茶，谢谢。",
  "Numbers": "1234+5678 = 6912, and 1,000.50 is not 3.14",
  "Emoji": "Good 😀, bad 😢, a family 👩‍👩‍👧, a flag 🇩🇪",
  "Code": "for i in range(10):\n    print(i ** 2)  # squares",
};
const STYLE = `${CHIP_STYLE}${STEP_STYLE}
h4, .kind { font-size: .95rem; margin: 0; }
.kind small { color: var(--pst-color-text-muted); font-size: .9em; font-weight: 400; }
.heard { clip-path: inset(50%); height: 1px; overflow: hidden; position: absolute; width: 1px; }
.counts { width: 100%; }
.counts td, .counts th { padding: .2rem .35rem; }
.counts :is(td, th):not(:first-child) { text-align: right; }
.counts tbody th { font-weight: 400; }
.counts caption { text-align: left; }
@media (max-width: 30rem) {
  .counts { font-size: .8em; }
  .counts td, .counts th { padding: .2rem .1rem; }
}
.thirds { grid-template-columns: repeat(auto-fit, minmax(min(100%, 12rem), 1fr)); }
`;

class TokenizerPlayground extends Applet {
  static offer = "Cut your own text";

  async build(panel) {
    const names = ["characters", "bpe", "wordpiece", "unigram"];
    const files = await Promise.all(names.map((name) => getJson(`plays_${name}.json`)));
    const characters = new CharTokenizer(files[0]);
    const [bpe, wordpiece, unigram] = files.slice(1).map((file) => new Subwords(file));
    Object.assign(this, { bpe, wordpiece, unigram, units: "characters" });
    this.cutters = { characters: characterCutter(characters), bytes: byteCutter(),
      bpe: subwordCutter("BPE, of characters", bpe),
      wordpiece: subwordCutter("WordPiece, BERT's kind", wordpiece),
      unigram: subwordCutter("Unigram, T5's kind", unigram) };
    this.fill(panel);
    this.cut();
    this.chooseLongest();
  }

  fill(panel) {
    const [first] = Object.values(TEXTS);
    this.input = h("textarea", { rows: 2, maxlength: LONGEST, oninput: () => this.typed() });
    this.input.value = first;
    const texts = Object.entries(TEXTS).map(([name, text]) => [text, name]);
    this.ready = choice("Ready texts", texts, (text) => this.take(text), first);
    const units = choice("The plain way", [["characters", "characters of the plays"],
      ["bytes", "bytes (UTF-8)"]], (value) => this.switchUnits(value), "characters");
    this.counts = h("div");
    this.news = h("p", { class: "heard", role: "status" });
    this.rows = h("div", { class: "steps" });
    this.steps = h("div", { class: "steps" });
    panel.replaceChildren(h("style", {}, STYLE),
      field("Your text", this.input, `at most ${LONGEST} characters`),
      h("div", { class: "row" }, this.ready, units),
      this.counts, this.news,
      h("p", {}, "Under each token stands its id; ␣ is a blank. Press a token to see how its word ",
        "is cut. In a row, arrow keys move."),
      this.rows, this.steps);
  }

  /** A text was typed: show how the word before the caret is cut. */
  typed() {
    this.ready.control.selectedIndex = -1;
    this.cut();
    this.choose(Math.max(0, this.input.selectionStart - 1));
  }

  /** Take a ready text. */
  take(text) {
    this.input.value = text;
    this.cut();
    this.chooseLongest();
  }

  switchUnits(value) {
    this.units = value;
    this.cut();
    this.choose(this.chosen);
  }

  /** Cut the text in four ways, and draw counts and chips. */
  cut() {
    this.sentence = wellFormed(this.input.value);
    const names = [this.units, "bpe", "wordpiece", "unigram"];
    this.results = names.map((name) => {
      const { title, note, run } = this.cutters[name];
      return { title, note, tokens: run(this.sentence) };
    });
    this.counts.replaceChildren(countTable(this.results, this.sentence));
    this.news.textContent = this.results
      .map(({ title, tokens }) => `${title.split(",")[0]} ${tokens.length}`)
      .join(" · ") + " tokens";
    for (const result of this.results) {
      result.row = chips(`Tokens of ${result.title}`, result.tokens,
        (i) => this.choose(result.tokens[i].start + leadingBlanks(result.tokens[i].text)));
    }
    this.rows.replaceChildren(...this.results.flatMap(({ title, note, row }) =>
      [h("h3", { class: "kind" }, title, " ", h("small", {}, note)), row]));
  }

  chooseLongest() {
    const words = this.bpe.words(this.sentence);
    const longest = Math.max(...words.map(({ text }) => text.length));
    const word = words.find(({ text }) => text.length === longest);
    this.choose(word ? word.start + leadingBlanks(word.text) : 0);
  }

  /** Show how the word at a place of the text is cut, and mark its tokens in every row. */
  choose(place) {
    this.chosen = place;
    const word = wordAt(this.bpe.words(this.sentence), place);
    const plain = wordAt(this.wordpiece.words(this.sentence), place);
    for (const { tokens, row } of this.results) {
      tokens.forEach(({ start, text }, i) => {
        const isChosen = word && start < end(word) && start + text.length > word.start;
        row.buttons[i].setAttribute("aria-pressed", Boolean(isChosen));
      });
    }
    this.steps.replaceChildren(...(word ? this.explain(word.text, plain) : []));
  }

  explain(word, plain) {
    const match = plain ? matchSteps(this.wordpiece.algorithm, plain.text)
      : h("div", { class: "steps" }, h("h4", {}, "WordPiece: the longest match"),
        h("p", {}, "White space between words is dropped."));
    return [h("h3", {}, `How “${seen(word)}” is cut`),
      h("div", { class: "columns thirds" }, mergeSteps(this.bpe.algorithm, word), match,
        cutSteps(this.unigram.algorithm, word))];
  }
}

function characterCutter(tokenizer) {
  const size = tokenizer.tokens.length - tokenizer.specials.length;
  return { title: "Characters", note: `The ${size} characters of the plays; others have no id.`,
    run: (text) => characterTokens(text, tokenizer.ids)
      .map((token) => ({ ...token, isUnknown: token.id === undefined })) };
}

function byteCutter() {
  return { title: "Bytes", note: "256 bytes write every text; nothing is unknown.",
    run: (text) => byteTokens(text).map((token) => ({ ...token, isUnknown: false })) };
}

function subwordCutter(title, subwords) {
  const size = subwords.size.toLocaleString("en");
  const dropped = subwords.algorithm.mark ? " It drops white space." : "";
  return { title, note: `${size} tokens.${dropped}`,
    run: (text) => subwords.encode(text)
      .map((token) => ({ ...token, isUnknown: token.id === subwords.unknownId })) };
}

/** A table of how many tokens each cut needs, and how much of the text one of them holds. */
function countTable(results, text) {
  const [nCharacters, nBytes] = [countCharacters(text), countBytes(text)];
  const each = (n, tokens) => (tokens.length ? (n / tokens.length).toFixed(2) : "–");
  const head = ["", "tokens", "characters per token", "bytes per token", "unknown"];
  const rows = results.map(({ title, tokens }) => h("tr", {},
    h("th", { scope: "row" }, title.split(",")[0]),
    ...[tokens.length, each(nCharacters, tokens), each(nBytes, tokens),
      tokens.filter(({ isUnknown }) => isUnknown).length].map((value) => h("td", {}, `${value}`))));
  return h("table", { class: "counts" },
    h("caption", {}, `${nCharacters} characters, ${nBytes} bytes`),
    h("thead", {}, h("tr", {}, ...head.map((name) => (name ? h("th", { scope: "col" }, name)
      : h("td", {}))))),
    h("tbody", {}, ...rows));
}

/** The word that covers a place, or the first after it. */
function wordAt(words, place) {
  return words.find((word) => end(word) > place);
}

function end({ start, text }) {
  return start + text.length;
}

function leadingBlanks(text) {
  return text.length > 1 ? text.length - text.trimStart().length : 0;
}

define("pt-tokenizer", TokenizerPlayground);
