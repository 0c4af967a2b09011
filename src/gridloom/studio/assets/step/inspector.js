// What a tile holds in a cycle: its operations with operands and results, registers, FIFOs; and the memory.
import { make } from "../../drawing/dom.js";
import { issueFields } from "./trace.js";

const { NODE, KIND } = issueFields;
const [OUT, REG] = [2, 4];

const row = (name, ...values) => make("tr", {}, make("th", { scope: "row" }, name), ...values.map((v) => make("td", {}, v)));

export class Inspector {
  constructor(scene, tile = -1) {
    this.scene = scene;
    this.tile = tile;
    this.title = make("h2", { id: "h-tile" }, "Tile");
    this.body = make("div", { id: "tile", "aria-live": "polite" });
    this.memory = make("div", { id: "memory" });
    this.element = make("section", { class: "card", "aria-labelledby": "h-tile" }, this.title, this.body, this.memory);
  }

  choose(tile) {
    this.tile = tile;
  }

  show(run, cycle) {
    if (run.head.kind === "tokens") {
      this.showTokens(run, cycle);
      return;
    }
    this.title.textContent = this.tile < 0 ? "Tile" : `Tile ${this.scene.tiles[this.tile]}`;
    this.body.replaceChildren(...(this.tile < 0 || cycle === null ? [this.hint(cycle)] : this.tileRows(run, cycle)));
    this.memory.replaceChildren(...(cycle === null ? [] : this.memoryRows(run, cycle)));
  }

  hint(cycle) {
    const text = cycle === null
      ? "Step into a cycle, then click a tile to see its operations, registers and FIFOs."
      : "Click a tile to see its operations, registers and FIFOs in this cycle.";
    return make("p", { class: "hint" }, text);
  }

  tileRows(run, cycle) {
    const parts = [];
    const issues = (run.byTile.get(this.tile) || []).filter((issue) => run.firing(issue, cycle) >= 0);
    const work = issues.map((issue) => this.workRow(run, issue, cycle));
    parts.push(work.length
      ? make("table", { class: "work" }, make("tbody", {}, ...work))
      : make("p", { class: "hint" }, "It issues nothing in this cycle."));
    const held = run.head.rows
      .map(([, kind, name], number) => ({ kind, name, number }))
      .filter(({ kind, name }) => (kind === OUT || kind === REG) && this.mine(name))
      .map(({ name, number }) => ({ name, text: run.row(cycle, number) }))
      .filter(({ text }) => text !== null);
    if (held.length) {
      parts.push(make("h3", {}, "Registers"),
        make("table", {}, make("tbody", {}, ...held.map(({ name, text }) => row(name, text)))));
    }
    const fifos = run.fifos(this.tile, cycle);
    if (fifos.length) {
      parts.push(make("h3", {}, "FIFOs, oldest first"),
        make("table", {}, make("tbody", {}, ...fifos.map((fifo) => row(`${fifo.name} (${fifo.depth})`, fifo.values.join("  ") || "empty")))));
    }
    return parts;
  }

  mine(name) {
    return name.startsWith(`${this.scene.tiles[this.tile]}.`);
  }

  workRow(run, issue, cycle) {
    const record = run.head.issues[issue];
    const name = record[NODE] >= 0 ? this.scene.nodes[record[NODE]] : "value";
    const what = record[KIND] === 0 ? name : `${["", "move", "load", "store"][record[KIND]]} of ${name}`;
    const operands = run.operands(issue, cycle).map(({ text, waits }) => `${text ?? "?"}${waits ? ` (waited ${waits})` : ""}`);
    const firing = run.firing(issue, cycle);
    return row(what, `${operands.join(", ")} → ${run.result(issue, firing) ?? "?"}`, `iteration ${firing}`);
  }

  memoryRows(run, cycle) {
    const names = Object.keys(run.head.arrays);
    return names.length === 0 ? [] : [make("h3", {}, "Memory"), ...names.map((name) => this.arrayRow(run, name, cycle))];
  }

  arrayRow(run, name, cycle) {
    const { texts, changed, length } = run.array(name, cycle);
    const shown = texts.slice(0, 64).map((text, k) =>
      make("li", { class: changed.has(k) ? "changed" : "", title: `${name}[${k}]`, "data-word": `${name}:${k}` }, text ?? "·"));
    const more = length > 64 ? make("li", { class: "more" }, `… ${length} words`) : "";
    return make("details", { open: true }, make("summary", {}, name), make("ol", { class: "words", start: "0" }, ...shown, more));
  }

  showTokens(run, moment) {
    this.title.textContent = "Units";
    this.memory.replaceChildren();
    if (moment === null) {
      this.body.replaceChildren(this.hint(null));
      return;
    }
    const worst = run.bottleneck();
    const rows = run.head.units.map(([tile, node], u) => {
      const state = run.state(u, moment);
      const buffers = run.buffers(u, moment).map(({ tokens, room }) => `${tokens}/${room}`).join(" ");
      const item = row(`${this.scene.nodes[node]} on ${this.scene.tiles[tile]}`, state, buffers || "–");
      item.className = state;
      return item;
    });
    const [tile, node] = run.head.units[worst];
    this.body.replaceChildren(
      make("p", { id: "bottleneck" }, `The bottleneck is ${this.scene.nodes[node]} on ${this.scene.tiles[tile]}: it is busy most.`),
      make("table", { class: "units" }, make("thead", {}, make("tr", {}, ...["unit", "does", "buffers"].map((t) => make("th", { scope: "col" }, t)))), make("tbody", {}, ...rows)));
  }
}
