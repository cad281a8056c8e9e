// SPDX-License-Identifier: MIT
/**
 * Three models fill the gaps of one text, and are asked what the truth costs them.
 *
 * A text is a list of ids; a gap is [start, end) in it; the gaps are in order and do not touch.
 * GPT reads only what stands left of a place, and is told how long each gap is by being stopped.
 * BERT reads both sides with one [MASK] for each hidden place. T5 reads both sides with one
 * sentinel for each gap, and itself says where the gap ends. The Python forms are in
 * `pretrain_lab.scoring`, `pretrain.evaluation` and `pretrain.generation`.
 */
import { meanOverHeads } from "./attention.mjs";
import { best, bits } from "./sampling.mjs";
import { row, softmax } from "./tensors.mjs";

/**
 * Join hidden places to gaps.
 * @param {Iterable<number>} places In any order.
 * @returns {[number, number][]} Start and end of each, end excluded.
 */
export function gapsOf(places) {
  const gaps = [];
  for (const place of [...places].sort((a, b) => a - b)) {
    if (gaps.length && gaps.at(-1)[1] === place) gaps.at(-1)[1] = place + 1;
    else gaps.push([place, place + 1]);
  }
  return gaps;
}

/** All places of the gaps, from left to right. */
export function placesOf(gaps) {
  return gaps.flatMap(([start, end]) => Array.from({ length: end - start }, (_, i) => start + i));
}

/** Id of the highest score; ids for which `isBarred` holds do not count. */
export function likeliest(scores, isBarred = () => false) {
  let found = -1;
  scores.forEach((score, id) => {
    if (!isBarred(id) && (found < 0 || score > scores[found])) found = id;
  });
  return found;
}

const distribution = (logits, t) => softmax(row(logits, t));

/**
 * GPT: the left side alone.
 * @param {GPT} model
 * @param {number[]} ids The true text; no gap at its start.
 * @param {[number, number][]} gaps
 * @returns {{answers: number[][], first: Float64Array, costs: number[]}} What it writes into each
 *   gap, always the likeliest, its own answers before in view; its distribution for the first
 *   hidden place; the bits of each hidden id, the true ones before in view.
 */
export function gptInfill(model, ids, gaps) {
  const logits = model.forward(ids.slice(0, gaps.at(-1)[1] - 1));
  const costs = placesOf(gaps).map((t) => bits(distribution(logits, t - 1)[ids[t]]));
  const first = distribution(logits, gaps[0][0] - 1);
  const cache = model.makeCache();
  let done = 0;
  let unread = [];
  const answers = gaps.map(([start, end]) => {
    unread.push(...ids.slice(done, start));
    done = end;
    return placesOf([[start, end]]).map(() => {
      const scores = row(model.forward(unread, { cache }), -1);
      unread = [likeliest(scores)];
      return unread[0];
    });
  });
  return { answers, first, costs };
}

function masked(ids, places, maskId) {
  const hidden = new Set(places);
  return ids.map((id, t) => (hidden.has(t) ? maskId : id));
}

/**
 * BERT: one mask after the other from left to right, the later ones still masked. The costs are
 * those of the true ids with the true ones before in view, so their sum is the price of all.
 * @param {BERT} model
 * @param {number[]} ids The true text.
 * @param {[number, number][]} gaps
 * @param {object} tokenizer With [MASK].
 * @returns {{answers: number[][], first: Float64Array, costs: number[]}} As of `gptInfill`.
 */
export function bertInfill(model, ids, gaps, tokenizer) {
  const places = placesOf(gaps);
  const truth = masked(ids, places, tokenizer.id("[MASK]"));
  const written = truth.slice();
  const costs = [];
  let first;
  for (const t of places) {
    const probs = distribution(model.forward(truth), t);
    first ??= probs;
    costs.push(bits(probs[ids[t]]));
    const isSame = truth.every((id, s) => id === written[s]); // then one pass serves both
    const own = isSame ? probs : row(model.forward(written), t);
    written[t] = likeliest(own, (id) => tokenizer.isSpecial(id));
    truth[t] = ids[t];
  }
  return { answers: gaps.map(([start, end]) => written.slice(start, end)), first, costs };
}

/**
 * BERT: what it expects at each of several masks, all hidden at once.
 * @param {BERT} model
 * @param {number[]} ids
 * @param {number[]} places
 * @param {object} tokenizer With [MASK].
 * @returns {Float64Array[]} A distribution for each place.
 */
export function bertGuesses(model, ids, places, tokenizer) {
  const logits = model.forward(masked(ids, places, tokenizer.id("[MASK]")));
  return places.map((t) => distribution(logits, t));
}

/**
 * T5's exercise: what the encoder reads and what the decoder should write, as
 * `pretrain.span_corruption.corrupt_given_spans` has it.
 * @param {number[]} ids The true text.
 * @param {[number, number][]} gaps At most one fewer than there are sentinels.
 * @param {object} tokenizer With <extra_id_0>, <extra_id_1> ... and perhaps </s>.
 * @returns {{inputs: number[], targets: number[]}}
 * @throws {Error} More gaps than sentinels.
 */
