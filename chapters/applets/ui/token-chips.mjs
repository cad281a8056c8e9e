// SPDX-License-Identifier: MIT
/** Tokens as a row of chips: how they are written, and how they are spoken. */
import { graphemes } from "../engine/units.mjs";
import { h, spoken, tokenRow } from "./controls.mjs";

export const CHIP_STYLE = `
.chips .tokens { gap: 4px 2px; }
.token.chip { background: color-mix(in srgb, var(--hue) 28%, var(--pst-color-background));
  border: 1px solid transparent; display: inline-grid; justify-items: center; line-height: 1.5;
  min-height: 1.6rem; min-width: 1.1rem; padding: 0 .15rem; white-space: pre; }
.chip:nth-child(4n + 1) { --hue: #56b4e9; } .chip:nth-child(4n + 2) { --hue: #f0e442; }
.chip:nth-child(4n + 3) { --hue: #cc79a7; } .chip:nth-child(4n) { --hue: #a0a0a0; }
.chip small { font-size: .7em; font-variant-numeric: tabular-nums; }
.token.chip.unknown { background: none; border: 2px dashed var(--pst-color-danger); }
.token.chip[aria-pressed="true"] { color: inherit; font-weight: 400;
  outline: 2px solid var(--pst-color-text-base); }
@media (forced-colors: active) { .token.chip { border-color: ButtonBorder; } }
`;
const NAMES = { " ": "␣", "\n": "↵", "\r": "␍", "\t": "⇥", "\u00a0": "⍽" };

const PICTURE = /\p{Extended_Pictographic}|\p{Regional_Indicator}/u;

/** Write a text so that each character of it can be seen: spaces, controls and lone accents too. */
export function seen(text) {
  const written = graphemes(text).map((one) => (PICTURE.test(one) ? one : visibleParts(one))).join("");
  return /^\p{M}/u.test(written) ? `◌${written}` : written;
}

function visibleParts(grapheme) {
  return Array.from(grapheme, (c) => {
    if (c in NAMES) return NAMES[c];
    const isHidden = /[\p{C}\p{Z}\ufe0e\ufe0f]/u.test(c);
    return isHidden ? `⟨${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩` : c;
  }).join("");
}

/** Say a token: spaces by name, the rest as it is written. */
export function said(text) {
  const written = [...text].length === 1 ? spoken(text) : text;
  return written.replace(/^ +/, "space, ").replaceAll("\n", " line end ").trim();
}

/**
 * Draw tokens as chips that can be pressed, with their ids.
 * @param {string} name What the row is, for screen readers.
 * @param {{text: string, id: number|undefined, name?: string, isUnknown: boolean, count: number}[]}
 *   tokens As `uncut` gives them.
 * @param {(index: number) => void} onpress
 * @returns {HTMLElement} With the chips as its property `buttons`.
 */
export function chips(name, tokens, onpress) {
  const about = ({ text, id, name: other, isUnknown, count }) =>
    `${said(other ?? text)}, ${count > 1 ? `${count} tokens, ` : ""}${isUnknown ? "unknown, " : ""}${id ?? "no id"}`;
  const row = tokenRow(name, tokens.map(() => ""), onpress, (i) => ({
    class: tokens[i].isUnknown ? "token chip unknown" : "token chip",
    "aria-pressed": "false", "aria-label": about(tokens[i]) }));
  tokens.forEach(({ text, id, name: other, isUnknown, count }, i) => {
    const number = id === undefined ? "no id" : `${isUnknown ? "[UNK] " : ""}${id}`;
    row.buttons[i].append(h("span", {}, seen(other ?? text)),
      h("small", {}, `${count > 1 ? `${count} × ` : ""}${number}`));
  });
  return Object.assign(h("div", { class: "chips" }, row), { buttons: row.buttons });
}

/**
 * Draw pieces of one word, with a number under each.
 * @param {string[]} pieces
 * @param {(string|number)[]} [numbers]
 * @returns {HTMLElement}
 */
export function pieceRow(pieces, numbers = []) {
  const items = pieces.map((piece, i) =>
    h("span", { class: "piece" }, h("span", {}, seen(piece)),
      ...(numbers.length ? [h("small", {}, String(numbers[i]))] : [])));
  return h("div", { class: "pieces" }, ...items);
}
