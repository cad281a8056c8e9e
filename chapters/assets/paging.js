// SPDX-License-Identifier: MIT
// The arrow keys turn pages while nothing has the focus: fields, applets and boxes keep theirs.
addEventListener("keydown", (event) => {
  const side = { ArrowLeft: "prev", ArrowRight: "next" }[event.key];
  const isBusy = event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey;
  if (!side || isBusy || document.activeElement !== document.body) return;
  if (document.querySelector("dialog[open]") || document.querySelector(".preview:not([hidden])")) return;
  document.querySelector(`a.turn-page[rel=${side}]`)?.click();
});
