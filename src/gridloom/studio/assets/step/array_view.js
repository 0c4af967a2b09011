// The array of a mapping, as a picture or on a canvas, with one set of things that can be done to either.
import { CanvasMap } from "../../drawing/canvas_map.js";
import { make } from "../../drawing/dom.js";
import { SlotView } from "../../drawing/slots.js";
import { ValueLabels } from "./value_labels.js";

// A picture in SVG: small and middle-sized mappings.
export class PictureArray {
  constructor(scene) {
    this.scene = scene;
    this.element = make("div", { class: "picture", id: "array" });
    // The text comes from the studio's own drawing code, which escapes every name.
    this.element.innerHTML = scene.array;
    this.slots = new SlotView(this.element, scene.data.timeline, { strip: true });
    this.element.addEventListener("click", (event) => this.enlarge(event.target.closest(".panel.thumb")));
    this.labels = new ValueLabels(this.element, scene.places);
    this.marked = [];
  }

  // Show another slot large; while stepping, the cycle says which one is.
  enlarge(panel) {
    if (panel && this.slots.shown === null) {
      this.slots.large = this.slots.panels.indexOf(panel);
      this.slots.show(null);
    }
  }

  // Show the slot of a cycle large.
  showSlot(cycle) {
    this.slots.large = this.slots.panels.length ? cycle % this.scene.ii : 0;
    this.showAll();
  }

  showAll() {
    this.labels.clear();
    this.slots.show(null);
  }

  showCycle(trace, cycle) {
    const slot = this.slots.panels.length ? cycle % this.scene.ii : cycle;
    this.slots.showActive(slot, (cycles) => (cycles.some((at) => trace.active(at, cycle)) ? "on" : ""));
    this.labels.showClocked(trace, cycle);
  }

  showMoment(run, moment) {
    this.labels.showTokens(run, moment);
  }

  // Frame nodes (by number), or tiles, in a colour of their own.
  mark(nodes, tiles, kind) {
    this.unmark();
    const wanted = new Set(nodes);
    const places = new Set(tiles);
    for (const item of this.element.querySelectorAll("[data-g], [data-t]")) {
      const node = item.matches(".node[data-g]") && wanted.has(Number(item.dataset.g));
      const tile = item.matches("[data-t]:not([data-n])") && places.has(Number(item.dataset.t));
      if (node || tile) {
        item.classList.add("marked", kind);
        this.marked.push([item, kind]);
      }
    }
  }

  unmark() {
    this.marked.forEach(([item, kind]) => item.classList.remove("marked", kind));
    this.marked = [];
  }
}

// A canvas: large mappings, drawn as far as the window shows them.
export class CanvasArray {
  constructor(scene, chosen) {
    this.scene = scene;
    this.canvas = make("canvas", {
      id: "map", tabindex: "0", role: "img",
      "aria-label": `${scene.title}: drag or use the arrow keys to move, + and - to zoom`,
    });
    this.element = make("div", { id: "array", class: "canvas-array" }, this.canvas);
    this.chosen = chosen;
  }

  // The canvas has a size only once it is on the page.
  begin() {
    this.map = new CanvasMap(this.canvas, this.scene.data, { chosen: this.chosen });
  }

  showAll() {
    this.map.valueOf = null;
    this.map.show(null);
  }

  showCycle(trace, cycle) {
    this.map.valueOf = (k, kind) => {
      const [node, , , copy] = this.scene.places[k];
      const work = kind === "route" ? null : trace.work(node, copy, cycle);
      return work === null ? null : work.text;
    };
    this.map.show(this.scene.ii > 1 ? cycle % this.scene.ii : null, (flat) => trace.active(flat, cycle));
  }

  showMoment() {}

  mark(nodes, tiles) {
    const wanted = new Set(nodes);
    const places = new Set(tiles);
    this.scene.places.forEach(([node, tile]) => wanted.has(node) && places.add(tile));
    this.map.heatOf = (tile) => (places.has(tile) ? "rgb(220 90 60 / 0.55)" : null);
    this.map.redraw();
  }

  unmark() {
    this.map.heatOf = null;
    this.map.redraw();
  }
}
