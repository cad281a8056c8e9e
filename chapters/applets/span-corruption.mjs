// SPDX-License-Identifier: MIT
/** The span-corruption playground: cut a sentence, and watch T5's decoder write what was cut. */
import { gapsOf, likeliest, placesOf, spanTask, writtenInto } from "./engine/infill.mjs";
import { best, bits, randomNumbers } from "./engine/sampling.mjs";
import { randomSpans } from "./engine/span-noise.mjs";
import { row, softmax } from "./engine/tensors.mjs";
import { Applet, define } from "./ui/applet.mjs";
import { VIEW_STYLE } from "./ui/attention-view.mjs";
import { bars, button, field, h, slider, spoken, tokenRow, visible } from "./ui/controls.mjs";
import { getModel } from "./ui/files.mjs";
import { meanOverHeads, nameOf } from "./ui/infill-views.mjs";

const START = "Now is the winter of our discontent";
const CUT_AT_START = ["winter", "our"];
const LIMIT = 60;
const MOST_GAPS = 6;
const N_GUESSES = 6;
const STYLE = `
.sequence { display: flex; flex-wrap: wrap; font-family: var(--pst-font-family-monospace, monospace); row-gap: .25rem; }
.sequence span { min-width: .75em; text-align: center; white-space: pre; }
.sequence .special { background: var(--pst-color-surface); border: 1px solid var(--ink); border-radius: .3rem; font-weight: 700; padding: 0 .2rem; }
`;

class SpanCorruption extends Applet {
  static offer = "Cut your own sentence, and let T5 fill the gaps";

  async build(panel) {
    Object.assign(this, await getModel("t5_chars"));
    panel.classList.add("t5");
    this.settings = { share: 0.15, meanLength: 3 };
    this.seed = 0;
    const input = h("input", { type: "text", value: START, maxlength: LIMIT,
      oninput: () => this.read(input.value) });
    this.letters = h("div");
    this.message = h("p", { class: "error", role: "alert" });
    this.below = h("div", { class: "stack" }, this.pairPart(), this.writingPart());
    panel.replaceChildren(h("style", {}, VIEW_STYLE, STYLE),
      field("Your sentence", input, `at most ${LIMIT} characters`),
      h("p", {}, `Press the characters to cut out, in up to ${MOST_GAPS} gaps, or let chance cut.`),
      this.letters, this.chancePart(), this.message, this.below);
    this.read(START);
    this.cut(CUT_AT_START.flatMap((word) =>
      Array.from(word, (_, i) => START.indexOf(word) + i)));
  }

  chancePart() {
    const set = (name) => (value) => { this.settings[name] = value; };
    return h("div", { class: "row" },
      slider("Share cut out", { min: 0.05, max: 0.5, step: 0.05, value: 0.15 }, set("share"),
        (value) => `${Math.round(100 * value)} %`),
      slider("Mean length of a gap", { min: 1, max: 8, step: 1, value: 3 }, set("meanLength")),
      button("Cut by chance", () => this.cutByChance()));
  }

  pairPart() {
    this.inputs = h("div", { class: "sequence" });
    this.targets = h("div", { class: "sequence" });
    this.inputSize = h("span");
    this.targetSize = h("span");
    this.price = h("p");
    return h("div", { class: "stack" },
      h("h3", {}, "1. The encoder reads ", this.inputSize), this.inputs,
      h("h3", {}, "2. The decoder should write ", this.targetSize), this.targets, this.price);
  }

  writingPart() {
    this.written = h("div", { class: "sequence" });
    this.said = h("p", { role: "status" });
    this.looks = h("div", { class: "line", role: "img" });
    this.guesses = h("div");
    this.filled = h("p");
    this.undoButton = button("Undo", () => this.act(() => this.undo()));
    this.stepButton = button("Write one", () => this.act(() => this.step()), { class: "primary" });
    this.allButton = button("Write to the end", () => this.act(() => {
      while (!this.isDone) this.step();
    }));
    return h("div", { class: "stack" }, h("h3", {}, "3. The decoder writes"),
      h("div", { class: "row" }, this.stepButton, this.allButton, this.undoButton),
      this.written, this.said, this.filled,
      h("p", {}, "Where it looks in the input while it chooses the next one, "
        + "mean over the heads of its last layer:"),
      this.looks, h("p", {}, "What it would write next:"), this.guesses);
  }

  /** Take a new sentence; nothing is cut out of it. */
  read(text) {
    const unknown = this.tokenizer.unknown(text);
    this.message.textContent = unknown.length
      ? `This model knows no ${unknown.join(" ")}: its 62 characters are those of the plays.` : "";
    this.text = unknown.length ? "" : text;
    const about = (i) => ({ "aria-pressed": "false", "aria-label": spoken(this.text[i]) });
    this.row = tokenRow("Characters", [...visible(this.text)], (i) => this.toggle(i), about);
    this.letters.replaceChildren(this.row);
    this.cut([]);
  }

  /** Cut a character out, or put it back. */
  toggle(i) {
    const places = new Set(this.places);
    if (!places.delete(i)) places.add(i);
    this.cut([...places]);
  }

