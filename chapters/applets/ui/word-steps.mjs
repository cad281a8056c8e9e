// SPDX-License-Identifier: MIT
/** How one word is cut: BPE merge by merge, WordPiece try by try, unigram against its runner-up. */
import { button, h, slider } from "./controls.mjs";
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
.piece.marked { border: 2px solid var(--pst-color-primary); }
`;

/**
 * A stepper through the merges of a word.
 * @param {import("../engine/bpe.mjs").BPE} algorithm
 * @param {string} word
 * @param {number} [start] The number of merges that are done at first.
 * @returns {HTMLElement}
 */
export function mergeSteps(algorithm, word, start = 0) {
  const states = algorithm.states(word);
  const last = states.length - 1;
  const shown = h("div", { class: "steps" });
  const news = h("p", { role: "status" });
  const show = (step) => {
    const { symbols, offers } = states[step];
    const [next] = offers;
    shown.replaceChildren(
      pieceRow(symbols, [], (i) => next && (i === next.at || i === next.at + 1)),
      offerList(symbols, offers));
    news.textContent = next
      ? `${step} of ${last} merges done. Next: ${pair(symbols, next.at)}, the earliest on offer.`
      : `${last} of ${last} merges done. No merge joins two of these: they are the tokens.`;
    onward.textContent = next || !last ? "Next merge" : "Start again";
  };
  const range = { min: 0, max: last, step: 1, value: Math.min(start, last) };
  const steps = slider("Merges done", range, show);
  const onward = button("Next merge", () => {
    steps.control.value = (Number(steps.control.value) + 1) % (last + 1);
    steps.control.dispatchEvent(new Event("input"));
  });
  show(range.value);
  const controls = last ? [h("div", { class: "row" }, steps, onward)] : [];
  return h("div", { class: "steps" }, h("h4", {}, "BPE: merge by merge"), ...controls, shown, news);
}

function offerList(symbols, offers) {
  const items = offers.slice(0, MOST_SHOWN).map(({ at, rank }) =>
    h("li", {}, `${pair(symbols, at)}: merge ${rank + 1}`));
  const more = offers.length - items.length;
  if (more > 0) items.push(h("li", {}, `and ${more} more`));
  return h("ul", { "aria-label": "Pairs that a merge would join" }, ...items);
}

function pair(symbols, at) {
  return `${seen(symbols[at])} + ${seen(symbols[at + 1])}`;
}

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
