// SPDX-License-Identifier: MIT
/**
 * What a page lets the models do: each task takes a loaded model and plain data, and gives plain
 * data, so that it can run in a worker as well as in the page.
 */
import { CountReader } from "./arithmetic-coding.mjs";
import { readModel } from "./checkpoint.mjs";
import { bertGuesses, bertInfill, gptInfill, t5Account, t5Answer, t5Infill } from "./infill.mjs";
import { GPT } from "./models.mjs";
import { T5 } from "./t5.mjs";
import { bertView, gptView, t5View } from "./views.mjs";
import { askGaps } from "./word-gaps.mjs";
import { Reader } from "./writing.mjs";

const TASKS = {
  /** GPT: the scores (V,) of what comes after the ids. */
  next: (loaded, ids) => {
    loaded.reader ??= new Reader(loaded.model);
    return loaded.reader.scores(ids);
  },

  /** GPT: counts for every place of the ids, from which an arithmetic coder cuts its intervals. */
  counts: (loaded, ids) => {
    loaded.counter ??= new CountReader(loaded);
    return loaded.counter.read(ids);
  },

  /** BERT: a distribution for each of several hidden places. */
  guess: ({ model, tokenizer }, ids, places) => bertGuesses(model, ids, places, tokenizer),

  /** Any: what it writes into gaps, and what the truth costs it. */
  infill: ({ model, tokenizer }, ids, gaps) => {
    if (model instanceof GPT) return gptInfill(model, ids, gaps);
    return (model instanceof T5 ? t5Infill : bertInfill)(model, ids, gaps, tokenizer);
  },

  /** Any: what it may see when it is asked for the first gap, and where its last layer looks. */
  view: (loaded, ids, gaps) => {
    if (loaded.model instanceof GPT) return gptView(loaded, ids, gaps);
    return (loaded.model instanceof T5 ? t5View : bertView)(loaded, ids, gaps);
  },

  /** GPT or BERT: the attention weights (H, T, T) of each layer. */
  attention: ({ model }, ids) => {
    const trace = [];
    model.forward(ids, { trace });
    return trace;
  },

  /** T5: its exercise, the bits of each token, and its answer step by step. */
  account: ({ model, tokenizer }, ids, gaps) => t5Account(model, ids, gaps, tokenizer),

  /** T5: what it writes for a text. */
  answer: ({ model, tokenizer }, ids, most) => t5Answer(model, ids, most, tokenizer),

  /** Any, on subwords: its guesses for hidden words of a text, and what a reader's words get. */
  words: (loaded, ...question) => askGaps(loaded, ...question),
};

/** Loaded models, and what is asked of them. */
export class Tasks {
  /** @param {(name: string) => Promise<ArrayBuffer>} getFile Gets a file such as "gpt_plays.safetensors". */
  constructor(getFile) {
    this.getFile = getFile;
    this.models = new Map();
  }

  /**
   * Run a task.
   * @param {string} task "load", or a name of TASKS.
   * @param {string} name Of the model.
   * @param {...*} args What the task takes beside the model; "load" takes nothing.
   */
  run(task, name, ...args) {
    if (task === "load") return this.load(name);
    return TASKS[task](this.models.get(name), ...args);
  }

  async load(name) {
    const loaded = readModel(await this.getFile(`${name}.safetensors`));
    this.models.set(name, loaded);
    const { tokenizer } = JSON.parse(loaded.metadata.pretrain);
    return { tokenizer, maxLength: loaded.model.maxLength };
  }
}
