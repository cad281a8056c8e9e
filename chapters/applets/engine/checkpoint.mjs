// SPDX-License-Identifier: MIT
/** The models of this book as their files hold them: weights, shape and vocabulary. */
import { CharTokenizer } from "./characters.mjs";
import { BERT, GPT } from "./models.mjs";
import { readSafetensors } from "./safetensors.mjs";
import { Subwords } from "./subwords.mjs";
import { T5 } from "./t5.mjs";

const MODELS = { GPT, BERT, T5 };

/**
 * Build the model that a safetensors file of this book holds.
 * @param {ArrayBuffer} buffer
 * @returns {{model: GPT|BERT|T5, tokenizer: CharTokenizer|Subwords, metadata: object}}
 * @throws {Error} The file is damaged or holds something else.
 */
export function readModel(buffer) {
  const { weights, metadata } = readSafetensors(buffer);
  const { model, options, tokenizer } = JSON.parse(metadata.pretrain);
  if (!(model in MODELS)) throw new Error(`expected GPT, BERT or T5, got ${model}`);
  return { model: new MODELS[model](weights, options), tokenizer: readTokenizer(tokenizer), metadata };
}

/** Build a tokeniser from what a file says of it. */
export function readTokenizer(state) {
  return state.model ? new Subwords(state) : new CharTokenizer(state);
}
