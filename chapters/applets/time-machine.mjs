// SPDX-License-Identifier: MIT
/**
 * The training time machine: one model at a few steps of its training, from the stored weights.
 *
 * `data-model` says which: "gpt" writes texts, "bert" fills blanks.
 */
import { best, draw } from "./engine/sampling.mjs";
import { row, softmax } from "./engine/tensors.mjs";
import { numberOfStep, Writer } from "./engine/writing.mjs";
import { Applet, define } from "./ui/applet.mjs";
import { bars, button, choice, field, h, slider, spoken, tokenRow, visible } from "./ui/controls.mjs";
import { getJson, getModel } from "./ui/files.mjs";
import { lossCurve } from "./ui/loss-curve.mjs";
import { matrix } from "./ui/matrix.mjs";

const PAUSE = 1200; // milliseconds between two looks
const N_GUESSES = 3;
const MOST_HIDDEN = 6;
const STYLE = `
.looks { align-items: center; display: flex; flex-wrap: wrap; gap: .5rem .75rem; }
.looks .field { flex: 3 1 14rem; }
.curve { height: auto; max-width: 34rem; width: 100%; }
.strip span { background: color-mix(in srgb, var(--ink) calc(var(--weight) * 60%), transparent); }
.strip .query { outline: 2px solid; font-weight: 700; }
.columns { align-items: start; }
canvas { display: block; }
`;

/**
 * Continue a prompt.
 * @param {object} model A GPT.
 * @param {number[]} prompt Ids.
 * @param {number} nNew Tokens to add.
 * @param {(probs: Float64Array, n: number) => number} choose Gives the id for step n.
 * @returns {number[]} The new ids.
 */
export function writeText(model, prompt, nNew, choose) {
  const writer = new Writer(model, prompt, 0);
  for (let n = 0; n < nNew; n++) writer.add(choose(writer.probs, n));
  return writer.path.map(({ id }) => id);
}

/**
 * Let a BERT guess one hidden place of a text; all other places are shown.
 * @returns {Float64Array} V probabilities.
 */
export function guessPlace(model, ids, place, maskId) {
  const read = ids.map((id, i) => (i === place ? maskId : id));
  return softmax(row(model.forward(read), place));
}

class TimeMachine extends Applet {
  static offer = "Travel through the training";

  async build(panel) {
    this.kind = this.dataset.model;
    if (!["gpt", "bert"].includes(this.kind)) throw new Error(`There is no model ${this.kind}.`);
    this.record = await getJson("time_machine.json");
    this.looks = this.record[this.kind];
    this.models = new Map();
    this.at = this.wanted = 0;
    await this.load(0);
    Object.assign(this, { seed: 1, opening: "", query: this.record.places[2],
      sentence: this.record.line.trim(), layer: 0, head: 0 });
    this.blanks = this.kind === "bert" ? new Set(this.record.places.map((i) => i - 1)) : new Set();
    panel.classList.add(this.kind);
    this.message = h("p", { class: "error", role: "alert" });
    this.said = h("p", { role: "status" });
    this.cost = h("p", { class: "note" });
    this.curve = h("div");
    panel.replaceChildren(h("style", {}, STYLE), this.travel(), this.message,
      h("div", { class: "columns" }, this.curve, h("div", { class: "stack" }, this.said, this.cost)),
      this.kind === "gpt" ? this.texts() : this.gaps(), this.attentionPart());
    if (this.kind === "bert") this.read(this.sentence, this.blanks);
    this.show();
  }

  get model() {
    return this.models.get(this.at).model;
  }

  get tokenizer() {
    return this.models.get(this.at).tokenizer;
  }

  async load(index) {
    if (!this.models.has(index)) this.models.set(index, await getModel(this.looks[index].file));
  }

  // The controls

  travel() {
    const name = (index) => this.looks[index].step.toLocaleString("en");
    this.scrubber = slider("Training step", { min: 0, max: this.looks.length - 1, step: 1, value: 0 },
      (index) => this.go(index), name);
    this.player = button("Play", () => this.play(), { class: "primary" });
    return h("div", { class: "looks" }, this.player,
      button("Earlier", () => this.go(this.wanted - 1)),
      button("Later", () => this.go(this.wanted + 1)), this.scrubber);
  }

