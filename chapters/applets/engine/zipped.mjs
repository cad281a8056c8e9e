// SPDX-License-Identifier: MIT
/** Files that the book serves zipped, in the page as in the worker. */

/**
 * Download a file and unzip it while it comes in.
 * @param {string} address
 * @returns {Promise<ArrayBuffer>}
 * @throws {Error} The server has it not.
 */
export async function download(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  return unzip(answer.body);
}

/** Unzip a stream; an ArrayBuffer. */
export function unzip(zipped) {
  return new Response(zipped.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

/** What a reader is told about a file that cannot be had. */
export function notLoaded(name, error) {
  return new Error(`The file ${name} could not be loaded (${error.message}).`);
}
