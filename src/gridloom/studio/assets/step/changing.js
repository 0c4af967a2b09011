// Changes by hand: nodes dragged to other tiles, pins, the II, a route; undo; and the rest left to the mapper.
import { make } from "../../drawing/dom.js";

export class Changing {
  // `app` opens mappings and starts searches; `history` has the ids of the mappings before this one.
  constructor(view, app, history) {
    this.view = view;
    this.scene = view.scene;
    this.app = app;
    this.history = history;
    this.pins = new Map(Object.entries(this.scene.pins));
    this.node = -1;
    this.name = make("b", { id: "chosen-node" }, "no node chosen");
    this.tile = make("select", { id: "move-tile", "aria-label": "tile", disabled: true });
    this.cycle = make("input", { type: "number", id: "move-cycle", min: "0", "aria-label": "cycle", placeholder: "cycle" });
    this.pin = make("button", { type: "button", id: "pin", "aria-pressed": "false", onclick: () => this.togglePin() }, "Pin");
    this.ii = make("input", { type: "number", id: "set-ii", min: "1", value: String(this.scene.ii), "aria-label": "II" });
    this.pinList = make("p", { class: "chips", id: "pins" });
    this.problem = make("p", { class: "problem", role: "alert", id: "change-problem" });
    this.route = make("select", { id: "route-edge", "aria-label": "edge" }, make("option", { value: "-1" }, "edge …"));
    this.via = make("input", { id: "route-via", placeholder: "through tiles: pe_0_1 pe_0_2", "aria-label": "tiles that the route passes" });
    this.element = this.card();
    view.element.addEventListener("node", (event) => this.choose(event.detail));
    if (!this.scene.large) {
      this.listen(view.array.element);
    }
    this.choose(-1);
  }

  card() {
    const press = (id, label, action) => make("button", { type: "button", id, onclick: action }, label);
    const modulo = this.scene.style === "modulo";
    return make("section", { class: "card", "aria-labelledby": "h-change" },
      make("h2", { id: "h-change" }, "Change by hand"),
      make("p", { class: "hint" }, this.scene.large ? "Find a node, then move it." : "Drag a node to another tile, or choose it and a tile here. Pinned nodes stay when the rest is mapped."),
      make("p", { class: "tools" }, this.name, this.tile, this.cycle, press("move", "Move", () => this.move(this.tile.value, this.cycle.value === "" ? null : Number(this.cycle.value))), this.pin),
      modulo ? make("p", { class: "tools" }, make("label", {}, "II ", this.ii), press("ii-check", "Check at this II", () => this.change({ kind: "ii", ii: Number(this.ii.value) })), press("ii-map", "Map at this II", () => this.finish(Number(this.ii.value)))) : "",
      make("details", {}, make("summary", {}, "Lead a route"), make("p", { class: "tools" }, this.route, this.via,
        press("route-lead", "Lead", () => this.lead()), press("route-drop", "Drop", () => this.change({ kind: "drop", edge: Number(this.route.value) })))),
      this.pinList,
      make("p", { class: "tools" },
        press("finish", "Finish the rest", () => this.finish(null)),
        make("button", { type: "button", id: "undo", disabled: !this.history.length, onclick: () => this.undo() }, "Undo"),
        press("save", "Save mapping", () => this.save())),
      this.problem);
  }

  // The tiles are listed once a node is chosen: a list of thousands takes the browser longer than the first picture.
  offerTiles() {
    if (!this.tile.options.length) {
      this.tile.append(...this.scene.tiles.map((tile) => make("option", { value: tile }, tile)));
    }
  }

  choose(node) {
    this.node = node;
    const name = this.scene.nodes[node];
    this.name.textContent = name ?? "no node chosen";
    const place = this.scene.places.find(([number, tile, , copy]) => number === node && tile >= 0 && !copy);
    if (place) {
      this.offerTiles();
      this.tile.value = this.scene.tiles[place[1]];
    }
    this.tile.disabled = !place;
    this.pin.disabled = !place;
    this.pin.setAttribute("aria-pressed", String(this.pins.has(name)));
    this.pinList.replaceChildren(...[...this.pins].map(([pinned, tile]) => make("button", {
      type: "button", class: "chip", title: "Unpin", onclick: () => this.unpin(pinned),
    }, `${pinned} on ${tile} ×`)));
    if (!this.scene.large) {
      const mine = (this.scene.data.edges || []).map((edge, e) => [edge.name, e]).filter(([text]) => text.split(" → ").includes(name));
      this.route.replaceChildren(make("option", { value: "-1" }, "edge …"), ...mine.map(([text, e]) => make("option", { value: String(e) }, text)));
      this.markPins();
    }
  }

