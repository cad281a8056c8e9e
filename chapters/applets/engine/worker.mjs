// SPDX-License-Identifier: MIT
/** The worker in which models are loaded and run, so that the page never waits for them. */
import { Tasks } from "./tasks.mjs";
import { download, notLoaded } from "./zipped.mjs";

const { search: version } = new URL(import.meta.url);
const tasks = new Tasks((name) => download(new URL(`../models/${name}.gz${version}`, import.meta.url)).catch(
  (error) => { throw notLoaded(name, error); }));

self.addEventListener("message", async ({ data: { number, call } }) => {
  try {
    self.postMessage({ number, result: await tasks.run(...call) });
  } catch (error) {
    self.postMessage({ number, error: error.message });
  }
});
