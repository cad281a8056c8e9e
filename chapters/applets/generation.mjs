// SPDX-License-Identifier: MIT
/** The generation walkthrough: GPT writes a character at a time, and shows how each is chosen. */
import { best, bits, filterProbabilities } from "./engine/sampling.mjs";
import { fallsInto, layOut, numberOfStep, Writer } from "./engine/writing.mjs";
import { Applet, define } from "./ui/applet.mjs";
import {
  button, choice, field, h, percent, roving, slider, spoken, visible,
} from "./ui/controls.mjs";
import { getModel } from "./ui/files.mjs";

const SMALL = "gpt_chars";
const STRONG = "gpt_plays";
const PROMPT = "JULIET:\nO, what a";
const N_ROWS = 10;
const RUN = 40;
const LABELLED = 0.03; // narrower parts of the line have no room for a character
const STYLE = `
.settings .field { flex-basis: 8rem; }
.written { max-height: 12rem; overflow-y: auto; }
.written .forgotten { color: var(--pst-color-text-muted); font-style: italic; }
.written .prompt { font-weight: 700; }
.written .new { background: color-mix(in srgb, var(--ink) calc(var(--cost) * 40%), transparent);
  border-radius: .15rem; }
.written .later { text-decoration: underline dotted; text-underline-offset: .2em; }
.candidates { display: grid; gap: 2px; }
.candidates button { align-items: center; display: grid; gap: .5rem; min-height: 1.9rem; padding: 0 .5rem;
  grid-template-columns: 1.6rem 1fr 8.5rem; text-align: left; width: 100%; }
.candidates .next { border-color: var(--ink); border-width: 2px; font-weight: 700; }
.pair { display: grid; gap: 1px; }
.pair .bar { height: .6rem; }
.pair .before { background-image: none; border: 0; }
.pair .before::before { border: 1px solid var(--pst-color-text-muted); content: ""; display: block;
  height: 100%; width: calc(100% * var(--share)); }
.line { border: 1px solid var(--pst-color-text-muted); display: flex; height: 2rem; position: relative; }
.line span { border-right: 1px solid var(--pst-color-text-muted); font-family: var(--pst-font-family-monospace, monospace);
  line-height: 1.9rem; min-width: 0; overflow: hidden; text-align: center; white-space: pre; }
.line .next { background: var(--ink); color: var(--pst-color-background); font-weight: 700; }
.line i { background: var(--pst-color-text-base); bottom: -.5rem; left: calc(100% * var(--at)); margin-left: -1px;
  position: absolute; top: -.5rem; width: 3px; outline: 1px solid var(--pst-color-background); }
.ends { display: flex; font-size: .85em; justify-content: space-between; }
.path { font-size: .9em; max-height: 16rem; overflow: auto; }
.path :is(th, td) { padding: .2rem .4rem; }
summary { cursor: pointer; }
`;

class Generation extends Applet {
  static offer = "Write with the model, one character at a time";

  async build(panel) {
    Object.assign(this, await getModel(SMALL), { name: SMALL });
    this.settings = { temperature: 1, topK: Infinity, topP: 0.9 };
    this.numberOf = numberOfStep(1);
    this.message = h("p", { class: "error", role: "alert" });
    this.said = h("p", { role: "status" });
    this.below = h("div", { class: "stack" }, this.textPart(), this.buttonRow(), this.said,
      this.choicePart(), this.pathPart());
    panel.replaceChildren(h("style", {}, STYLE), this.inputs(), this.message, this.below);
    panel.classList.add("gpt");
    this.start(PROMPT);
  }

  inputs() {
    const nText = this.tokenizer.tokens.length - this.tokenizer.specials.length;
    const prompt = h("textarea", { rows: 2, maxlength: this.model.maxLength,
      oninput: () => this.start(prompt.value) }, PROMPT);
    this.models = choice("Model", [[SMALL, "small"], [STRONG, `strong (${this.more(STRONG)} more)`]],
      async (name) => {
        await this.take(name);
        prompt.maxLength = this.model.maxLength;
        prompt.value = this.promptText;
      }, SMALL);
    const seed = h("input", { type: "number", value: 1, min: 0, max: 999999, step: 1,
      oninput: () => this.reseed(Number(seed.value)) });
    const set = (name, value) => {
      this.settings[name] = value;
      this.show();
    };
    return h("div", { class: "stack" },
      field("Prompt", prompt, "line ends count"),
      h("div", { class: "row settings" },
        slider("Temperature", { min: 0.1, max: 2, step: 0.1, value: 1 },
          (value) => set("temperature", value), (value) => value.toFixed(1)),
        slider("Top-k", { min: 1, max: nText, step: 1, value: nText },
          (value) => set("topK", value === nText ? Infinity : value),
          (value) => (value === nText ? "all" : String(value))),
        slider("Top-p", { min: 0.05, max: 1, step: 0.05, value: 0.9 },
          (value) => set("topP", value),
          (value) => (value === 1 ? "all" : value.toFixed(2))),
        field("Seed", seed), this.models));
  }

