// A canvas that draws itself anew when its size or the colours change, with the colours of the page.

export class Chart {
  constructor(canvas, draw) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d");
    this.paint = draw;
    this.waiting = false;
    new ResizeObserver(() => this.redraw()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
  }

  redraw() {
    if (!this.waiting) {
      this.waiting = true;
      requestAnimationFrame(() => {
        this.waiting = false;
        this.draw();
      });
    }
  }

  draw() {
    const box = this.canvas.getBoundingClientRect();
    if (!box.width) {
      return;
    }
    this.canvas.width = Math.round(box.width * devicePixelRatio);
    this.canvas.height = Math.round(box.height * devicePixelRatio);
    this.pen.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    const style = getComputedStyle(document.documentElement);
    const ink = (name) => style.getPropertyValue(`--${name}`).trim();
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    this.pen.font = "11px system-ui, sans-serif";
    this.pen.textBaseline = "middle";
    this.paint(this.pen, { width: box.width, height: box.height, ink, dark });
  }
}

// About five round numbers within a range; whole ones where `whole` says that the values are.
export function ticks(low, high, whole) {
  const rough = (high - low) / 5 || 1;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(whole ? 1 : 0, [1, 2, 5, 10].map((part) => part * size).find((one) => one >= rough * 0.999));
  const first = Math.ceil(low / step);
  return Array.from({ length: Math.max(0, Math.floor(high / step) - first + 1) }, (_, k) => Number(((first + k) * step).toPrecision(12)));
}

// A colour for a number, far from those of its neighbours.
export const hue = (number, dark, strength = 1) =>
  `hsl(${(number * 137.5) % 360} ${dark ? 45 : 62}% ${dark ? 34 : 78}% / ${strength})`;
