// SPDX-License-Identifier: MIT
/** How one word is cut: by WordPiece try by try, by unigram against its runner-up. */
import { h } from "./controls.mjs";
import { pieceRow, seen } from "./token-chips.mjs";

const MOST_SHOWN = 4;

export const STEP_STYLE = `
.steps { align-content: start; display: grid; gap: .5rem; grid-template-columns: minmax(0, 1fr); }
.steps ol, .steps ul { margin: 0; padding-left: 1.4rem; overflow-wrap: anywhere; }
.pieces { display: flex; flex-wrap: wrap; font-family: var(--pst-font-family-monospace, monospace);
  gap: 3px; }
.piece { border: 1px solid var(--pst-color-text-muted); border-radius: .3rem; display: inline-grid;
  justify-items: center; padding: .05rem .3rem; white-space: pre; }
.piece small { font-size: .75em; font-variant-numeric: tabular-nums; }
`;

/**
 * The tries of the longest match.
 * @param {import("../engine/wordpiece.mjs").WordPiece} algorithm
 * @param {string} word
 * @returns {HTMLElement}
 */
export function matchSteps(algorithm, word) {
  const tries = algorithm.tries(word);
  const items = tries.map(({ text, id, missing }, i) => {
    const list = missing.slice(0, MOST_SHOWN).map(seen).join(", ");
    const tried = missing.length > MOST_SHOWN ? `${list} … (${missing.length} in all)` : list;
    const before = missing.length ? `not in the list: ${tried}; ` : "";
    return h("li", {}, before, ...(id === undefined
      ? [h("strong", {}, "nothing fits"), ", so the whole word becomes [UNK]"]
      : ["taken: ", h("strong", {}, (i ? algorithm.mark : "") + seen(text))]));
  });
  const body = tries.length ? h("ol", {}, ...items)
    : h("p", {}, `More than ${algorithm.longest} characters: [UNK] without a try.`);
  return h("div", { class: "steps" }, h("h4", {}, "WordPiece: the longest match"), body);
}

/**
 * The likeliest cut and the second.
 * @param {import("../engine/unigram.mjs").Unigram} algorithm
 * @param {string} word
 * @returns {HTMLElement}
 */
export function cutSteps(algorithm, word) {
  const [best, second] = algorithm.best(word);
  const ratio = second && Math.exp(best.score - second.score);
  return h("div", { class: "steps" }, h("h4", {}, "Unigram: the likeliest cut"),
    ...scored("Best", best), ...(second ? scored("Runner-up", second) : []),
    h("p", {}, second ? `The best cut is ${times(ratio)} the runner-up. `
      + "The numbers are log-probabilities (nats); those of a cut are added."
      : "There is no other cut: no piece of the list spells two characters of it."));
}

function scored(name, { score, pieces }) {
  return [h("p", {}, `${name}: `, h("strong", {}, minus(score))),
    pieceRow(pieces.map(({ text }) => text), pieces.map((piece) => minus(piece.score)))];
}

/** Write a negative number with two digits and a real minus sign. */
function minus(number) {
  return number.toFixed(2).replace("-", "−");
}

function times(ratio) {
  if (ratio < 1.005) return "as likely as";
  const digits = ratio < 10 ? ratio.toFixed(1) : Number(ratio.toPrecision(2)).toLocaleString("en");
  return `${ratio < 1.05 ? ratio.toFixed(2) : digits} times as likely as`;
}
