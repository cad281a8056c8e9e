// SPDX-License-Identifier: MIT
/** Attention weights as a picture: rows are queries, columns are keys, a dot means "may attend". */
import { h } from "./controls.mjs";

/**
 * Draw a matrix of weights from 0 to 1, with the tokens at both axes. A click chooses a query; what
 * the picture shows stands in words beside it, so that nobody needs to click.
 * @param {object} options
 * @param {string} options.name What the matrix is, for screen readers.
 * @param {string[]} options.tokens One for each row, and for each column.
 * @param {(t: number, s: number) => number} options.weight The weight of a cell.
 * @param {(t: number, s: number) => boolean} [options.isAllowed] Cells that are not stay empty.
 * @param {(t: number) => void} [options.onpick] Called when a query is chosen.
 * @param {string} options.colour Name of the CSS property with the colour of the weight 1.
 * @returns {HTMLCanvasElement} With a method `redraw(t)` that also marks a query.
 */
export function matrix({ name, tokens, weight, isAllowed = () => true, onpick, colour }) {
  const length = tokens.length;
  const cell = Math.max(8, Math.min(26, Math.floor(600 / (length + 1))));
  const side = (length + 1) * cell; // the first row and the first column hold the letters
  const canvas = h("canvas", { width: side, height: side, role: "img", "aria-label": name,
    style: { "max-width": "100%" } });
  let query = 0;
  canvas.redraw = (t = query) => {
    query = t;
    const paint = canvas.getContext("2d");
    const style = getComputedStyle(canvas);
    paint.clearRect(0, 0, side, side);
    paint.font = `${Math.round(0.8 * cell)}px monospace`;
    [paint.textAlign, paint.textBaseline] = ["center", "middle"];
    paint.fillStyle = style.color;
    tokens.forEach((token, i) => {
      const middle = (i + 1.5) * cell;
      paint.fillText(token, cell / 2, middle);
      paint.fillText(token, middle, cell / 2);
    });
    const inks = [style.getPropertyValue(colour), style.color];
    for (let row = 0; row < length; row++) {
      for (let s = 0; s < length; s++) {
        if (isAllowed(row, s)) paintCell(paint, (s + 1) * cell, (row + 1) * cell, cell, weight(row, s), inks);
      }
    }
    paint.strokeStyle = style.color;
    paint.lineWidth = 2;
    paint.strokeRect(1, (t + 1) * cell + 1, side - 2, cell - 2);
  };
  canvas.addEventListener("click", (event) => {
    const box = canvas.getBoundingClientRect();
    const row = Math.floor(((event.clientY - box.top) / box.height) * (length + 1)) - 1;
    onpick?.(Math.max(0, Math.min(length - 1, row)));
  });
  requestAnimationFrame(() => canvas.redraw());
  return canvas;
}

/** Colour for the weight, and a dot for the permission, which so does not rest on colour. */
function paintCell(paint, x, y, size, weight, [ink, grey]) {
  paint.globalAlpha = weight;
  paint.fillStyle = ink;
  paint.fillRect(x, y, size - 1, size - 1);
  paint.globalAlpha = 0.5;
  paint.fillStyle = grey;
  const dot = Math.max(2, Math.round(size / 8));
  paint.fillRect(x + (size - dot) / 2, y + (size - dot) / 2, dot, dot);
  paint.globalAlpha = 1;
}
