// A large array on a canvas: tiles are drawn as far as the window shows them.
import { Tables } from "./canvas_tables.js";

const PLAIN = ["#dde2e8", "#8a95a3", "#39424e", "#76818f"];

export class CanvasMap {
  // `chosen(tile)` is called when a tile is clicked; -1 stands for a place without one.
  constructor(canvas, data, { chosen = () => {} } = {}) {
    this.canvas = canvas;
    this.data = data;
    this.tables = new Tables(data);
    this.pen = canvas.getContext("2d");
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.chosen = chosen;
    this.view = { size: 8, x: 0, y: 0 };
    this.slot = null;
    this.picked = -1;
    this.traced = new Set();
    this.waiting = false;
    this.fitted = true;
    // Whether something at a flat cycle is at work, a text for an instance, and a colour over a tile; for the studio.
    this.active = null;
    this.valueOf = null;
    this.heatOf = null;
    this.dark.addEventListener("change", () => this.redraw());
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.listen();
    this.resize();
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

  show(slot, active = null) {
    this.slot = slot;
    this.active = active;
    this.redraw();
  }

  // -- view ---------------------------------------------------------------------------------------------------------

  fit() {
    this.fitted = true;
    const box = this.box;
    this.view.size = Math.max(2, Math.min(box.width / this.data.cols, box.height / this.data.rows));
    this.view.x = (this.data.cols - box.width / this.view.size) / 2;
    this.view.y = (this.data.rows - box.height / this.view.size) / 2;
    this.redraw();
  }

  resize() {
    this.box = this.canvas.getBoundingClientRect();
    this.canvas.width = Math.round(this.box.width * devicePixelRatio);
    this.canvas.height = Math.round(this.box.height * devicePixelRatio);
    // The whole array stays in view until the reader chooses a part of it.
    this.fitted ? this.fit() : this.redraw();
  }

  zoom(factor, x, y) {
    this.fitted = false;
    const view = this.view;
    const size = Math.max(2, Math.min(220, view.size * factor));
    view.x += x / view.size - x / size;
    view.y += y / view.size - y / size;
    view.size = size;
    this.redraw();
  }

  zoomMiddle(factor) {
    this.zoom(factor, this.box.width / 2, this.box.height / 2);
  }

  // Bring a tile into the window, in its middle where it is outside.
  reveal(tile) {
    const [, row, col] = this.data.tiles[tile];
    const { view, box } = this;
    const [x, y] = [(col - view.x) * view.size, (row - view.y) * view.size];
    if (x < 0 || y < 0 || x + view.size > box.width || y + view.size > box.height) {
      view.x = col + 0.5 - box.width / view.size / 2;
      view.y = row + 0.5 - box.height / view.size / 2;
    }
    this.redraw();
  }

  // -- drawing ------------------------------------------------------------------------------------------------------

  // What is the same for all tiles of one drawing: asking for it costs more than drawing a tile.
  mix() {
    const style = getComputedStyle(document.documentElement);
    this.ink = Object.fromEntries(
      ["--paper", "--ink", "--accent", "--rim"].map((name) => [name, style.getPropertyValue(name).trim()]),
    );
    const first = this.dark.matches ? 2 : 0;
    const pair = (shade) => shade.slice(first, first + 2);
    this.shades = new Map(Object.entries(this.data.shades).map(([kind, shade]) => [kind, pair(shade)]));
    this.plain = pair(PLAIN);
  }

  wireColour(signal) {
    return this.data.colours[signal % this.data.colours.length][this.dark.matches ? 1 : 0];
  }

  visible() {
    const { view, box, data } = this;
    const found = [];
    const lastRow = Math.min(data.rows - 1, Math.floor(view.y + box.height / view.size));
    const lastCol = Math.min(data.cols - 1, Math.floor(view.x + box.width / view.size));
    for (let row = Math.max(0, Math.floor(view.y)); row <= lastRow; row++) {
      for (let col = Math.max(0, Math.floor(view.x)); col <= lastCol; col++) {
        const tile = this.tables.tileAt.get(row * data.cols + col);
        if (tile !== undefined) {
          found.push([tile, (col - view.x) * view.size, (row - view.y) * view.size]);
        }
      }
    }
    return found;
  }

  draw() {
    const { pen, view } = this;
    this.mix();
    pen.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    pen.clearRect(0, 0, this.box.width, this.box.height);
    const shown = this.visible();
    for (const [tile, x, y] of shown) {
      this.drawTile(tile, x, y, view.size);
    }
    if (view.size > 12 || this.traced.size) {
      shown.forEach(([tile, x, y]) => this.drawWires(tile, x, y, view.size));
    }
  }

  drawTile(tile, x, y, size) {
    const { pen, ink } = this;
    const gap = size > 10 ? size * 0.14 : 0.5;
    const wide = size - 2 * gap;
    pen.fillStyle = (this.heatOf && this.heatOf(tile)) || ink["--paper"];
    pen.fillRect(x + gap, y + gap, wide, wide);
    const tall = wide / (this.slot === null ? this.data.ii : 1);
    for (const work of this.tables.contents(tile)) {
      if (this.slot === null || work[0] === this.slot) {
        this.drawWork(x + gap, y + gap + (this.slot === null ? work[0] * tall : 0), wide, tall, work, size);
      }
    }
    pen.globalAlpha = 1;
    if (tile === this.picked || size > 10) {
      pen.strokeStyle = tile === this.picked ? ink["--accent"] : ink["--rim"];
      pen.lineWidth = tile === this.picked ? 2.5 : 1;
      pen.strokeRect(x + gap, y + gap, wide, wide);
    }
  }

  drawWork(x, top, wide, tall, [, kind, caption, k, cycle], size) {
    const { pen } = this;
    const [fill, rim] = this.shades.get(kind) ?? this.plain;
    const idle = this.active !== null && !this.active(cycle);
    pen.globalAlpha = idle ? 0.25 : this.traced.size && !this.traced.has(k) ? 0.3 : 1;
    pen.fillStyle = size > 24 ? fill : rim;
    pen.fillRect(x, top, wide, tall);
    if (size > 44 && tall > 11) {
      pen.fillStyle = this.ink["--ink"];
      pen.font = `${Math.min(13, tall * 0.6)}px system-ui, sans-serif`;
      pen.textBaseline = "middle";
      const value = this.valueOf && !idle ? this.valueOf(k, kind, cycle) : null;
      pen.fillText(value === null ? caption : `${caption} = ${value}`, x + 4, top + tall / 2, wide - 8);
    }
  }

  drawWires(tile, x, y, size) {
    const { pen, data } = this;
    const [, row, col] = data.tiles[tile];
    for (const [, to, cycle, signal] of this.tables.wires[tile]) {
      const hot = this.traced.has(signal);
      const other = this.slot !== null && this.tables.slotOf(cycle) !== this.slot;
      if (other || (this.traced.size && !hot) || (size <= 12 && !hot) || (this.active && !this.active(cycle))) {
        continue;
      }
      let down = data.tiles[to][1] - row;
      let right = data.tiles[to][2] - col;
      // A link around the border is drawn as a stub that leaves the array.
      down = Math.abs(down) > 1 && data.wraps ? -Math.sign(down) : down;
      right = Math.abs(right) > 1 && data.wraps ? -Math.sign(right) : right;
      pen.strokeStyle = this.wireColour(signal);
      pen.lineWidth = hot ? Math.max(2, size / 14) : Math.max(1, size / 28);
      pen.beginPath();
      pen.moveTo(x + size / 2 + right * size * 0.2, y + size / 2 + down * size * 0.2);
      pen.lineTo(x + size / 2 + right * size * 0.78, y + size / 2 + down * size * 0.78);
      pen.stroke();
    }
  }

  // -- pointer and keys ---------------------------------------------------------------------------------------------

  tileUnder(event) {
    const box = this.canvas.getBoundingClientRect();
    const col = Math.floor(this.view.x + (event.clientX - box.left) / this.view.size);
    const row = Math.floor(this.view.y + (event.clientY - box.top) / this.view.size);
    const inside = row >= 0 && col >= 0 && row < this.data.rows && col < this.data.cols;
    return inside ? this.tables.tileAt.get(row * this.data.cols + col) ?? -1 : -1;
  }

  listen() {
    const { canvas, view } = this;
    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, y: event.clientY, moved: 0 };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (drag) {
        const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
        drag = { x: event.clientX, y: event.clientY, moved: drag.moved + Math.abs(dx) + Math.abs(dy) };
        view.x -= dx / view.size;
        view.y -= dy / view.size;
        this.redraw();
      }
    });
    canvas.addEventListener("pointerup", (event) => {
      const click = drag && drag.moved < 5;
      drag = null;
      if (click) {
        this.picked = this.tileUnder(event);
        this.traced = new Set();
        this.chosen(this.picked);
        this.redraw();
      }
    });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const box = canvas.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY / 400), event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const step = 60 / this.view.size;
    const move = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, -step], ArrowDown: [0, step] }[event.key];
    if (move) {
      event.preventDefault();
      this.view.x += move[0];
      this.view.y += move[1];
      this.redraw();
    } else if (event.key === "+" || event.key === "=") {
      this.zoomMiddle(1.3);
    } else if (event.key === "-") {
      this.zoomMiddle(1 / 1.3);
    } else if (event.key === "Escape") {
      this.picked = -1;
      this.traced = new Set();
      this.redraw();
    }
  }
}
