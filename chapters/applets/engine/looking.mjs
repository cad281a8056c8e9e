// SPDX-License-Identifier: MIT
/** Where trained heads look in a text, and what predictions are worth under another mask. */
import { gapsOf, spanTask } from "./infill.mjs";
import { best, bits } from "./sampling.mjs";
import { row, softmax } from "./tensors.mjs";

const NEAR = 3;
const CLEAR = 0.3; // from here on a habit has a name

/**
 * The attention of one query.
 * @param weights (H, T, S), of one layer.
 * @param {number} head
 * @param {number} t Query.
 * @returns {Float32Array} S weights that sum to 1.
 */
export function attentionOf(weights, head, t) {
  const [, nQueries, nKeys] = weights.shape;
  const start = (head * nQueries + t) * nKeys;
  return weights.data.subarray(start, start + nKeys);
}

/** The k keys that a query looks at most, as `{s, share}`, the most first. */
export function topKeys(weights, head, t, k) {
  return best(attentionOf(weights, head, t), k).map(({ id, probability }) => ({
    s: id, share: probability }));
}

/**
 * Find where a head looks at most in this text: how far from the query, or at the first place.
 * @param weights (H, T, T), of one layer.
 * @param {number} head
 * @returns {{words: string, offset: number|null, share: number}} A name of the habit; the offset
 *   key minus query (null when it is the first place, or no habit); the mean weight there, over
 *   the queries that have such a key.
 */
export function habit(weights, head) {
  const length = weights.shape[1];
  const mean = (key) => {
    const shares = [];
    for (let t = NEAR + 1; t < length; t++) { // the first queries have too few keys to choose from
      if (key(t) < length) shares.push(attentionOf(weights, head, t)[key(t)]);
    }
    return shares.length ? shares.reduce((a, b) => a + b, 0) / shares.length : 0;
  };
  let found = { words: "the first place", offset: null, share: mean(() => 0) };
  for (let offset = -NEAR; offset <= NEAR; offset++) {
    const share = mean((t) => t + offset);
    if (share > found.share) found = { words: direction(offset), offset, share };
  }
  return found.share < CLEAR ? { words: "no one place", offset: null, share: found.share } : found;
}

/**
 * Choose a head to begin with, of those whose habit is known.
 * @param {{layer: number, head: number, offset: number|null, share: number}[]} found
 * @param {1|-1} side Where its keys should stand: 1 for the right, -1 for the left of the query.
 * @returns {{layer: number, head: number}} The one that looks there most; of all, if none does.
 */
export function clearest(found, side) {
  const there = found.filter(({ offset }) => offset * side > 0);
  return (there.length ? there : found).reduce((a, b) => (b.share > a.share ? b : a));
}

/** Say where a key stands from its query: "1 to the left", "itself". */
export function direction(offset) {
  if (!offset) return "itself";
  return `${Math.abs(offset)} to the ${offset < 0 ? "left" : "right"}`;
}

/**
 * What the next character costs a GPT, on average over a text.
 * @param {GPT} model
 * @param {number[]} ids T ids.
 * @param {(t: number, s: number) => boolean} mask
 * @returns {number} Bits per character, over the T - 1 characters after the first.
 */
export function bitsOfNext(model, ids, mask) {
  const logits = model.forward(ids.slice(0, -1), { mask });
  const costs = ids.slice(1).map((id, t) => bits(softmax(row(logits, t))[id]));
  return costs.reduce((a, b) => a + b, 0) / costs.length;
}

/**
 * Which places are hidden in which pass: every seventh, in seven passes, so that each is hidden
 * once. The first and the last place never are.
 * @param {number} length T, at least 3.
 * @returns {number[][]} The places of each pass.
 */
export function turnsOf(length, every = 7) {
  const nPasses = Math.min(every, length - 2);
  return Array.from({ length: nPasses }, (_, n) =>
    Array.from({ length: Math.ceil((length - 2 - n) / every) }, (__, i) => 1 + n + i * every));
}

/**
 * What a hidden character costs a BERT, on average over a text; see `turnsOf`.
 * @param {BERT} model
 * @param {number[]} ids T ids, at least 3.
 * @param {(t: number, s: number) => boolean} mask
 * @param {CharTokenizer} tokenizer
 * @param {() => Promise<boolean>|boolean} [isOver] Asked before each pass; true ends the work.
 * @returns {Promise<number|null>} Bits per character; null when ended.
 */
export async function bitsOfMasked(model, ids, mask, tokenizer, isOver = () => false) {
  let total = 0;
  for (const places of turnsOf(ids.length)) {
    if (await isOver()) return null;
    const hidden = new Set(places);
    const read = ids.map((id, t) => (hidden.has(t) ? tokenizer.id("[MASK]") : id));
    const logits = model.forward(read, { mask });
    for (const t of places) total += bits(softmax(row(logits, t))[ids[t]]);
  }
  return total / (ids.length - 2);
}

/**
 * What a hidden character costs a T5 whose encoder looks through a mask, on average over a text;
 * see `turnsOf`. The sentinels between the characters are not counted.
 * @param {T5} model
 * @param {number[]} ids T ids, at least 3.
 * @param {(t: number, s: number) => boolean} mask
 * @param {CharTokenizer} tokenizer
 * @param {() => Promise<boolean>|boolean} [isOver] Asked before each pass; true ends the work.
 * @returns {Promise<number|null>} Bits per character; null when ended.
 */
export async function bitsOfSpans(model, ids, mask, tokenizer, isOver = () => false) {
  let total = 0;
  for (const places of turnsOf(ids.length)) {
    if (await isOver()) return null;
    const { inputs, targets } = spanTask(ids, gapsOf(places), tokenizer);
    const start = [tokenizer.id("[PAD]"), ...targets.slice(0, -1)];
    const logits = model.decode(start, model.encode(inputs, { mask }));
    targets.forEach((id, t) => {
      if (!tokenizer.isSpecial(id)) total += bits(softmax(row(logits, t))[id]);
    });
  }
  return total / (ids.length - 2);
}
