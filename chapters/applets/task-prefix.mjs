// SPDX-License-Identifier: MIT
/** One text with four prefixes, and with none: what the same T5 makes of it each time. */
import { beginning } from "./engine/units.mjs";
import { Applet, define } from "./ui/applet.mjs";
import { button, field, h } from "./ui/controls.mjs";
import { latest } from "./ui/latest.mjs";
import { openModel } from "./ui/open-model.mjs";

const PREFIXES = ["restore", "sentiment", "answer", "reverse", ""];
const TEXTS = {
  "bare words": "my lord i will be there tonight",
  "a review": "A dull and clumsy film, badly written.",
  "a story": "Where is Puck? Puck goes to the court. Snug is in the town. Puck runs to the wood. Snug sleeps in the house.",
  "letters": "t e a c h e r",
};
const OWN = { "bare words": "restore", "a review": "sentiment", "a story": "answer", "letters": "reverse" };
const [MOST_READ, MOST_WRITTEN] = [128, 33]; // ids: as in the chapter
const LONGEST = 600; // characters of a text that is looked at
const STYLE = `
.answers { display: grid; gap: .35rem .75rem; grid-template-columns: max-content minmax(0, 1fr); margin: 0; }
.answers dt { font-family: var(--pst-font-family-monospace, monospace); }
.answers dd { margin: 0; min-height: 1.6em; overflow-wrap: anywhere; }
.answers .own { border-left: .4rem solid var(--ink); font-weight: 700; padding-left: .4rem; }
`;

class TaskPrefix extends Applet {
  static offer = "Give one T5 the same text with four prefixes";
  static room = [400, 498];

  async build(panel) {
    this.t5 = await openModel("t5_prefixes");
    this.input = h("input", { type: "text", autocomplete: "off", spellcheck: "false",
      value: this.state.get("text") ?? TEXTS["bare words"], oninput: () => this.change() });
    this.said = h("p", { class: "note", role: "status" });
    this.cells = PREFIXES.map((prefix) => [h("dt", {}, prefix ? `${prefix}:` : "no prefix"), h("dd")]);
    panel.classList.add("t5");
    panel.replaceChildren(h("style", {}, STYLE), field("Your text, without a prefix", this.input),
      h("div", { class: "row", role: "group", "aria-label": "Texts to try" },
        ...Object.entries(TEXTS).map(([name, text]) => button(name, () => this.take(text)))),
      h("dl", { class: "answers", "aria-label": "What T5 writes after each prefix" }, ...this.cells.flat()),
      this.said);
    this.ask = latest(() => this.waitFor(this.answer()));
    await this.ask();
  }

  take(text) {
    this.input.value = text;
    this.change();
  }

  change() {
    this.keep({ text: beginning(this.input.value, LONGEST) });
    this.ask();
  }

  /** Let the model answer the text once with each prefix. */
  async answer() {
    const text = beginning(this.input.value, LONGEST);
    const { tokenizer } = this.t5;
    const known = Object.keys(TEXTS).find((name) => TEXTS[name] === text);
    const asked = PREFIXES.map((prefix) => tokenizer.pieces(prefix ? `${prefix}: ${text}` : text));
    this.said.textContent = this.words(text, this.input.value.length, asked);
    for (const [n, pieces] of asked.entries()) {
      const [name, answer] = this.cells[n];
      const isOwn = Boolean(known) && OWN[known] === PREFIXES[n];
      for (const node of [name, answer]) node.classList.toggle("own", isOwn);
      const ids = pieces.map(({ id }) => id).filter((id) => id !== undefined);
      const written = text.trim()
        ? await this.t5.ask("answer", ids.slice(0, MOST_READ - 1), MOST_WRITTEN) : [];
      answer.textContent = tokenizer.decode(written).trim();
    }
  }

  /** What a reader has to know about the text, before the model has answered. */
  words(text, nTyped, asked) {
    if (!text.trim()) return "Write a text, or choose one.";
    if (asked.flat().some(({ id }) => id === undefined)) {
      return "Left out: characters that this model has never seen. It reads the rest.";
    }
    if (text.length < nTyped || asked.some((pieces) => pieces.length >= MOST_READ)) {
      return `The model reads the first ${MOST_READ - 1} word pieces; the rest does not fit.`;
    }
    return "The bar marks the prefix with which such texts were trained.";
  }
}

define("pt-task-prefix", TaskPrefix);