  texts() {
    this.drawn = h("pre");
    this.greedy = h("pre");
    const opening = h("input", { type: "text", maxlength: 40, placeholder: "a new speech",
      oninput: () => this.change({ opening: opening.value }) });
    const seed = h("input", { type: "number", value: 1, min: 0, max: 999999, step: 1,
      oninput: () => this.change({ seed: Number(seed.value) || 0 }) });
    return h("div", { class: "stack" },
      h("div", { class: "row" }, field("Beginning of the text", opening), field("Seed", seed)),
      h("div", { class: "columns" },
        h("div", {}, h("h3", {}, "It writes, drawn by the seed"), this.drawn),
        h("div", {}, h("h3", {}, "It writes, always the likeliest"), this.greedy)));
  }

  gaps() {
    const limit = this.model.maxLength - 2; // a line end stands on either side
    const input = h("input", { type: "text", value: this.sentence, maxlength: limit,
      oninput: () => this.change({ sentence: input.value }, () => this.read(input.value, new Set())) });
    this.letters = h("div");
    this.guesses = h("div", { class: "columns" });
    return h("div", { class: "stack" }, field("Your sentence", input, `at most ${limit} characters`),
      h("p", {}, "Press the letters to hide, up to six; each is guessed with all others shown."),
      this.letters, this.guesses);
  }

  attentionPart() {
    const { n_layers: nLayers, n_heads: nHeads } = this.model.options;
    const numbers = (n) => Array.from({ length: n }, (_, i) => [String(i), String(i + 1)]);
    const choices = h("div", { class: "row" },
      choice("Layer", numbers(nLayers), (value) => this.change({ layer: Number(value) })),
      choice("Head", numbers(nHeads), (value) => this.change({ head: Number(value) })));
    if (this.kind === "gpt") {
      const input = h("input", { type: "text", value: this.sentence, maxlength: 60,
        oninput: () => this.change({ sentence: input.value }) });
      choices.append(field("It reads", input));
    }
    this.picture = h("div");
    this.strip = h("pre", { class: "strip" });
    this.looking = h("p", { "aria-live": "polite" });
    return h("div", { class: "stack" }, h("h3", {}, "Where it looks while it reads"), choices,
      h("div", { class: "columns" }, this.picture, h("div", { class: "stack" }, this.looking, this.strip)));
  }

  /** Take new settings and show what they change. */
  change(settings, andThen = () => {}) {
    Object.assign(this, settings);
    andThen();
    this.show();
  }

  // Travelling

  /** Go to a look; its file is fetched when it is first reached. A run of Play ends. */
  async go(index, isPlaying = false) {
    if (!isPlaying) this.stop();
    this.wanted = Math.max(0, Math.min(this.looks.length - 1, index));
    if (this.isLoading) return;
    this.isLoading = true;
    let problem = "";
    try {
      while (this.at !== this.wanted) {
        const next = this.wanted;
        await this.load(next);
        this.at = next;
      }
    } catch (error) {
      this.stop();
      this.wanted = this.at;
      problem = error.message;
    }
    this.isLoading = false;
    this.scrubber.set(this.at);
    this.show();
    if (problem) this.message.textContent = problem;
  }

  /** Walk from look to look, or stop walking. */
  async play() {
    if (this.journey) {
      this.stop();
      return;
    }
    const journey = this.journey = {};
    this.player.textContent = "Pause";
    let next = this.at === this.looks.length - 1 ? 0 : this.at + 1;
    for (; next < this.looks.length; next++) {
      await this.go(next, true);
      if (this.journey !== journey || next === this.looks.length - 1) break;
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
      if (this.journey !== journey) return;
    }
    if (this.journey === journey) this.stop();
  }

  stop() {
    this.journey = null;
    this.player.textContent = "Play";
  }

  // What is shown

  show() {
    const unknown = this.tokenizer.unknown(this.sentence + this.opening);
    this.message.textContent = unknown.length
      ? `This model knows no ${unknown.join(" ")}: its 62 characters are those of the plays.` : "";
    this.showLoss();
    if (unknown.length) return;
    if (this.kind === "gpt") this.showTexts();
    else this.showGuesses();
    this.showAttention();
  }

  showLoss() {
    const { step, bits_float: asTrained, bits_int8: asStored, bytes } = this.looks[this.at];
    const unit = this.kind === "gpt" ? "bits per character" : "bits per blank";
    const nText = this.tokenizer.tokens.length - this.tokenizer.specials.length;
    this.said.textContent =
      `After ${step.toLocaleString("en")} steps: ${asTrained.toFixed(2)} ${unit} of unseen plays.`;
    const points = this.looks.map((look) => ({ x: look.step, y: look.bits_float }));
    this.curve.replaceChildren(
      lossCurve({ points, chosen: this.at, unit, chance: Math.log2(nText) }));
    const worst = Math.max(...this.looks.map((look) => Math.abs(look.bits_int8 - look.bits_float)));
    this.cost.textContent = `The weights are stored in 8 bits, ${Math.round(bytes / 1000)} kB a step. ` +
      `Rounded so, this one needs ${asStored.toFixed(3)} bits instead of ${asTrained.toFixed(3)}; ` +
      `at no look do the two differ by more than ${worst.toFixed(4)}. ` +
      `One training with one seed; ${this.models.size} of its ${this.looks.length} looks are loaded.`;
  }

