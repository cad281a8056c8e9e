// SPDX-License-Identifier: MIT
/**
 * The training time machine: one model at a few steps of its training, from the stored weights.
 *
 * `data-model` says which: "gpt" writes texts, "bert" fills gaps.
 */
import { attentionOf, direction, habit, topKeys } from "./engine/looking.mjs";
import { bidirectional, causal } from "./engine/models.mjs";
import { best, draw } from "./engine/sampling.mjs";
import { row, softmax } from "./engine/tensors.mjs";
import { contextStart, numberOfStep, Reader } from "./engine/writing.mjs";
import { Applet, define } from "./ui/applet.mjs";
import { bars, button, choice, field, h, keepFocus, percent, slider, spoken, visible } from "./ui/controls.mjs";
import { onDrag } from "./ui/dragging.mjs";
import { getJson, getModel } from "./ui/files.mjs";
import { HIDDEN, LOOKED_STYLE, lookedRow } from "./ui/looked-row.mjs";
import { CURVE_STYLE, lossCurve, nearestPoint } from "./ui/loss-curve.mjs";
import { matrix } from "./ui/matrix.mjs";
import { SENTENCE_STYLE, SentenceRow } from "./ui/sentence-row.mjs";
import { Turns } from "./ui/turns.mjs";
import { readable } from "./ui/typed.mjs";

const PAUSE = 1200; // milliseconds between two looks
const N_GUESSES = 3;
const MOST_HIDDEN = 6;
const LONGEST = 60; // characters of what a head reads
const LONGEST_OPENING = 40;
const MASK_AT_START = 2; // which of the recorded places is the first query
const STYLE = `${LOOKED_STYLE}${CURVE_STYLE}${SENTENCE_STYLE}
.looks { align-items: end; display: flex; flex-wrap: wrap; gap: .5rem .75rem; }
.looks .field { flex: 3 1 12rem; }
.columns { align-items: start; }
canvas { display: block; }
.guesses { display: grid; gap: .75rem 1rem; grid-template-columns: repeat(auto-fill, minmax(8.5rem, 1fr)); }
.guesses:empty { display: none; }
.guesses .bars li { grid-template-columns: 1.2rem 1fr 4rem; }
`;

/**
 * Continue a prompt; special tokens are never written.
 * @param {object} model A GPT.
 * @param {number[]} prompt Ids.
 * @param {number} nNew Tokens to add.
 * @param {number} nSpecial How many of the first ids are no text.
 * @param {(probs: Float64Array, n: number) => number} choose Gives the id for step n.
 * @returns {number[]} The new ids.
 */
