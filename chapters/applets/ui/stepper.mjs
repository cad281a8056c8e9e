// SPDX-License-Identifier: MIT
/** Walk from stop 0 to the last one, with a pause after each; a new start or stop() ends a walk. */
export function stepper(last, pause, show) {
  let walk = null;
  return {
    stop: () => { walk = null; },
    start: async () => {
      const own = walk = {};
      for (let stop = 0; stop <= last && walk === own; stop++) {
        show(stop);
        await new Promise((resolve) => { setTimeout(resolve, pause); });
      }
    },
  };
}
