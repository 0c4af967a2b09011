// The tooltip: what the report's data say about the thing under the pointer.
import { numbers } from "./dom.js";

export class Tip {
  constructor(box, data) {
    this.box = box;
    this.data = data;
    // More lines about a thing that was pointed at; the studio adds values here.
    this.more = () => [];
  }

  hide() {
    this.box.hidden = true;
  }

  fill(title, facts, lines) {
    this.box.replaceChildren();
    const head = document.createElement("b");
    head.textContent = title;
    this.box.append(head);
    for (const [name, value] of Object.entries(facts)) {
      const row = document.createElement("div");
      const strong = document.createElement("em");
      strong.textContent = value;
      row.append(`${name} `, strong);
      this.box.append(row);
    }
    for (const text of lines) {
      const row = document.createElement("div");
      row.textContent = text;
      this.box.append(row);
    }
  }

  // Fill the tip with what is known of a part of a picture; false where nothing is.
  describe(item) {
    const told = this.told(item);
    if (told === null) {
      return false;
    }
    const [title, facts, lines] = told;
    this.fill(title, facts, [...lines, ...this.more(item)]);
    return true;
  }

  told(item) {
    const data = this.data;
    if (item.matches("[data-n]")) {
      const instance = data.instances[Number(item.dataset.n)];
      const node = data.nodes[instance.node];
      return [node.id, { ...node.facts, ...instance.facts }, instance.operands];
    }
    if (item.matches(".node[data-g]")) {
      const number = Number(item.dataset.g);
      const places = data.instances.filter((instance) => instance.node === number);
      const node = data.nodes[number];
      return [node.id, { ...node.facts, ...(places.length ? places[0].facts : {}) }, []];
    }
    if (item.matches(".edge[data-e]")) {
      const edge = data.edges[Number(item.dataset.e)];
      return [edge.name, edge.facts, []];
    }
    if (item.matches("[data-r]") && data.resources[item.dataset.r]) {
      const resource = data.resources[item.dataset.r];
      const served = numbers(item.dataset.e).map((e) => `for ${data.edges[e].name}`);
      return [resource.name, {}, [...resource.lines, ...served]];
    }
    if (item.matches(".mark[data-e]")) {
      const edge = data.edges[numbers(item.dataset.e)[0]];
      return [edge.name, edge.facts, []];
    }
    if (item.matches("[data-t]")) {
      const tile = data.tiles[Number(item.dataset.t)];
      return [tile.name, tile.facts, []];
    }
    return null;
  }

  moveTo(x, y) {
    this.box.hidden = false;
    const box = this.box.getBoundingClientRect();
    const left = x + 16 + box.width > innerWidth ? x - 12 - box.width : x + 16;
    const top = y + 16 + box.height > innerHeight ? y - 12 - box.height : y + 16;
    this.box.style.left = `${Math.max(4, left)}px`;
    this.box.style.top = `${Math.max(4, top)}px`;
  }
}
