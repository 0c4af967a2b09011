// A mapping: its array, graph and source, stepped through cycle by cycle.
import { make } from "../../drawing/dom.js";
import { joinPictures } from "../../drawing/pointing.js";
import { Tip } from "../../drawing/tip.js";
import { Tracing } from "../../drawing/tracing.js";
import { CanvasArray, PictureArray } from "./array_view.js";
import { Gantt } from "./gantt.js";
import { Inspector } from "./inspector.js";
import { sourceCard } from "./source_card.js";
import { Stepper } from "./stepper.js";
import { TokenRun } from "./tokens.js";
import { Trace } from "./trace.js";
import { Waves } from "./waves.js";
import { numberTable } from "./tables.js";

export class MappingView {
  // `store` gives scene and runs, from the server or from the page itself; `extras(view)` adds cards of the caller's.
  constructor(scene, store, { tip, extras = () => [], actions = [] }) {
    this.scene = scene;
    this.store = store;
    this.run = null;
    this.selected = -1;
    this.names = {
      nodes: new Map(scene.nodes.map((name, k) => [name, k])),
      tiles: new Map(scene.tiles.map((name, k) => [name, k])),
    };
    this.array = scene.large ? new CanvasArray(scene, (tile) => this.chooseTile(tile)) : new PictureArray(scene);
    this.graph = scene.graph ? make("div", { class: "picture", id: "graph" }) : null;
    if (this.graph) {
      this.graph.innerHTML = scene.graph;
    }
    this.source = sourceCard(scene.source);
    this.inspector = new Inspector(scene);
    this.gantt = new Gantt(scene, (cycle, tile, node) => this.chooseCell(cycle, tile, node));
    this.waves = new Waves(scene);
    this.time = make("div", { id: "time-controls" }, make("p", { class: "hint" }, "The array is being run …"));
    this.runPlace = make("div", {});
    this.pictures = [this.array.element, ...(this.graph ? [this.graph] : [])];
    this.tracing = new Tracing(this.pictures, this.source.lines);
    this.tip = tip;
    this.element = this.layout(actions, extras(this));
    if (!scene.large) {
      this.join();
    }
  }

  // -- layout -------------------------------------------------------------------------------------------------------

  layout(actions, extras) {
    const head = make("div", { class: "title" },
      make("div", {}, make("h2", { class: "what" }, this.scene.title), make("p", { class: "lead" }, this.scene.summary)),
      make("ul", { class: "verdict", "aria-label": "Verdict" }, ...badges(this.scene.verdict)),
      make("div", { class: "tools actions" }, ...actions));
    const array = make("section", { class: "card", "aria-labelledby": "h-array" },
      make("h2", { id: "h-array", class: "visually-hidden" }, "Array"), this.time, this.array.element, this.arrayTools());
    const chart = make("section", { class: "card", "aria-labelledby": "h-time" },
      make("h2", { id: "h-time" }, "Tiles over time"), this.gantt.element, this.waves.element);
    const left = make("div", { class: "column" }, array, chart, this.graph ? this.graphCard() : "");
    const right = make("div", { class: "column" }, ...extras, this.inspector.element, this.source.element || "",
      this.runPlace, this.factsCard());
    return make("div", { class: "mapping", "data-mapping": this.scene.id }, head, violations(this.scene), left, right);
  }

  graphCard() {
    return make("section", { class: "card", "aria-labelledby": "h-graph" },
      make("h2", { id: "h-graph" }, "Dataflow graph"), this.graph);
  }

  factsCard() {
    return make("section", { class: "card", "aria-labelledby": "h-metrics" },
      make("h2", { id: "h-metrics" }, "Metrics"), numberTable(this.scene.metrics, "metrics"),
      this.scene.command ? make("pre", { id: "command", tabindex: "0" }, this.scene.command) : "",
      make("details", {}, make("summary", {}, "Where it comes from"), numberTable(this.scene.provenance)));
  }

  arrayTools() {
    if (this.scene.large) {
      const press = (label, glyph, action) => make("button", { type: "button", "aria-label": label, onclick: action }, glyph);
      const list = make("datalist", { id: "names" });
      const field = make("input", { type: "search", id: "find", list: "names", placeholder: "node", "aria-label": "find a node" });
      field.addEventListener("input", () => {
        list.replaceChildren(...this.array.map.tables.names(field.value).map((name) => make("option", { value: name })));
        if (this.names.nodes.has(field.value)) {
          this.selectNode(this.names.nodes.get(field.value));
        }
      });
      return make("p", { class: "tools" }, press("Zoom in", "+", () => this.array.map.zoomMiddle(1.5)),
        press("Zoom out", "−", () => this.array.map.zoomMiddle(1 / 1.5)),
        press("Whole array", "Whole array", () => this.array.map.fit()), field, list);
    }
    const wires = make("input", { type: "checkbox", checked: true, id: "on-wires" });
    wires.addEventListener("change", () => {
      this.array.labels.onWires = wires.checked;
      this.draw(this.stepper ? this.stepper.cycle : null);
    });
    return make("p", { class: "hint tools" }, make("label", {}, wires, " values on wires"),
      "Click a node or a tile to keep it marked. Keys: n and p step, space plays, Escape shows everything.");
  }

