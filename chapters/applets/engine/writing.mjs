// SPDX-License-Identifier: MIT
/**
 * A GPT that writes one token at a time, and can take each of them back.
 *
 * The context follows `pretrain.generation.generate`: once the text is longer than the model can
 * read, the older half of the context is dropped, and the rest is read again from position 0.
 */
import { best, randomNumbers } from "./sampling.mjs";
import { row, softmax } from "./tensors.mjs";

/**
 * Say where the context begins.
 * @param {number} length Tokens of the whole text.
 * @param {number} limit Most tokens that the model reads.
 * @returns {number} Tokens that are no longer read.
 */
export function contextStart(length, limit) {
  if (length <= limit) return 0;
  const stride = limit + 1 - Math.ceil(limit / 2); // what each overflow drops
  return stride * Math.ceil((length - limit) / stride);
}

/**
 * Give the steps of a text a number each, fixed by a seed: taking a step back and doing it again
 * meets the same number.
 * @param {number} seed A whole number.
 * @returns {(n: number) => number} The number in [0, 1) of step n, from 0.
 */
export function numberOfStep(seed) {
  const next = randomNumbers(seed);
  const drawn = [];
  return (n) => {
    while (drawn.length <= n) drawn.push(next());
    return drawn[n];
  };
}

/**
 * Lay the probabilities end to end on the line from 0 to 1, the likeliest first.
 * @param {ArrayLike<number>} probs V numbers that sum to 1.
 * @returns {{id: number, from: number, to: number}[]} What is not 0.
 */
export function layOut(probs) {
  let from = 0;
  return best(probs, probs.length).filter(({ probability }) => probability).map(
    ({ id, probability }) => {
      const part = { id, from, to: from + probability };
      from = part.to;
      return part;
    });
}

/** The part of the line in which a number falls. */
export function fallsInto(parts, number) {
  return parts.find(({ to }) => number < to) ?? parts.at(-1); // the sum may fall short of 1
}

export class Writer {
  /**
   * @param {object} model A GPT.
   * @param {number[]} prompt 1 to `model.maxLength` ids.
   * @param {number} nSpecial The first ids, which are no text and are never written.
   */
  constructor(model, prompt, nSpecial) {
    this.model = model;
    this.prompt = prompt;
    this.nSpecial = nSpecial;
    this.path = [];
    this.readContext();
  }

  /** All ids, those of the prompt and those written. */
  get ids() {
    return [...this.prompt, ...this.path.map(({ id }) => id)];
  }

  /** How many ids at the beginning are no longer read. */
  get nForgotten() {
    return contextStart(this.prompt.length + this.path.length, this.model.maxLength);
  }

  /** Mean cost of the written tokens under the model, in bits; NaN when there are none. */
  get meanBits() {
    return this.path.reduce((sum, step) => sum - Math.log2(step.probability), 0) / this.path.length;
  }

  /**
   * Write a token and read it.
   * @param {number} id
   * @param {object} [about] What else to note about this step.
   */
  add(id, about = {}) {
    const { logits, probs, nForgotten } = this;
    const rank = 1 + probs.filter((p) => p > probs[id]).length;
    this.path.push({ ...about, id, rank, probability: probs[id], logits });
    if (this.nForgotten === nForgotten) this.read([id]);
    else this.readContext();
  }

  /** Take the last written token back; the distribution and the cache are those before it. */
  undo() {
    if (!this.path.length) return;
    const { nForgotten } = this;
    const { logits } = this.path.pop();
    if (this.nForgotten !== nForgotten) {
      this.readContext();
      return;
    }
    for (const layer of this.cache) layer.cut(layer.length - 1);
    this.look(logits);
  }

  /** Read all of the context anew. */
  readContext() {
    this.cache = this.model.makeCache();
    this.read(this.ids.slice(this.nForgotten));
  }

  read(ids) {
    const logits = Float32Array.from(row(this.model.forward(ids, { cache: this.cache }), -1));
    this.look(logits.fill(-Infinity, 0, this.nSpecial));
  }

  /** Take scores, (V,), as those of the next token. */
  look(logits) {
    this.logits = logits;
    this.probs = softmax(logits);
  }
}