  /** Draw gaps with the next seed. */
  cutByChance() {
    if (this.text.length < 2) {
      this.message.textContent = "Write at least two characters to cut.";
      return;
    }
    const { share, meanLength } = this.settings;
    this.seed += 1;
    const spans = randomSpans(this.text.length, share, meanLength, randomNumbers(this.seed));
    this.cut(placesOf(spans.slice(0, MOST_GAPS)));
    if (spans.length > MOST_GAPS) {
      this.message.textContent = `Chance cut ${spans.length} gaps; the first ${MOST_GAPS} are shown.`;
    }
  }

  /** Cut these places out and no others, unless they make too many gaps. */
  cut(places) {
    if (gapsOf(places).length > MOST_GAPS) {
      this.message.textContent = `At most ${MOST_GAPS} gaps are possible.`;
      return;
    }
    if (this.text) this.message.textContent = "";
    this.places = places;
    this.row.buttons.forEach((one, i) => one.setAttribute("aria-pressed", places.includes(i)));
    this.below.hidden = !places.length;
    if (places.length) this.begin();
  }

  /** Let the encoder read, and start the decoder. */
  begin() {
    const { model, tokenizer } = this;
    this.gaps = gapsOf(this.places.map((i) => i + 1));
    this.task = spanTask(tokenizer.encode(`\n${this.text}\n`), this.gaps, tokenizer);
    this.states = model.encode(this.task.inputs);
    this.start = tokenizer.id("[PAD]");
    const { inputs, targets } = this.task;
    const logits = model.decode([this.start, ...targets.slice(0, -1)], this.states);
    const costs = targets.map((id, t) => bits(softmax(row(logits, t))[id]));
    this.show(this.inputs, inputs);
    this.show(this.targets, targets);
    this.inputSize.textContent = `(${inputs.length})`;
    this.targetSize.textContent = `(${targets.length})`;
    const total = (isCounted) => costs.filter((_, t) => isCounted(targets[t]))
      .reduce((a, b) => a + b, 0).toFixed(1);
    this.price.textContent = `To this model the true target costs `
      + `${total((id) => !tokenizer.isSpecial(id))} bits for the cut characters and `
      + `${total((id) => tokenizer.isSpecial(id))} for the marks between them.`;
    this.path = [];
    this.said.textContent = "Nothing is written yet.";
    this.look();
  }

  /** Compute what comes next, without a cache: every step can be taken back. */
  look() {
    const trace = { self: [], cross: [] };
    const logits = this.model.decode([this.start, ...this.path], this.states, { trace });
    this.probs = softmax(row(logits, -1));
    this.next = likeliest(this.probs);
    this.draw(meanOverHeads(trace.cross.at(-1), this.path.length));
  }

  get isDone() {
    const end = this.tokenizer.id("</s>") ?? this.task.targets.at(-1);
    return this.path.at(-1) === end || this.path.length >= 2 * this.task.targets.length + 8;
  }

  step() {
    if (this.isDone) return;
    this.path.push(this.next);
    this.look();
  }

  undo() {
    this.path.pop();
    this.look();
  }

  /** Do something to what is written, and say what happened. */
  act(change) {
    change();
    const last = this.path.at(-1);
    this.said.textContent = last === undefined ? "Nothing is written yet."
      : `Written: ${this.path.length}, the last one ${this.name(last)}.`
        + `${this.isDone ? " It has ended." : ""}`;
  }

  name(id) {
    return this.tokenizer.isSpecial(id) ? nameOf(id, this.tokenizer) : spoken(this.tokenizer.tokens[id]);
  }

  /** Draw tokens as a row; special ones in a frame. */
  show(node, ids) {
    node.replaceChildren(...ids.map((id) => h("span", {
      class: this.tokenizer.isSpecial(id) ? "special" : undefined },
      visible(nameOf(id, this.tokenizer)))));
  }

  draw(shares) {
    const { tokenizer, path, task, gaps } = this;
    this.show(this.written, path);
    this.stepButton.disabled = this.allButton.disabled = this.isDone;
    this.undoButton.disabled = !path.length;
    this.looks.replaceChildren(...task.inputs.map((id, s) => h("span", {
      style: { "--share": shares[s] } }, visible(nameOf(id, tokenizer)))));
    const most = best(shares, 1)[0];
    this.looks.setAttribute("aria-label",
      `It looks most at ${this.name(task.inputs[most.id])}, place ${most.id + 1} of the input.`);
    const isOnTrack = path.every((id, t) => id === task.targets[t]);
    const truth = isOnTrack ? task.targets[path.length] : undefined;
    this.guesses.replaceChildren(this.isDone ? "Nothing: it has ended." : bars(
      best(this.probs, N_GUESSES).map(({ id, probability }) => ({
        text: nameOf(id, tokenizer), share: probability, mark: id === truth ? "✓" : undefined })),
      "Next token"));
    const answers = gaps.map((_, n) =>
      tokenizer.decode(writtenInto(path, tokenizer.id(`<extra_id_${n}>`), tokenizer)));
    const right = gaps.filter(([start, end], n) => this.text.slice(start - 1, end - 1) === answers[n]);
    const list = answers.map((answer, n) => `⟨${n}⟩ “${visible(answer)}”`).join(", ");
    this.filled.textContent = path.length
      ? `Into the gaps so far: ${list}. As it was: ${right.length} of ${gaps.length}.` : "";
  }
}

define("pt-span-corruption", SpanCorruption);
