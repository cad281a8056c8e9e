// SPDX-License-Identifier: MIT
/**
 * Paper is light: a page that is read on a dark screen prints with the light theme's colours, for
 * browsers leave out grounds when they print, and light letters on white paper cannot be read.
 */
(() => {
  "use strict";
  const page = document.documentElement;
  let theme = "";

  addEventListener("beforeprint", () => {
    theme = page.dataset.theme;
    page.dataset.theme = "light";
  });
  addEventListener("afterprint", () => {
    page.dataset.theme = theme;
  });
})();
