// SPDX-License-Identifier: MIT
/**
 * Fetch the models and the data of the applets, once each.
 *
 * From a server the files are fetched. A page that was opened from a disk may not fetch; there a
 * script beside each file holds the same bytes as text (see `start.js`, which sets `ptBook`).
 * Both are zipped.
 */
import { readModel } from "../engine/checkpoint.mjs";
import { download, notLoaded, unzip } from "../engine/zipped.mjs";

const requests = new Map();

/**
 * Get a file of the folder `models/`.
 * @param {string} name Such as "gpt_chars.safetensors".
 * @returns {Promise<ArrayBuffer>}
 * @throws {Error} It cannot be had; the message says so in words for a reader. A later call tries
 *   again.
 */
export function getFile(name) {
  if (!requests.has(name)) {
    const { root, version } = globalThis.ptBook;
    const isLocal = location.protocol === "file:";
    const content = isLocal ? readScript(`${name}.gz`) : download(`${root}models/${name}.gz${version}`);
    const request = content.catch((error) => {
      requests.delete(name);
      throw notLoaded(name, error);
    });
    requests.set(name, request);
  }
  return requests.get(name);
}

async function readScript(name) {
  const { root, version, files } = globalThis.ptBook;
  await new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = `${root}models/${name}.js${version}`;
    script.onload = resolve;
    script.onerror = () => reject(new Error("it is not beside the page"));
    document.head.append(script);
  });
  const text = atob(files[name]);
  delete files[name];
  return unzip(new Blob([Uint8Array.from(text, (c) => c.charCodeAt(0))]).stream());
}

/**
 * Get a trained model that runs in the page itself; `open-model.mjs` has those that run beside it.
 * @param {string} name Such as "gpt_chars".
 * @returns {Promise<{model: GPT|BERT|T5, tokenizer: CharTokenizer|Subwords, metadata: object}>}
 * @throws {Error} As getFile, or the file is damaged.
 */
export async function getModel(name) {
  return readModel(await getFile(`${name}.safetensors`));
}

/** Get a data file of the folder `models/`, such as "games.json". */
export async function getJson(name) {
  return JSON.parse(new TextDecoder().decode(await getFile(name)));
}
