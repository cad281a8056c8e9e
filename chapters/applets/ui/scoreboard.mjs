// SPDX-License-Identifier: MIT
/** What the games show: the question, the bits of all players, and their sums. */
import { mean, total } from "../engine/games.mjs";
import { h, spoken, visible } from "./controls.mjs";

/** What the games look like beyond the look of all applets. */
export const GAME_STYLE = `
.quote { border-left: .25rem solid var(--pst-color-border); font-size: 1.1em; margin: 0;
  padding-left: .75rem; }
.gap { border: 1px dashed currentColor; border-radius: .2rem; font-weight: 700; padding: 0 .35em; }
.game { align-items: end; display: grid; gap: .5rem .75rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 9rem), 1fr)); }
.game .primary { justify-self: start; }
.result { display: grid; gap: .75rem; grid-template-columns: minmax(0, 1fr); }
.scores { width: 100%; }
caption { caption-side: top; color: inherit; font-weight: 600; text-align: left; }
.scores td, .scores thead th:not(:first-child) { text-align: right; }
.scores tbody th { border-left: .5rem solid var(--ink, transparent); font-weight: 400; }
.keys .token { min-height: 2.1rem; min-width: 2rem; position: relative; }
.keys .token small { font-size: .7em; font-weight: 700; inset: 0 .2em auto auto; position: absolute; }
.trace { display: flex; flex-wrap: wrap; font-family: var(--pst-font-family-monospace, monospace);
  gap: .3rem 2px; list-style: none; margin: 0; padding: 0; }
.trace li { display: grid; justify-items: stretch; min-width: 1.7rem; text-align: center; }
.trace b { font-weight: 700; }
.trace span { background: color-mix(in srgb, var(--ink) calc(100% * var(--share)), transparent);
  border: 1px solid transparent; font-size: .8em; }
.trace .you { --ink: #a0a0a0; }
@media (forced-colors: active) { .trace span { border-color: CanvasText; } }
`;

/** The hidden place in a quotation. */
export function gap(text = "") {
  return h("span", { class: "gap", role: "img", "aria-label": text || "gap" }, text || "▢");
}

/**
 * A table of what all players paid.
 * @param {string} unit What a question asks for, such as "word".
 * @param {{name: string, bits: number[], paradigm?: string}[]} players Bits of the questions so
 *   far, at least one; `paradigm` gives the row its colour.
 * @returns {HTMLElement}
 */
export function scoreboard(unit, players) {
  const count = players[0].bits.length;
  const heads = ["player", "last", "mean", "sum"].map((name) =>
    h("th", { scope: "col" }, name));
  const rows = players.map(({ name, bits, paradigm }) => h("tr", { class: paradigm },
    h("th", { scope: "row" }, name),
    ...[bits.at(-1), mean(bits), total(bits)].map((value) => h("td", {}, value.toFixed(1)))));
  return h("table", { class: "scores" },
    h("caption", {}, `Bits after ${count} ${unit}${count > 1 ? "s" : ""}: fewer are better`),
    h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...rows));
}

/**
 * Rows for `bars`: a model's best guesses, the truth among them in any case, both marked.
 * @param {{text: string, share: number}[]} best The likeliest first.
 * @param {{text: string, share: number}} truth
 * @param {Iterable<string>} guesses The reader's.
 * @returns {{text: string, share: number, mark?: string}[]}
 */
export function markedRows(best, truth, guesses) {
  const yours = new Set(guesses);
  const shown = best.some(({ text }) => text === truth.text) ? best : [...best, truth];
  return shown.map(({ text, share }) => {
    const marks = [text === truth.text ? "✓ true" : "", yours.has(text) ? "yours" : ""];
    return { text, share, mark: marks.filter(Boolean).join(", ") || undefined };
  });
}

/** A character in quotation marks, and its name where it is no letter: “␣” (space). */
export function quoted(character) {
  const name = spoken(character);
  const isPlain = name === character || name === `capital ${character}`;
  return `“${visible(character)}”${isPlain ? "" : ` (${name})`}`;
}
