// SPDX-License-Identifier: MIT
/**
 * Trained models that a worker loads and runs, one worker for all applets of a page.
 *
 * Where a page cannot have one (opened from a disk, or an old browser) the same tasks run in the page.
 */
import { readTokenizer } from "../engine/checkpoint.mjs";
import { Tasks } from "../engine/tasks.mjs";
import { getFile } from "./files.mjs";

const opened = new Map();
const waiting = new Map(); // calls that the worker has not answered, by number
let worker; // null: there is none
let hasAnswered = false;
let nCalls = 0;
let ownTasks;

/**
 * Get a trained model.
 * @param {string} name Such as "gpt_plays".
 * @returns {Promise<{name: string, tokenizer: object, maxLength: number, ask: Function}>}
 *   `ask(task, ...args)` runs a function of `engine/tasks.mjs` on the model and promises its result.
 * @throws {Error} Its file cannot be had, in words for a reader; a later call tries again.
 */
export function openModel(name) {
  if (!opened.has(name)) {
    opened.set(name, load(name).catch((error) => {
      opened.delete(name);
      throw error;
    }));
  }
  return opened.get(name);
}

async function load(name) {
  const { tokenizer, maxLength } = await send("load", name);
  return { name, maxLength, tokenizer: readTokenizer(tokenizer),
    ask: (task, ...args) => send(task, name, ...args) };
}

/** Let a task run, in the worker if there is one. */
function send(...call) {
  if (worker === undefined) worker = hire();
  if (!worker) return runHere(call);
  return new Promise((resolve, reject) => {
    nCalls += 1;
    waiting.set(nCalls, { call, resolve, reject });
    worker.postMessage({ number: nCalls, call });
  });
}

function hire() {
  const { root, version } = globalThis.ptBook;
  if (location.protocol === "file:" || !globalThis.Worker) return null;
  const hired = new Worker(`${root}engine/worker.mjs${version}`, { type: "module" });
  hired.addEventListener("message", ({ data: { number, result, error } }) => {
    const { resolve, reject } = waiting.get(number);
    waiting.delete(number);
    hasAnswered = true;
    if (error === undefined) resolve(result);
    else reject(new Error(error));
  });
  hired.addEventListener("error", () => {
    if (!hasAnswered) worker = null; // it cannot run here at all
    for (const [number, { call, resolve, reject }] of waiting) {
      waiting.delete(number);
      if (hasAnswered) reject(new Error("The model stopped."));
      else runHere(call).then(resolve, reject);
    }
  });
  return hired;
}

async function runHere(call) {
  await new Promise((resolve) => { setTimeout(resolve); }); // the page first draws that it is busy
  ownTasks ??= new Tasks(getFile);
  return ownTasks.run(...call);
}
