// SPDX-License-Identifier: MIT
/** Longer work in pieces: between them the page answers its reader, and old work is dropped. */
export class Turns {
  constructor() {
    this.current = 0;
  }

  /**
   * Begin new work; older work is then over.
   * @returns {() => Promise<boolean>} Waits until the page had time for its reader, and says
   *   whether the work has become old.
   */
  begin() {
    this.current += 1;
    const own = this.current;
    return async () => {
      await new Promise((resolve) => { setTimeout(resolve); });
      return own !== this.current;
    };
  }

  /** End all work. */
  end() {
    this.current += 1;
  }
}
