// SPDX-License-Identifier: MIT
/**
 * What a painted mask trains: which words a question may use, and what the answers multiply to.
 *
 * A tiny language of four places with two words at each, whose probabilities are known, so that every
 * answer is exact: the share of the asked word among the texts that have the words in use.
 */
import { bidirectional, causal } from "./models.mjs";

export const WORDS = [["I", "we"], ["drink", "eat"], ["hot", "cold"], ["tea", "soup"]];
export const PLACES = [0, 1, 2, 3];
/** The texts that occur, as indices into WORDS, and how many of eight each is; the other ten never occur. */
const EIGHTHS = { "0000": 3, "0010": 1, "0101": 1, "1000": 1, "1101": 1, "1111": 1 };
/** All sixteen strings of words; those that occur come first. */
export const STRINGS = Array.from({ length: 16 }, (_, n) => n.toString(2).padStart(4, "0"))
  .sort((a, b) => truth(b) - truth(a) || (a < b ? -1 : 1));

/** The masks to start from: may the word at place t read the word at place s? */
export const PRESETS = {
  gpt: { name: "GPT", allows: causal },
  bert: { name: "BERT", allows: bidirectional },
  prefix: { name: "prefix LM", allows: (t, s) => s <= t || s < 2, given: 2 },
  empty: { name: "empty", allows: (t, s) => s === t },
};

/** A preset as rows of booleans, queries first. */
export function paint({ allows }) {
  return PLACES.map((t) => PLACES.map((s) => allows(t, s)));
}

/** The probability of a text in the language. */
export function truth(text) {
  return (EIGHTHS[text] ?? 0) / 8;
}

/** The words of a text, such as "0000" for "I drink hot tea". */
export function wordsOf(text) {
  return PLACES.map((t) => WORDS[t][text[t]]);
}

/**
 * The places whose words reach place t, its own too: what the residual stream carries. One layer reads
 * a row of the mask; with several, what was read is passed on.
 * @returns {Map<number, number>} Place → the place that handed it on: itself where it was read directly.
 */
export function reach(mask, t, isDeep) {
  const found = new Map([[t, t], ...PLACES.filter((s) => mask[t][s] && s !== t).map((s) => [s, s])]);
  for (const via of isDeep ? found.keys() : []) { // grows while it is read
    for (const s of PLACES) if (mask[via][s] && !found.has(s)) found.set(s, via);
  }
  return found;
}

/**
 * The questions that a mask is trained with.
 * @param {boolean[][]} mask Queries, keys.
 * @param {"next"|"hidden"|"turn"} asks The next word; all hidden words in one pass; each in its turn.
 * @param {number[]} asked The places whose words are asked; the others are given.
 * @param {boolean} isDeep Whether there are several layers.
 * @returns {{word: number, row: number, uses: number[], via: Map}[]} Row −1 is the start mark.
 */
export function questionsOf(mask, asks, asked, isDeep) {
  return asked.map((word) => {
    const row = asks === "next" ? word - 1 : word;
    const via = row < 0 ? new Map() : reach(mask, row, isDeep);
    const isBlank = (s) => (asks === "hidden" && asked.includes(s)) || (asks === "turn" && s === word);
    return { word, row, via, uses: PLACES.filter((s) => via.has(s) && !isBlank(s)) };
  });
}

/** How probable the language makes the words of a text at some places. */
function shareOf(text, places) {
  return STRINGS.filter((one) => places.every((s) => one[s] === text[s]))
    .reduce((sum, one) => sum + truth(one), 0);
}

/** The answer to a question: P(word | words in use). A word in use is copied; who knows nothing says 1/2. */
export function answer(text, { word, uses }) {
  if (uses.includes(word)) return 1;
  const seen = shareOf(text, uses);
  return seen ? shareOf(text, [...uses, word]) / seen : 1 / WORDS[word].length;
}

/** What the questions give a text: the product of their answers. */
export function productOf(text, questions) {
  return questions.reduce((product, question) => product * answer(text, question), 1);
}

/**
 * Judge what questions train.
 * @returns {{kind: string, leaks: object[], isExact: boolean}} Kind is nothing, leaks, pseudo, independent
 *   or likelihood; exact when every text gets what the language gives it, the given words being given.
 */
export function judge(questions) {
  const asked = questions.map(({ word }) => word);
  const given = PLACES.filter((s) => !asked.includes(s));
  const leaks = questions.filter(({ word, uses }) => uses.includes(word));
  const isExact = STRINGS.every((text) => {
    const seen = shareOf(text, given);
    return !seen || Math.abs(productOf(text, questions) - truth(text) / seen) < 1e-9;
  });
  const links = questions.flatMap(({ uses }) => uses.filter((s) => asked.includes(s)));
  const kind = !asked.length ? "nothing" : leaks.length ? "leaks" : !hasOrder(questions) ? "pseudo"
    : asked.length > 1 && !links.length ? "independent" : "likelihood";
  return { kind, leaks, isExact };
}

/** Can the questions be put in an order in which each uses words asked before it, or given? */
function hasOrder(questions) {
  const open = (left) => left.filter(({ uses }) => !uses.some((s) => left.some(({ word }) => word === s)));
  let left = questions;
  while (left.length) {
    const ready = open(left);
    if (!ready.length) return false;
    left = left.filter((one) => !ready.includes(one));
  }
  return true;
}

/** The strings that differ from a text in asked words alone, what occurs first, with both probabilities. */
export function fillsOf(text, questions) {
  const given = PLACES.filter((s) => !questions.some(({ word }) => word === s));
  return STRINGS.filter((one) => given.every((s) => one[s] === text[s])).map((one) => ({
    text: one, true: truth(one) / shareOf(text, given), product: productOf(one, questions) }));
}
