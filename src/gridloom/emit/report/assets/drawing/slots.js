// A picture of an array over time: one panel for each slot, or one picture whose parts light up.
import { numbers } from "./dom.js";

const move = (item, x, y) => item.setAttribute("transform", `translate(${x} ${y})`);

export class SlotView {
  // `strip`: one slot is large, and the others stand below it.
  constructor(array, line, { strip = false } = {}) {
    this.array = array;
    this.line = line;
    this.svg = array.querySelector("svg");
    this.panels = line.unit === "slot" ? [...array.querySelectorAll(".panel[data-slot]")] : [];
    this.rows = [...array.querySelectorAll(".row[data-slot]")];
    this.timed = [...array.querySelectorAll("[data-c]")].map((item) => ({ item, cycles: numbers(item.dataset.c) }));
    this.wholeBox = this.svg.getAttribute("viewBox");
    this.shown = null;
    this.strip = strip && this.panels.length > 2;
    this.large = 0;
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
    const row = this.strip && !this.narrow.matches;
    if (row) {
      this.feature(all ? this.large : this.panels.findIndex((panel) => Number(panel.dataset.slot) === now));
    }
    let box = this.wholeBox;
    for (const panel of this.panels) {
      const mine = Number(panel.dataset.slot) === now;
      panel.classList.toggle("off", !all && !mine && !row);
      if (mine && !row) {
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
    this.narrow = matchMedia("(max-width: 600px)");
    const arrange = () => {
      if (this.panels.length > 1) {
        this.narrow.matches ? this.stack() : this.spread();
        this.last();
      }
    };
    this.narrow.addEventListener("change", arrange);
    arrange();
  }

  spread() {
    this.panels.forEach((panel, k) => {
      [panel.dataset.box] = this.broad.panels[k];
      panel.setAttribute("transform", this.broad.panels[k][1]);
      panel.classList.remove("thumb");
    });
    this.broad.keys.forEach(([key, place]) => key.setAttribute("transform", place));
    this.wholeBox = this.broad.box;
  }

  stack() {
    const [, top] = numbers(this.broad.box);
    const [, , width, height] = numbers(this.broad.panels[0][0]);
    this.panels.forEach((panel, k) => this.put(panel, k, 0, top + k * height));
    this.placeKeys(top + this.panels.length * height, width);
  }

  // One slot large, all slots small at its right; its own place among them stays free.
  feature(large) {
    this.large = large;
    const [, top] = numbers(this.broad.box);
    const [, , width, height] = numbers(this.broad.panels[0][0]);
    const rows = Math.max(3, Math.ceil(Math.sqrt(this.panels.length / 0.75)));
    const scale = 1 / rows;
    this.panels.forEach((panel, k) => {
      panel.classList.toggle("thumb", k !== large);
      if (k === large) {
        this.put(panel, k, 0, top);
      } else {
        this.put(panel, k, width * (1.02 + Math.floor(k / rows) * scale), top + (k % rows) * height * scale, scale);
      }
    });
    this.placeKeys(top + height, width * (1.02 + Math.ceil(this.panels.length / rows) * scale));
  }

  // Draw a panel with its corner at a place.
  put(panel, k, x, y, scale = 1) {
    const [boxX, boxY, width, height] = numbers(this.broad.panels[k][0]);
    const [left, above] = this.broad.panels[k][1].match(/-?[\d.]+/g).map(Number);
    if (scale === 1) {
      move(panel, left - boxX + x, above - boxY + y);
    } else {
      panel.setAttribute("transform", `translate(${x} ${y}) scale(${scale}) translate(${left - boxX} ${above - boxY})`);
    }
    panel.dataset.box = `${x} ${y} ${width * scale} ${height * scale}`;
  }

  // The keys of the picture in rows below a height.
  placeKeys(bottom, width) {
    const [, top] = numbers(this.broad.box);
    let [x, y] = [12, bottom + 14];
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
