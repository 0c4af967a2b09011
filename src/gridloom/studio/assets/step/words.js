// Words of 64 bits as the simulator has them, and as a reader wants to see them.

const view = new DataView(new ArrayBuffer(4));

// Little-endian 64-bit words, read as two halves: numbers of JavaScript are exact up to 53 bits only.
export class Words {
  constructor(buffer) {
    this.halves = new Int32Array(buffer);
    this.length = this.halves.length / 2;
  }

  low(k) {
    return this.halves[2 * k];
  }

  high(k) {
    return this.halves[2 * k + 1];
  }
}

// A word that was never driven: it begins with 5EED and carries the number of a row or an issue.
export function isPoison(low, high, most) {
  return high >>> 16 === 0x5eed && (((high & 0xffff) << 4) | (low >>> 28)) < most;
}

export function wordText(domain, low, high) {
  if (domain === "f32") {
    view.setInt32(0, low);
    return numberText(view.getFloat32(0));
  }
  if (domain === "i32" || domain === "cma24") {
    return String(low);
  }
  return `…${(low >>> 8).toString(16).padStart(6, "0")}`;
}

// A number with at most seven digits, as short as it can be written.
export function numberText(value) {
  return Number.isFinite(value) ? String(Number(value.toPrecision(7))) : String(value);
}

export function fromBase64(text) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let k = 0; k < raw.length; k++) {
    bytes[k] = raw.charCodeAt(k);
  }
  return bytes.buffer;
}