export function writeText(model, prompt, nNew, nSpecial, choose) {
  const reader = new Reader(model);
  const ids = [...prompt];
  for (let n = 0; n < nNew; n++) {
    const context = ids.slice(contextStart(ids.length, model.maxLength));
    ids.push(choose(softmax(reader.scores(context).fill(-Infinity, 0, nSpecial)), n));
  }
  return ids.slice(prompt.length);
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
  static room = [1164, 1720];

  async build(panel) {
    this.kind = this.dataset.model;
    if (!["gpt", "bert"].includes(this.kind)) throw new Error(`There is no model ${this.kind}.`);
    this.record = await getJson("time_machine.json");
    this.looks = this.record[this.kind];
    this.models = new Map();
    this.turns = new Turns();
    this.at = this.wanted = 0;
    await this.load(0);
    const { layer, head } = this.record.heads[this.kind];
    const { state } = this;
    Object.assign(this, { seed: Number(state.get("seed") ?? 1) || 0, opening: (state.get("opening") ?? "").slice(0, LONGEST_OPENING),
      query: this.record.places[MASK_AT_START], layer, head,
      sentence: (state.get("text") ?? this.record.line.trim()).slice(0, LONGEST) });
    panel.classList.add(this.kind);
    this.message = h("p", { class: "error", role: "alert" });
    this.said = h("p", { role: "status" });
    this.curve = h("div");
    onDrag(this.curve, (x) => this.go(nearestPoint(this.points, x)));
    this.guesses = h("div", { class: "guesses" });
    const answer = this.kind === "gpt" ? this.texts() : this.gaps();
    panel.replaceChildren(h("style", {}, STYLE), this.travel(), this.said, this.message,
      h("div", { class: "columns" }, this.curve, answer), this.guesses, this.attentionPart(),
      this.storage());
    await this.show();
    const step = this.looks.findIndex((look) => String(look.step) === state.get("step"));
    if (step >= 0) this.go(step);
    else this.playOnce(panel);
  }

  get model() {
    return this.models.get(this.at).model;
  }

  get tokenizer() {
    return this.models.get(this.at).tokenizer;
  }

  /** The loss at each look. */
  get points() {
    return this.looks.map((look) => ({ x: look.step, y: look.bits_float }));
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
    return h("div", { class: "looks" }, this.player, this.scrubber);
  }

  texts() {
    this.drawn = h("pre");
    this.greedy = h("pre");
    const opening = h("input", { type: "text", maxlength: LONGEST_OPENING, value: this.opening,
      placeholder: "a new speech",
      oninput: () => this.change({ opening: opening.value }) });
    const seed = h("input", { type: "number", value: this.seed, min: 0, max: 999999, step: 1,
      oninput: () => this.change({ seed: Number(seed.value) || 0 }) });
    return h("div", { class: "stack" },
      h("h3", {}, "It writes, drawn by the seed"), this.drawn,
      h("h3", {}, "It writes, always the likeliest"), this.greedy,
      h("div", { class: "row" }, field("Beginning of the text", opening), field("Seed", seed)));
  }

  gaps() {
    this.text = new SentenceRow({ text: this.sentence, mostHidden: MOST_HIDDEN }, () => {
      this.show();
      this.remember();
    });
    this.text.readWith(this.tokenizer, { byWord: false, most: this.model.maxLength - 2 });
    const isOwn = this.sentence !== this.record.line.trim();
    this.text.hide(isOwn ? [] : this.record.places.map((place) => place - 1)); // a line end comes first
    return h("div", { class: "stack" }, this.text.node,
      h("p", { class: "note" }, "Press letters to hide them, six at most; each is guessed with all "
        + "others shown. ✓ is your letter."));
  }

  attentionPart() {
    const { n_layers: nLayers, n_heads: nHeads } = this.model.options;
    const options = Array.from({ length: nLayers * nHeads }, (_, i) => {
      const [layer, head] = [Math.floor(i / nHeads), i % nHeads];
      return [`${layer} ${head}`, `layer ${layer + 1}, head ${head + 1}`];
    });
    const choices = h("div", { class: "row" }, choice("Head", options, (value) => {
      [this.layer, this.head] = value.split(" ").map(Number);
      this.showAttention();
    }, `${this.layer} ${this.head}`));
    if (this.kind === "gpt") {
      const input = h("input", { type: "text", value: this.sentence, maxlength: LONGEST,
        oninput: () => this.change({ sentence: input.value }) });
      choices.append(field("It reads", input));
    }
    this.picture = h("div");
    this.strip = h("div", { class: "looked" });
    this.lesson = h("p");
    this.looking = h("p");
    this.attention = h("div", { class: "columns" }, this.picture,
      h("div", { class: "stack" }, this.strip, this.looking));
    return h("div", { class: "stack" }, h("h3", {}, "Where a head looks while it reads"), this.lesson,
      choices, this.attention);
  }

  storage() {
    this.cost = h("p", { class: "note" });
    return h("details", {}, h("summary", {}, "How the looks are stored"), this.cost);
  }

  /** Take new settings and show what they change. */
  change(settings) {
    Object.assign(this, settings);
    this.show();
    this.remember();
  }

  /** Put what the reader chose into the address. */
  remember() {
    const { step } = this.looks[this.at];
    this.keep(this.kind === "bert" ? { step, text: this.text.text }
      : { step, text: this.sentence, opening: this.opening, seed: this.seed });
  }

  // Travelling

  /** Go to a look; its file is fetched when it is first reached. A run of Play ends. */
  async go(index, isPlaying = false) {
    if (!isPlaying) this.stop();
    this.wanted = Math.max(0, Math.min(this.looks.length - 1, index));
    if (this.isLoading) return;
    this.isLoading = true;
    this.turns.end();
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
    if (!isPlaying) this.remember();
    if (problem) this.message.textContent = problem;
  }

  /** Play by itself when it is first seen; who wants no motion sees the end at once. */
  playOnce(panel) {
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const watcher = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      watcher.disconnect();
      if (this.at || this.journey) return; // the reader was faster
      if (isStill) this.go(this.looks.length - 1, true);
      else this.play();
    });
    watcher.observe(panel);
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

  /** Ask the model question by question, so that the page stays free, and then show all its answers. */
  show() {
    this.message.textContent = "";
    return this.waitFor(this.answer(this.kind === "gpt" ? this.texting() : this.guessing()));
  }

  async answer({ questions, ids, show }) {
    const isOver = this.turns.begin();
    const answers = [];
    const trace = [];
    for (const question of [...questions, () => this.model.forward(ids, { trace })]) {
      if (await isOver()) return;
      answers.push(question());
    }
    if (await isOver()) return;
    this.showLoss();
    show(answers);
    this.read = { ids, trace };
    this.showAttention();
  }

  showLoss() {
    const { step, bits_float: asTrained, bits_int8: asStored, bytes } = this.looks[this.at];
    const unit = this.kind === "gpt" ? "bits per character" : "bits per gap";
    const nText = this.tokenizer.tokens.length - this.tokenizer.specials.length;
    this.said.textContent =
      `After ${step.toLocaleString("en")} steps: ${asTrained.toFixed(2)} ${unit} of unseen plays.`;
    this.curve.replaceChildren(
      lossCurve({ points: this.points, chosen: this.at, unit, chance: Math.log2(nText) }));
    const worst = Math.max(...this.looks.map((look) => Math.abs(look.bits_int8 - look.bits_float)));
    this.cost.textContent = `The weights are stored in 8 bits, ${Math.round(bytes / 1000)} kB a step. ` +
      `Rounded so, this one needs ${asStored.toFixed(3)} bits instead of ${asTrained.toFixed(3)}; ` +
      `at no look do the two differ by more than ${worst.toFixed(4)}. ` +
      `One training with one seed; ${this.models.size} of its ${this.looks.length} looks are loaded.`;
  }

  /** Read a text without the characters that the model lacks, and name these. */
  taken(typed) {
    const { text, note } = readable(this.tokenizer, typed);
    if (note) this.message.textContent = note;
    return text;
  }

  /** GPT: what it is asked, what the head reads, and how its two texts are shown. */
  texting() {
    const opening = this.taken(this.opening);
    const prompt = this.tokenizer.encode(opening || this.record.prompt);
    const numberOf = numberOfStep(this.seed);
    const text = (choose) => opening + this.tokenizer.decode(writeText(this.model, prompt,
      this.record.text_len, this.tokenizer.specials.length, choose));
    return {
      questions: [() => text((probs, n) => draw(probs, numberOf(n))), () => text((probs) => best(probs, 1)[0].id)],
      ids: this.tokenizer.encode(`\n${this.taken(this.sentence)}`),
      show: ([drawn, greedy]) => {
        this.drawn.textContent = drawn;
        this.greedy.textContent = greedy;
      },
    };
  }

  /** BERT: each hidden letter is a question; the head reads the text without the first of them. */
  guessing() {
    const letters = this.text.read.map(({ text }) => text);
    const { hidden } = this.text;
    const ids = this.tokenizer.encode(`\n${letters.join("")}\n`);
    const maskId = this.tokenizer.id("[MASK]");
    const places = hidden.map((letter) => letter + 1); // behind the line end
    return {
      questions: places.map((place) => () => guessPlace(this.model, ids, place, maskId)),
      ids: ids.map((id, place) => (place === places[0] ? maskId : id)),
      show: (found) => this.showGuesses(letters, places.map((place, i) =>
        ({ place, truth: ids[place], guesses: best(found[i], N_GUESSES) }))),
    };
  }

  showGuesses(letters, answers) {
    const { tokens } = this.tokenizer;
    const lists = answers.map(({ place, truth, guesses }) => {
      const rows = guesses.map(({ id, probability }) => ({ text: tokens[id], share: probability,
        mark: id === truth ? "✓" : undefined }));
      const around = `${letters.slice(Math.max(0, place - 5), place - 1).join("")}${HIDDEN}` +
        letters.slice(place, place + 4).join("");
      return h("div", {}, h("h3", { "aria-label": `Place ${place}` }, visible(around)),
        bars(rows, `Guesses for place ${place}`));
    });
    this.text.fill(answers.map(({ place, guesses }) => [place - 1, tokens[guesses[0].id]]));
    this.guesses.replaceChildren(...lists.length ? lists : [h("p", {}, "Nothing is hidden yet.")]);
  }

  showAttention() {
    const { ids, trace } = this.read;
    const weights = trace[this.layer];
    const tokens = ids.map((id) => this.tokenizer.tokens[id].replace("[MASK]", HIDDEN));
    const isAllowed = this.kind === "gpt" ? causal : bidirectional;
    const strip = lookedRow("The text, with the weights of the chosen letter", tokens, (t) => look(t));
    const canvas = matrix({ name: `Attention, layer ${this.layer + 1}, head ${this.head + 1}: rows are `
        + "queries, columns are keys", tokens: tokens.map(visible), isAllowed, colour: "--ink",
    weight: (t, s) => attentionOf(weights, this.head, t)[s], onpick: (t) => look(t) });
    const look = (t) => {
      this.query = t;
      strip.show(t, attentionOf(weights, this.head, t), (s) => isAllowed(t, s));
      canvas.redraw(t);
      const seen = topKeys(weights, this.head, t, 3).map(({ s, share }) =>
        `“${spoken(tokens[s])}” at ${s + 1} (${share.toFixed(2)})`);
      this.looking.textContent =
        `Place ${t + 1}, “${spoken(tokens[t])}”, looks most at ${seen.join(", ")}.`;
    };
    this.picture.replaceChildren(canvas);
    keepFocus(this.strip, () => this.strip.replaceChildren(strip));
    look(Math.min(this.query, ids.length - 1));
    this.attention.hidden = ids.length < 3;
    this.lesson.textContent = this.attention.hidden ? "There is nothing to read: type a few words."
      : this.learned(habit(weights, this.head));
  }

  /** Say what the chosen head does now, and of the one that is shown first what it learned. */
  learned({ words, share }) {
    const step = this.looks[this.at].step.toLocaleString("en");
    const now = `After ${step} steps, layer ${this.layer + 1}, head ${this.head + 1} looks `
      + `${/^\d/.test(words) ? "" : "at "}${words}: ${percent(share)} of its weight.`;
    const { layer, head, offset, shares } = this.record.heads[this.kind];
    if (layer !== this.layer || head !== this.head) return now;
    return `${now} In the whole training, the weight ${direction(offset)} grew from `
      + `${percent(shares[0])} to ${percent(shares[1])}.`;
  }
}

define("pt-time-machine", TimeMachine);