  markPins() {
    for (const node of this.view.array.element.querySelectorAll(".node[data-g]")) {
      node.classList.toggle("pinned", this.pins.has(this.scene.nodes[Number(node.dataset.g)]));
    }
  }

  togglePin() {
    const name = this.scene.nodes[this.node];
    if (this.pins.has(name)) {
      this.pins.delete(name);
    } else {
      const place = this.scene.places.find(([number, tile, , copy]) => number === this.node && tile >= 0 && !copy);
      this.pins.set(name, this.scene.tiles[place[1]]);
    }
    this.choose(this.node);
  }

  unpin(name) {
    this.pins.delete(name);
    this.choose(this.node);
  }

  // -- dragging -----------------------------------------------------------------------------------------------------

  listen(array) {
    let drag = null;
    array.addEventListener("pointerdown", (event) => {
      const item = event.target.closest(".node[data-n]");
      drag = item && event.button === 0 ? { item, x: event.clientX, y: event.clientY, far: false } : null;
    });
    addEventListener("pointermove", (event) => {
      if (!drag || !array.isConnected) {
        return;
      }
      drag.far = drag.far || Math.hypot(event.clientX - drag.x, event.clientY - drag.y) > 12;
      array.classList.toggle("dragging", drag.far);
      array.querySelectorAll(".drop").forEach((item) => item.classList.remove("drop"));
      const under = drag.far && this.under(array, event);
      if (under) {
        under.classList.add("drop");
      }
    });
    addEventListener("pointerup", (event) => {
      const ended = drag;
      drag = null;
      array.classList.remove("dragging");
      if (ended && ended.far && array.isConnected) {
        this.drop(ended.item, this.under(array, event));
      }
    });
  }

  // The tile under the pointer, whatever is drawn above it.
  under(array, event) {
    return document.elementsFromPoint(event.clientX, event.clientY).map((item) => item.closest("[data-t]")).find((item) => item && array.contains(item));
  }

  drop(item, target) {
    if (!target) {
      return;
    }
    const [node, , cycle] = this.scene.places[Number(item.dataset.n)];
    const from = item.closest(".panel[data-slot]");
    const to = target.closest(".panel[data-slot]");
    this.choose(node);
    let wanted = null;
    if (from && to && from !== to) {
      wanted = cycle - (cycle % this.scene.ii) + Number(to.dataset.slot);
    }
    this.move(this.scene.tiles[Number(target.dataset.t)], wanted);
  }

  // -- changes ------------------------------------------------------------------------------------------------------

  move(tile, cycle) {
    const name = this.scene.nodes[this.node];
    if (name === undefined) {
      this.problem.textContent = "choose a node first";
      return;
    }
    if (this.pins.has(name)) {
      this.pins.set(name, tile);
    }
    this.change({ kind: "move", node: name, tile, cycle });
  }

  lead() {
    this.change({ kind: "route", edge: Number(this.route.value), via: this.via.value.split(/[\s,]+/).filter(Boolean) });
  }

  async change(change) {
    await this.attempt(async () => {
      const { id } = await this.app.server.get(`change/${this.scene.id}`, { change, pins: Object.fromEntries(this.pins) });
      await this.app.openChanged(id, [...this.history, this.scene.id]);
    });
  }

  async finish(ii) {
    await this.attempt(() => this.app.finish(this.scene.id, Object.fromEntries(this.pins), ii, [...this.history, this.scene.id]));
  }

  async undo() {
    await this.attempt(() => this.app.openChanged(this.history.at(-1), this.history.slice(0, -1)));
  }

  async save() {
    await this.attempt(() => this.app.saveMapping(this.scene));
  }

  async attempt(action) {
    this.problem.textContent = "";
    try {
      await action();
    } catch (error) {
      this.problem.textContent = error.message;
    }
  }
}
