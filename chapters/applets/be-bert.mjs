// SPDX-License-Identifier: MIT
/** Be BERT: spread 16 points over the characters that may stand in a blank, then compare. */
import { cost, sharesOfPoints, total, verdict } from "./engine/games.mjs";
import { Applet, define } from "./ui/applet.mjs";
import { bars, button, field, h, spoken, tokenRow, visible } from "./ui/controls.mjs";
import { getJson } from "./ui/files.mjs";
import { gap, GAME_STYLE, markedRows, quoted, scoreboard } from "./ui/scoreboard.mjs";

const N_POINTS = 16;
const MOST = N_POINTS - 1;
const N_SHOWN = 5;
const PLAYERS = [
  ["reader", "you"], ["unigram", "unigram"], ["gpt", "GPT, left only"], ["bert", "BERT"],
];

/** Put the characters that are likeliest first: the space, small letters, marks, capitals. */
function inOrder(characters) {
  const kinds = [/ /, /[a-z]/, /[^A-Za-z ]/, /[A-Z]/];
  return kinds.flatMap((kind) => [...characters].filter((c) => kind.test(c)));
}

class BeBert extends Applet {
  static offer = "Spend your points on the eight blanks";

  async build(panel) {
    this.data = await getJson("be_bert.json");
    this.order = inOrder(this.data.characters);
    this.place = h("div", { class: "result" });
    this.sum = h("div", { class: "result" });
    panel.replaceChildren(h("style", {}, GAME_STYLE), this.place, this.sum);
    this.restart();
  }

  restart() {
    this.paid = Object.fromEntries(PLAYERS.map(([key]) => [key, []]));
    this.sum.replaceChildren();
    this.ask();
  }

  /** Show the next blank, and every character as a button. */
  ask() {
    const { items } = this.data;
    const number = this.paid.reader.length;
    this.item = items[number];
    this.points = new Map();
    this.row = tokenRow("Characters; each press gives one point", this.order.map(visible),
      (i) => this.give(this.order[i], 1));
    this.row.addEventListener("keydown", (event) => this.type(event));
    this.left = h("p", { role: "status" });
    this.fields = h("div", { class: "game" });
    this.shower = button("Show the character", () => this.judge(), { class: "primary" });
    this.answer = h("div", { class: "result", role: "status" });
    const broken = (text) => text.replaceAll("\n", "↵\n");
    this.place.replaceChildren(
      h("h3", {}, `Blank ${number + 1} of ${items.length}`),
      h("pre", {}, broken(this.item.left), gap(), broken(this.item.right)),
      h("p", { class: "note" },
        "Each press gives a point. In the row, arrow keys move and letter keys give points too; " +
        "Backspace takes the last one back. What you keep, and one point in any case, is shared " +
        `by all ${this.order.length} characters.`),
      this.row, this.fields, this.left, h("div", {}, this.shower), this.answer);
    this.given = [];
    this.showPoints();
    if (number) this.row.buttons[0].focus();
  }

  /** Let the letter keys give points while a character has the focus. */
  type(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Backspace" && this.given.length) this.give(this.given.at(-1), -1);
    else if (event.key !== " " && this.order.includes(event.key)) this.give(event.key, 1);
    else return;
    event.preventDefault();
  }

  /** Give points to a character, or take them back; never more than are left. */
  give(character, change) {
    const before = this.points.get(character) ?? 0;
    this.set(character, before + Math.min(change, MOST - this.spent));
    if (change < 0) this.given.splice(this.given.lastIndexOf(character), 1);
    else if (this.points.get(character) > before) this.given.push(character);
  }

  /** Set the points of a character; none takes it off the sheet. */
  set(character, value) {
    if (value > 0) this.points.set(character, value);
    else this.points.delete(character);
    this.showPoints();
  }

  get spent() {
    return total([...this.points.values()]);
  }

  showPoints() {
    this.row.buttons.forEach((one, i) => {
      const value = this.points.get(this.order[i]) ?? 0;
      one.setAttribute("aria-pressed", value > 0);
      one.setAttribute("aria-label", `${spoken(this.order[i])}, ${value} points`);
    });
    this.left.textContent = `${MOST - this.spent} of ${MOST} points left.`;
    const names = [...this.points.keys()];
    if (names.join() === (this.named ?? []).join() && this.fields.childElementCount) {
      names.forEach((c, i) => { this.numbers[i].value = this.points.get(c); });
      return;
    }
    this.named = names;
    this.numbers = names.map((c) => this.numberField(c));
    this.fields.replaceChildren(...names.map((c, i) =>
      field(`Points on ${quoted(c)}`, this.numbers[i])));
  }

  numberField(character) {
    const input = h("input", { type: "number", min: 0, max: MOST, step: 1,
      value: this.points.get(character),
      onchange: () => {
        const room = MOST - this.spent + (this.points.get(character) ?? 0);
        const asked = Math.trunc(Number(input.value)) || 0;
        const value = Math.max(0, Math.min(room, asked));
        input.value = value;
        this.given = this.given.filter((c) => c !== character);
        this.given.push(...Array(value).fill(character));
        this.set(character, value);
      } });
    return input;
  }

  /** Show the truth, what three readers gave it, and the bits of all. */
  judge() {
    const { truth, bits } = this.item;
    const mine = cost(sharesOfPoints(this.points, N_POINTS), truth, this.order.length);
    this.paid.reader.push(mine);
    for (const [name, value] of Object.entries(bits)) this.paid[name].push(value);
    [...this.row.buttons, ...this.numbers].forEach((one) => { one.disabled = true; });
    this.shower.hidden = true;
    const isLast = this.paid.reader.length === this.data.items.length;
    const next = isLast ? button("Play again", () => this.restart())
      : button("Next blank", () => this.ask(), { class: "primary" });
    this.answer.replaceChildren(
      h("p", {}, "The character is ", h("strong", {}, quoted(truth)), `. You pay ` +
        `${mine.toFixed(1)} bits, GPT ${bits.gpt.toFixed(1)}, BERT ${bits.bert.toFixed(1)}.`),
      h("div", { class: "columns" },
        this.expected("bert", "BERT, both sides"), this.expected("gpt", "GPT, left side only")));
    const players = PLAYERS.map(([key, name]) =>
      ({ name, bits: this.paid[key], paradigm: key in this.item.top ? key : undefined }));
    this.sum.replaceChildren(h("div", {}, next), scoreboard("blank", players));
    if (isLast) {
      this.sum.append(h("p", { role: "status" },
        verdict(this.paid.reader, this.paid.bert, "BERT", "blank")));
    }
    next.focus();
  }

  /** A reader's best guesses for the blank. */
  expected(reader, name) {
    const { truth, bits, top } = this.item;
    const found = top[reader].slice(0, N_SHOWN).map(([text, share]) => ({ text, share }));
    const own = { text: truth, share: 2 ** -bits[reader] };
    return h("div", { class: reader }, h("h3", {}, name),
      bars(markedRows(found, own, this.points.keys()), `Best guesses of ${name}`));
  }
}

define("pt-be-bert", BeBert);
