// SPDX-License-Identifier: MIT
/** The merges of a few words as a ladder: a column for each character, a row for each merge. */
import { uncut } from "../engine/units.mjs";
import { h } from "./controls.mjs";
import { stepper } from "./stepper.mjs";
import { seen } from "./token-chips.mjs";

const MOST_ROWS = 10; // a longer way skips rows: several merges in one
const LONG = 10; // columns that every panel has room for
const PAUSE = 450; // milliseconds from row to row

export const LADDER_STYLE = `
.ladder-box { overflow-x: auto; padding: 2px; }
.ladder { display: grid; font-family: var(--pst-font-family-monospace, monospace); gap: 3px 2px;
  grid-template-columns: repeat(var(--columns), minmax(1.2rem, 2.6rem)) max-content; justify-content: start; }
.rung { border: 1px solid var(--pst-color-text-muted); border-radius: .3rem; line-height: 1.4;
  min-width: 0; text-align: center; white-space: pre; }
.rung.joined { background: color-mix(in srgb, var(--book-gpt) 22%, var(--pst-color-background));
  border: 2px solid var(--book-gpt); font-weight: 700; line-height: calc(1.4em - 2px); }
.rung.unknown { border: 2px dashed var(--pst-color-danger); line-height: calc(1.4em - 2px); }
.rung-note { align-self: center; color: var(--pst-color-text-muted); font-family: var(--pst-font-family-base, sans-serif);
  font-size: .85em; font-variant-numeric: tabular-nums; padding-left: .5rem; white-space: nowrap; }
@media (max-width: 30rem) { .rung-note .word { display: none; } }
.ladder .later { visibility: hidden; }
@keyframes pop { from { transform: scale(.6); } }
@media (prefers-reduced-motion: no-preference) { .rung.joined:not(.later) { animation: pop .25s ease-out; } }
`;

/**
 * Draw the way from characters to tokens.
 * @param {import("../engine/bpe.mjs").BPE} algorithm
 * @param {string[]} words No merge crosses from one to the next.
 * @returns {HTMLElement} Its method `play()` shows the rows in turn, its method `wait()` the
 *   characters alone until then.
 */
export function mergeLadder(algorithm, words) {
  const rows = thinned(waysOf(algorithm, words).map((row) => ({ ...row, pieces: piecesOf(algorithm, row.symbols) })));
  const columns = columnsOf(rows[0].pieces);
  const ladder = h("div", { class: "ladder", role: "img", "aria-label": inWords(rows),
    style: { "--columns": Math.max(...columns.values()) } });
  const drawn = rows.map(({ pieces, ranks }, row) => {
    const old = new Set(rows[Math.max(0, row - 1)].pieces.map(({ key }) => key));
    const rungs = pieces.map((piece) => {
      const kind = piece.isUnknown ? " unknown" : old.has(piece.key) ? "" : " joined";
      return h("span", { class: `rung${kind}`,
        style: { "grid-row": row + 1, "grid-column": spanOf(piece, columns) } }, seen(piece.text));
    });
    return [...rungs, h("span", { class: "rung-note",
      style: { "grid-row": row + 1, "grid-column": -2 } }, ...noteOf(ranks))];
  });
  ladder.append(...drawn.flat());
  const upTo = (last) => drawn.forEach((row, i) =>
    row.forEach((part) => part.classList.toggle("later", i > last)));
  const walk = stepper(rows.length - 1, PAUSE, upTo);
  // A keyboard scrolls what has the focus, and a long word is wider than the panel.
  const isLong = columns.size > LONG;
  const box = h("div", { class: "ladder-box", ...(isLong ? { tabindex: 0, role: "group", "aria-label": "Merges" } : {}) }, ladder);
  return Object.assign(box, {
    play: () => { if (moves()) walk.start(); },
    wait: () => { if (moves()) { walk.stop(); upTo(0); } },
  });
}

/** The state after each merge; of all words, the merge that was learned first comes next. */
function waysOf(algorithm, words) {
  const ways = words.map((word) => ({ states: algorithm.states(word), at: 0 }));
  const symbols = () => ways.map(({ states, at }) => states[at].symbols);
  const rows = [{ symbols: symbols(), ranks: [] }];
  for (;;) {
    const open = ways.filter(({ states, at }) => states[at].offers.length);
    if (!open.length) return rows;
    const rank = ({ states, at }) => states[at].offers[0].rank;
    const next = open.reduce((best, way) => (rank(way) < rank(best) ? way : best));
    const ranks = [rank(next) + 1];
    next.at += 1;
    rows.push({ symbols: symbols(), ranks });
  }
}

/** At most so many rows, the first and the last among them; the others hand on their merges. */
function thinned(rows) {
  const last = rows.length - 1;
  const step = Math.max(1, last / (MOST_ROWS - 1));
  const kept = [];
  let ranks = [];
  rows.forEach((row, i) => {
    ranks = [...ranks, ...row.ranks];
    if (i !== last && i < Math.round(kept.length * step)) return;
    kept.push({ ...row, ranks });
    ranks = [];
  });
  return kept;
}

/** Pieces of all words: their text, their places, unknown or not. An emoji is never cut. */
function piecesOf(algorithm, symbols) {
  let from = 0;
  return symbols.flatMap((word, inWord) => {
    let start = 0;
    const tokens = word.map((text) => {
      const token = { text, start, isUnknown: !algorithm.ids.has(text) };
      start += text.length;
      return token;
    });
    const begin = from;
    from += start;
    return uncut(tokens, word.join("")).map((token) => ({ ...token, inWord,
      start: begin + token.start, key: `${begin + token.start}:${token.text}` }));
  });
}

/** Place → column of each piece of the first row; between two words a column stays free. */
function columnsOf(pieces) {
  const columns = new Map();
  for (const { start, inWord } of pieces) columns.set(start, columns.size + 1 + inWord);
  return columns;
}

function spanOf({ start, text }, columns) {
  const covered = [...columns].filter(([place]) => place >= start && place < start + text.length);
  return `${covered[0][1]} / ${covered.at(-1)[1] + 1}`;
}

function noteOf(ranks) {
  if (!ranks.length) return [h("span", { class: "word" }, "characters")];
  const written = ranks.slice(0, 2).map((rank) => rank.toLocaleString("en")).join(", ");
  const more = ranks.length > 2 ? " …" : "";
  return [h("span", { class: "word" }, ranks.length > 1 ? "merges " : "merge "), `${written}${more}`];
}

function inWords(rows) {
  const write = ({ pieces }) => pieces.map(({ text }) => seen(text)).join(" ");
  return `From characters to tokens: ${rows.map(write).join("; ")}.`;
}

/** Whether the reader allows motion. */
function moves() {
  return !matchMedia("(prefers-reduced-motion: reduce)").matches;
}
