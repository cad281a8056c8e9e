// SPDX-License-Identifier: MIT
/**
 * Read a safetensors file: eight bytes with the length of a JSON header, the header, the numbers.
 *
 * Numbers of 32 and 16 bits are read as they are. Whole numbers of 8 bits belong to a companion
 * `NAME.scale` with one factor for each row, by which they are multiplied.
 */

/**
 * @param {ArrayBuffer} buffer The whole file.
 * @returns {{weights: Object<string, {data: Float32Array, shape: number[]}>, metadata: object}}
 * @throws {Error} The file is damaged or holds another kind of numbers.
 */
export function readSafetensors(buffer) {
  let header, start;
  try {
    start = 8 + Number(new DataView(buffer).getBigUint64(0, true));
    header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, start - 8)));
  } catch {
    throw new Error("expected a safetensors file, but its header cannot be read");
  }
  const { __metadata__: metadata = {}, ...entries } = header;
  const weights = {};
  for (const [name, { dtype, shape, data_offsets: [from, to] }] of Object.entries(entries)) {
    if (start + to > buffer.byteLength) {
      throw new Error(`expected ${start + to} bytes, got ${buffer.byteLength}: the file is cut`);
    }
    if (dtype === "I64") continue; // counters, of no use here
    weights[name] = { data: numbers(buffer.slice(start + from, start + to), dtype), shape };
  }
  rescale(weights);
  return { weights, metadata };
}

function numbers(bytes, dtype) {
  if (dtype === "F32") return new Float32Array(bytes);
  if (dtype === "F16") return Float32Array.from(new Uint16Array(bytes), fromHalf);
  if (dtype === "I8") return new Float32Array(new Int8Array(bytes));
  throw new Error(`expected numbers of type F32, F16 or I8, got ${dtype}`);
}

/** The value of a number of 16 bits: one for the sign, five for the exponent, ten for the rest. */
export function fromHalf(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const rest = bits & 0x3ff;
  if (exponent === 0) return sign * rest * 2 ** -24;
  if (exponent === 31) return rest ? NaN : sign * Infinity;
  return sign * (1 + rest / 1024) * 2 ** (exponent - 15);
}

function rescale(weights) {
  for (const name of Object.keys(weights).filter((key) => key.endsWith(".scale"))) {
    const { data } = weights[name.slice(0, -".scale".length)];
    const factors = weights[name].data;
    const width = data.length / factors.length;
    for (let row = 0; row < factors.length; row++) {
      for (let i = row * width; i < (row + 1) * width; i++) data[i] *= factors[row];
    }
    delete weights[name];
  }
}
