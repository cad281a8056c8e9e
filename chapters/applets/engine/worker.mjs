// SPDX-License-Identifier: MIT
/** The worker in which the models run, so that the page never waits for them. */
import { Tasks } from "./tasks.mjs";

const tasks = new Tasks();

self.addEventListener("message", async ({ data: { number, call } }) => {
  try {
    self.postMessage({ number, result: await tasks.run(...call) });
  } catch (error) {
    self.postMessage({ number, error: error.message });
  }
});
