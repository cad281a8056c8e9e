// SPDX-License-Identifier: MIT
/** Paint who may read whom, choose what is asked, and read what that trains, in a language of six texts. */
import { inWords } from "./engine/masks.mjs";
import { fillsOf, judge, paint, PLACES, PRESETS, questionsOf, STRINGS, truth, wordsOf } from "./engine/painted.mjs";
import { Applet, define } from "./ui/applet.mjs";
import { button, choice, h, roving } from "./ui/controls.mjs";
import { PAINT_STYLE, paintGrid, written } from "./ui/paint-grid.mjs";

const ASKS = [["next", "the next word"], ["hidden", "hidden words, all in one pass"],
  ["turn", "each word, hidden in its turn"]];
const TEXTS = STRINGS.filter(truth);
const START = { mask: "1000110011101111", asks: "next", words: "1234", text: 1, layers: "many" };
const HINT = "Now let “drink” read “hot”: press the “?” in its row.";
const STYLE = `${PAINT_STYLE}
.columns > * { align-content: start; }
.masks { align-items: center; display: flex; flex: 1 1 15rem; gap: .5rem; min-height: 2.25rem; }
.masks .tokens { font-family: inherit; }
.masks .token { min-height: 2.25rem; padding: 0 .4rem; }
.verdict { border-left: .3rem solid var(--pst-color-primary); min-height: 7.5em; padding-left: .6rem; }
.verdict.leaks { border-color: var(--pst-color-danger); }
.verdict strong { display: block; font-size: 1.15em; }
.texts { font-size: .9em; width: 100%; }
.texts :is(th, td) { font-weight: 400; padding: 0 .3rem; white-space: nowrap; }
.texts :is(td, th + th) { text-align: right; }
.texts tr:last-child > * { border: 0; font-weight: 700; }
.texts button { border: 0; min-height: 1.75rem; padding: 0; text-align: left; width: 100%; }
.texts button[aria-pressed="true"] { font-weight: 700; }
.texts button[aria-pressed="true"]::before { content: "▸ "; }
.row .note { flex: 1 1 auto; }
.check { align-items: center; display: flex; gap: .4rem; min-height: 1.5rem; }
`;

class MaskPainter extends Applet {
  static offer = "Paint a mask, and see what it trains";
  static room = [655, 940];

  async build(panel) {
    this.readState();
    this.said = h("p", { role: "status" });
    this.presets = Object.entries(PRESETS).map(([name, preset]) =>
      button(preset.name, () => this.start(name), { class: "token" }));
    const masks = h("div", { class: "tokens", role: "group", "aria-label": "Masks to start from" }, ...this.presets);
    roving(masks, this.presets);
    const layers = h("input", { type: "checkbox", checked: !this.isDeep,
      onchange: () => this.set({ isDeep: !layers.checked }) });
    this.grid = paintGrid((t, s, isOpen) => this.set({ mask: this.mask.map((row, i) =>
      row.map((one, j) => (i === t && j === s ? isOpen : one))) }),
    (s) => this.set({ asked: PLACES.filter((one) => this.asked.includes(one) !== (one === s)) }));
    panel.replaceChildren(h("style", {}, STYLE),
      h("p", {}, "Press cells, or drag across them; the diagonal stays, as each place keeps "
        + "its own word. Press a word at the top to ask for it or to give it."),
      h("div", { class: "row" }, choice("What is asked", ASKS, (asks) => this.ask(asks), this.asks),
        h("div", { class: "masks" }, h("span", { "aria-hidden": "true" }, "Mask"), masks)),
      h("div", { class: "columns" },
        h("div", { class: "stack" }, this.grid,
          h("div", { class: "row" }, this.grid.legend, h("label", { class: "check" }, layers, "one layer only"))),
        h("div", { class: "stack" }, this.said, this.makeTexts())));
    this.draw();
  }

  /** Take what the address says, as far as it makes sense. */
  readState() {
    const { mask, asks, words, text, layers } = { ...START, ...Object.fromEntries(this.state) };
    const bits = /^[01]{16}$/.test(mask) ? mask : START.mask;
    this.mask = PLACES.map((t) => PLACES.map((s) => s === t || bits[4 * t + s] === "1"));
    this.asks = ASKS.some(([one]) => one === asks) ? asks : START.asks;
    this.asked = PLACES.filter((s) => words.includes(s + 1));
    this.text = TEXTS[text - 1] ?? TEXTS[0];
    this.isDeep = layers !== "one";
  }

  /** Start from a mask of the book; the prefix of a prefix LM is given. */
  start(name) {
    const given = PRESETS[name].given ?? 0;
    this.set({ mask: paint(PRESETS[name]), asked: this.asks === "next" ? PLACES.slice(given) : this.asked });
  }

  /** Change the question: to all words, or to two that are hidden at once. */
  ask(asks) {
    this.set({ asks, asked: asks === "hidden" ? [1, 3] : PLACES });
  }

