// SPDX-License-Identifier: MIT
/** Pictures that can be dragged across. What a pointer does here, a slider beside does by keyboard. */

/**
 * Report where a pointer presses and moves.
 * @param {HTMLElement} box Holds the picture, which may be drawn anew meanwhile.
 * @param {(x: number, y: number) => void} report Called with the place, as shares of the picture's
 *   width and height.
 */
export function onDrag(box, report) {
  const tell = (event) => {
    const { left, top, width, height } = box.firstElementChild.getBoundingClientRect();
    report((event.clientX - left) / width, (event.clientY - top) / height);
  };
  box.style.touchAction = "pan-y";
  box.style.cursor = "pointer";
  box.addEventListener("pointerdown", (event) => {
    box.setPointerCapture(event.pointerId);
    tell(event);
  });
  box.addEventListener("pointermove", (event) => {
    if (box.hasPointerCapture(event.pointerId)) tell(event);
  });
}
