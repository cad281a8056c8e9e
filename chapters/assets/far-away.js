// SPDX-License-Identifier: MIT
// Sections far from what the reader sees cost nothing: the browser neither styles nor lays them out.
//
// Whatever changes the whole page, such as a dialog or the colour mode, otherwise styles thousands
// of elements anew at each press. A section that is left out keeps its height, so nothing moves.
(() => {
  const SECTIONS = ".bd-article section > section";
  const NEAR = "100% 0px"; // a window's height above and below the window

  const watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting, boundingClientRect } of entries) {
      if (isIntersecting || !boundingClientRect.height) continue; // 0: its parent is left out
      target.style.containIntrinsicBlockSize = `auto ${boundingClientRect.height}px`;
      target.classList.add("can-be-far"); // from now on the browser itself sees to it
      watcher.unobserve(target);
    }
  }, { rootMargin: NEAR });

  addEventListener("load", () => {
    for (const section of document.querySelectorAll(SECTIONS)) watcher.observe(section);
  });
})();
