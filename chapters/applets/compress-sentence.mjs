// SPDX-License-Identifier: MIT
/**
 * Compress a sentence of your own: what each letter costs the GPT, how the letters narrow an
 * interval, and the binary digits that name it, from which a decoder reads the sentence again.
 */
import { alike, countsOfScores, Decoder, digitsOf, encode, flipped } from "./engine/arithmetic-coding.mjs";
import { partsOf } from "./engine/sentence.mjs";
import { beginning } from "./engine/units.mjs";
import { Applet, define } from "./ui/applet.mjs";
import { bars, button, field, h, keepFocus, percent, slider, spoken, tokenRow, visible } from "./ui/controls.mjs";
import { INTERVAL_STYLE, intervalView } from "./ui/interval-view.mjs";
import { latest } from "./ui/latest.mjs";
import { openModel } from "./ui/open-model.mjs";
import { stepper } from "./ui/stepper.mjs";
import { Turns } from "./ui/turns.mjs";

const GPT = "gpt_chars";
const START = "I am a sentence that nobody has written before.";
const LETTER = 11; // of START, which is looked at first
const SUGGESTIONS = [
  ["A line of Macbeth", "Is this a dagger which I see before me, the handle toward my hand?"],
  ["A modern line", "My phone needs a new battery, and the train is late again."],
  ["Random letters", "utbmqgxezkwfrjvdahycopnl"],
  ["One word, ten times", Array(10).fill("good").join(" ")],
];
const MOST = 80; // characters that are compressed
const MOST_LOOKED_AT = 120; // of a longer text, the rest is not even shown
const DEAR = 12; // bits with the deepest colour
const DEEPEST = 0.35; // share of the colour; more would swallow the numbers
const PACE = 450; // ms a letter
const FRAME = 18; // bytes of gzip's file around what it compressed
const BYTE = 8;
const LOOKED_BACK = 12; // characters before the letter that is looked at
const STYLE = `
.offers { gap: .4rem; }
.offers button { font-size: .9em; min-height: 2rem; padding: 0 .5rem; }
.letters .tokens { gap: 3px 2px; }
.token.letter { background: color-mix(in srgb, var(--ink) calc(100% * var(--share)), var(--pst-color-background));
  border: 1px solid transparent; display: inline-grid; justify-items: center; line-height: 1.25; min-width: 1.65rem; padding: 0 1px; }
.token.letter small { font-family: var(--pst-font-family-base, sans-serif); font-size: .7em; font-variant-numeric: tabular-nums; }
.token.letter[aria-pressed="true"] { color: inherit; font-weight: 700; outline: 2px solid var(--pst-color-text-base); }
.token.struck { border: 1px dashed var(--pst-color-text-muted); color: var(--pst-color-text-muted);
  min-width: 1.4rem; text-decoration: line-through; }
.sizes li:not(:last-child) .bar { --ink: var(--pst-color-text-muted); }
.walk { align-items: end; flex-wrap: nowrap; }
.code { display: block; font-family: var(--pst-font-family-monospace, monospace); overflow-wrap: anywhere; }
.code .fixed { font-weight: 700; }
.code .fresh { background: color-mix(in srgb, var(--ink) 25%, transparent); font-weight: 700; text-decoration: underline; }
.code .open { color: var(--pst-color-text-muted); }
.code .flipped { outline: 2px solid var(--pst-color-danger); }
.heard { font-family: var(--pst-font-family-monospace, monospace); overflow-wrap: anywhere; white-space: pre-wrap; }
.heard ~ button { margin-top: .5rem; }
.heard .wrong { border-bottom: 2px dashed var(--pst-color-danger); }
@media (forced-colors: active) { .token.letter { border-color: ButtonBorder; } }
`;

class CompressSentence extends Applet {
  static offer = "Compress a sentence of your own";
  static room = [822, 1278];

  async build(panel) {
    this.text = this.state.get("text") ?? START;
    this.wanted = Math.max(1, Math.floor(Number(this.state.get("letter"))) || firstLetter(this.text)) - 1;
    this.gpt = await openModel(GPT);
    const { tokens, specials } = this.gpt.tokenizer;
    this.nSpecial = specials.length;
    this.characters = tokens.slice(this.nSpecial);
    this.decoding = new Turns();
    panel.classList.add("gpt");
    panel.replaceChildren(h("style", {}, INTERVAL_STYLE + STYLE), this.inputPart(), this.answerPart());
    this.ask = latest(() => this.waitFor(this.answer()));
    await this.ask();
  }