  showTexts() {
    const prompt = this.tokenizer.encode(this.opening || this.record.prompt);
    const numberOf = numberOfStep(this.seed);
    const text = (choose) => this.opening + this.tokenizer.decode(
      writeText(this.model, prompt, this.record.text_len, choose));
    this.drawn.textContent = text((probs, n) => draw(probs, numberOf(n)));
    this.greedy.textContent = text((probs) => best(probs, 1)[0].id);
  }

  /** Take a sentence for BERT, with these letters hidden. */
  read(sentence, blanks) {
    this.blanks = blanks;
    const letters = [...visible(sentence)];
    const write = (shown, i) => {
      shown.setAttribute("aria-pressed", this.blanks.has(i));
      shown.textContent = this.blanks.has(i) ? "▢" : letters[i];
    };
    this.letterRow = tokenRow("Letters", letters, (i, shown) => {
      if (!this.blanks.delete(i) && this.blanks.size < MOST_HIDDEN) this.blanks.add(i);
      write(shown, i);
      this.show();
    }, (i) => ({ "aria-label": spoken(sentence[i]) }));
    this.letterRow.buttons.forEach(write);
    this.letters.replaceChildren(this.letterRow);
  }

  get places() {
    return [...this.blanks].sort((a, b) => a - b).map((i) => i + 1);
  }

  showGuesses() {
    const ids = this.tokenizer.encode(`\n${this.sentence}\n`);
    const { tokens } = this.tokenizer;
    const lists = this.places.map((place) => {
      const probs = guessPlace(this.model, ids, place, this.tokenizer.id("[MASK]"));
      const rows = best(probs, N_GUESSES).map(({ id, probability }) => ({ text: tokens[id],
        share: probability, mark: id === ids[place] ? "✓ yours" : undefined }));
      const around = `${this.sentence.slice(Math.max(0, place - 5), place - 1)}▢` +
        this.sentence.slice(place, place + 4);
      return h("div", {}, h("h3", {}, visible(around)), bars(rows, `Guesses for place ${place}`));
    });
    this.guesses.replaceChildren(...lists.length ? lists : [h("p", {}, "Nothing is hidden yet.")]);
  }

  showAttention() {
    const ids = this.tokenizer.encode(this.kind === "gpt" ? `\n${this.sentence}` : `\n${this.sentence}\n`);
    const [hiddenPlace] = this.places;
    if (hiddenPlace) ids[hiddenPlace] = this.tokenizer.id("[MASK]");
    const trace = [];
    this.model.forward(ids, { trace });
    const { data, shape: [, nRows, nColumns] } = trace[this.layer];
    const weight = (t, s) => data[(this.head * nRows + t) * nColumns + s];
    const isAllowed = this.kind === "gpt" ? (t, s) => s <= t : undefined;
    const texts = ids.map((id) => visible(this.tokenizer.tokens[id]).replace("[MASK]", "▢"));
    const looking = (t) => {
      this.query = t;
      const order = best(texts.map((_, s) => weight(t, s)), 3);
      const seen = order.map(({ id: s, probability }) =>
        `“${texts[s]}” at ${s + 1} (${probability.toFixed(2)})`);
      this.looking.textContent = `Place ${t + 1}, “${texts[t]}”, looks most at ${seen.join(", ")}. ` +
        "Rows are places that look, columns those looked at; click, or use the arrow keys.";
      this.strip.replaceChildren(...texts.map((text, s) => h("span",
        { class: s === t ? "query" : undefined, style: { "--weight": weight(t, s) } }, text)));
    };
    this.query = Math.min(this.query, nRows - 1);
    const canvas = matrix({ name: `Attention, layer ${this.layer + 1}, head ${this.head + 1}`,
      shape: [nRows, nColumns], weight, isAllowed, colour: "--ink", onpick: looking });
    const hadFocus = this.shadowRoot.activeElement?.localName === "canvas";
    this.picture.replaceChildren(canvas);
    if (hadFocus) canvas.focus();
    looking(this.query);
    requestAnimationFrame(() => canvas.redraw(this.query, this.query));
  }
}

define("pt-time-machine", TimeMachine);
