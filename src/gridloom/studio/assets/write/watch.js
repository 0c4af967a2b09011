// A search as it goes: its cost over time, the II under trial, and where nodes are and signals compete.
import { make } from "../../drawing/dom.js";
import { Chart } from "../step/chart.js";

export class Watch {
  constructor(job) {
    this.job = job;
    this.frames = [];
    this.canvas = make("canvas", { class: "cost", role: "img", "aria-label": "cost of the search over time" });
    this.grid = make("canvas", { class: "interim", role: "img", "aria-label": "where the nodes are now" });
    this.words = make("p", { class: "phase", "aria-live": "off" });
    this.cost = new Chart(this.canvas, (pen, page) => this.drawCost(pen, page));
    this.tiles = new Chart(this.grid, (pen, page) => this.drawTiles(pen, page));
    this.element = make("div", { class: "watch" }, this.words, this.canvas, this.grid);
  }

  add(frame) {
    this.frames.push(frame);
    if (this.frames.length > 600) {
      this.frames = this.frames.filter((_, k) => k % 2 === 0);
    }
    const doing = frame.compiling ? "compiling kernels" : frame.phase;
    const cost = frame.cost === undefined ? "" : ` · cost ${Number(frame.cost.toPrecision(4))}`;
    this.words.textContent = `${frame.seconds.toFixed(1)} s · ${doing}${cost}${frame.best ? ` · best: ${frame.best}` : ""}`;
    this.cost.redraw();
    this.tiles.redraw();
  }

  drawCost(pen, page) {
    pen.clearRect(0, 0, page.width, page.height);
    const rows = this.frames.filter((frame) => frame.cost !== undefined);
    if (!rows.length) {
      return;
    }
    const time = Math.max(0.1, ...rows.map(({ seconds }) => seconds));
    const most = Math.max(1, ...rows.map(({ cost }) => cost));
    const at = ({ seconds, cost }) => [6 + (seconds / time) * (page.width - 12), page.height - 6 - (cost / most) * (page.height - 12)];
    pen.strokeStyle = page.ink("accent");
    pen.lineWidth = 1.4;
    pen.beginPath();
    rows.forEach((row, k) => (k ? pen.lineTo(...at(row)) : pen.moveTo(...at(row))));
    pen.stroke();
    for (const row of rows) {
      const [x, y] = at(row);
      pen.fillStyle = page.ink(row.legal ? "good" : "bad");
      pen.beginPath();
      pen.arc(x, y, 2.6, 0, 7);
      pen.fill();
    }
  }

  // Tiles by the row and column in their names, shaded by the nodes on them; contested ones are red.
  drawTiles(pen, page) {
    pen.clearRect(0, 0, page.width, page.height);
    const frame = [...this.frames].reverse().find(({ placed }) => placed);
    if (!frame) {
      return;
    }
    const count = new Map();
    const hot = new Set(frame.congested.map((name) => name.split(/[.>]/)[0]));
    Object.values(frame.placed).forEach((tile) => count.set(tile, (count.get(tile) ?? 0) + 1));
    const cells = [...new Set([...count.keys(), ...hot])].map((tile) => [tile, ...(tile.match(/\d+/g) ?? []).slice(-2).map(Number)]).filter((cell) => cell.length === 3);
    const rows = Math.max(1, ...cells.map(([, row]) => row + 1));
    const cols = Math.max(1, ...cells.map(([, , col]) => col + 1));
    const size = Math.min((page.width - 4) / cols, (page.height - 4) / rows);
    const most = Math.max(1, ...count.values());
    for (const [tile, row, col] of cells) {
      pen.globalAlpha = hot.has(tile) ? 0.9 : 0.25 + (0.6 * (count.get(tile) ?? 0)) / most;
      pen.fillStyle = page.ink(hot.has(tile) ? "bad" : "accent");
      pen.fillRect(2 + col * size, 2 + row * size, Math.max(1, size - 2), Math.max(1, size - 2));
    }
    pen.globalAlpha = 1;
  }
}