  /** Go on with another model, from the same prompt; if it cannot be had, with the one before. */
  async take(name) {
    const { control } = this.models;
    control.disabled = true;
    this.message.textContent = "Loading …";
    try {
      Object.assign(this, await getModel(name), { name });
      this.start(this.promptText.slice(0, this.model.maxLength));
    } catch (error) {
      this.message.textContent = error.message;
    }
    control.disabled = false;
    control.value = this.name;
  }

  buttonRow() {
    this.undoButton = button("Undo", () => this.act(() => this.writer.undo()));
    return h("div", { class: "row" },
      button("Step", () => this.act(() => this.drawNext()), { class: "primary" }),
      button("Greedy", () => this.act(() => this.takeBest())),
      button(`Run ${RUN}`, () => this.run(RUN)), this.undoButton,
      button("Start over", () => this.start(this.promptText)));
  }

  textPart() {
    this.written = h("pre", { class: "written", tabindex: "0", role: "region", "aria-label": "Text" });
    this.context = h("p", { class: "note" });
    return h("div", {}, this.written, this.context);
  }

  choicePart() {
    this.drawn = h("p", {});
    this.line = h("div", { class: "line", role: "img" });
    this.rows = Array.from({ length: N_ROWS }, (_, n) =>
      button("", () => this.act(() => this.writer.add(this.shown[n], { way: "you" }))));
    const group = h("div", { class: "candidates", role: "group",
      "aria-label": "Next character: press one to choose it" }, ...this.rows);
    roving(group, this.rows);
    this.rest = h("p", { class: "note" });
    return h("div", { class: "columns" },
      h("div", {}, h("h3", {}, "Next character: press one to choose it"),
        h("p", { class: "note" }, "Outlined: the model's own probability. Filled: what is drawn from."),
        group, this.rest),
      h("div", {}, h("h3", {}, "The draw"), this.drawn, this.line,
        h("div", { class: "ends", "aria-hidden": "true" }, h("span", {}, "0"), h("span", {}, "1"))));
  }

  pathPart() {
    this.summary = h("summary");
    this.steps = h("tbody");
    const head = ["step", "character", "chosen by", "probability", "rank", "bits"];
    const table = h("table", {},
      h("thead", {}, h("tr", {}, ...head.map((name) => h("th", { scope: "col" }, name)))), this.steps);
    return h("details", {}, this.summary, h("div", { class: "path", tabindex: "0", role: "region",
      "aria-label": "Path, step by step" }, table));
  }

  /** Take a new prompt; nothing is written yet. */
  start(text) {
    this.turn = {}; // a run that is under way ends
    this.promptText = text;
    this.said.textContent = "";
    const unknown = this.tokenizer.unknown(text);
    this.message.textContent = unknown.length
      ? `This model knows no ${unknown.join(" ")}: its 62 characters are those of the plays.`
      : text ? "" : "Write at least one character for it to continue.";
    this.below.hidden = Boolean(this.message.textContent);
    if (this.below.hidden) return;
    const { specials } = this.tokenizer;
    this.writer = new Writer(this.model, this.tokenizer.encode(text), specials.length);
    this.show();
  }

  reseed(seed) {
    this.numberOf = numberOfStep(Number.isFinite(seed) ? seed : 0);
    this.show();
  }

  /** What is drawn from, and where the next number falls. */
  get next() {
    const probs = filterProbabilities(this.writer.logits, this.settings);
    const parts = layOut(probs);
    const number = this.numberOf(this.writer.path.length);
    return { probs, parts, number, chosen: fallsInto(parts, number) };
  }

  drawNext() {
    const { number, chosen } = this.next;
    this.writer.add(chosen.id, { way: `draw, ${number.toFixed(3)}` });
  }

  takeBest() {
    this.writer.add(best(this.writer.probs, 1)[0].id, { way: "greedy" });
  }

  /** Do something to the text, which also ends a run, and say what happened. */
  act(change) {
    this.turn = {};
    change();
    this.show();
    this.say();
  }

  /** Draw many characters, one for each frame of the screen, or all at once where motion is unwanted. */
  async run(n) {
    const turn = this.turn = {};
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    for (let i = 0; i < n; i++) {
      this.drawNext();
      if (isStill) continue;
      this.show();
      await new Promise(requestAnimationFrame);
      if (this.turn !== turn) return;
    }
    this.show();
    this.say();
  }

