// SPDX-License-Identifier: MIT
/**
 * Let work that takes a while follow a reader who does not wait: while one piece is under way, of
 * those that are asked for meanwhile only the last is done.
 * @param {() => Promise<void>} work
 * @returns {() => Promise<void>} Asks for the work; settled when nothing is left to do.
 */
export function latest(work) {
  let isWanted = false;
  let running = null;
  const runAll = async () => {
    try {
      while (isWanted) {
        isWanted = false;
        await work();
      }
    } finally {
      running = null;
    }
  };
  return () => {
    isWanted = true;
    running ??= runAll();
    return running;
  };
}
