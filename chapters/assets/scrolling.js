// SPDX-License-Identifier: MIT
// Boxes that scroll sideways can be reached by keyboard, also those that were folded at first.
//
// The theme looks at such boxes once, when the page opens; a box inside a fold has no width then
// and would stay out of reach. Here each box is looked at whenever its size changes.
(() => {
  const BOXES = "pre, .cell_output > .output, .pst-scrollable-table-container, .formula";
  const CONTROLS = "a[href]:not(.headerlink), button, input, select, textarea, summary, [tabindex='0']";

  /** Put a box among the stops of the Tab key if it scrolls and holds no stop of its own. */
  function update(box) {
    const scrolls = box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight;
    if (scrolls && !box.querySelector(CONTROLS)) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }

  const observer = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      for (const box of [target, target.parentElement]) if (box?.matches(BOXES)) update(box);
    }
  });
  document.addEventListener("DOMContentLoaded", () => {
    for (const box of document.querySelectorAll(BOXES)) {
      observer.observe(box);
      if (box.firstElementChild) observer.observe(box.firstElementChild);
    }
  });
})();