  inputPart() {
    this.input = h("input", { type: "text", value: this.text, autocomplete: "off", spellcheck: "false",
      oninput: () => this.take(this.input.value, this.input.selectionStart) });
    const offers = SUGGESTIONS.map(([name, text]) => button(name, () => {
      this.input.value = text;
      this.take(text, 2);
    }));
    return h("div", { class: "stack" }, field("Your sentence", this.input),
      h("div", { class: "row offers" }, ...offers));
  }

  answerPart() {
    this.said = h("p", { role: "status" });
    this.unread = h("p", { class: "note" });
    this.sizes = h("div", { class: "sizes" });
    this.letters = h("div", { class: "letters" });
    this.walker = h("div", { class: "row walk" });
    this.zoom = h("div");
    this.zoomSaid = h("p", { class: "note", role: "status" });
    this.digits = h("code", { class: "code" });
    this.flipper = button("", () => {
      this.isFlipped = !this.isFlipped;
      this.drawDigits();
      this.decode();
    });
    this.heard = h("p", { class: "heard" });
    this.verdict = h("p", { class: "note", role: "status" });
    const weight = (this.dataset.size ?? "").replace("loads ", "");
    this.rest = h("div", { class: "stack" },
      h("div", { class: "columns" }, this.sizes, h("p", { class: "note" }, "gzip has read nothing before; the frame of its "
        + `file is not counted. Nor are the GPT’s weights${weight && ` (${weight} zipped)`}, which the receiver needs too.`)),
      h("div", {}, h("p", {}, "What each letter costs, in bits"), this.letters), this.walker, this.zoom, this.zoomSaid,
      h("div", { class: "columns" },
        h("div", {}, h("p", {}, "The code; underlined is what this letter fixes"), this.digits),
        h("div", {}, h("p", {}, "The receiver runs the same GPT, and reads"), this.heard, this.verdict, this.flipper)));
    return h("div", { class: "stack" }, this.said, this.unread, this.rest);
  }

  /** Compress another text, and look at the letter before a place of it. */
  take(text, before) {
    this.text = text;
    this.wanted = Math.max(1, before) - 1; // an answer to an older text may still come and look elsewhere
    this.keepState();
    this.ask();
  }

  keepState() {
    this.keep({ ...(this.text === START ? {} : { text: this.text }),
      ...(this.wanted + 1 === firstLetter(this.text) ? {} : { letter: this.wanted + 1 }) });
  }

  /** Compress what the field holds. */
  async answer() {
    if (this.isWalking) this.stopWalk();
    this.decoding.end();
    const { wanted, gpt: { tokenizer } } = this;
    const shown = beginning(this.text, MOST_LOOKED_AT);
    const parts = partsOf(tokenizer, shown, { byWord: false, most: MOST });
    const ids = parts.flatMap((part) => part.ids);
    const isLong = ids.length === MOST || shown.length < this.text.length;
    this.unread.textContent = parts.some(({ isUnread }) => isUnread) ? unreadWords(ids.length, isLong) : "";
    this.unread.hidden = !this.unread.textContent;
    this.rest.hidden = !ids.length;
    if (!ids.length) {
      this.said.textContent = this.text.trim() ? "Nothing is left to compress." : "Write a sentence.";
      return;
    }
    const [counts, nZipped] = await Promise.all([this.gpt.ask("counts", ids), zippedBytes(tokenizer.decode(ids))]);
    this.sentence = tokenizer.decode(ids);
    this.encoded = encode(ids.map((id) => id - this.nSpecial), counts);
    this.isFlipped = false;
    this.drawSizes(nZipped * BYTE);
    keepFocus(this.letters, () => keepFocus(this.walker, () => {
      this.drawLetters(parts);
      this.look(Math.min(wanted, ids.length - 1));
    }));
    this.decode();
  }

