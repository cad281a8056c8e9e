// SPDX-License-Identifier: MIT
/**
 * T5: an encoder that reads a text with gaps, and a decoder that writes what was in them.
 *
 * What differs from GPT and BERT: no positions but a bias for each distance, no scale in the
 * scores, RMSNorm, no bias in any linear layer, and a second attention that looks at the input.
 */
import { attend, KeyValueCache } from "./attention.mjs";
import { add, linear, map, relu, rmsNorm, zeros } from "./tensors.mjs";

export class T5 {
  /**
   * @param {Object<string, {data: Float32Array, shape: number[]}>} weights By name.
   * @param {object} options Those of the Python model.
   */
  constructor(weights, options) {
    if (options.activation !== "relu" || options.gated || !options.tie_head) {
      throw new Error("expected the first version of T5: relu, no gate, a tied head");
    }
    this.weights = weights;
    this.options = options;
  }

  /**
   * Read the input.
   * @param {number[]} ids S token ids.
   * @param {object} [options] `trace`, a list that collects attention weights (H, S, S);
   *   `mask(t, s)`, by default everything.
   * @returns States, (S, D).
   */
  encode(ids, { mask = () => true, trace = null } = {}) {
    const distance = this.distanceBias("encoder", true);
    const bias = (h, t, s) => (mask(t, s) ? distance(h, t, s) : -Infinity);
    return this.stack("encoder", this.embed(ids), { bias, trace: { self: trace } });
  }

  /**
   * Predict the next token of the output at each of its positions.
   * @param {number[]} ids The start id and the output so far; with a cache only the new ones.
   * @param states (S, D), from encode.
   * @param {object} [options] `cache` from makeCache; `trace`, `{self: [], cross: []}`, collects
   *   the weights (H, T, T) and (H, T, S).
   * @returns Scores, (T, V).
   */
  decode(ids, states, { cache = null, trace = null } = {}) {
    const nPast = cache ? cache[0].own.length : 0;
    const distance = this.distanceBias("decoder", false);
    const bias = (h, t, s) => (s <= nPast + t ? distance(h, nPast + t, s) : -Infinity);
    const x = this.stack("decoder", this.embed(ids), { bias, states, cache, trace });
    const scale = 1 / Math.sqrt(x.shape[1]);
    return linear(map(x, (value) => value * scale), this.weights["token.weight"]);
  }

  /** One empty cache for every block of the decoder. */
  makeCache() {
    return Array.from({ length: this.options.n_layers }, () => ({
      own: new KeyValueCache(),
      source: null, // keys and values of the encoder's states, from the first call on
    }));
  }

  embed(ids) {
    const table = this.weights["token.weight"];
    const width = table.shape[1];
    if (!ids.length) throw new Error("expected at least 1 token, got 0");
    const x = zeros(ids.length, width);
    ids.forEach((id, t) => {
      if (!(Number.isInteger(id) && id >= 0 && id < table.shape[0])) {
        throw new Error(`expected ids in 0..${table.shape[0] - 1}, got ${id}`);
      }
      x.data.set(table.data.subarray(id * width, (id + 1) * width), t * width);
    });
    return x;
  }

  stack(stack, x, { bias, states = null, cache = null, trace = null }) {
    const norm = (name, y) =>
      rmsNorm(y, this.weights[`${stack}.${name}.weight`], this.options.norm_eps);
    const part = (name, y) => linear(y, this.weights[`${stack}.${name}.weight`]);
    for (let n = 0; n < this.options.n_layers; n++) {
      const block = `blocks.${n}`;
      const own = cache?.[n];
      let y = norm(`${block}.attention_norm`, x);
      let pair = [part(`${block}.attention.key`, y), part(`${block}.attention.value`, y)];
      if (own) pair = own.own.append(...pair);
      x = add(x, this.look(`${block}.attention`, y, pair, bias, part, trace?.self));
      if (states) {
        y = norm(`${block}.cross_norm`, x);
        const name = `${block}.cross_attention`;
        const source = own?.source ?? [part(`${name}.key`, states), part(`${name}.value`, states)];
        if (own) own.source = source;
        x = add(x, this.look(name, y, source, () => 0, part, trace?.cross));
      }
      const inner = part(`${block}.feed_forward.up`, norm(`${block}.feed_forward_norm`, x));
      x = add(x, part(`${block}.feed_forward.down`, map(inner, relu)));
    }
    return norm("final_norm", x);
  }

  look(name, x, [key, value], bias, part, trace) {
    const query = part(`${name}.query`, x);
    const { mixed, weights } = attend(query, key, value, this.options.n_heads, 1, bias);
    trace?.push(weights);
    return part(`${name}.output`, mixed);
  }

  /** The learned number for a head and the distance from query t to key s. */
  distanceBias(stack, isBidirectional) {
    const table = this.weights[`${stack}.relative_bias.weight`];
    const { n_buckets: nBuckets, max_distance: maxDistance } = this.options;
    const nHeads = table.shape[1];
    return (h, t, s) =>
      table.data[bucket(s - t, isBidirectional, nBuckets, maxDistance) * nHeads + h];
  }
}

/**
 * Sort a distance into a bucket: exact when near, logarithmic when far.
 * @param {number} distance Key position minus query position, in tokens.
 * @param {boolean} isBidirectional Whether half of the buckets serve keys to the right.
 * @param {number} nBuckets Number of buckets.
 * @param {number} maxDistance From here on all share the last bucket.
 * @returns {number} 0 to nBuckets - 1.
 */
export function bucket(distance, isBidirectional, nBuckets, maxDistance) {
  const nSide = isBidirectional ? nBuckets / 2 : nBuckets;
  const nExact = Math.floor(nSide / 2);
  const offset = isBidirectional && distance > 0 ? nSide : 0;
  const length = isBidirectional ? Math.abs(distance) : Math.max(-distance, 0);
  if (length < nExact) return offset + length;
  // In 32 bits, as PyTorch computes it: at a border the last digit decides.
  const f = Math.fround;
  const share = f(f(Math.log(f(length / nExact))) / f(Math.log(maxDistance / nExact)));
  const far = nExact + Math.trunc(f(share * (nSide - nExact)));
  return offset + Math.min(far, nSide - 1);
}
