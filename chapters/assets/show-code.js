// SPDX-License-Identifier: MIT
// One switch a page for the code that is folded (of figures, tables and imports), remembered.
(() => {
  const FOLDS = "article details.hide";
  const KEY = "show-code";

  /** What the reader chose last; nothing where the browser keeps nothing. */
  function remembered() {
    try {
      return localStorage.getItem(KEY) === "yes";
    } catch {
      return false;
    }
  }

  document.addEventListener("DOMContentLoaded", () => {
    const folds = [...document.querySelectorAll(FOLDS)];
    const button = document.querySelector("article button.show-code");
    if (!button) return;

    function show(open) {
      for (const fold of folds) fold.open = open;
      button.dataset.open = String(open);
      button.textContent = open ? "Hide folded code" : "Show folded code";
    }

    button.addEventListener("click", () => {
      const open = button.dataset.open !== "true";
      show(open);
      try {
        localStorage.setItem(KEY, open ? "yes" : "no");
      } catch {
        // The switch works all the same, for this page.
      }
    });
    if (remembered()) show(true);
  });
})();
