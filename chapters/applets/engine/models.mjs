// SPDX-License-Identifier: MIT
/**
 * GPT and BERT: one stack of blocks, two masks and two heads. Chapter 2 in another language.
 *
 * The weights are those that `pretrain_lab.checkpoints` writes, under the same names; a test
 * compares the scores with PyTorch's. Texts go one at a time, so nothing here has a batch axis.
 */
import { attend, KeyValueCache, rotate } from "./attention.mjs";
import { add, gelu, layerNorm, linear, map, relu, zeros } from "./tensors.mjs";

const ACTIVATIONS = { gelu, relu };
const POSITIONS = ["learned", "rotary"];

/** May position t look at position s? The answer of GPT, and of BERT. */
export const causal = (t, s) => s <= t;
export const bidirectional = () => true;

/** What GPT and BERT share: embeddings and blocks. */
class Encoder {
  /**
   * @param {Object<string, {data: Float32Array, shape: number[]}>} weights By name.
   * @param {object} options Those of the Python model.
   */
  constructor(weights, options) {
    if (!POSITIONS.includes(options.positions) || !options.tie_head) {
      throw new Error("expected learned or rotary positions and a tied head");
    }
    this.weights = weights;
    this.options = options;
    this.act = ACTIVATIONS[options.activation];
    if (!this.act) throw new Error(`expected gelu or relu, got ${options.activation}`);
  }

  /** Most tokens that it can read. */
  get maxLength() {
    return this.options.max_len;
  }

  /**
   * Look up the vectors of tokens, and add those of learned positions and of the first segment, to
   * which all tokens belong; gives (T, D).
   */
  embed(ids, nPast) {
    const { token, position, segment } = this.tables();
    const width = token.shape[1];
    if (!ids.length || nPast + ids.length > this.maxLength) {
      throw new Error(`expected 1 to ${this.maxLength} tokens, got ${nPast + ids.length}`);
    }
    const x = zeros(ids.length, width);
    ids.forEach((id, t) => {
      if (!(Number.isInteger(id) && id >= 0 && id < token.shape[0])) {
        throw new Error(`expected ids in 0..${token.shape[0] - 1}, got ${id}`);
      }
      for (let i = 0; i < width; i++) {
        x.data[t * width + i] = token.data[id * width + i]
          + (position?.data[(nPast + t) * width + i] ?? 0) + (segment?.data[i] ?? 0);
      }
    });
    return x;
  }

  tables() {
    return {
      token: this.weights["embeddings.token.weight"],
      position: this.weights["embeddings.position.weight"],
      segment: this.weights["embeddings.segment.weight"],
    };
  }

  /** Layer norm with the weights of this name. */
  norm(name, x) {
    const { [`${name}.weight`]: weight, [`${name}.bias`]: bias } = this.weights;
    return layerNorm(x, weight, bias, this.options.norm_eps);
  }

  /** Linear layer with the weights of this name. */
  linear(name, x) {
    return linear(x, this.weights[`${name}.weight`], this.weights[`${name}.bias`]);
  }

  /** Run all blocks; `trace`, a list, collects the attention weights (H, T, S) of each. */
  blocks(x, { mask, cache, trace }) {
    for (let n = 0; n < this.options.n_layers; n++) {
      const name = `blocks.${n}`;
      const look = (y) => this.attention(`${name}.attention`, y, mask, cache?.[n], trace);
      const think = (y) => {
        const inner = map(this.linear(`${name}.feed_forward.up`, y), this.act);
        return this.linear(`${name}.feed_forward.down`, inner);
      };
      x = this.residual(`${name}.attention_norm`, x, look);
      x = this.residual(`${name}.feed_forward_norm`, x, think);
    }
    return x;
  }

  /** Add a branch to the stream, its norm before (GPT-2) or after (BERT). */
  residual(norm, x, branch) {
    if (this.options.norm === "pre") return add(x, branch(this.norm(norm, x)));
    return this.norm(norm, add(x, branch(x)));
  }

  attention(name, x, mask, cache, trace) {
    let [query, newKeys, newValues] = thirds(this.linear(`${name}.qkv`, x));
    const nPast = cache ? cache.length : 0;
    const nHeads = this.options.n_heads;
    if (this.options.positions === "rotary") {
      [query, newKeys] = [query, newKeys].map((one) => rotate(one, nHeads, nPast));
    }
    const [key, value] = cache ? cache.append(newKeys, newValues) : [newKeys, newValues];
    const scale = 1 / Math.sqrt(query.shape[1] / nHeads);
    const bias = (h, t, s) => (mask(nPast + t, s) ? 0 : -Infinity);
    const { mixed, weights } = attend(query, key, value, nHeads, scale, bias);
    trace?.push(weights);
    return this.linear(`${name}.output`, mixed);
  }
}

function thirds(x) {
  const [nRows, width] = [x.shape[0], x.shape[1] / 3];
  return [0, 1, 2].map((part) => {
    const out = zeros(nRows, width);
    for (let t = 0; t < nRows; t++) {
      const start = (3 * t + part) * width;
      out.data.set(x.data.subarray(start, start + width), t * width);
    }
    return out;
  });
}

/** Predicts the next token at every position. */
export class GPT extends Encoder {
  /**
   * @param {number[]} ids T token ids, with a cache only the new ones.
   * @param {object} [options] `cache` from makeCache; `mask(t, s)`, by default causal; `trace`, a
   *   list that collects the attention weights (H, T, S) of every block.
   * @returns Scores, (T, V): row t scores the token after t.
   */
  forward(ids, { cache = null, mask = causal, trace = null } = {}) {
    let x = this.embed(ids, cache ? cache[0].length : 0);
    x = this.blocks(x, { mask, cache, trace });
    if (this.options.norm === "pre") x = this.norm("final_norm", x);
    return linear(x, this.tables().token);
  }

  /** One empty cache for every block. */
  makeCache() {
    return Array.from({ length: this.options.n_layers }, () => new KeyValueCache());
  }
}

/** Scores every vocabulary entry at every position, from both sides. */
export class BERT extends Encoder {
  /**
   * @param {number[]} ids T token ids, [MASK] where something is hidden.
   * @param {object} [options] `mask(t, s)`, by default everything; `trace` as for GPT.
   * @returns Scores, (T, V): row t scores the token at t.
   */
  forward(ids, { mask = bidirectional, trace = null } = {}) {
    let x = this.embed(ids, 0);
    if (this.options.norm === "post") x = this.norm("embedding_norm", x);
    x = this.blocks(x, { mask, cache: null, trace });
    if (this.options.norm === "pre") x = this.norm("final_norm", x);
    x = this.norm("head.norm", map(this.linear("head.dense", x), this.act));
    return linear(x, this.tables().token, this.weights["head.output_bias"]);
  }
}
