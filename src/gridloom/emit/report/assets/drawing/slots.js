// A picture of an array over time: one panel for each slot, or one picture whose parts light up.
import { numbers } from "./dom.js";

const move = (item, x, y) => item.setAttribute("transform", `translate(${x} ${y})`);

export class SlotView {
  constructor(array, line) {
    this.array = array;
    this.line = line;
    this.svg = array.querySelector("svg");
    this.panels = line.unit === "slot" ? [...array.querySelectorAll(".panel[data-slot]")] : [];
    this.rows = [...array.querySelectorAll(".row[data-slot]")];
    this.timed = [...array.querySelectorAll("[data-c]")].map((item) => ({ item, cycles: numbers(item.dataset.c) }));
    this.wholeBox = this.svg.getAttribute("viewBox");
    this.shown = null;
    this.last = () => this.show(null);
    this.remember();
  }

  // What a part does at a moment: "on", "past" or nothing.
  activity(cycles, now) {
    if (this.line.unit === "slot") {
      return cycles.some((cycle) => cycle % this.line.ii === now) ? "on" : "";
    }
    if (cycles.includes(now)) {
      return "on";
    }
    return cycles.some((cycle) => cycle < now) ? "past" : "";
  }

  // Show a moment of one iteration; null shows everything.
  show(now) {
    this.last = () => this.show(now);
    const all = now === null;
    this.paint(all ? null : now, all ? null : (cycles) => this.activity(cycles, now), this.panels.length === 0);
  }

  // Show a slot with an activity of the caller's own; `fading` dims what is not active.
  showActive(slot, activity, fading = true) {
    this.last = () => this.showActive(slot, activity, fading);
    this.paint(slot, activity, fading);
  }

  paint(now, activity, fading) {
    const all = now === null;
    this.shown = now;
    this.array.classList.toggle("stepping", !all && fading);
    for (const { item, cycles } of this.timed) {
      const kind = activity === null ? "" : activity(cycles, item);
      item.classList.toggle("on", kind === "on");
      item.classList.toggle("past", kind === "past");
    }
    let box = this.wholeBox;
    for (const panel of this.panels) {
      const mine = Number(panel.dataset.slot) === now;
      panel.classList.toggle("off", !all && !mine);
      if (mine) {
        box = panel.dataset.box;
      }
    }
    for (const row of this.rows) {
      row.classList.toggle("on", !all && Number(row.dataset.slot) === now % this.line.ii);
    }
    this.frame(box);
  }

  frame(box) {
    const [, , width, height] = numbers(box);
    this.svg.setAttribute("viewBox", box);
    this.svg.setAttribute("width", width);
    this.svg.setAttribute("height", height);
  }

  // -- slots below each other on a narrow window --------------------------------------------------------------------

  remember() {
    this.broad = {
      box: this.wholeBox,
      panels: this.panels.map((panel) => [panel.dataset.box, panel.getAttribute("transform")]),
      keys: [...this.svg.querySelectorAll(":scope > g:not(.panel)")].map((key) => [key, key.getAttribute("transform")]),
    };
    this.paper = this.svg.querySelector(":scope > .paper");
    const narrow = matchMedia("(max-width: 600px)");
    const arrange = () => {
      if (this.panels.length > 1) {
        narrow.matches ? this.stack() : this.spread();
        this.last();
      }
    };
    narrow.addEventListener("change", arrange);
    arrange();
  }

  spread() {
    this.panels.forEach((panel, k) => {
      [panel.dataset.box] = this.broad.panels[k];
      panel.setAttribute("transform", this.broad.panels[k][1]);
    });
    this.broad.keys.forEach(([key, place]) => key.setAttribute("transform", place));
    this.wholeBox = this.broad.box;
  }

  stack() {
    const [, top] = numbers(this.broad.box);
    const [, , width, height] = numbers(this.broad.panels[0][0]);
    this.panels.forEach((panel, k) => {
      const [x, y] = numbers(this.broad.panels[k][0]);
      const [left, above] = this.broad.panels[k][1].match(/-?[\d.]+/g).map(Number);
      move(panel, left - x, above - y + top + k * height);
      panel.dataset.box = `0 ${top + k * height} ${width} ${height}`;
    });
    let [x, y] = [12, top + this.panels.length * height + 14];
    for (const [key] of this.broad.keys) {
      const room = key.getBBox().width + 18;
      if (x > 12 && x + room > width) {
        [x, y] = [12, y + 22];
      }
      move(key, x, y);
      x += room;
    }
    this.wholeBox = `0 ${top} ${width} ${y + 16 - top}`;
    this.paper.setAttribute("height", Math.max(Number(this.paper.getAttribute("height")), y + 16));
  }
}
