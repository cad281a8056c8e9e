// SPDX-License-Identifier: MIT
/** Attention weights as a picture that can be walked through: rows are queries, columns are keys. */
import { h } from "./controls.mjs";

/**
 * Draw a matrix of weights from 0 to 1. A click, or the arrow keys, choose a cell.
 * @param {object} options
 * @param {string} options.name What the matrix is, for screen readers.
 * @param {number[]} options.shape Number of rows T and of columns S.
 * @param {(t: number, s: number) => number} options.weight The weight of a cell.
 * @param {(t: number, s: number) => boolean} [options.isAllowed] Cells that are not get a cross.
 * @param {(t: number, s: number) => void} [options.onpick] Called when a cell is chosen.
 * @param {string} [options.colour] CSS colour of the weight 1.
 * @returns {HTMLCanvasElement} With a method `redraw(t, s)` that also marks a chosen cell.
 */
export function matrix({ name, shape: [nRows, nColumns], weight, isAllowed, onpick, colour }) {
  const cell = Math.max(4, Math.min(24, Math.floor(560 / Math.max(nRows, nColumns))));
  const canvas = h("canvas", {
    width: nColumns * cell, height: nRows * cell, tabindex: "0", role: "img", "aria-label": name,
    style: { "max-width": "100%", "image-rendering": "pixelated" },
  });
  let chosen = [0, 0];
  canvas.redraw = (t = chosen[0], s = chosen[1]) => {
    chosen = [t, s];
    const paint = canvas.getContext("2d");
    const style = getComputedStyle(canvas);
    const ink = colour?.startsWith("--") ? style.getPropertyValue(colour) : colour ?? style.color;
    paint.clearRect(0, 0, canvas.width, canvas.height);
    for (let i = 0; i < nRows; i++) {
      for (let j = 0; j < nColumns; j++) {
        paintCell(paint, j * cell, i * cell, cell, weight(i, j), ink, style.color,
          !isAllowed || isAllowed(i, j));
      }
    }
    paint.globalAlpha = 1;
    paint.strokeStyle = style.color;
    paint.lineWidth = 2;
    paint.strokeRect(1, t * cell + 1, canvas.width - 2, cell - 2);
    paint.strokeRect(s * cell + 1, t * cell + 1, cell - 2, cell - 2);
  };
  const pick = (t, s) => {
    chosen = [Math.max(0, Math.min(nRows - 1, t)), Math.max(0, Math.min(nColumns - 1, s))];
    canvas.redraw();
    onpick?.(...chosen);
  };
  canvas.addEventListener("click", (event) => {
    const box = canvas.getBoundingClientRect();
    pick(Math.floor(((event.clientY - box.top) / box.height) * nRows),
      Math.floor(((event.clientX - box.left) / box.width) * nColumns));
  });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (!(event.key in step)) return;
    event.preventDefault();
    pick(chosen[0] + step[event.key][0], chosen[1] + step[event.key][1]);
  });
  requestAnimationFrame(() => canvas.redraw());
  return canvas;
}

function paintCell(paint, x, y, size, weight, ink, grey, isAllowed) {
  paint.globalAlpha = isAllowed ? 0.04 + 0.96 * weight : 0.25;
  paint.fillStyle = isAllowed ? ink : grey;
  if (isAllowed) {
    paint.fillRect(x, y, size - 1, size - 1);
  } else {
    const middle = size / 2; // a small dot, so that "may not look" does not rest on colour
    paint.fillRect(x + middle - 1, y + middle - 1, 2, 2);
  }
}
