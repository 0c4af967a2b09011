// Cross-highlighting: the same value is marked in the array, in the graph and in the source.
import { numbers } from "./dom.js";

export class Tracing {
  constructor(pictures, lines) {
    this.pictures = pictures;
    this.lines = lines;
  }

  everything(selector) {
    return this.pictures.flatMap((picture) => [...picture.querySelectorAll(selector)]);
  }

  heat(items, kind) {
    for (const item of items) {
      item.classList.add(...kind);
    }
  }

  // Mark what belongs to a part of a picture: a node with its edges, or the edges that a wire carries.
  trace(item) {
    this.clear();
    if (item.matches(".node[data-g]")) {
      this.traceNode(Number(item.dataset.g));
    } else if (item.matches("[data-e]")) {
      this.traceEdges(new Set(numbers(item.dataset.e)));
    }
  }

  traceNode(own) {
    const edges = new Set();
    const nodes = new Set([own]);
    for (const edge of this.everything(".edge[data-g]")) {
      const ends = numbers(edge.dataset.g);
      if (ends.includes(own)) {
        edges.add(Number(edge.dataset.e));
        ends.forEach((end) => nodes.add(end));
      }
    }
    this.heat(this.everything(`.node[data-g="${own}"]`), ["hot", "core"]);
    this.highlight(edges, nodes);
    this.heat(this.lines.filter((text) => numbers(text.dataset.g).includes(own)), ["hot"]);
  }

  traceEdges(edges) {
    const nodes = new Set();
    for (const edge of this.everything(".edge[data-g]")) {
      if (edges.has(Number(edge.dataset.e))) {
        numbers(edge.dataset.g).forEach((end) => nodes.add(end));
      }
    }
    this.highlight(edges, nodes);
  }

  traceLine(text) {
    this.clear();
    text.classList.add("hot");
    this.highlight(new Set(), new Set(numbers(text.dataset.g)));
  }

  highlight(edges, nodes) {
    this.pictures.forEach((picture) => picture.classList.add("tracing"));
    this.heat(this.everything(".node[data-g]").filter((node) => nodes.has(Number(node.dataset.g))), ["hot"]);
    this.heat(this.everything("[data-e]").filter((mark) => numbers(mark.dataset.e).some((e) => edges.has(e))), ["hot"]);
  }

  clear() {
    this.pictures.forEach((picture) => picture.classList.remove("tracing"));
    this.everything(".hot").concat(this.lines).forEach((item) => item.classList.remove("hot", "core"));
  }
}
