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

/** A GPT that remembers what it read: of a text that continues it only the rest is read. */
export class Reader {
  /** @param {GPT} model */
  constructor(model) {
    this.model = model;
    this.cache = model.makeCache();
    this.ids = [];
  }

  /**
   * Score what may come next.
   * @param {number[]} ids 1 to `maxLength` ids.
   * @returns {Float32Array} V scores.
   */
  scores(ids) {
    let known = 0;
    while (known < ids.length - 1 && ids[known] === this.ids[known]) known += 1;
    for (const layer of this.cache) layer.cut(known);
    this.ids = ids.slice();
    return row(this.model.forward(ids.slice(known), { cache: this.cache }), -1).slice();
  }
}

export class Writer {
  /**
   * @param {(ids: number[]) => Promise<Float32Array>} ask Scores what comes after some ids.
   * @param {number} limit Most ids that it reads.
   * @param {number[]} prompt At least one id.
   * @param {number} nSpecial The first ids, which are no text and are never written.
   */
  constructor(ask, limit, prompt, nSpecial) {
    Object.assign(this, { ask, limit, prompt, nSpecial });
    this.path = [];
  }

  /** All ids, those of the prompt and those written. */
  get ids() {
    return [...this.prompt, ...this.path.map(({ id }) => id)];
  }

  /** How many ids at the beginning are no longer read. */
  get nForgotten() {
    return contextStart(this.prompt.length + this.path.length, this.limit);
  }

  /** Mean cost of the written tokens under the model, in bits; NaN when there are none. */
  get meanBits() {
    return this.path.reduce((sum, step) => sum - Math.log2(step.probability), 0) / this.path.length;
  }

  /** Read the context: from then on `logits` and `probs`, (V,), are those of the next token. */
  async read() {
    this.look(await this.ask(this.ids.slice(this.nForgotten)));
    return this;
  }

  /**
   * Write a token and read on.
   * @param {number} id
   * @param {object} [about] What else to note about this step.
   */
  async add(id, about = {}) {
    const { logits, probs } = this;
    const rank = 1 + probs.filter((p) => p > probs[id]).length;
    this.path.push({ ...about, id, rank, probability: probs[id], logits });
    await this.read();
  }

  /** Take written tokens back, down to a number of steps; the distribution is that before them. */
  backTo(nSteps) {
    if (nSteps >= this.path.length) return;
    this.look(this.path[nSteps].logits);
    this.path.length = nSteps;
  }

  /** Take scores, (V,), as those of the next token. */
  look(logits) {
    this.logits = Float32Array.from(logits).fill(-Infinity, 0, this.nSpecial);
    this.probs = softmax(this.logits);
  }
}
