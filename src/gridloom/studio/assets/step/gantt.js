// Tiles over cycles: which tile issues what, in which iteration, as far as the window shows it.
import { make } from "../../drawing/dom.js";
import { Chart, hue } from "./chart.js";
import { issueFields } from "./trace.js";

const { NODE, TILE, SLOT, STAGE, KIND, LATENCY } = issueFields;
const [LEFT, TOP, TALL] = [96, 20, 20];

export class Gantt {
  // `chosen(cycle, tile, node)` is called when a cell is clicked.
  constructor(scene, chosen) {
    this.scene = scene;
    this.chosen = chosen;
    this.run = null;
    this.cycle = null;
    this.node = -1;
    this.first = 0;
    this.top = 0;
    this.canvas = make("canvas", { id: "gantt", tabindex: "0", role: "img", "aria-label": "Tiles over cycles" });
    this.element = make("div", { class: "chart" }, this.canvas);
    this.chart = new Chart(this.canvas, (pen, page) => this.draw(pen, page));
    this.canvas.addEventListener("click", (event) => this.click(event));
    this.canvas.addEventListener("wheel", (event) => this.scroll(event), { passive: false });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  show(run, cycle) {
    if (run !== this.run) {
      this.run = run;
      this.tiles = run.head.kind === "clocked" ? [...run.byTile.keys()].sort((a, b) => a - b) : run.head.units.map((_, u) => u);
      this.canvas.style.height = `${Math.min(360, TOP + TALL * Math.min(this.tiles.length, 16) + 6)}px`;
    }
    this.cycle = cycle;
    this.wide = Math.max(14, Math.min(46, (this.canvas.clientWidth - LEFT) / Math.max(1, run.last + 1)));
    const shown = Math.floor((this.canvas.clientWidth - LEFT) / this.wide);
    if (cycle !== null && (cycle < this.first || cycle >= this.first + shown)) {
      this.first = Math.max(0, cycle - Math.floor(shown / 3));
    }
    this.chart.redraw();
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const cycle = this.first + Math.floor((event.clientX - box.left - LEFT) / this.wide);
    const line = this.top + Math.floor((event.clientY - box.top - TOP) / TALL);
    return { cycle, tile: this.tiles[line] };
  }

  click(event) {
    const { cycle, tile } = this.at(event);
    if (tile === undefined || cycle < 0 || cycle > this.run.last) {
      return;
    }
    if (this.run.head.kind !== "clocked") {
      this.chosen(cycle, this.run.head.units[tile][0], this.run.head.units[tile][1]);
      return;
    }
    const issue = this.run.byTile.get(tile).find((k) => this.run.firing(k, cycle) >= 0);
    this.chosen(cycle, tile, issue === undefined ? -1 : this.run.head.issues[issue][NODE]);
  }

  scroll(event) {
    event.preventDefault();
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
    sideways ? this.move(Math.sign(event.deltaX || event.deltaY) * 3, 0) : this.move(0, Math.sign(event.deltaY) * 2);
  }

  key(event) {
    const move = { ArrowLeft: [-2, 0], ArrowRight: [2, 0], ArrowUp: [0, -2], ArrowDown: [0, 2] }[event.key];
    if (move) {
      event.preventDefault();
      event.stopPropagation();
      this.move(...move);
    }
  }

  move(cycles, lines) {
    this.first = Math.max(0, Math.min(this.run.last, this.first + cycles));
    this.top = Math.max(0, Math.min(Math.max(0, this.tiles.length - 4), this.top + lines));
    this.chart.redraw();
  }

  draw(pen, page) {
    if (!this.run) {
      return;
    }
    const last = Math.min(this.run.last, this.first + Math.ceil((page.width - LEFT) / this.wide));
    const lines = Math.ceil((page.height - TOP) / TALL);
    this.frame(pen, page, last);
    for (let line = 0; line < lines && this.top + line < this.tiles.length; line++) {
      const y = TOP + line * TALL;
      const tile = this.tiles[this.top + line];
      pen.fillStyle = page.ink("soft");
      pen.textAlign = "right";
      pen.fillText(this.label(tile), LEFT - 8, y + TALL / 2, LEFT - 10);
      this.run.head.kind === "clocked"
        ? this.drawTile(pen, page, tile, y, last)
        : this.drawUnit(pen, page, tile, y, last);
    }
  }

  label(tile) {
    return this.run.head.kind === "clocked" ? this.scene.tiles[tile] : this.scene.nodes[this.run.head.units[tile][1]];
  }

  frame(pen, page, last) {
    pen.clearRect(0, 0, page.width, page.height);
    pen.textAlign = "center";
    const step = this.wide < 24 ? 5 : 1;
    for (let cycle = this.first; cycle <= last; cycle++) {
      const x = LEFT + (cycle - this.first) * this.wide;
      if (cycle === this.cycle) {
        pen.fillStyle = page.ink("accent");
        pen.globalAlpha = 0.16;
        pen.fillRect(x, 0, this.wide, page.height);
        pen.globalAlpha = 1;
      }
      if (cycle % step === 0) {
        pen.fillStyle = page.ink(cycle === this.cycle ? "accent" : "soft");
        pen.fillText(String(cycle), x + this.wide / 2, TOP / 2);
      }
    }
  }

  drawTile(pen, page, tile, y, last) {
    for (const k of this.run.byTile.get(tile)) {
      const issue = this.run.head.issues[k];
      const from = Math.max(0, Math.ceil((this.first - issue[SLOT]) / this.run.head.ii) - issue[STAGE]);
      for (let firing = from; firing < this.run.head.iterations; firing++) {
        const cycle = this.run.cycleOf(k, firing);
        if (cycle > last) {
          break;
        }
        const x = LEFT + (cycle - this.first) * this.wide;
        pen.fillStyle = hue(firing, page.dark, issue[KIND] === 0 ? 1 : 0.45);
        pen.fillRect(x + 0.5, y + 1, this.wide - 1, TALL - 2);
        if (issue[LATENCY] > 1) {
          pen.fillRect(x + this.wide, y + TALL - 5, (issue[LATENCY] - 1) * this.wide, 3);
        }
        if (issue[NODE] === this.node && this.node >= 0) {
          pen.strokeStyle = page.ink("accent");
          pen.lineWidth = 2;
          pen.strokeRect(x + 1.5, y + 2, this.wide - 3, TALL - 4);
        }
        if (this.wide > 26) {
          pen.fillStyle = page.ink("ink");
          pen.textAlign = "center";
          pen.fillText(this.scene.nodes[issue[NODE]] ?? "move", x + this.wide / 2, y + TALL / 2, this.wide - 4);
        }
      }
    }
  }

  drawUnit(pen, page, unit, y, last) {
    const colours = { busy: page.ink("good"), starved: page.ink("open"), stalled: page.ink("bad"), done: page.ink("rim") };
    for (let moment = this.first; moment <= last; moment++) {
      const state = this.run.state(unit, moment);
      pen.globalAlpha = state === "done" ? 0.3 : 0.75;
      pen.fillStyle = colours[state];
      pen.fillRect(LEFT + (moment - this.first) * this.wide + 0.5, y + 2, this.wide - 1, TALL - 4);
    }
    pen.globalAlpha = 1;
  }
}
