// SPDX-License-Identifier: MIT
/** The masks on a few words, as a table of dots: press a word to read in words what it may see. */
import { MASKS, countAllowed, inWords, keysOf, partOf } from "../engine/masks.mjs";
import { choice, field, h, roving, slider } from "./controls.mjs";

const START = "the cat saw it and ran";
const MOST_WORDS = 8;
const GLYPHS = { encoder: "■", cross: "◆", decoder: "●" };
const STACKS = { causal: "gpt", "causal-padding": "gpt", bidirectional: "bert", padding: "bert",
  prefix: "t5", "encoder-decoder": "t5" };

/** Look of the table; an applet that shows one adds it to its own. */
export const GRID_STYLE = `
.grid { font-size: .9em; }
.grid th, .grid td { border: 1px solid var(--pst-color-border); height: 2rem; padding: 0 .3rem;
  text-align: center; }
.grid thead th { font-weight: 400; vertical-align: bottom; }
.grid td { color: var(--ink); min-width: 1.9rem; }
.grid tr.chosen td { border-block: 2px solid var(--pst-color-text-base); }
.grid tbody th { padding: 0; }
.grid button { border: 0; width: 100%; }
.grid button[aria-pressed="true"] { background: var(--pst-color-text-base);
  color: var(--pst-color-background); font-weight: 700; }
.unseen { block-size: 1px; clip-path: inset(50%); inline-size: 1px; overflow: hidden;
  position: absolute; white-space: nowrap; }
`;

/**
 * Make the mask explorer.
 * @returns {HTMLElement}
 */
export function maskGrid() {
  const state = { words: START.split(" "), kind: "causal", n: 3, chosen: 2 };
  const table = h("div", { class: "scroll" });
  const said = h("p", { role: "status" });
  const number = h("div", { class: "field" });
  const more = h("p", { class: "error", role: "alert" });
  const shown = h("div", { class: "block" },
    h("p", {}, "A dot means “may attend”: rows are queries, columns are keys. Press a word at the left; "
      + "arrow keys move."), h("div", { class: "columns" }, table, said));
  const sentence = h("input", { type: "text", value: START, maxlength: 60 });
  const draw = (parts = { table, said }) => {
    parts.table?.replaceChildren(drawTable(state, (t) => {
      state.chosen = t;
      draw({ said });
      mark(table, t);
    }));
    parts.said.textContent = describe(state);
    if (parts.table) mark(table, state.chosen);
  };
  const askNumber = () => {
    const { counts } = MASKS[state.kind];
    state.n = Math.min(state.n, state.words.length);
    const range = { min: 0, max: state.words.length, step: 1, value: state.n };
    number.hidden = !counts;
    number.replaceChildren(counts ? slider(counts, range, (n) => { state.n = n; draw(); }) : "");
  };
  const kinds = Object.entries(MASKS).map(([kind, { name }]) => [kind, name]);
  const kindChoice = choice("Mask", kinds, (kind) => {
    state.kind = kind;
    state.n = kind.includes("padding") ? 2 : 3;
    askNumber();
    draw();
  }, state.kind);
  sentence.addEventListener("input", () => {
    const words = sentence.value.trim().split(/\s+/).filter(Boolean);
    more.textContent = !words.length ? "Type a word: without one there is no mask."
      : words.length > MOST_WORDS ? `Only the first ${MOST_WORDS} of ${words.length} words are shown.` : "";
    shown.hidden = !words.length;
    if (!words.length) return;
    state.words = words.slice(0, MOST_WORDS);
    state.chosen = Math.min(state.chosen, state.words.length - 1);
    askNumber();
    draw();
  });
  askNumber();
  draw();
  return h("div", { class: "block" },
    h("div", { class: "row" }, kindChoice, number,
      field(`Up to ${MOST_WORDS} words`, sentence)), more, shown);
}

function drawTable({ words, kind, n }, onpress) {
  const length = words.length;
  const allows = MASKS[kind].allows(length, n);
  const buttons = words.map((word, t) =>
    h("button", { type: "button", onclick: () => onpress(t) }, word));
  const spoken = (text) => h("span", { class: "unseen" }, text);
  const cell = (t, s) => (allows(t, s)
    ? h("td", {}, h("span", { "aria-hidden": "true" }, glyph(kind, n, t, s)), spoken("yes"))
    : h("td", {}, spoken("no")));
  const body = h("tbody", {}, ...words.map((_, t) =>
    h("tr", {}, h("th", { scope: "row" }, buttons[t]), ...words.map((__, s) => cell(t, s)))));
  roving(body, buttons);
  const name = "Queries and the keys that they may see";
  return h("table", { class: `grid ${STACKS[kind]}`, "aria-label": name },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "query ↓ key →"),
      ...words.map((word) => h("th", { scope: "col" }, word)))), body);
}

function glyph(kind, n, t, s) {
  return kind === "encoder-decoder" ? GLYPHS[partOf(n, t, s)] : "●";
}

function mark(table, chosen) {
  table.querySelectorAll("tbody tr").forEach((one, t) => {
    one.classList.toggle("chosen", t === chosen);
    one.querySelector("button").setAttribute("aria-pressed", t === chosen);
  });
}

function describe({ words, kind, n, chosen }) {
  const length = words.length;
  const allows = MASKS[kind].allows(length, n);
  const keys = keysOf(allows, length, chosen);
  const sees = keys.length
    ? `may look at ${keys.length === 1 ? "place" : "places"} ${inWords(keys)}: `
      + keys.map((s) => `“${words[s]}”`).join(", ")
    : "may look nowhere";
  const [formula] = MASKS[kind].formula(length, n);
  const letters = /\bn\b/.test(formula) ? `T = ${length} and n = ${n}` : `T = ${length}`;
  return `Place ${chosen + 1}, “${words[chosen]}”, ${sees}. ${note(kind, n, chosen)}In all, `
    + `${countAllowed(allows, length)} of ${length * length} pairs are allowed: `
    + `${formula} with ${letters}.`;
}

function note(kind, n, chosen) {
  if (kind !== "encoder-decoder") return "";
  return chosen < n
    ? "It belongs to the source, which the encoder (■) reads as a whole. "
    : "It belongs to the target: cross-attention (◆) shows it the source, the decoder (●) what "
      + "was written so far. ";
}