  // -- pointing and choosing ----------------------------------------------------------------------------------------

  join() {
    const tip = new Tip(this.tip, this.scene.data);
    tip.more = (item) => this.valueLines(item);
    joinPictures(this.pictures, this.source.lines, tip, this.tracing, () => this.restore());
    for (const picture of this.pictures) {
      picture.addEventListener("click", (event) => this.click(event));
      picture.addEventListener("keydown", (event) => event.key === "Enter" && this.click(event));
    }
    for (const line of this.source.lines) {
      line.addEventListener("click", () => this.selectNode(Number(line.dataset.g.split(" ")[0])));
    }
  }

  click(event) {
    const item = event.target.closest(".node[data-g], [data-t]");
    if (!item) {
      this.selectNode(-1);
    } else if (item.matches(".node[data-g]")) {
      this.selectNode(Number(item.dataset.g));
    } else {
      this.chooseTile(Number(item.dataset.t));
    }
  }

  // Keep a node marked in the array, the graph, the source and over time; -1 marks nothing.
  selectNode(node) {
    this.selected = node;
    this.gantt.node = node;
    const place = this.scene.places.find(([number, tile]) => number === node && tile >= 0);
    if (place) {
      this.inspector.choose(place[1]);
    }
    if (this.scene.large && node >= 0) {
      const k = this.scene.places.indexOf(place);
      this.array.map.traced = this.array.map.tables.neighbours(k);
      this.array.map.picked = place[1];
      this.array.map.reveal(place[1]);
    }
    this.restore();
    this.draw(this.stepper ? this.stepper.cycle : null);
    this.element.dispatchEvent(new CustomEvent("node", { detail: node }));
  }

  restore() {
    this.tracing.clear();
    if (this.selected >= 0) {
      this.tracing.traceNode(this.selected);
    }
  }

  chooseTile(tile) {
    this.inspector.choose(tile);
    this.draw(this.stepper ? this.stepper.cycle : null);
    this.element.dispatchEvent(new CustomEvent("tile", { detail: tile }));
  }

  chooseCell(cycle, tile, node) {
    this.inspector.choose(tile);
    this.selectNode(node);
    this.stepper.choose(cycle);
  }

  valueLines(item) {
    const cycle = this.stepper ? this.stepper.cycle : null;
    if (cycle === null || !this.run || this.run.head.kind !== "clocked") {
      return [];
    }
    if (item.matches("[data-n]")) {
      const [node, , , copy] = this.scene.places[Number(item.dataset.n)];
      const work = this.run.work(node, copy, cycle);
      return work ? [`now: ${work.text ?? "?"} in iteration ${work.firing}`] : ["now: idle"];
    }
    const text = item.matches("[data-r]") ? this.run.resource(cycle, Number(item.dataset.r)) : null;
    return text === null ? [] : [`now: ${text}`];
  }

  // -- time ---------------------------------------------------------------------------------------------------------

  // Called once the view is on the page.
  async begin(asked = {}) {
    delete this.element.dataset.ready;
    if (this.scene.large && !this.array.map) {
      this.array.begin();
    }
    const { head, words } = await this.store.run(this.scene.id, asked);
    const run = head.kind === "tokens" ? new TokenRun(head) : new Trace(head, words);
    await run.load();
    this.run = run;
    const before = this.stepper ? this.stepper.cycle : null;
    this.stepper = new Stepper(run, this.names, (cycle) => this.draw(cycle));
    this.time.replaceChildren(this.stepper.element);
    const card = this.store.runCard(head, (next) => this.begin(next));
    this.runPlace.replaceChildren(...(card ? [card] : []));
    await this.stepper.go(before === null ? null : Math.min(before, run.last));
    this.element.dataset.ready = "true";
  }

  draw(cycle) {
    if (!this.run) {
      return;
    }
    if (cycle === null) {
      this.array.showAll();
    } else if (this.run.head.kind === "tokens") {
      this.array.showMoment(this.run, cycle);
    } else {
      this.array.showCycle(this.run, cycle);
    }
    this.inspector.show(this.run, cycle);
    this.gantt.show(this.run, cycle);
    this.waves.show(this.run, cycle);
  }

  key(event) {
    if (this.stepper) {
      this.stepper.key(event);
    }
  }
}

function badges(verdict) {
  return Object.entries(verdict).map(([name, value]) => {
    const [kind, mark, words] = value === null ? ["open", "?", `${name}: not checked`]
      : value ? ["good", "✓", name] : ["bad", "✗", `not ${name}`];
    return make("li", { class: `badge-${kind}` }, make("span", { "aria-hidden": "true" }, mark), ` ${words}`);
  });
}

function violations(scene) {
  const found = [...scene.violations, ...scene.findings];
  if (!found.length) {
    return "";
  }
  const count = scene.violation_count || found.length;
  return make("section", { class: "card alarm", id: "violations", "aria-labelledby": "h-v" },
    make("h2", { id: "h-v" }, `${count} violation${count > 1 ? "s" : ""}`),
    make("ul", {}, ...found.map((text) => make("li", {}, text))));
}
