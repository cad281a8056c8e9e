// SPDX-License-Identifier: MIT
/**
 * Scaled dot-product attention with several heads, and the cache that makes writing fast.
 */
import { softmax, zeros } from "./tensors.mjs";

/**
 * Let every query gather from the values, in each head by itself.
 * @param query (T, H K).
 * @param key (S, H K).
 * @param value (S, H K).
 * @param {number} nHeads H.
 * @param {number} scale Multiplies the scores: 1 / sqrt(K), in T5 1.
 * @param {(head: number, t: number, s: number) => number} bias Added to the score of query t and
 *   key s; minus infinity where t may not look.
 * @returns {{mixed: object, weights: object}} What was gathered, (T, H K), and the attention
 *   weights, (H, T, S). A query that may look nowhere gets zeros.
 */
export function attend(query, key, value, nHeads, scale, bias) {
  const [nQueries, width] = query.shape;
  const nKeys = key.shape[0];
  const headWidth = width / nHeads;
  const mixed = zeros(nQueries, width);
  const weights = zeros(nHeads, nQueries, nKeys);
  const scores = new Float64Array(nKeys);
  for (let h = 0; h < nHeads; h++) {
    const first = h * headWidth;
    for (let t = 0; t < nQueries; t++) {
      for (let s = 0; s < nKeys; s++) {
        const extra = bias(h, t, s);
        scores[s] = extra === -Infinity ? extra : dot(query, t, key, s, first, headWidth) * scale + extra;
      }
      const shares = softmax(scores);
      weights.data.set(shares, (h * nQueries + t) * nKeys);
      for (let s = 0; s < nKeys; s++) {
        if (!shares[s]) continue;
        for (let i = first; i < first + headWidth; i++) {
          mixed.data[t * width + i] += shares[s] * value.data[s * width + i];
        }
      }
    }
  }
  return { mixed, weights };
}

function dot(query, t, key, s, first, length) {
  const width = query.shape[1];
  let sum = 0;
  for (let i = first, a = t * width, b = s * width; i < first + length; i++) {
    sum += query.data[a + i] * key.data[b + i];
  }
  return sum;
}

/**
 * Where one query looks.
 * @param weights (H, T, S), of one layer.
 * @param {number} t Query.
 * @returns {Float64Array} S weights, the mean over heads.
 */
export function meanOverHeads(weights, t) {
  const [nHeads, nQueries, nKeys] = weights.shape;
  const mean = new Float64Array(nKeys);
  for (let h = 0; h < nHeads; h++) {
    const start = (h * nQueries + t) * nKeys;
    for (let s = 0; s < nKeys; s++) mean[s] += weights.data[start + s] / nHeads;
  }
  return mean;
}

/**
 * Turn each pair of channels of every head, i and i + K/2, by the position times 10000^(-2i/K).
 * @param x Queries or keys, (T, H K).
 * @param {number} nHeads H.
 * @param {number} nPast Position of the first row.
 * @returns (T, H K).
 */
export function rotate(x, nHeads, nPast) {
  const [nRows, width] = x.shape;
  const headWidth = width / nHeads;
  const half = headWidth / 2;
  const out = zeros(nRows, width);
  for (let t = 0; t < nRows; t++) {
    for (let i = 0; i < half; i++) {
      const angle = (nPast + t) / 10000 ** (i / half);
      const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
      for (let a = t * width + i; a < (t + 1) * width; a += headWidth) {
        out.data[a] = x.data[a] * cos - x.data[a + half] * sin;
        out.data[a + half] = x.data[a] * sin + x.data[a + half] * cos;
      }
    }
  }
  return out;
}

/** Keys and values of the tokens that one attention layer has read. */
export class KeyValueCache {
  constructor() {
    this.length = 0;
  }

  /**
   * Add the keys and values of new tokens.
   * @param key (T, D).
   * @param value (T, D).
   * @returns {[object, object]} All keys and all values so far, (length, D) each.
   */
  append(key, value) {
    this.keys = joined(this.keys, key);
    this.values = joined(this.values, value);
    this.length = this.keys.shape[0];
    return [this.keys, this.values];
  }

  /** Forget all but the first `length` tokens, as if the others had never been read. */
  cut(length) {
    if (!(length >= 0 && length <= this.length)) {
      throw new Error(`expected to keep 0 to ${this.length} tokens, got ${length}`);
    }
    this.keys = firstRows(this.keys, length);
    this.values = firstRows(this.values, length);
    this.length = length;
  }
}

function firstRows(x, length) {
  if (!length) return undefined;
  return { data: x.data.slice(0, length * x.shape[1]), shape: [length, x.shape[1]] };
}

function joined(old, fresh) {
  if (!old) return fresh;
  const data = new Float32Array(old.data.length + fresh.data.length);
  data.set(old.data);
  data.set(fresh.data, old.data.length);
  return { data, shape: [old.shape[0] + fresh.shape[0], fresh.shape[1]] };
}