  /** Say how long the code is, beside others. */
  drawSizes(nZipped) {
    const { nBits, steps: { length } } = this.encoded;
    const [plain, nBytes] = [BYTE * length, Math.ceil(nBits / BYTE)];
    const rows = [["plain\u00a0text", plain], ["gzip", nZipped], ["GPT", nBits]].filter(([, n]) => n);
    const most = Math.max(...rows.map(([, n]) => n));
    this.said.replaceChildren(h("b", {}, `Your sentence: ${length} character${length > 1 ? "s" : ""} in `
      + `${nBits} bits, or ${nBytes} byte${nBytes > 1 ? "s" : ""}.`), ` ${comparison(nBits, plain, nZipped)}`);
    this.sizes.replaceChildren(bars(rows.map(([name, n]) => (
      { text: name, share: n / most, number: `${n} bits` })), "Length of the sentence"));
  }

  drawLetters(parts) {
    const { steps } = this.encoded;
    const read = parts.filter(({ isUnread }) => !isUnread);
    const row = tokenRow("The letters and their bits: choose one", read.map(() => ""), (place) => this.visit(place),
      (place) => ({ class: "token letter", style: { "--share": DEEPEST * Math.min(1, steps[place].bits / DEAR) },
        "aria-label": `Letter ${place + 1}, ${spoken(read[place].text)}, ${steps[place].bits.toFixed(1)} bits` }));
    this.keys = row.buttons;
    this.keys.forEach((key, place) => {
      key.append(h("span", {}, visible(read[place].text)), h("small", {}, steps[place].bits.toFixed(1)));
      key.addEventListener("focus", () => this.visit(place));
    });
    const keys = this.keys.values();
    row.replaceChildren(...parts.map(({ isUnread, text }) => (isUnread
      ? h("span", { class: "token struck", title: "not read by the GPT" }, visible(text)) : keys.next().value)));
    this.letters.replaceChildren(row);
    const last = this.keys.length;
    this.slider = slider("Letter", { min: 1, max: Math.max(2, last), step: 1, value: 1 },
      (place) => this.visit(Math.min(place, last) - 1), (place) => `${Math.min(place, last)} of ${last}`);
    this.walkButton = button("Walk through", () => this.run());
    this.walker.replaceChildren(this.slider, this.walkButton);
    this.walker.hidden = last < 2;
  }

  /** Go through all letters, from the first; or stop. */
  async run() {
    if (this.isWalking) {
      this.stopWalk();
      return;
    }
    const walk = this.walk = stepper(this.keys.length - 1, PACE, (place) => this.look(place));
    this.isWalking = true;
    this.walkButton.textContent = "Stop";
    await walk.start();
    if (this.walk === walk) this.stopWalk();
  }

  stopWalk() {
    this.walk?.stop();
    this.walk = null;
    this.isWalking = false;
    this.walkButton.textContent = "Walk through";
  }

  /** Look where the reader points. */
  visit(place) {
    if (place === this.place) return;
    this.stopWalk();
    this.wanted = place;
    this.look(place);
    this.keepState();
  }

  /** Show how a letter cuts the interval, and what it fixes of the code. */
  look(place) {
    const grows = place === this.place + 1;
    this.place = place;
    this.keys.forEach((key, i) => {
      key.setAttribute("aria-pressed", i === place);
      key.tabIndex = i === place ? 0 : -1;
    });
    this.slider.set(place + 1);
    const { steps, nBits } = this.encoded;
    this.zoom.replaceChildren(intervalView(steps, place, this.encoded, this.characters, grows));
    const { counts, symbol, bits, after } = steps[place];
    const share = counts[symbol] / counts.reduce((a, b) => a + b, 0);
    const width = steps.slice(0, place + 1).reduce((sum, step) => sum + step.bits, 0);
    const known = this.sentence.slice(Math.max(0, place - LOOKED_BACK), place);
    this.zoomSaid.replaceChildren(place
      ? `After “${visible(known)}”, “${visible(this.characters[symbol])}” has ${percent(share)} of the interval: ${
        bits.toFixed(1)} bits. ${place + 1} letters leave a piece 2`
      : `Nothing is predicted before the first letter: ${counts.length} equal pieces, ${bits.toFixed(1)} bits. It leaves a piece 2`,
    h("sup", {}, `−${width.toFixed(1)}`), ` wide and fix${place ? "" : "es"} ${after.fixedDigits.length} of ${nBits} digits.`);
    this.drawDigits();
  }

