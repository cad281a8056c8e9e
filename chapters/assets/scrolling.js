// SPDX-License-Identifier: MIT
// The stops of the Tab key in a text, and boxes that scroll sideways.
//
// A box that really scrolls can be reached by keyboard, also one that was folded at first, and it
// fades at the edge behind which there is more. The theme looks at such boxes once, when the page
// opens. Marks beside headings and buttons that copy are for the mouse: they are no stops.
(() => {
  const BOXES =
    "pre, div.highlight, .cell_output > .output, .pst-scrollable-table-container, .formula";
  const CONTROLS = "a[href]:not(.headerlink), button:not(.copybtn), input, select, textarea, summary, [tabindex='0']";
  const FOR_THE_MOUSE = ".headerlink, .copybtn";
  const SLACK = 2; // pixels that are no reason to scroll

  /** Whether a box holds more than it shows, in a direction in which it scrolls. */
  function scrolls(box) {
    if (box.scrollWidth > box.clientWidth + SLACK) return true;
    const isTall = box.scrollHeight > box.clientHeight + SLACK;
    return isTall && getComputedStyle(box).overflowY !== "hidden";
  }

  /** Say at which edges there is more. */
  function showEdges(box) {
    const hidden = box.scrollWidth - box.clientWidth;
    box.classList.toggle("more-left", hidden > SLACK && box.scrollLeft > SLACK);
    box.classList.toggle("more-right", hidden > SLACK && box.scrollLeft < hidden - SLACK);
  }

  /** Put a box among the stops of the Tab key if it scrolls and holds no stop of its own. */
  function update(box) {
    if (scrolls(box) && !box.querySelector(CONTROLS)) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
    showEdges(box);
  }

  const observer = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      for (const box of [target, target.parentElement]) if (box?.matches(BOXES)) update(box);
    }
  });
  document.addEventListener("DOMContentLoaded", () => {
    for (const box of document.querySelectorAll(`article :is(${BOXES})`)) {
      observer.observe(box);
      if (box.firstElementChild) observer.observe(box.firstElementChild);
      box.addEventListener("scroll", () => showEdges(box), { passive: true });
    }
  });
  addEventListener("load", () => {
    for (const one of document.querySelectorAll(FOR_THE_MOUSE)) one.tabIndex = -1;
  });
})();
