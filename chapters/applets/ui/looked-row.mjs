// SPDX-License-Identifier: MIT
/** A text as a row of letters; over each stands how much one of them, the query, looks at it. */
import { percent, spoken, tokenRow, visible } from "./controls.mjs";

/** How a hidden token is written. */
export const HIDDEN = "▢";

export const LOOKED_STYLE = `
.looked .tokens { gap: .4rem 0; }
.looked .token { background: linear-gradient(var(--ink) 0 0) left bottom 1.7em no-repeat;
  background-size: 100% calc(2em * var(--share, 0)); border: 0; border-radius: 0; forced-color-adjust: none;
  min-height: 0; min-width: .9em; padding: 2.1em 0 0; }
.looked .token[aria-pressed="true"] { color: inherit;
  box-shadow: inset 0 -1.7em color-mix(in srgb, var(--ink) 25%, transparent),
    inset 0 -2px var(--pst-color-text-base); }
.looked .barred { color: var(--pst-color-text-muted); text-decoration: line-through; }
@media (prefers-reduced-motion: no-preference) { .looked .token { transition: background-size .2s; } }
`;

/**
 * Make the row.
 * @param {string} name What the row is, for screen readers.
 * @param {string[]} tokens
 * @param {(t: number) => void} onpick Called when a letter is pressed, or a mouse comes over it.
 * @returns {HTMLElement} With a method `show(t, shares, isAllowed)`: the query, what it looks at, and
 *   whether it may look at a place.
 */
export function lookedRow(name, tokens, onpick) {
  const row = tokenRow(name, tokens.map(visible), onpick);
  row.addEventListener("pointerover", (event) => {
    const t = row.buttons.indexOf(event.target);
    if (event.pointerType === "mouse" && t >= 0) onpick(t);
  });
  const show = (t, shares, isAllowed = () => true) => row.buttons.forEach((one, s) => {
    one.style.setProperty("--share", shares[s]);
    one.classList.toggle("barred", !isAllowed(s));
    one.setAttribute("aria-pressed", s === t);
    one.setAttribute("aria-label", `place ${s + 1}, ${tokens[s] === HIDDEN ? "hidden" : spoken(tokens[s])}, `
      + (isAllowed(s) ? `looked at ${percent(shares[s])}` : "barred"));
  });
  return Object.assign(row, { show });
}