  set(change) {
    Object.assign(this, change);
    this.draw();
    const state = { mask: this.mask.flat().map(Number).join(""), asks: this.asks,
      words: this.asked.map((s) => s + 1).join("") || "0", text: TEXTS.indexOf(this.text) + 1,
      layers: this.isDeep ? "many" : "one" };
    this.keep(Object.fromEntries(Object.entries(state).filter(([name, value]) => value !== START[name])));
  }

  /** The texts with their two probabilities; a press on one shows its words in the grid. */
  makeTexts() {
    this.lines = [...TEXTS, "", "all"].map((text) => {
      const name = TEXTS.includes(text) ? button(wordsOf(text).join(" "), () => this.set({ text })) : h("span");
      const cells = [h("td"), h("td")];
      return { text, name, cells, row: h("tr", {}, h("th", { scope: "row" }, name), ...cells) };
    });
    const body = h("tbody", {}, ...this.lines.map(({ row }) => row));
    roving(body, this.lines.slice(0, TEXTS.length).map(({ name }) => name));
    const heads = ["text", "true", "product"].map((one) => h("th", { scope: "col" }, one));
    return h("table", { class: "texts", "aria-label": "What each text gets" }, h("thead", {}, h("tr", {}, ...heads)), body);
  }

  draw() {
    const questions = questionsOf(this.mask, this.asks, this.asked, this.isDeep);
    const verdict = judge(questions);
    const fills = fillsOf(this.text, questions);
    const total = (some, name) => some.reduce((sum, one) => sum + one[name], 0);
    const never = fills.filter((one) => !truth(one.text));
    this.grid.show({ ...this, questions });
    Object.values(PRESETS).forEach((preset, i) =>
      this.presets[i].setAttribute("aria-pressed", String(paint(preset)) === String(this.mask)));
    for (const { text, name, cells } of this.lines) {
      const some = text === "all" ? fills : text ? fills.filter((one) => one.text === text) : never;
      cells.forEach((one, i) => {
        const sum = total(some, i ? "product" : "true");
        one.textContent = !some.length || !questions.length ? "–" : text === "all" ? sum.toFixed(2) : written(sum);
      });
      if (text === "all") name.textContent = `sum over all ${fills.length}`;
      else if (!text) name.textContent = `${never.length} that never occur`;
      else name.setAttribute("aria-pressed", text === this.text);
    }
    const [title, because, then = ""] = this.explain(verdict, fills);
    this.said.className = `verdict ${verdict.kind}`;
    this.said.replaceChildren(h("strong", {}, title), because,
      questions.length ? ` ${sumOf(total(fills, "product"), total(never, "product"))} ` : "", then);
  }

  /** The verdict, its reason, and what to try next. */
  explain({ kind, leaks, isExact }, fills) {
    const words = wordsOf(this.text);
    const given = this.asked.length < PLACES.length ? ", the other words being given" : "";
    if (kind === "nothing") return ["Nothing is asked", "So nothing is learned. Press a word at the top of the grid."];
    if (kind === "leaks") {
      const [{ word, row, via }] = leaks;
      const way = via.get(word) === word ? "" : ` through place ${via.get(word) + 1}`;
      return [`Leaks at word${leaks.length > 1 ? "s" : ""} ${inWords(leaks.map((one) => one.word))}`,
        `Place ${row + 1} reads “${words[word]}”${way} and is asked for it: it copies, and its loss falls to 0.`
        + (leaks.length > 1 ? " So do the others." : "")];
    }
    if (kind === "pseudo") {
      return ["Pseudo-likelihood", "Some words are guessed from each other, so part of the choice is never "
        + "paid for. The products need not add up to 1."];
    }
    if (kind === "independent") {
      const worst = fills.filter((one) => !truth(one.text)).sort((a, b) => b.product - a.product)[0];
      const mixed = worst?.product > 0 ? `“${wordsOf(worst.text).join(" ")}” never occurs, and gets ${written(worst.product)}.`
        : "Here no mixture does harm.";
      return ["Independent guesses", isExact ? "No asked word reads another, and here none depends on another."
        : `No asked word reads another. ${mixed}`];
    }
    const isStart = this.asks === "next" && String(this.mask) === String(paint(PRESETS.gpt)) && !given;
    const how = this.asked.length === 1 ? "One word is asked, the others are given"
      : `Each word is asked once, from words asked before it${given}`;
    return isExact ? ["Likelihood", `${how}. By the chain rule, every text gets its true probability.`, isStart ? HINT : ""]
      : ["Likelihood of a model that forgets", `${how}, but some of these may not be read. The products are not the true ones.`];
  }
}

function sumOf(all, never) {
  return `Sum: ${all.toFixed(2)}${never > 0.005 ? `, ${never.toFixed(2)} of it on texts that never occur` : ""}.`;
}

define("pt-mask-painter", MaskPainter);