  /** The point that is sent. */
  get sent() {
    return this.isFlipped ? flipped(this.encoded, this.middle) : this.encoded;
  }

  /** The place of the digit that can be flipped. */
  get middle() {
    return Math.floor(this.encoded.nBits / 2);
  }

  drawDigits() {
    const { before, after } = this.encoded.steps[this.place];
    const [nOld, nFixed] = [before.fixedDigits.length, after.fixedDigits.length];
    const kindOf = (i) => (i < nOld ? "fixed" : i < nFixed ? "fresh" : "open");
    const runs = [];
    for (const [i, digit] of [...digitsOf(this.sent)].entries()) {
      const kind = this.isFlipped && i === this.middle ? `${kindOf(i)} flipped` : kindOf(i);
      if (i % BYTE === 0) runs.push({ text: " " });
      if (runs.at(-1).kind === kind) runs.at(-1).text += digit;
      else runs.push({ kind, text: digit });
    }
    this.digits.replaceChildren(...runs.map(({ kind, text }) => (kind ? h("span", { class: kind }, text) : text)));
    this.flipper.textContent = this.isFlipped ? `Flip digit ${this.middle + 1} back` : `Flip digit ${this.middle + 1}`;
  }

  /** Read the digits as the receiver does: ask the GPT, see where the point lies, and ask on. */
  async decode() {
    const isOld = this.decoding.begin();
    const { nSpecial, sentence, sent } = this;
    const decoder = new Decoder(sent);
    this.verdict.textContent = "…";
    this.showHeard([]);
    while (decoder.symbols.length < sentence.length) {
      const ids = decoder.symbols.map((symbol) => symbol + nSpecial);
      const counts = ids.length ? countsOfScores(await this.gpt.ask("next", ids), nSpecial) : alike(this.characters.length);
      if (await isOld()) return;
      decoder.take(counts);
      this.showHeard(decoder.symbols);
    }
    const nRight = this.nRight(decoder.symbols);
    this.verdict.textContent = nRight === sentence.length ? `✓ All ${nRight} characters are yours.`
      : `One wrong digit: the first ${nRight} characters are yours, and what follows is another text.`;
  }

  /** How many symbols are right before the first wrong one. */
  nRight(symbols) {
    const wrong = symbols.findIndex((symbol, place) => this.characters[symbol] !== this.sentence[place]);
    return wrong < 0 ? symbols.length : wrong;
  }

  /** Write what has been decoded, in the room that the whole takes. */
  showHeard(symbols) {
    const text = symbols.map((symbol) => this.characters[symbol]).join("");
    const nRight = this.nRight(symbols);
    this.heard.replaceChildren(text.slice(0, nRight), h("span", { class: "wrong" }, visible(text.slice(nRight))),
      h("span", { style: { visibility: "hidden" } }, this.sentence.slice(text.length)));
  }
}

/** Which letter of a text is looked at first. */
function firstLetter(text) {
  return text === START ? LETTER : 1;
}

/** How many bytes gzip needs, without the frame of a file; 0 where a browser cannot say. */
async function zippedBytes(text) {
  if (!globalThis.CompressionStream) return 0;
  const zipped = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
  return (await new Response(zipped).arrayBuffer()).byteLength - FRAME;
}

/** What the reader may conclude from the three lengths. */
function comparison(nBits, plain, zipped) {
  if (nBits > plain) return "That is longer than plain text: the GPT hardly expects these letters.";
  if (zipped && zipped < nBits) return "Here gzip is shorter: it copies what repeats.";
  return `Plain text takes ${(plain / nBits).toFixed(1)} times as many.`;
}

/** Explain what is struck out, once. */
function unreadWords(nRead, isLong) {
  if (isLong && nRead) return `Compressed: the first ${nRead} characters that the GPT knows. The rest is struck out.`;
  return `Struck out: characters that this GPT has never seen.${nRead ? " The rest is compressed." : ""}`;
}

define("pt-compress-sentence", CompressSentence);
