// A waveform: the results of chosen nodes over cycles, one line for each.
import { make } from "../../drawing/dom.js";
import { Chart } from "./chart.js";
import { issueFields } from "./trace.js";

const { NODE, KIND, LATENCY } = issueFields;
const [LEFT, TOP, TALL, WIDE] = [96, 20, 24, 44];

export class Waves {
  constructor(scene) {
    this.scene = scene;
    this.run = null;
    this.cycle = null;
    this.first = 0;
    this.shown = [];
    this.canvas = make("canvas", { id: "waves", role: "img", "aria-label": "Waveform of the chosen nodes" });
    this.list = make("div", { class: "chips", role: "group", "aria-label": "Signals of the waveform" });
    this.element = make("div", { class: "chart" }, this.list, this.canvas);
    this.chart = new Chart(this.canvas, (pen, page) => this.draw(pen, page));
  }

  show(run, cycle) {
    if (run.head.kind !== "clocked") {
      this.element.hidden = true;
      return;
    }
    if (run !== this.run) {
      this.run = run;
      this.begin();
    }
    this.cycle = cycle;
    const room = Math.floor((this.canvas.clientWidth - LEFT) / WIDE);
    if (cycle !== null && (cycle < this.first || cycle >= this.first + room)) {
      this.first = Math.max(0, cycle - Math.floor(room / 3));
    }
    this.chart.redraw();
  }

  // The last few operations of the graph are shown at first: its results are among them.
  begin() {
    const ops = this.run.head.issues.filter((issue) => issue[KIND] === 0).map((issue) => issue[NODE]);
    this.shown = this.shown.length ? this.shown : [...new Set(ops)].sort((a, b) => a - b).slice(-6);
    this.offer();
  }

  toggle(node) {
    this.shown = this.shown.includes(node) ? this.shown.filter((other) => other !== node) : [...this.shown, node];
    this.offer();
    this.chart.redraw();
  }

  offer() {
    this.list.replaceChildren(...this.shown.map((node) => make("button", {
      type: "button", class: "chip", title: "Take it out of the waveform", onclick: () => this.toggle(node),
    }, `${this.scene.nodes[node]} ×`)));
    this.canvas.style.height = `${TOP + TALL * Math.max(1, this.shown.length) + 4}px`;
  }

  draw(pen, page) {
    if (!this.run) {
      return;
    }
    pen.clearRect(0, 0, page.width, page.height);
    const last = Math.min(this.run.last, this.first + Math.ceil((page.width - LEFT) / WIDE));
    pen.textAlign = "center";
    for (let cycle = this.first; cycle <= last; cycle++) {
      pen.fillStyle = page.ink(cycle === this.cycle ? "accent" : "soft");
      pen.fillText(String(cycle), LEFT + (cycle - this.first + 0.5) * WIDE, TOP / 2);
      if (cycle === this.cycle) {
        pen.globalAlpha = 0.16;
        pen.fillRect(LEFT + (cycle - this.first) * WIDE, 0, WIDE, page.height);
        pen.globalAlpha = 1;
      }
    }
    this.shown.forEach((node, line) => this.drawLine(pen, page, node, TOP + line * TALL, last));
  }

  // The value of a node in a cycle: its last result that is there.
  valueAt(node, cycle) {
    const issue = this.run.issueOf.get(`${node}/0`);
    if (issue === undefined) {
      return null;
    }
    const record = this.run.head.issues[issue];
    const firing = Math.floor((cycle - record[LATENCY] - this.run.cycleOf(issue, 0)) / this.run.head.ii);
    return firing < 0 ? null : this.run.result(issue, Math.min(firing, this.run.head.iterations - 1));
  }

  drawLine(pen, page, node, y, last) {
    pen.fillStyle = page.ink("soft");
    pen.textAlign = "right";
    pen.fillText(this.scene.nodes[node], LEFT - 8, y + TALL / 2, LEFT - 10);
    let begin = this.first;
    for (let cycle = this.first; cycle <= last; cycle++) {
      const value = this.valueAt(node, cycle);
      if (cycle === last || this.valueAt(node, cycle + 1) !== value) {
        this.drawSpan(pen, page, value, begin, cycle + 1, y);
        begin = cycle + 1;
      }
    }
  }

  drawSpan(pen, page, value, begin, end, y) {
    const [x, width] = [LEFT + (begin - this.first) * WIDE, (end - begin) * WIDE];
    pen.strokeStyle = page.ink(value === null ? "rim" : "accent");
    pen.lineWidth = 1.2;
    pen.beginPath();
    if (value === null) {
      pen.moveTo(x, y + TALL / 2);
      pen.lineTo(x + width, y + TALL / 2);
      pen.stroke();
      return;
    }
    const [top, bottom, middle] = [y + 4, y + TALL - 4, y + TALL / 2];
    pen.moveTo(x, middle);
    pen.lineTo(x + 4, top);
    pen.lineTo(x + width - 4, top);
    pen.lineTo(x + width, middle);
    pen.lineTo(x + width - 4, bottom);
    pen.lineTo(x + 4, bottom);
    pen.closePath();
    pen.stroke();
    pen.fillStyle = page.ink("ink");
    pen.textAlign = "center";
    pen.fillText(value, x + width / 2, middle, width - 8);
  }
}
