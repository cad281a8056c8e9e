// SPDX-License-Identifier: MIT
/**
 * Hide words of a line, and ask a model which word stood in each gap.
 *
 * A word is hidden, so a guess is a token that begins a word, and its share is that among those
 * tokens. GPT reads what stands to the left of its gap, BERT one [MASK] in its place, T5 a sentinel in
 * each gap, and at a later gap also its own first words for those before. As
 * `experiments/applets/three_questions.py`, which wrote the answers that the first page has at once.
 */
import { bertInfill } from "./infill.mjs";
import { GPT } from "./models.mjs";
import { best } from "./sampling.mjs";
import { T5 } from "./t5.mjs";
import { row, softmax } from "./tensors.mjs";

const N_GUESSES = 5;
const BEGINS_LINE = /^[A-Z][a-z']*$/;
const BEGINS_WORD = /^ [A-Za-z][A-Za-z']*$/;

/**
 * Find the words of a line.
 * @param {string} text
 * @returns {{text: string, start: number, end: number}[]} Places in UTF-16 units.
 */
export function wordsOf(text) {
  return [...text.matchAll(/[A-Za-z][A-Za-z']*/g)].map(({ 0: word, index }) =>
    ({ text: word, start: index, end: index + word.length }));
}

/**
 * Ask a model.
 * @param {{model: GPT|BERT|T5, tokenizer: Subwords}} loaded
 * @param {string} text
 * @param {number[]} hidden Numbers of the hidden words, ascending: one, or for T5 several.
 * @param {string[]} [typed] A reader's word for each gap, or "".
 * @returns {{guesses: {word: string, share: number}[], share: number|undefined}[]} For each gap the
 *   likeliest words, and what the reader's word gets.
 */
export function askGaps(loaded, text, hidden, typed = []) {
  const { model, tokenizer } = loaded;
  const { tokens, spans } = cut(text, tokenizer);
  const gaps = joined(hidden, spans);
  const ids = tokens.map(({ id }) => id);
  const asked = gaps.map((gap, n) => ({ ...gap, pieces: piecesOf(typed[n], gap.isFirst, tokenizer) }));
  if (model instanceof GPT) return asked.map((gap) => askGPT(model, ids, gap, tokenizer));
  if (model instanceof T5) return askT5(model, ids, asked, tokenizer);
  return asked.map((gap) => askBERT(model, ids, gap, tokenizer));
}

/** The tokens of a line between two line ends, and for each word its first and last token. */
function cut(text, tokenizer) {
  const tokens = tokenizer.encode(`\n${text}\n`);
  const spans = wordsOf(text).map(({ start, end }) => {
    const inside = (token) => token.start < end + 1 && token.start + token.text.length > start + 1;
    return [tokens.findIndex(inside), tokens.findLastIndex(inside) + 1];
  });
  return { tokens, spans };
}

/** Join hidden words that touch to one gap. */
function joined(hidden, spans) {
  const gaps = [];
  for (const number of hidden) {
    const [start, end] = spans[number];
    if (gaps.length && gaps.at(-1).end >= start) gaps.at(-1).end = end;
    else gaps.push({ start, end, isFirst: number === 0 });
  }
  return gaps;
}

/** The ids of a reader's word as it would stand in a gap; none without a word. */
function piecesOf(word, isFirst, tokenizer) {
  if (!word) return [];
  const pieces = tokenizer.encode(isFirst ? `\n${word}` : `a ${word}`).slice(1);
  return pieces.map(({ id }) => id);
}

/** Shares among the tokens that begin a word. */
function amongWords(probs, isFirst, { tokens }) {
  const pattern = isFirst ? BEGINS_LINE : BEGINS_WORD;
  const kept = probs.map((p, id) => (pattern.test(tokens[id]) ? p : 0));
  const mass = kept.reduce((a, b) => a + b, 0);
  return kept.map((p) => p / mass);
}

/** Put an answer together: `rest` is the probability of the later pieces of the reader's word. */
function answer(shares, pieces, rest, { tokens }) {
  const guesses = best(shares, N_GUESSES).map(({ id, probability }) =>
    ({ word: tokens[id].trim(), share: probability }));
  return { guesses, share: pieces.length ? shares[pieces[0]] * rest : undefined };
}

const distribution = (logits, t) => softmax(row(logits, t));

/** The probability of all pieces but the first; row `t` of the scores stands before the first. */
function restOf(pieces, logits, t) {
  return pieces.slice(1).reduce((p, id, n) => p * distribution(logits, t + n + 1)[id], 1);
}

function askGPT(model, ids, { start, isFirst, pieces }, tokenizer) {
  const logits = model.forward([...ids.slice(0, start), ...pieces.slice(0, -1)]);
  const shares = amongWords(distribution(logits, start - 1), isFirst, tokenizer);
  return answer(shares, pieces, restOf(pieces, logits, start - 1), tokenizer);
}

function askBERT(model, ids, { start, end, isFirst, pieces }, tokenizer) {
  const masked = [...ids.slice(0, start), tokenizer.id("[MASK]"), ...ids.slice(end)];
  const shares = amongWords(distribution(model.forward(masked), start), isFirst, tokenizer);
  if (pieces.length < 2) return answer(shares, pieces, 1, tokenizer);
  // A word of several pieces needs as many masks; they are filled from left to right.
  const whole = [...ids.slice(0, start), ...pieces, ...ids.slice(end)];
  const { first, costs } = bertInfill(model, whole, [[start, start + pieces.length]], tokenizer);
  const several = amongWords(first, isFirst, tokenizer);
  const rest = 2 ** -costs.slice(1).reduce((a, b) => a + b, 0);
  return { ...answer(shares, [], 1, tokenizer), share: several[pieces[0]] * rest };
}

function askT5(model, ids, gaps, tokenizer) {
  const sentinel = (n) => tokenizer.id(`<extra_id_${n}>`);
  const inputs = [];
  let done = 0;
  gaps.forEach(({ start, end }, n) => {
    inputs.push(...ids.slice(done, start), sentinel(n));
    done = end;
  });
  const states = model.encode([...inputs, ...ids.slice(done), tokenizer.id("</s>")]);
  const written = [tokenizer.id("[PAD]")];
  return gaps.map(({ isFirst, pieces }, n) => {
    written.push(sentinel(n));
    const at = written.length - 1;
    const logits = model.decode([...written, ...pieces.slice(0, -1)], states);
    const shares = amongWords(distribution(logits, at), isFirst, tokenizer);
    const found = answer(shares, pieces, restOf(pieces, logits, at), tokenizer);
    written.push(best(shares, 1)[0].id);
    return found;
  });
}
