// SPDX-License-Identifier: MIT
/** From scores to a chosen token: temperature, the two cuts, and numbers from a seed. */
import { softmax } from "./tensors.mjs";

/**
 * Turn scores into the distribution that is drawn from. As `Sampling.distribution` of `pretrain.generation`.
 * @param {ArrayLike<number>} logits One row of V scores.
 * @param {object} [options] `temperature` > 0 divides the scores; `topK` keeps the k likeliest
 *   (and ties); `topP` keeps the smallest set of likeliest tokens that reaches p.
 * @returns {Float64Array} V probabilities, 0 for what was cut off.
 * @throws {RangeError} Settings that describe no distribution.
 */
export function filterProbabilities(logits, { temperature = 1, topK = Infinity, topP = 1 } = {}) {
  if (!(temperature > 0)) throw new RangeError(`expected temperature > 0, got ${temperature}`);
  if (!(topK >= 1)) throw new RangeError(`expected top-k >= 1, got ${topK}`);
  if (!(topP > 0 && topP <= 1)) throw new RangeError(`expected top-p in (0, 1], got ${topP}`);
  const best = Math.max(...logits);
  let probs = softmax(Float64Array.from(logits, (score) => (score - best) / temperature));
  if (topK < probs.length) {
    const last = Float64Array.from(probs).sort().at(-topK);
    probs = keep(probs, (p) => p >= last);
  }
  if (topP < 1) {
    const order = [...probs.keys()].sort((a, b) => probs[b] - probs[a]);
    const kept = new Set();
    for (let i = 0, before = 0; i < order.length && before < topP; i++) {
      kept.add(order[i]);
      before += probs[order[i]];
    }
    probs = keep(probs, (_, id) => kept.has(id));
  }
  return probs;
}

function keep(probs, isKept) {
  const cut = probs.map((p, id) => (isKept(p, id) ? p : 0));
  const total = cut.reduce((a, b) => a + b, 0);
  return cut.map((p) => p / total);
}

/**
 * Draw an id.
 * @param {ArrayLike<number>} probs Sum to 1.
 * @param {number} number In [0, 1).
 * @returns {number} The id in whose share of the line from 0 to 1 the number falls.
 */
export function draw(probs, number) {
  let reached = 0;
  let last = 0;
  for (let id = 0; id < probs.length; id++) {
    if (!probs[id]) continue;
    reached += probs[id];
    last = id;
    if (number < reached) return id;
  }
  return last; // the sum fell short of 1 by rounding
}

/**
 * A source of numbers that a seed fixes: a Weyl sequence through a mixing function of 32 bits.
 * @param {number} seed A whole number.
 * @returns {() => number} Gives the next number in [0, 1).
 */
export function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x9e3779b9) >>> 0;
    let x = state;
    x = Math.imul(x ^ (x >>> 16), 0x21f0aaad);
    x = Math.imul(x ^ (x >>> 15), 0x735a2d97);
    return ((x ^ (x >>> 15)) >>> 0) / 2 ** 32;
  };
}

/** The k likeliest ids of a distribution, the likeliest first, as `{id, probability}`. */
export function best(probs, k) {
  return Array.from(probs, (probability, id) => ({ id, probability }))
    .sort((a, b) => b.probability - a.probability || a.id - b.id)
    .slice(0, k);
}

/** What a token of this probability costs, in bits. */
export function bits(probability) {
  return -Math.log2(probability);
}