  say() {
    const { path, meanBits } = this.writer;
    const last = path.at(-1);
    this.said.textContent = !last ? "Nothing is written yet."
      : `Step ${path.length}: ${spoken(this.tokenizer.tokens[last.id])} (${last.way}), ` +
        `${bits(last.probability).toFixed(1)} bits; mean ${meanBits.toFixed(2)} bits.`;
  }

  /** Draw everything anew. */
  show() {
    if (this.below.hidden) return;
    const next = this.next;
    this.showText();
    this.showCandidates(next);
    this.showLine(next);
    this.showPath();
    this.undoButton.disabled = !this.writer.path.length;
  }

  showText() {
    const { prompt, path, nForgotten, ids } = this.writer;
    const { tokens } = this.tokenizer;
    const pieces = ids.map((id, i) => {
      const step = path[i - prompt.length];
      const names = [i < nForgotten && "forgotten", step ? "new" : "prompt", step?.rank > 1 && "later"];
      const cost = step ? Math.min(1, bits(step.probability) / 6) : 0;
      return h("span", { class: names.filter(Boolean).join(" "), style: { "--cost": cost } },
        tokens[id]);
    });
    this.written.replaceChildren(...pieces, h("span", { "aria-hidden": "true" }, "▏"));
    this.written.scrollTop = this.written.scrollHeight;
    const limit = this.model.maxLength;
    this.context.textContent =
      "Bold: your prompt. The stronger the ground, the more bits; dotted line: not the first choice. " +
      (nForgotten
        ? `The model reads ${limit} characters at most. So it dropped the older half of its ` +
          `context; the first ${nForgotten}, in italics, are forgotten. It now reads ${ids.length - nForgotten}.`
        : `The model reads all ${ids.length} characters; at most ${limit} fit.`);
  }

  showCandidates({ probs, chosen }) {
    const order = best(this.writer.probs, N_ROWS).map(({ id }) => id);
    if (!order.includes(chosen.id)) order[N_ROWS - 1] = chosen.id;
    this.shown = order;
    order.forEach((id, n) => this.fillRow(this.rows[n], id, this.writer.probs[id], probs[id],
      id === chosen.id));
    const sum = (p) => percent(p.reduce((total, x, id) => total + (order.includes(id) ? 0 : x), 0));
    const nLeft = probs.filter((p) => p > 0).length;
    const nText = probs.length - this.writer.nSpecial;
    this.rest.textContent = `The ${nText - N_ROWS} others: ${sum(this.writer.probs)} → ${sum(probs)}. ` +
      `${nLeft} of ${nText} characters can be drawn.`;
  }

  fillRow(shown, id, before, after, isNext) {
    const token = this.tokenizer.tokens[id];
    const numbers = `${percent(before)} → ${after ? percent(after) : "cut off"}`;
    const bar = (kind, share) => h("span", { class: `bar ${kind}`, style: { "--share": share } });
    shown.classList.toggle("next", isNext);
    shown.setAttribute("aria-label", `${spoken(token)}, ${numbers}${isNext ? ", drawn next" : ""}`);
    shown.replaceChildren(h("span", { class: "bar-token" }, visible(token)),
      h("span", { class: "pair" }, bar("before", before), bar("after", after)),
      h("span", { class: "bar-number" }, numbers, isNext ? " ◂" : ""));
  }

  showLine({ parts, number, chosen }) {
    const { tokens } = this.tokenizer;
    const name = `“${visible(tokens[chosen.id])}”`;
    const place = `${chosen.from.toFixed(3)} to ${chosen.to.toFixed(3)}`;
    this.drawn.textContent = `The seed's number for step ${this.writer.path.length + 1} is ` +
      `${number.toFixed(3)}. It falls into ${name}, which has the line from ${place}. ` +
      "Move a slider: the number stays, the shares move.";
    this.line.setAttribute("aria-label",
      `Line from 0 to 1; ${number.toFixed(3)} falls into ${spoken(tokens[chosen.id])}, ${place}`);
    const boxes = parts.map(({ id, from, to }) =>
      h("span", { class: id === chosen.id ? "next" : undefined, style: { flex: `${to - from} 0 0` } },
        to - from > LABELLED ? visible(tokens[id]) : ""));
    this.line.replaceChildren(...boxes, h("i", { style: { "--at": number } }));
  }

  showPath() {
    const { path, meanBits } = this.writer;
    this.summary.textContent = path.length
      ? `The path: ${path.length} characters, mean ${meanBits.toFixed(2)} bits` : "The path: no step yet";
    const rows = path.map(({ id, way, probability, rank }, n) => h("tr", {},
      ...[n + 1, visible(this.tokenizer.tokens[id]), way, percent(probability), rank,
        bits(probability).toFixed(2)].map((cell) => h("td", {}, String(cell)))));
    this.steps.replaceChildren(...rows.reverse());
  }
}

define("pt-generation", Generation);
