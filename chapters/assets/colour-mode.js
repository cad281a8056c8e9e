// SPDX-License-Identifier: MIT
// The switch of the colours says which of its three states it is in.
document.addEventListener("DOMContentLoaded", () => {
  const NAMES = { auto: "automatic", dark: "dark", light: "light" };
  const page = document.documentElement;

  function name() {
    const text = `Colour mode: ${NAMES[page.dataset.mode] ?? NAMES.auto}`;
    for (const button of document.querySelectorAll(".theme-switch-button")) {
      button.setAttribute("aria-label", text);
      button.dataset.bsTitle = text;
      window.bootstrap?.Tooltip?.getInstance(button)?.setContent({ ".tooltip-inner": text });
    }
  }

  new MutationObserver(name).observe(page, { attributeFilter: ["data-mode"] });
  name();
});
