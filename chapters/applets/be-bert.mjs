// SPDX-License-Identifier: MIT
/** Be BERT: spread 16 points over the characters that may stand in a gap, then compare. */
import { cost, oneIn, sharesOfPoints, total, verdict, wholeWords } from "./engine/games.mjs";
import { Applet, define } from "./ui/applet.mjs";
import { bars, button, h, spoken, tokenRow, visible } from "./ui/controls.mjs";
import { getJson } from "./ui/files.mjs";
import { gap, GAME_STYLE, markedRows, quoted, scoreboard } from "./ui/scoreboard.mjs";

const N_POINTS = 16;
const MOST = N_POINTS - 1;
const N_SHOWN = 5;
const PLAYERS = [
  ["reader", "you"], ["unigram", "unigram"], ["gpt", "GPT, left only"], ["bert", "BERT"],
];

/** The keys: space and small letters, or capitals; behind them the marks. */
function keysOf(characters, isShifted) {
  const kinds = [/ /, isShifted ? /[A-Z]/ : /[a-z]/, /[^A-Za-z ]/];
  return kinds.flatMap((kind) => [...characters].filter((c) => kind.test(c)));
}

class BeBert extends Applet {
  static offer = "Spend your points on the eight gaps";
  static room = [450, 622];

  async build(panel) {
    this.data = await getJson("be_bert.json");
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

  /** Show the next gap, and the keys. */
  ask() {
    const { items, order } = this.data;
    const number = this.paid.reader.length;
    this.item = items[order[number]];
    this.given = [];
    const broken = (text) => text.replaceAll("\n", "↵\n");
    const { left, right } = wholeWords(this.item);
    this.keys = h("div", { class: "keys" });
    this.left = h("p", { role: "status" });
    this.shower = button("Show the character", () => this.judge(), { class: "primary" });
    this.back = button("Take one back", () => this.takeBack(this.given.at(-1)));
    this.shift = button("⇧ Capitals", () => {
      this.shift.setAttribute("aria-pressed", this.shift.ariaPressed !== "true");
      this.drawKeys();
    }, { "aria-pressed": "false" });
    this.answer = h("div", { class: "result", role: "status" });
    this.place.replaceChildren(
      h("h3", {}, `Gap ${number + 1} of ${items.length}`,
        h("small", { class: "note" }, ` (number ${order[number] + 1} of the list)`)),
      h("pre", {}, broken(left), gap(), broken(right)),
      h("p", { class: "note" }, `${MOST} points: press, or type, what you expect; the more points `
        + "the true character has, the fewer bits you pay."),
      this.keys, h("div", { class: "row" }, this.shower, this.back, this.shift, this.left), this.answer);
    this.drawKeys();
    if (number) this.row.buttons[0].focus();
  }

  drawKeys() {
    this.order = keysOf(this.data.characters, this.shift.ariaPressed === "true");
    this.row = tokenRow("Characters; each press gives one point", this.order.map(visible),
      (i) => this.give(this.order[i]));
    this.row.addEventListener("keydown", (event) => this.type(event));
    this.keys.replaceChildren(this.row);
    this.showPoints();
  }

  /** Let the letter keys give points while a character has the focus. */
  type(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Backspace") this.takeBack(this.given.at(-1));
    else if (event.key !== " " && this.data.characters.includes(event.key)) this.give(event.key);
    else return;
    event.preventDefault();
  }

  /** Give a point to a character, if one is left. */
  give(character) {
    if (this.given.length < MOST) this.given.push(character);
    this.showPoints();
  }

  takeBack(character) {
    if (character === undefined) return;
    this.given.splice(this.given.lastIndexOf(character), 1);
    this.showPoints();
  }

  /** The points of each character that has some. */
  get points() {
    const points = new Map();
    for (const character of this.given) points.set(character, (points.get(character) ?? 0) + 1);
    return points;
  }

  showPoints() {
    const { points } = this;
    this.row.buttons.forEach((one, i) => {
      const value = points.get(this.order[i]) ?? 0;
      one.replaceChildren(visible(this.order[i]), ...(value ? [h("small", {}, String(value))] : []));
      one.setAttribute("aria-pressed", value > 0);
      one.setAttribute("aria-label", `${spoken(this.order[i])}, ${value} points`);
    });
    const bets = [...points].map(([character, value]) => `${visible(character)} ${value}`).join(", ");
    this.left.textContent = `${MOST - this.given.length} of ${MOST} points left${bets && `: ${bets}`}.`;
  }

  /** Show the truth, what three readers gave it, and the bits of all. */
  judge() {
    const { truth, bits } = this.item;
    const shares = sharesOfPoints(this.points, N_POINTS);
    const mine = cost(shares, truth, this.data.characters.length);
    this.paid.reader.push(mine);
    for (const [name, value] of Object.entries(bits)) this.paid[name].push(value);
    for (const one of [...this.row.buttons, this.back, this.shift]) one.disabled = true;
    this.shower.hidden = true;
    const isLast = this.paid.reader.length === this.data.items.length;
    const next = isLast ? button("Play again", () => this.restart())
      : button("Next gap", () => this.ask(), { class: "primary" });
    this.answer.replaceChildren(
      h("p", {}, "The character is ", h("strong", {}, quoted(truth)), `. You pay `
        + `${mine.toFixed(1)} bits, as sure as ${oneIn(mine)}; GPT pays ${bits.gpt.toFixed(1)} and `
        + `BERT ${bits.bert.toFixed(1)}.`),
      h("div", {}, next),
      h("div", { class: "columns" },
        this.expected("bert", "BERT, both sides"), this.expected("gpt", "GPT, left side only")));
    const players = PLAYERS.map(([key, name]) =>
      ({ name, bits: this.paid[key], paradigm: key in this.item.top ? key : undefined }));
    this.sum.replaceChildren(scoreboard("gap", players));
    if (isLast) {
      this.sum.append(h("p", { role: "status" },
        verdict(this.paid.reader, this.paid.bert, "BERT", "gap")));
    }
    next.focus();
  }

  /** A reader's best guesses for the gap. */
  expected(reader, name) {
    const { truth, bits, top } = this.item;
    const found = top[reader].slice(0, N_SHOWN).map(([text, share]) => ({ text, share }));
    const own = { text: truth, share: 2 ** -bits[reader] };
    return h("div", { class: reader }, h("h3", {}, name),
      bars(markedRows(found, own, this.points.keys()), `Best guesses of ${name}`));
  }
}

define("pt-be-bert", BeBert);
