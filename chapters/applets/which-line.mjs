// SPDX-License-Identifier: MIT
/** Which of the two did Shakespeare write? Ten speeches with two lines swapped, against the GPT. */
import { choiceOf, swappedLines } from "./engine/speeches.mjs";
import { Applet, define } from "./ui/applet.mjs";
import { button, h } from "./ui/controls.mjs";
import { getJson } from "./ui/files.mjs";
import { GAME_STYLE } from "./ui/scoreboard.mjs";

const LETTERS = ["A", "B"];
const STYLE = `
.versions { display: grid; gap: .5rem .75rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 17rem), 1fr)); }
.version { align-content: start; border: 1px solid var(--pst-color-text-muted); border-radius: .3rem; display: grid;
  font-size: .95em; line-height: 1.35; padding: .5rem .6rem; text-align: left; width: 100%; }
button.version { cursor: pointer; }
button.version:hover { border-color: var(--pst-color-primary); box-shadow: inset 0 0 0 1px var(--pst-color-primary); }
.version span { display: block; padding-left: 1.2em; text-indent: -1.2em; }
.version .head { font-size: .95em; font-weight: 700; padding: 0; text-indent: 0; }
.version.true { border-color: var(--pst-color-text-base); box-shadow: inset 0 0 0 1px var(--pst-color-text-base); }
.version .moved { font-style: italic; text-decoration: underline dotted; text-underline-offset: .2em; }
@media (max-width: 30rem) { .version { font-size: .88em; } }
`;

class WhichLine extends Applet {
  static offer = "Which of the two did Shakespeare write?";
  static room = [335, 443];

  async build(panel) {
    this.data = await getJson("which_line.json");
    this.place = h("div", { class: "result" });
    panel.replaceChildren(h("style", {}, GAME_STYLE + STYLE), this.place);
    this.restart();
  }

  restart() {
    this.number = 0;
    this.right = { you: 0, gpt: 0 };
    this.ask();
  }

  /** Show the next speech in its two versions; each is a button. */
  ask() {
    const { items } = this.data;
    const isFirst = this.number === 0 && !this.item;
    this.item = items[this.number];
    const { versions, speaker, play } = this.item;
    const cards = versions.map((text, i) => h("button", { type: "button", class: "version",
      onclick: () => this.judge(i) }, ...card(LETTERS[i], text)));
    this.cards = h("div", { class: "versions" }, ...cards);
    this.answer = h("div", { class: "result", role: "status" });
    this.place.replaceChildren(
      h("h3", {}, `${this.number + 1} of ${items.length}: ${speaker}, in ${play}`),
      h("p", {}, "In one of the two, two neighbouring lines are swapped. Choose the one that Shakespeare wrote."),
      this.cards, this.answer);
    if (!isFirst) cards[0].focus({ preventScroll: true });
  }

  /** Show which it was, what both versions cost the model, and the score. */
  judge(chosen) {
    const { item, right } = this;
    const { versions, bits } = item;
    const gpt = choiceOf(bits);
    right.you += chosen === item.right;
    right.gpt += gpt === item.right;
    this.number += 1;
    const moved = swappedLines(...versions);
    this.cards.replaceChildren(...versions.map((text, i) => {
      const marks = [i === item.right ? "✓ Shakespeare’s" : "✗ two lines swapped",
        i === chosen ? "your choice" : "", i === gpt ? "GPT’s choice" : ""].filter(Boolean);
      return h("div", { class: i === item.right ? "version true" : "version" },
        ...card(`${LETTERS[i]} ${marks.join(" · ")}`, text, moved));
    }));
    const isLast = this.number === this.data.items.length;
    const next = isLast ? button("Play again", () => this.restart())
      : button("Next speech", () => this.ask(), { class: "primary" });
    this.answer.replaceChildren(
      h("p", {}, h("strong", {}, `${LETTERS[item.right]} is Shakespeare’s: you are ${verdict(chosen === item.right)}. `),
        `GPT pays ${bits[0].toFixed(1)} bits for A and ${bits[1].toFixed(1)} for B, so it chooses ${LETTERS[gpt]} and is `
        + `${verdict(gpt === item.right)}.`),
      h("p", {}, `Right so far, of ${this.number}: `, h("strong", {}, `you ${right.you}`),
        `, GPT ${right.gpt}; a coin would have ${this.number / 2} on average.`),
      ...(isLast ? [h("p", {}, this.summary())] : []), h("div", {}, next));
    next.focus({ preventScroll: true });
  }

  /** What these few pairs are a sample of. */
  summary() {
    const { n, right } = this.data.of_all;
    return `Over all ${n.toLocaleString("en")} such pairs from plays that it has not read, GPT is right in `
      + `${Math.round(100 * right)} %; ${this.data.items.length} pairs are too few to rank anybody.`;
  }
}

function verdict(isRight) {
  return isRight ? "right" : "wrong";
}

/** The lines of one version below its head; `moved` are set off. */
function card(head, text, moved = []) {
  return [h("span", { class: "head" }, head), ...text.split("\n").map((line) =>
    h("span", { class: moved.includes(line) ? "moved" : undefined }, line))];
}

define("pt-which-line", WhichLine);
