// SPDX-License-Identifier: MIT
/** The tokeniser playground: your name, merged step by step, and the cuts of other tokenisers. */
import { CharTokenizer } from "./engine/characters.mjs";
import { countBytes, countCharacters, held, Subwords, wellFormed } from "./engine/subwords.mjs";
import { beginning, byteTokens, characterTokens, graphemes, uncut } from "./engine/units.mjs";
import { Applet, define } from "./ui/applet.mjs";
import { button, choice, field, h, slider } from "./ui/controls.mjs";
import { getJson } from "./ui/files.mjs";
import { LADDER_STYLE, mergeLadder } from "./ui/merge-ladder.mjs";
import { stepper } from "./ui/stepper.mjs";
import { CHIP_STYLE, chips, seen } from "./ui/token-chips.mjs";
import { cutSteps, matchSteps, STEP_STYLE } from "./ui/word-steps.mjs";

const LONGEST = 300;
const MOST_SHOWN = 110; // tokens of a row, until a reader asks for all of them
const NAME = 22; // characters of a text whose merges are drawn together; of a longer one, a word's
const OWN = "";
const STOPS = 24; // of the slider: the number of merges grows by one factor from stop to stop
const PAUSE = 250; // milliseconds from stop to stop
const TYPED = 600; // milliseconds after the last key until the merges are played
const TEXTS = {
  "A name": "Theodore",
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
const STYLE = `${CHIP_STYLE}${STEP_STYLE}${LADDER_STYLE}
h4, .kind { font-size: .95rem; margin: 0; }
.kind small { color: var(--pst-color-text-muted); font-size: .9em; font-weight: 400; }
textarea { display: block; height: 2.25rem; resize: vertical; }
.heard { clip-path: inset(50%); height: 1px; overflow: hidden; position: absolute; width: 1px; }
.others { border-top: 1px solid var(--pst-color-border); padding-top: .5rem; }
.others > .steps { gap: .75rem; padding-top: .5rem; }
.counts { width: 100%; }
.counts td, .counts th { padding: .2rem .35rem; }
.counts :is(td, th):not(:first-child) { text-align: right; }
.counts tbody th { font-weight: 400; }
.counts caption { text-align: left; }
@media (max-width: 30rem) {
  .counts { font-size: .8em; }
  .counts td, .counts th { padding: .2rem .1rem; }
}
`;

class TokenizerPlayground extends Applet {
  static offer = "Watch your name being merged";
  static room = [560, 640];

  async build(panel) {
    const names = ["characters", "bpe", "wordpiece", "unigram"];
    const files = await Promise.all(names.map((name) => getJson(`plays_${name}.json`)));
    const characters = new CharTokenizer(files[0]);
    const [bpe, wordpiece, unigram] = files.slice(1).map((file) => new Subwords(file));
    Object.assign(this, { bpe, wordpiece, unigram, units: "characters" });
    this.cutters = { bpe: subwordCutter("BPE", "The tokens, and the ids that a model reads.", bpe),
      wordpiece: subwordCutter("WordPiece", "BERT’s kind. It drops white space.", wordpiece),
      unigram: subwordCutter("Unigram", "T5’s kind.", unigram),
      characters: characterCutter(characters), bytes: byteCutter() };
    this.fill(panel);
    const text = this.state.get("text");
    if (text !== null) this.input.value = beginning(text, LONGEST);
    if (text !== null) this.ready.control.value = OWN;
    this.cut();
    this.chooseLongest();
  }

  fill(panel) {
    const [first] = Object.values(TEXTS);
    this.input = h("textarea", { rows: 1, oninput: () => this.typed() });
    this.input.value = first;
    const texts = Object.entries(TEXTS).map(([name, text]) => [text, name]);
    this.ready = choice("Ready texts", [...texts, [OWN, "your own"]], (text) => this.take(text), first);
    this.counts = h("div");
    this.news = h("p", { class: "heard", role: "status" });
    this.rows = Object.fromEntries(["bpe", "wordpiece", "unigram", "plain"].map((name) =>
      [name, h("div", { class: "steps" })]));
    this.ladder = h("div", { class: "steps" });
    this.steps = h("div", { class: "steps" });
    this.rest = button("Show all tokens", () => {
      this.isWhole = true;
      this.cut();
      this.choose(this.chosen);
    });
    const units = choice("Plain units", [["characters", "characters of the plays"],
      ["bytes", "bytes (UTF-8)"]], (value) => this.switchUnits(value), "characters");
    const others = h("details", { class: "others" },
      h("summary", {}, "Other tokenisers: WordPiece, unigram, characters, bytes"),
      h("div", { class: "steps" }, this.rows.wordpiece, this.rows.unigram, this.rows.plain, units,
        this.steps, this.counts));
    panel.replaceChildren(h("style", {}, STYLE),
      h("div", { class: "row" }, field("Your name, or any text", this.input), this.ready),
      this.ladder, this.rows.bpe, this.rest, this.vocabulary(), this.news, others);
  }

  /** The slider that takes merges away from BPE, and the buttons that give them back in turn. */
  vocabulary() {
    const { algorithm } = this.bpe;
    const merges = (stop) => (stop ? Math.round(algorithm.nMerges ** (stop / STOPS)) : 0);
    const use = (stop) => {
      algorithm.nUsed = merges(stop);
      this.cut();
      this.choose(this.chosen);
    };
    const size = slider("BPE’s vocabulary", { min: 0, max: STOPS, step: 1, value: STOPS }, (stop) => {
      grower.stop();
      use(stop);
    }, (stop) => `${(this.bpe.size - algorithm.nMerges + merges(stop)).toLocaleString("en")} tokens`);
    const grower = stepper(STOPS, PAUSE, (stop) => {
      size.set(stop);
      use(stop);
    });
    return h("div", { class: "row" }, button("Watch the merges again", () => this.drawn?.play()), size,
      button("Grow it from characters", () => grower.start()));
  }

  /** A text was typed: show how it, or the word before the caret, is cut. */
  typed() {
    const kept = beginning(this.input.value, LONGEST);
    if (kept !== this.input.value) this.input.value = kept;
    this.ready.control.value = OWN;
    this.isWhole = false;
    this.keep({ text: kept });
    this.cut();
    this.choose(Math.max(0, this.input.selectionStart - 1));
    this.drawn?.wait();
    clearTimeout(this.playing);
    this.playing = setTimeout(() => this.drawn?.play(), TYPED);
  }

  /** Take a ready text. */
  take(text) {
    this.input.value = text;
    this.isWhole = false;
    this.keep({ text });
    this.cut();
    this.chooseLongest();
    if (text === OWN) this.input.focus();
  }

  switchUnits(value) {
    this.units = value;
    this.cut();
    this.choose(this.chosen);
  }

  /** Cut the text in four ways, and draw chips and counts. */
  cut() {
    this.sentence = wellFormed(this.input.value);
    const names = { bpe: "bpe", wordpiece: "wordpiece", unigram: "unigram", plain: this.units };
    this.results = Object.entries(names).map(([place, name]) => {
      const { title, note, run } = this.cutters[name];
      const tokens = run(this.sentence);
      const drawn = uncut(tokens, this.sentence);
      const shown = this.isWhole ? drawn : drawn.slice(0, MOST_SHOWN);
      const row = chips(`Tokens of ${title}`, shown, (i) =>
        this.choose(shown[i].start + leadingSpaces(shown[i].text)));
      const count = `${tokens.length} token${tokens.length === 1 ? "" : "s"}`;
      this.rows[place].replaceChildren(h("h3", { class: "kind" }, `${title}: ${count} `,
        h("small", {}, note)), row);
      return { title, tokens, shown, row, isCut: shown.length < drawn.length };
    });
    this.rest.hidden = !this.results.some(({ isCut }) => isCut);
    this.counts.replaceChildren(countTable(this.results, this.sentence));
    this.news.textContent = this.results
      .map(({ title, tokens }) => `${title} ${tokens.length}`).join(" · ") + " tokens";
  }

  chooseLongest() {
    const words = this.bpe.words(this.sentence);
    const longest = Math.max(...words.map(({ text }) => text.length));
    const word = words.find(({ text }) => text.length === longest);
    this.choose(word ? word.start + leadingSpaces(word.text) : 0);
    this.drawn?.play();
  }

  /** Show how the word at a place of the text is cut, and mark its tokens in every row. */
  choose(place) {
    this.chosen = place;
    const words = this.bpe.words(this.sentence);
    const word = wordAt(words, place);
    for (const { shown, row } of this.results) {
      shown.forEach(({ start, text }, i) => {
        const isChosen = word && start < end(word) && start + text.length > word.start;
        row.buttons[i].setAttribute("aria-pressed", Boolean(isChosen));
      });
    }
    this.drawn = word && mergeLadder(this.bpe.algorithm, this.together(words, word));
    this.ladder.replaceChildren(this.drawn ?? h("p", {}, "Type a text, or take a ready one."));
    this.steps.replaceChildren(...(word ? this.explain(word.text, wordAt(this.wordpiece.words(this.sentence), place))
      : []));
  }

  /** The words whose merges are drawn: all of a name, and of a longer text the chosen one. */
  together(words, word) {
    const drawn = graphemes(this.sentence).length <= NAME ? words : [word];
    return drawn.map(({ text }) => text);
  }

  explain(word, plain) {
    const match = plain ? matchSteps(this.wordpiece.algorithm, plain.text)
      : h("div", { class: "steps" }, h("h4", {}, "WordPiece: the longest match"),
        h("p", {}, "White space between words is dropped."));
    return [h("h3", {}, `How “${seen(word)}” is cut`),
      h("div", { class: "columns" }, match, cutSteps(this.unigram.algorithm, word))];
  }
}

function characterCutter(tokenizer) {
  const size = tokenizer.tokens.length - tokenizer.specials.length;
  return { title: "Characters", note: `The ${size} of the plays; others have no id.`,
    run: (text) => characterTokens(text, tokenizer.ids)
      .map((token) => ({ ...token, isUnknown: token.id === undefined })) };
}

function byteCutter() {
  return { title: "Bytes", note: "256 bytes write every text; nothing is unknown.",
    run: (text) => byteTokens(text).map((token) => ({ ...token, isUnknown: false })) };
}

function subwordCutter(title, note, subwords) {
  return { title, note,
    run: (text) => subwords.encode(text)
      .map((token) => ({ ...token, isUnknown: token.id === subwords.unknownId })) };
}

/** A table of what the tokens of each cut hold; what is unknown counts as lost. */
function countTable(results, text) {
  const each = (value) => (Number.isNaN(value) ? "–" : value.toFixed(2));
  const head = ["", "tokens", "characters each", "bytes each", "lost"];
  const rows = results.map(({ title, tokens }) => {
    const { characters, bytes, lost } = held(tokens, text);
    return h("tr", {}, h("th", { scope: "row" }, title),
      ...[tokens.length, each(characters), each(bytes), lost].map((value) => h("td", {}, `${value}`)));
  });
  return h("table", { class: "counts" },
    h("caption", {}, `${countCharacters(text)} characters, ${countBytes(text)} bytes: what a known token `
      + "holds on average, and how many characters are lost in unknown ones."),
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

function leadingSpaces(text) {
  return text.length > 1 ? text.length - text.trimStart().length : 0;
}

define("pt-tokenizer", TokenizerPlayground);
