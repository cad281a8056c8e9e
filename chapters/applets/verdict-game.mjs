// SPDX-License-Identifier: MIT
/** Praise or pan: say what a sentence of a film review means, then see what three models say. */
import { Applet, define } from "./ui/applet.mjs";
import { bars, button, h } from "./ui/controls.mjs";
import { getJson } from "./ui/files.mjs";
import { GAME_STYLE } from "./ui/scoreboard.mjs";

const MODELS = [
  ["published", "pre-trained network"], ["random", "untrained network"], ["counts", "counted words"],
];
const NAMES = ["Pan", "Praise"]; // by label

class VerdictGame extends Applet {
  static offer = "Praise or pan? You against three models";
  static room = [210, 230];

  async build(panel) {
    this.data = await getJson("verdicts.json");
    this.place = h("div", { class: "result" });
    panel.replaceChildren(h("style", {}, GAME_STYLE), this.place);
    this.restart();
  }

  restart() {
    this.number = 0;
    this.right = { you: 0, published: 0, random: 0, counts: 0 };
    this.ask();
  }

  /** Show the next sentence and two buttons. */
  ask() {
    const { items } = this.data;
    this.item = items[this.number];
    const choices = NAMES.map((name, label) => button(name, () => this.judge(label), { class: "primary" }));
    this.answer = h("div", { class: "result", role: "status" });
    this.choices = h("div", { class: "row" }, ...choices.toReversed());
    this.place.replaceChildren(
      h("h3", {}, `Sentence ${this.number + 1} of ${items.length}`),
      h("p", { class: "quote" }, this.item.sentence), this.choices, this.answer);
    if (this.number) choices[1].focus({ preventScroll: true });
  }

  /** Show the truth, and how probable praise seems to each model. */
  judge(label) {
    const { item, right } = this;
    this.choices.hidden = true;
    right.you += label === item.label;
    for (const [key] of MODELS) right[key] += (item.praise[key] > 0.5) === Boolean(item.label);
    this.number += 1;
    const isLast = this.number === this.data.items.length;
    const next = isLast ? button("Play again", () => this.restart())
      : button("Next sentence", () => this.ask(), { class: "primary" });
    const rows = MODELS.map(([key, text]) => ({ text, share: item.praise[key],
      mark: (item.praise[key] > 0.5) === Boolean(item.label) ? "✓ right" : "✗ wrong" }));
    this.answer.replaceChildren(
      h("p", {}, `${NAMES[item.label]}: you are ${label === item.label ? "right" : "wrong"}. `
        + "The bars show how probable each model finds praise."),
      bars(rows, "Probability of praise"),
      h("p", {}, `Right so far, of ${this.number}: `, h("strong", {}, `you ${right.you}`),
        ...MODELS.map(([key, name]) => `, ${name} ${right[key]}`), "."),
      h("div", {}, next));
    next.focus({ preventScroll: true });
  }
}

define("pt-verdict-game", VerdictGame);
