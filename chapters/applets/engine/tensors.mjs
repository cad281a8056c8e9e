// SPDX-License-Identifier: MIT
/**
 * The arithmetic that a Transformer needs, on plain arrays.
 *
 * A tensor is `{data, shape}`: numbers row by row, and the lengths of the axes. Weights have the
 * layout of PyTorch: a linear layer's matrix is (outputs, inputs). Sums are taken in 64 bits and
 * stored in 32.
 */

/**
 * Make a tensor of zeros.
 * @param {...number} shape Lengths of the axes.
 * @returns {{data: Float32Array, shape: number[]}}
 */
export function zeros(...shape) {
  return { data: new Float32Array(shape.reduce((a, b) => a * b, 1)), shape };
}

/**
 * Apply a linear layer, x W^T + b.
 * @param x (T, I).
 * @param weight (O, I).
 * @param bias (O,), or undefined.
 * @returns (T, O).
 */
export function linear(x, weight, bias) {
  const [nRows, nIn] = x.shape;
  const [nOut, expected] = weight.shape;
  if (nIn !== expected) throw new Error(`expected rows of ${expected} numbers, got ${nIn}`);
  const out = zeros(nRows, nOut);
  const [rows, columns, results] = [x.data, weight.data, out.data];
  const even = nIn - (nIn % 4);
  for (let o = 0; o < nOut; o++) {
    for (let t = 0; t < nRows; t++) {
      const a = t * nIn;
      const b = o * nIn;
      let sum = bias ? bias.data[o] : 0;
      let second = 0;
      let third = 0;
      let fourth = 0;
      for (let i = 0; i < even; i += 4) { // four sums at once: none waits for another
        sum += rows[a + i] * columns[b + i];
        second += rows[a + i + 1] * columns[b + i + 1];
        third += rows[a + i + 2] * columns[b + i + 2];
        fourth += rows[a + i + 3] * columns[b + i + 3];
      }
      for (let i = even; i < nIn; i++) sum += rows[a + i] * columns[b + i];
      results[t * nOut + o] = sum + second + third + fourth;
    }
  }
  return out;
}

/** Add two tensors of one shape, number by number. */
export function add(x, y) {
  return { data: x.data.map((value, i) => value + y.data[i]), shape: x.shape };
}

/** Apply a function of one number to every number of a tensor. */
export function map(x, f) {
  return { data: x.data.map((value) => f(value)), shape: x.shape };
}

/**
 * Give every row mean 0 and variance 1, then stretch and shift each column.
 * @param x (T, D).
 * @param weight (D,).
 * @param bias (D,).
 * @param {number} eps Added to the variance.
 * @returns (T, D).
 */
export function layerNorm(x, weight, bias, eps) {
  return mapRows(x, (row) => {
    const mean = row.reduce((a, b) => a + b, 0) / row.length;
    const variance = row.reduce((a, b) => a + (b - mean) ** 2, 0) / row.length;
    const scale = 1 / Math.sqrt(variance + eps);
    return row.map((value, i) => (value - mean) * scale * weight.data[i] + bias.data[i]);
  });
}

/**
 * Divide every row by the root of its mean square, then stretch each column: the norm of T5.
 * @param x (T, D).
 * @param weight (D,).
 * @param {number} eps Added to the mean square.
 * @returns (T, D).
 */
export function rmsNorm(x, weight, eps) {
  return mapRows(x, (row) => {
    const meanSquare = row.reduce((a, b) => a + b * b, 0) / row.length;
    const scale = 1 / Math.sqrt(meanSquare + eps);
    return row.map((value, i) => value * scale * weight.data[i]);
  });
}

function mapRows(x, f) {
  const out = zeros(...x.shape);
  const width = x.shape[1];
  for (let t = 0; t < x.shape[0]; t++) {
    out.data.set(f(x.data.subarray(t * width, (t + 1) * width)), t * width);
  }
  return out;
}

/** The rectifier of T5. */
export function relu(x) {
  return Math.max(0, x);
}

/** GELU, exactly: x times the share of a normal distribution that lies below x. */
export function gelu(x) {
  return (x / 2) * (1 + erf(x / Math.SQRT2));
}

/**
 * The error function, by a series of positive terms: 2 / sqrt(pi) e^(-x^2) times
 * x + 2 x^3 / 3 + 4 x^5 / (3 * 5) + 8 x^7 / (3 * 5 * 7) + ...
 */
export function erf(x) {
  if (Math.abs(x) > 6) return Math.sign(x); // nearer to 1 than numbers of 64 bits can say
  let term = x;
  let sum = x;
  for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

/**
 * Turn scores into probabilities.
 * @param {ArrayLike<number>} scores One row; minus infinity gives 0.
 * @returns {Float64Array} Sums to 1, or all 0 when every score is minus infinity.
 */
export function softmax(scores) {
  const best = Math.max(...scores);
  const weights = Float64Array.from(scores, (s) => (best === -Infinity ? 0 : Math.exp(s - best)));
  const total = weights.reduce((a, b) => a + b, 0);
  return total ? weights.map((w) => w / total) : weights;
}

/** Row t of a (T, D) tensor, as a view. */
export function row(x, t) {
  const width = x.shape[1];
  const at = t < 0 ? x.shape[0] + t : t;
  return x.data.subarray(at * width, (at + 1) * width);
}
