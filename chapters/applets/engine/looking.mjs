// SPDX-License-Identifier: MIT
/** Where trained heads look in a text. */
import { best } from "./sampling.mjs";

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

/** Say where a key stands from its query: "1 to the left", "itself". */
export function direction(offset) {
  if (!offset) return "itself";
  return `${Math.abs(offset)} to the ${offset < 0 ? "left" : "right"}`;
}
