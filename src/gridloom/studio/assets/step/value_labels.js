// Values written onto the picture of an array: what nodes compute, what wires and registers carry.
import { numbers } from "../../drawing/dom.js";

const SVG = "http://www.w3.org/2000/svg";

export class ValueLabels {
  constructor(array, places) {
    this.array = array;
    this.places = places;
    this.onWires = true;
    this.nodes = [...array.querySelectorAll(".node[data-n]")];
    this.wires = [...array.querySelectorAll(".wire[data-r]")];
    this.middles = new Map();
    this.added = [];
  }

  clear() {
    this.added.forEach((label) => label.remove());
    this.added = [];
    this.nodes.forEach((node) => node.classList.remove("busy", "starved", "stalled", "done"));
  }

  // Draw the values of a cycle of a clocked run.
  showClocked(trace, cycle) {
    this.clear();
    for (const node of this.nodes) {
      if (this.hidden(node)) {
        continue;
      }
      const [number, , , copy] = this.places[Number(node.dataset.n)];
      const work = trace.work(number, copy, cycle);
      if (work && work.text !== null) {
        this.onNode(node, work.text, `node:${node.dataset.n}`);
      }
    }
    if (this.onWires) {
      const done = new Set();
      this.wires.forEach((wire) => this.onWire(wire, trace, cycle, done));
    }
  }

  // A resource may be drawn in several pieces: its value stands once, at the first of them.
  onWire(wire, trace, cycle, done) {
    const flat = numbers(wire.dataset.c);
    if (done.has(wire.dataset.r) || this.hidden(wire) || !flat.some((at) => trace.active(at, cycle))) {
      return;
    }
    const text = trace.resource(cycle, Number(wire.dataset.r));
    if (text !== null) {
      done.add(wire.dataset.r);
      const at = this.middle(wire);
      this.write(wire.parentNode, at.x, at.y - 2, text, "wire-value", `wire:${wire.dataset.r}`);
    }
  }

  // Draw the state of units and the tokens on links of an elastic run.
  showTokens(run, moment) {
    this.clear();
    for (const node of this.nodes) {
      const unit = run.unitOf.get(this.places[Number(node.dataset.n)][0]);
      if (unit !== undefined) {
        const state = run.state(unit, moment);
        node.classList.add(state);
        this.onNode(node, `${state} ${run.head.fired[unit][moment]}`, `node:${node.dataset.n}`);
      }
    }
    for (const wire of this.wires) {
      const tokens = run.tokens(Number(wire.dataset.r), moment);
      wire.classList.toggle("on", tokens > 0);
      if (tokens > 0) {
        const at = this.middle(wire);
        this.write(wire.parentNode, at.x, at.y + 3, `●${tokens > 1 ? tokens : ""}`, "token", `wire:${wire.dataset.r}`);
      }
    }
  }

  hidden(item) {
    const panel = item.closest(".panel");
    return panel !== null && (panel.classList.contains("off") || panel.classList.contains("thumb"));
  }

  middle(wire) {
    if (!this.middles.has(wire)) {
      this.middles.set(wire, wire.getPointAtLength(wire.getTotalLength() / 2));
    }
    return this.middles.get(wire);
  }

  onNode(node, text, name) {
    const box = node.querySelector("rect, polygon, circle").getBBox();
    this.write(node, box.x + box.width / 2, box.y + box.height + 5, text, "node-value", name);
  }

  write(parent, x, y, text, kind, name) {
    const label = document.createElementNS(SVG, "text");
    label.setAttribute("x", x);
    label.setAttribute("y", y);
    label.setAttribute("text-anchor", "middle");
    label.setAttribute("class", `value ${kind}`);
    label.dataset.valueOf = name;
    label.textContent = text.length > 11 ? `${text.slice(0, 10)}…` : text;
    label.dataset.text = text;
    parent.append(label);
    this.added.push(label);
  }
}
