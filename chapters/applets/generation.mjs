// SPDX-License-Identifier: MIT
/**
 * GPT writes a page of a play, a character at a time. Each character keeps what else could have
 * stood there: a reader looks at it, and writes on from another choice.
 */
import { best, bits, filterProbabilities } from "./engine/sampling.mjs";
import { fallsInto, layOut, numberOfStep, Writer } from "./engine/writing.mjs";
import { Applet, define } from "./ui/applet.mjs";
import { button, choice, field, h, percent, roving, slider, spoken, visible } from "./ui/controls.mjs";
import { latest } from "./ui/latest.mjs";
import { openModel } from "./ui/open-model.mjs";

const STRONG = "gpt_plays";
const SMALL = "gpt_chars";
const WRITERS = { [STRONG]: "the strong model", [SMALL]: "the small model" };
const OPENING = "JULIET:\nO Romeo, ";
const DEFAULTS = { temperature: 0.8, topK: Infinity, topP: 1 };
const SEED = 1;
const RUN = 200; // characters that it writes by itself
const PACE = 50; // ms from character to character
const N_ROWS = 6;
const LABELLED = 0.04; // narrower parts of the line have no room for a character
const SEEN = 0.003; // narrower ones are less than a pixel, all edge
const SPEAKER = /^[A-Z][A-Za-z .'-]*:$/;
const STYLE = `
.desk .stack { gap: .5rem; }
.desk .row { gap: .4rem; }
.desk .row button { padding-inline: .45rem; }
.desk { align-items: start; display: grid; gap: .75rem 1.25rem; grid-template-columns: minmax(0, 1.35fr) minmax(0, 1fr); }
@media (width < 600px) { .desk { grid-template-columns: minmax(0, 1fr); } }
.leaf { background: var(--pst-color-surface); border-left: .3rem solid var(--ink); font-family: Georgia, "Times New Roman", serif; }
.leaf h2 { border-bottom: 1px solid var(--pst-color-border); font-size: .95rem; font-variant: small-caps; letter-spacing: .06em;
  margin: 0 .9rem; padding: .35rem 0 .2rem; text-align: center; }
.leaf small { color: var(--pst-color-text-muted); font-weight: 400; }
.written { font-size: 1.02em; height: 13rem; line-height: 1.4; overflow-y: auto; padding: .4rem .9rem .6rem; }
@media (width < 600px) { .written { height: 9.5rem; } }
.written .line { border: 0; display: block; min-height: 1.4em; }
.written .speaker { font-size: .85em; font-weight: 700; letter-spacing: .06em; text-transform: uppercase; margin-top: .35rem; }
.written .prompt { color: var(--pst-color-text-muted); }
.written .new { background: color-mix(in srgb, var(--ink) calc(var(--cost) * 35%), transparent); cursor: pointer; }
.written .seen { outline: 2px solid var(--ink); }
.written s, .unread { text-decoration: line-through; opacity: .7; }
.candidates { display: grid; gap: 2px; }
.candidates button { align-items: center; display: grid; gap: .5rem; min-height: 1.75rem; padding: 0 .4rem;
  grid-template-columns: 1.4rem 1fr 4.2rem; text-align: left; width: 100%; }
.candidates .next { border-color: var(--ink); border-width: 2px; font-weight: 700; }
.candidates .bar { height: .8rem; }
.candidates .bar-number { text-align: right; white-space: nowrap; }
.pin-line { border: 1px solid var(--pst-color-text-muted); display: flex; height: 1.6rem; margin-top: 1.1rem; position: relative; }
.pin-line span { box-shadow: inset -1px 0 var(--pst-color-text-muted); font-family: var(--pst-font-family-monospace, monospace);
  line-height: 1.5rem; min-width: 0; overflow: hidden; text-align: center; white-space: pre; }
.pin-line .narrow { background: var(--pst-color-text-muted); }
.pin-line .next { background: var(--ink); color: var(--pst-color-background); font-weight: 700; }
.pin-line i { border: .35rem solid transparent; border-bottom: 0; border-top: .7rem solid var(--pst-color-text-base);
  left: calc(100% * var(--at)); margin-left: -.35rem; position: absolute; top: -.75rem; }
@media (prefers-reduced-motion: no-preference) { .pin-line i.falls { animation: fall .35s cubic-bezier(.5, 0, 1, .6); } }
@keyframes fall { from { transform: translateY(-1.5rem); opacity: 0; } }
@media (forced-colors: active) {
  .pin-line i { border-top-color: CanvasText; forced-color-adjust: none; }
  .pin-line .next { color: Canvas; }
}
`;

class Generation extends Applet {
  static offer = "Watch GPT write, one character at a time";
  static room = [596, 860];

  async build(panel) {
    const said = this.state;
    const number = (name, other) => (said.has(name) ? Number(said.get(name)) : other);
    this.opening = said.get("text") ?? OPENING;
    this.settings = { temperature: number("t", DEFAULTS.temperature), topK: number("k", DEFAULTS.topK),
      topP: number("p", DEFAULTS.topP) };
    this.seed = number("seed", SEED);
    this.numberOf = numberOfStep(this.seed);
    this.gpt = await openModel(said.get("model") === SMALL ? SMALL : STRONG);
    panel.classList.add("gpt");
    panel.replaceChildren(h("style", {}, STYLE), this.openingPart(),
      h("div", { class: "desk" }, h("div", { class: "stack" }, this.pagePart(), this.buttonPart()),
        this.choicePart()), this.morePart());
    this.restart = latest(() => this.waitFor(this.start()));
    await this.restart();
    this.playWhenSeen();
  }

  openingPart() {
    this.input = h("textarea", { rows: 2, spellcheck: "false", oninput: () => {
      this.opening = this.input.value;
      this.change();
    } }, this.opening);
    this.unread = h("p", { class: "note", role: "status", hidden: true });
    return h("div", {}, field("Your opening, for it to continue", this.input), this.unread);
  }

  pagePart() {
    this.page = h("div", { class: "written", tabindex: "0", role: "region",
      "aria-label": "The text. Left and right arrow: look at one character after the other",
      onkeydown: (event) => this.walk(event),
      onpointerover: ({ target }) => {
        if (target.dataset.step) this.look(Number(target.dataset.step));
      } });
    this.byline = h("small");
    return h("div", { class: "leaf" }, h("h2", {}, "A play by GPT ", this.byline), this.page);
  }

  buttonPart() {
    const set = (name) => (value) => {
      this.settings[name] = value;
      this.keepState();
      this.look();
    };
    this.set = set;
    this.runButton = button("Write on", () => (this.isRunning ? this.pause() : this.run(RUN)), { class: "primary" });
    this.undoButton = button("Back", () => this.act(() => this.writer.backTo(this.writer.path.length - 1)));
    return h("div", { class: "stack" },
      h("div", { class: "row" }, this.runButton,
        button("One more", () => this.act(() => this.draw())), this.undoButton,
        button("Restart", () => this.change())),
      slider("Temperature", { min: 0.1, max: 2, step: 0.1, value: this.settings.temperature },
        set("temperature"), (value) => value.toFixed(1)));
  }

  choicePart() {
    this.heading = h("h2"); // the panel opens its chapter, before any section
    this.rows = Array.from({ length: N_ROWS }, (_, n) => {
      const row = button("", () => this.choose(this.shown[n]));
      row.append(...["bar-token", "bar", "bar-number"].map((name) => h("span", { class: name })));
      return row;
    });
    const group = h("div", { class: "candidates", role: "group",
      "aria-label": "What could stand here: press one to write on from it" }, ...this.rows);
    roving(group, this.rows);
    this.rest = h("p", { class: "note" });
    this.line = h("div", { class: "pin-line", role: "img" });
    this.drawn = h("p", { class: "note" });
    this.said = h("p", { class: "note", role: "status" });
    return h("div", { class: "stack" }, this.heading, group, this.rest, this.line, this.drawn, this.said);
  }

  morePart() {
    const nText = this.gpt.tokenizer.tokens.length - this.gpt.tokenizer.specials.length;
    const whole = (value, most) => (value >= most ? "all" : String(value));
    const seed = h("input", { type: "number", value: this.seed, min: 0, max: 999999, step: 1,
      oninput: () => {
        this.seed = Number.isFinite(seed.valueAsNumber) ? seed.valueAsNumber : 0;
        this.numberOf = numberOfStep(this.seed);
        this.keepState();
        this.look();
      } });
    this.models = choice("Model", [[STRONG, "strong"], [SMALL, `small (${this.more(SMALL)} more)`]],
      (name) => this.take(name), this.gpt.name);
    this.message = h("p", { class: "error", role: "alert" });
    return h("details", {}, h("summary", {}, "More: cut off the unlikely, seed, model"),
      h("div", { class: "row" },
        slider("Top-k", { min: 1, max: nText, step: 1, value: Math.min(nText, this.settings.topK) },
          (value) => this.set("topK")(value === nText ? Infinity : value), (value) => whole(value, nText)),
        slider("Top-p", { min: 0.05, max: 1, step: 0.05, value: this.settings.topP }, this.set("topP"),
          (value) => (value === 1 ? "all" : value.toFixed(2))),
        field("Seed", seed), this.models), this.message);
  }

  /** Go on with another model, from the same opening; if it cannot be had, with the one before. */
  async take(name) {
    const { control } = this.models;
    control.disabled = true;
    this.message.textContent = "";
    try {
      this.gpt = await this.waitFor(openModel(name));
      await this.change();
    } catch (error) {
      this.message.textContent = error.message;
    }
    control.disabled = false;
    control.value = this.gpt.name;
  }

  /** Begin anew after a change by the reader. */
  change() {
    this.keepState();
    return this.restart();
  }

  keepState() {
    const { temperature, topK, topP } = this.settings;
    const said = { text: this.opening, t: temperature, k: topK, p: topP, seed: this.seed, model: this.gpt.name };
    const first = { text: OPENING, t: DEFAULTS.temperature, k: DEFAULTS.topK, p: DEFAULTS.topP, seed: SEED,
      model: STRONG };
    this.keep(Object.fromEntries(Object.entries(said).filter(([name, value]) => value !== first[name])));
  }

  /** Read the opening; nothing is written yet. */
  async start() {
    this.pause();
    const { tokenizer, maxLength, ask } = this.gpt;
    this.byline.textContent = `– ${WRITERS[this.gpt.name]}`;
    this.pieces = tokenizer.pieces(this.opening);
    const known = this.pieces.filter(({ id }) => id !== undefined).map(({ id }) => id);
    this.unread.hidden = known.length === this.pieces.length;
    this.unread.textContent = "Struck out below: characters that this model has never seen. It reads the rest.";
    const prompt = known.length ? known : tokenizer.encode("\n"); // from nothing: a new line
    this.writer = await new Writer((ids) => ask("next", ids), maxLength, prompt, tokenizer.specials.length).read();
    this.said.textContent = "";
    this.render();
    this.look();
    this.follow();
  }

  /** Begin to write by itself when the reader sees the page, once. */
  playWhenSeen() {
    const watcher = new IntersectionObserver((seen) => {
      if (!seen.some(({ isIntersecting }) => isIntersecting)) return;
      watcher.disconnect();
      if (!this.writer.path.length) this.run(RUN);
    }, { threshold: 0.5 });
    watcher.observe(this.page);
  }

  /** What a step draws from, and where its number falls; without a step, the next one. */
  drawOf(step = { logits: this.writer.logits, probs: this.writer.probs, settings: this.settings,
    number: this.numberOf(this.writer.path.length) }) {
    const parts = layOut(filterProbabilities(step.logits, step.settings));
    return { parts, number: step.number, chosen: parts.find(({ id }) => id === step.id)
      ?? fallsInto(parts, step.number) };
  }

  async draw() {
    const { number, chosen } = this.drawOf();
    await this.add(chosen.id, { way: "drawn", number });
  }

  async add(id, about) {
    await this.writer.add(id, { ...about, settings: { ...this.settings } });
    this.append(this.writer.path.length - 1);
  }

  /** Do something to the text, which also ends a run, and show it. */
  async act(change) {
    this.pause();
    const nBefore = this.writer.path.length;
    await change();
    if (this.writer.path.length < nBefore) this.render();
    this.look(this.writer.path.length ? this.writer.path.length - 1 : undefined, true);
    this.say();
    this.follow();
  }

  /** Put a character where the reader looks, in place of what stands there and of all that follows. */
  choose(id) {
    return this.act(async () => {
      const step = this.seenStep ?? this.writer.path.length;
      this.writer.backTo(step);
      this.render();
      await this.add(id, { way: "yours", number: this.numberOf(step) });
    });
  }

  /** Draw many characters; all at once where motion is unwanted. */
  async run(n) {
    const turn = this.turn = {};
    this.setRunning(true);
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    for (let i = 0; i < n; i++) {
      const pause = isStill ? null : new Promise((resolve) => { setTimeout(resolve, PACE); });
      await this.draw();
      if (this.turn !== turn) return;
      if (!isStill) {
        this.look(this.writer.path.length - 1);
        this.follow();
      }
      await pause;
      if (this.turn !== turn) return;
    }
    this.pause();
    this.look(this.writer.path.length - 1);
    this.say();
    this.follow();
  }

  pause() {
    this.turn = {};
    this.setRunning(false);
  }

  setRunning(isRunning) {
    this.isRunning = isRunning;
    this.runButton.textContent = isRunning ? "Pause" : "Write on";
  }

  say() {
    const { path, meanBits, nForgotten } = this.writer;
    this.said.textContent = !path.length ? "" : `${path.length} characters, mean ${meanBits.toFixed(2)} bits; the darker, the less likely.${
      nForgotten ? ` It no longer reads the first ${nForgotten}.` : ""}`;
  }

  /** Draw the page anew. */
  render() {
    this.page.replaceChildren(this.current = h("span", { class: "line" }));
    for (const { text, isKnown } of this.runs()) {
      this.put(text, isKnown ? h("span", { class: "prompt" }, text) : h("s", {}, text));
    }
    this.writer.path.forEach((_, step) => this.append(step));
  }

  /** The opening in runs of characters that the model knows or not, cut at the ends of lines. */
  runs() {
    const runs = [];
    for (const { text, id } of this.pieces) {
      const isKnown = id !== undefined;
      const last = runs.at(-1);
      if (last?.isKnown === isKnown && isKnown && !last.text.endsWith("\n") && text !== "\n") last.text += text;
      else runs.push({ text, isKnown });
    }
    return runs;
  }

  /** Put a written character onto the page: the stronger its ground, the more bits. */
  append(step) {
    const { id, probability } = this.writer.path[step];
    const text = this.gpt.tokenizer.tokens[id];
    this.put(text, h("span", { class: "new", "data-step": step,
      style: { "--cost": Math.min(1, bits(probability) / 6) } }, text === "\n" ? "" : text));
  }

  /** Keep the last line in view; after all else has changed, as the browser lays out the panel for it. */
  follow() {
    this.page.scrollTop = this.page.scrollHeight;
  }

  put(text, node) {
    this.current.append(node);
    if (text !== "\n") return;
    this.current.classList.toggle("speaker", SPEAKER.test(this.current.textContent.trim()));
    this.page.append(this.current = h("span", { class: "line" }));
  }

  /** Show what could stand at a written character; without one, what may come next. */
  look(step, falls = false) {
    this.seenStep = step;
    const made = step === undefined ? undefined : this.writer.path[step];
    const next = this.drawOf(made);
    const logits = made?.logits ?? this.writer.logits;
    this.page.querySelector(".seen")?.classList.remove("seen");
    this.page.querySelector(`[data-step="${step}"]`)?.classList.add("seen");
    this.heading.textContent = made ? "What could come here" : "What may come next";
    this.showRows(logits, next);
    this.showLine(next, made, falls);
    this.undoButton.disabled = !this.writer.path.length;
  }

  showRows(logits, { parts, chosen }) {
    const { tokens } = this.gpt.tokenizer;
    const shares = new Map(parts.map(({ id, from, to }) => [id, to - from]));
    const order = best(logits, N_ROWS).map(({ id }) => id);
    if (!order.includes(chosen.id)) order[N_ROWS - 1] = chosen.id;
    this.shown = order;
    order.forEach((id, n) => {
      const share = shares.get(id) ?? 0;
      const number = share ? percent(share) : "cut off";
      const isNext = id === chosen.id;
      const row = this.rows[n];
      row.classList.toggle("next", isNext);
      row.setAttribute("aria-label", `${spoken(tokens[id])}, ${number}${isNext ? ", drawn" : ""}`);
      row.children[0].textContent = visible(tokens[id]);
      row.children[1].style.setProperty("--share", share);
      row.children[2].textContent = number;
    });
    const left = order.reduce((sum, id) => sum - (shares.get(id) ?? 0), 1);
    this.rest.textContent = `Others: ${percent(Math.max(0, left))}. Press one to take it.`;
  }

  /** The line from 0 to 1 on which the drawn number falls. */
  showLine({ parts, number, chosen }, made, falls) {
    const { tokens } = this.gpt.tokenizer;
    const boxes = joined(parts, chosen).map(({ id, from, to }) => {
      const style = { flex: `${to - from} 0 0` };
      if (id === undefined) return h("span", { class: "narrow", style });
      return h("span", { class: id === chosen.id ? "next" : undefined, style },
        to - from > LABELLED ? visible(tokens[id]) : "");
    });
    const isYours = made?.way === "yours";
    const pin = isYours ? [] : [h("i", { class: falls ? "falls" : undefined, style: { "--at": number } })];
    this.line.replaceChildren(...boxes, ...pin);
    this.drawn.textContent = isYours ? "You chose it; no number was drawn."
      : `The number ${number.toFixed(3)} ${made ? "fell" : "will fall"} on “${visible(tokens[chosen.id])}”.`;
    this.line.setAttribute("aria-label", `Shares from 0 to 1. ${this.drawn.textContent}`);
  }

  /** Look at one character after the other, by keyboard. */
  walk(event) {
    const nSteps = this.writer.path.length;
    const at = this.seenStep ?? nSteps;
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: nSteps - 1 }[event.key];
    if (to === undefined || to < 0 || to >= nSteps) return;
    event.preventDefault();
    this.pause();
    this.look(to);
    this.page.querySelector(".seen")?.scrollIntoView({ block: "nearest" });
    const { id, probability } = this.writer.path[to];
    this.said.textContent = `Character ${to + 1}: ${spoken(this.gpt.tokenizer.tokens[id])}, the model gave it ${percent(probability)}.`;
  }
}

/** The parts of the line, the likeliest first, those too narrow to be seen joined but for the chosen one. */
function joined(parts, chosen) {
  const boxes = [];
  for (const part of parts) {
    const last = boxes.at(-1);
    if (part === chosen || part.to - part.from > SEEN) boxes.push(part);
    else if (last && last.id === undefined) last.to = part.to;
    else boxes.push({ from: part.from, to: part.to });
  }
  return boxes;
}

define("pt-generation", Generation);
