// SPDX-License-Identifier: MIT
/** Tokens as a row of chips: how they are written, and how they are spoken. */
import { h, spoken, tokenRow } from "./controls.mjs";

export const CHIP_STYLE = `
.chips { max-height: 13rem; overflow-y: auto; padding: 3px; }
.chips .tokens { gap: 3px; }
.chip { display: inline-grid; justify-items: center; line-height: 1.2; padding: .15rem .3rem;
  white-space: pre; }
.chip small { font-size: .7em; font-variant-numeric: tabular-nums; }
.chip.unknown { border: 2px dashed var(--pst-color-danger); }
.token[aria-pressed="true"].chip { font-weight: 400; }
`;
const NAMES = { " ": "␣", "\n": "↵", "\r": "␍", "\t": "⇥", "\u00a0": "⍽" };

/** Write a text so that each character of it can be seen: blanks, controls and lone accents too. */
export function seen(text) {
  const written = Array.from(text, (c) => {
    if (c in NAMES) return NAMES[c];
    const isHidden = /[\p{C}\p{Z}\ufe0e\ufe0f]/u.test(c);
    return isHidden ? `⟨${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩` : c;
  }).join("");
  return /^\p{M}/u.test(written) ? `◌${written}` : written;
}

/** Say a token: blanks by name, the rest as it is written. */
export function said(text) {
  const written = [...text].length === 1 ? spoken(text) : text;
  return written.replace(/^ +/, "blank, ").replaceAll("\n", " line end ").trim();
}

/**
 * Draw tokens as chips that can be pressed.
 * @param {string} name What the row is, for screen readers.
 * @param {{text: string, id: number|undefined, name?: string, isUnknown: boolean}[]} tokens
 * @param {(index: number) => void} onpress
 * @returns {HTMLElement} With the chips as its property `buttons`.
 */
export function chips(name, tokens, onpress) {
  const about = ({ text, id, name: other, isUnknown }) =>
    `${said(other ?? text)}, ${isUnknown ? "unknown, " : ""}${id ?? "no id"}`;
  const row = tokenRow(name, tokens.map(() => ""), onpress, (i) => ({
    class: tokens[i].isUnknown ? "token chip unknown" : "token chip",
    "aria-pressed": "false", "aria-label": about(tokens[i]) }));
  tokens.forEach(({ text, id, name: other, isUnknown }, i) => {
    const number = id === undefined ? "no id" : `${isUnknown ? "[UNK] " : ""}${id}`;
    row.buttons[i].append(h("span", {}, seen(other ?? text)), h("small", {}, number));
  });
  return Object.assign(h("div", { class: "chips" }, row), { buttons: row.buttons });
}

/**
 * Draw pieces of one word, with a number under each.
 * @param {string[]} pieces
 * @param {(string|number)[]} [numbers]
 * @param {(index: number) => boolean} [isMarked] Drawn bold with a thick border.
 * @returns {HTMLElement}
 */
export function pieceRow(pieces, numbers = [], isMarked = () => false) {
  const items = pieces.map((piece, i) =>
    h("span", { class: isMarked(i) ? "piece marked" : "piece" }, h("span", {}, seen(piece)),
      ...(numbers.length ? [h("small", {}, String(numbers[i]))] : [])));
  return h("div", { class: "pieces" }, ...items);
}