export function spanTask(ids, gaps, tokenizer) {
  const sentinel = (n) => tokenizer.id(`<extra_id_${n}>`);
  if (sentinel(gaps.length) === undefined) {
    throw new Error(`expected fewer gaps than there are sentinels, got ${gaps.length}`);
  }
  const end = tokenizer.id("</s>") === undefined ? [] : [tokenizer.id("</s>")];
  const inputs = [];
  const targets = [];
  let done = 0;
  gaps.forEach(([start, stop], n) => {
    inputs.push(...ids.slice(done, start), sentinel(n));
    targets.push(sentinel(n), ...ids.slice(start, stop));
    done = stop;
  });
  return {
    inputs: [...inputs, ...ids.slice(done), ...end],
    targets: [...targets, sentinel(gaps.length), ...end],
  };
}

/**
 * T5: both sides, and it is not told how long a gap is.
 * @param {T5} model
 * @param {number[]} ids The true text, in ids of T5's own tokeniser.
 * @param {[number, number][]} gaps
 * @param {object} tokenizer
 * @returns {{answers: number[][], first: Float64Array, costs: number[], ends: number,
 *   written: number[]}} As of `gptInfill`; `ends` are the bits of the sentinels and the end, which
 *   say where the gaps end; `written` is all that the decoder wrote.
 */
export function t5Infill(model, ids, gaps, tokenizer) {
  const { inputs, targets } = spanTask(ids, gaps, tokenizer);
  const states = model.encode(inputs);
  const start = tokenizer.id("[PAD]");
  const logits = model.decode([start, ...targets.slice(0, -1)], states);
  const prices = targets.map((id, t) => bits(distribution(logits, t)[id]));
  const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
  const written = t5Steps(model, states, { start, most: 2 * targets.length + 8,
    ends: endsOf(gaps, tokenizer) }).map(({ id }) => id);
  return {
    answers: gaps.map((_, n) => writtenInto(written, tokenizer.id(`<extra_id_${n}>`), tokenizer)),
    first: distribution(logits, 1), // after the first sentinel
    costs: prices.filter((_, t) => !tokenizer.isSpecial(targets[t])),
    ends: sum(prices.filter((_, t) => tokenizer.isSpecial(targets[t]))),
    written,
  };
}

/** The ids after which T5 has filled these gaps: the sentinel behind the last one, and the end. */
export function endsOf(gaps, tokenizer) {
  return [tokenizer.id(`<extra_id_${gaps.length}>`), tokenizer.id("</s>")];
}

/**
 * Let T5's decoder write, always the likeliest id.
 * @param {T5} model
 * @param states (S, D), from encode.
 * @param {{start: number, most: number, ends: number[]}} limits Id that it starts from, most ids to
 *   write, and ids that end it.
 * @returns {{id: number, probs: Float64Array, looks: Float64Array}[]} For each step what it wrote,
 *   the distribution, and where its last layer looked in the input, mean over the heads.
 */
export function t5Steps(model, states, { start, most, ends }) {
  const cache = model.makeCache();
  const steps = [];
  let unread = start;
  while (steps.length < most && !(steps.length && ends.includes(unread))) {
    const trace = { self: [], cross: [] };
    const probs = softmax(row(model.decode([unread], states, { cache, trace }), -1));
    unread = likeliest(probs);
    steps.push({ id: unread, probs, looks: meanOverHeads(trace.cross.at(-1), 0) });
  }
  return steps;
}

/**
 * T5's exercise and its own answer, step by step.
 * @param {T5} model
 * @param {number[]} ids The true text.
 * @param {[number, number][]} gaps
 * @param {object} tokenizer
 * @returns {{inputs: number[], targets: number[], costs: number[], steps: object[]}} The pair, the
 *   bits of each id of the target, and the steps as `{id, guesses, looks}`, with the six likeliest.
 */
export function t5Account(model, ids, gaps, tokenizer) {
  const { inputs, targets } = spanTask(ids, gaps, tokenizer);
  const states = model.encode(inputs);
  const start = tokenizer.id("[PAD]");
  const logits = model.decode([start, ...targets.slice(0, -1)], states);
  const steps = t5Steps(model, states, { start, most: 2 * targets.length + 8,
    ends: endsOf(gaps, tokenizer) });
  return { inputs, targets, costs: targets.map((id, t) => bits(distribution(logits, t)[id])),
    steps: steps.map(({ id, probs, looks }) => ({ id, guesses: best(probs, 6), looks })) };
}

/**
 * T5's answer to a text, always the likeliest id, without its end.
 * @param {T5} model
 * @param {number[]} ids The text in ids of T5's own tokeniser, without an end.
 * @param {number} most Most ids to write, the end included.
 * @param {object} tokenizer
 * @returns {number[]}
 */
export function t5Answer(model, ids, most, tokenizer) {
  const end = tokenizer.id("</s>");
  const steps = t5Steps(model, model.encode([...ids, end]), { start: tokenizer.id("[PAD]"), most, ends: [end] });
  return steps.map(({ id }) => id).filter((id) => id !== end);
}

/** The ids that stand behind a sentinel, up to the next special id. */
export function writtenInto(written, sentinel, tokenizer) {
  const after = written.indexOf(sentinel) + 1;
  if (!after) return [];
  const length = written.slice(after).findIndex((id) => tokenizer.isSpecial(id));
  return written.slice(after, length < 0 ? undefined : after + length);
}
