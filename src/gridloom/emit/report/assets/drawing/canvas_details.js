// What a page says beside the canvas of a large mapping: a tile and what it does, a node and what it reads.
import { make } from "./dom.js";

export class CanvasDetails {
  constructor(box, map) {
    this.box = box;
    this.map = map;
    this.tables = map.tables;
  }

  line(text, action) {
    this.box.append(make("div", {}, action ? make("button", { type: "button", onclick: action }, text) : text));
  }

  heading(text) {
    this.box.append(make("h3", {}, text));
  }

  tile(tile) {
    const { data } = this.tables;
    this.box.replaceChildren();
    this.heading(data.tiles[tile][0]);
    const contents = this.tables.contents(tile).filter(([s]) => this.map.slot === null || s === this.map.slot);
    for (const [s, kind, caption, k] of contents) {
      const name = data.nodes[data.instances[k][0]][0];
      const what = kind === "route" && caption === "move" ? `of ${name}` : name;
      this.line(`slot ${s}: ${caption} ${what}`, () => this.pick(k));
    }
    if (!contents.length) {
      this.line("It is idle.");
    }
  }

  instance(k) {
    const { data, reads, feeds } = this.tables;
    const [node, , , copy] = data.instances[k];
    this.box.replaceChildren();
    this.heading(`${data.nodes[node][0]}: ${data.nodes[node][1]}${copy ? `, copy ${copy}` : ""}`);
    this.line(this.tables.place(k));
    for (const [title, table, end] of [["reads", reads, 1], ["is read by", feeds, 2]]) {
      const rows = table.get(k) || [];
      if (rows.length) {
        this.heading(title);
      }
      for (const w of rows.slice(0, 40)) {
        const [operand, distance] = data.edges[data.ways[w][0]];
        const other = data.ways[w][end];
        const back = distance ? `, ${distance} iteration${distance > 1 ? "s" : ""} back` : "";
        this.line(`operand ${operand}: ${this.tables.place(other)}${back}`, () => this.pick(other));
      }
      if (rows.length > 40) {
        this.line(`and ${rows.length - 40} more`);
      }
    }
  }

  // Mark an instance with its neighbours, say what it does, and bring its tile into the window.
  pick(k) {
    const tile = this.tables.data.instances[k][1];
    this.map.traced = this.tables.neighbours(k);
    this.instance(k);
    if (tile >= 0) {
      this.map.picked = tile;
      this.map.reveal(tile);
    }
    this.map.redraw();
  }

  // Let a search field offer names of nodes, and pick the one that is typed.
  offer(field, list) {
    field.addEventListener("input", () => {
      list.replaceChildren(...this.tables.names(field.value).map((name) => make("option", { value: name })));
      if (this.tables.instanceOf.has(field.value)) {
        this.pick(this.tables.instanceOf.get(field.value));
      }
    });
  }
}
