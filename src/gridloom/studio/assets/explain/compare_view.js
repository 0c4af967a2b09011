// Two mappings side by side, with their differences marked.
import { make } from "../../drawing/dom.js";
import { PictureArray } from "../step/array_view.js";

export class CompareView {
  // `list()` names what is open; `server` answers.
  constructor(server, list, open) {
    this.server = server;
    this.list = list;
    this.open = open;
    this.first = make("select", { id: "compare-first", "aria-label": "first mapping", onchange: () => this.compare() });
    this.second = make("select", { id: "compare-second", "aria-label": "second mapping", onchange: () => this.compare() });
    this.result = make("div", { id: "comparison" });
    this.element = make("div", { class: "compare" },
      make("section", { class: "card wide" }, make("h2", {}, "Compare two mappings"),
        make("p", { class: "tools" }, make("label", {}, "A ", this.first), make("label", {}, "B ", this.second))),
      this.result);
  }

  show() {
    const rows = this.list();
    for (const [select, other] of [[this.first, 1], [this.second, 0]]) {
      const before = select.value;
      select.replaceChildren(...rows.map(({ id, name }) => make("option", { value: id }, name)));
      select.value = rows.some(({ id }) => id === before) ? before : rows[Math.min(other, rows.length - 1)]?.id ?? "";
    }
    this.compare();
  }

  async compare() {
    const ids = [this.first.value, this.second.value];
    if (!ids[0] || !ids[1] || ids[0] === ids[1]) {
      this.result.replaceChildren(make("p", { class: "hint" }, "Open two mappings to compare them: map a source twice, onto two arrays, with two mappers or with two seeds."));
      return;
    }
    try {
      const [told, ...scenes] = await Promise.all([
        this.server.get(`compare/${ids[0]}/${ids[1]}`), ...ids.map((id) => this.server.get(`scene/${id}`)),
      ]);
      this.draw(told, scenes);
    } catch (error) {
      this.result.replaceChildren(make("p", { class: "problem" }, error.message));
    }
  }

  draw(told, scenes) {
    this.arrays = [null, null];
    const sides = scenes.map((scene, side) => this.side(scene, side, told));
    this.result.replaceChildren(make("div", { class: "sides" }, ...sides), this.figures(told), this.differences(told));
    // Pictures are measured where they stand.
    this.arrays.forEach((array) => array?.showAll());
  }

  side(scene, side, told) {
    const array = scene.array ? new PictureArray(scene) : null;
    const picture = array?.element ?? make("div", { class: "picture" });
    picture.removeAttribute("id");
    this.arrays[side] = array;
    const moved = new Set(told.nodes.map(({ numbers }) => numbers[side]));
    for (const node of picture.querySelectorAll(".node[data-g]")) {
      node.classList.toggle("differs", moved.has(Number(node.dataset.g)));
    }
    return make("section", { class: "card" }, make("h2", {}, `${side ? "B" : "A"}: ${scene.title}`),
      make("p", { class: "lead" }, scene.summary), picture,
      make("button", { type: "button", onclick: () => this.open(scene.id) }, "Open"));
  }

  figures(told) {
    const rows = told.metrics.map(({ name, values, differs, better }) => make("tr", { class: differs ? "differs" : "" },
      make("th", { scope: "row" }, name),
      ...values.map((text, side) => make("td", { class: better === side ? "better" : "" }, text, better === side ? " ◂ better" : ""))));
    return make("section", { class: "card wide" }, make("h2", {}, "Figures"),
      make("table", { id: "figures" }, make("thead", {}, make("tr", {}, ...["", "A", "B"].map((t) => make("th", { scope: "col" }, t)))), make("tbody", {}, ...rows)));
  }

  differences(told) {
    const rows = told.nodes.slice(0, 300).map((one) => make("tr", {},
      make("th", { scope: "row" }, make("button", { type: "button", class: "chip", onclick: () => this.mark(one) }, one.id)),
      ...one.places.map(([tile, cycle]) => make("td", {}, `${tile} at ${cycle}`))));
    return make("section", { class: "card wide" },
      make("h2", { id: "moved-count" }, `${told.nodes.length} nodes sit elsewhere or issue in another cycle`),
      make("p", { class: "hint" }, "Choose a node to see it in both pictures."),
      make("div", { class: "tall" }, make("table", {}, make("tbody", {}, ...rows))));
  }

  // Show a node in both pictures, in the slots that it issues in.
  mark({ numbers, places }) {
    this.arrays.forEach((array, side) => {
      array?.showSlot(places[side][1]);
      array?.mark([numbers[side]], [], "because");
    });
  }
}
