// The source of a loop beside its mapping: each line knows the nodes that it became.
import { make } from "../../drawing/dom.js";

export function sourceCard(source) {
  if (!source) {
    return { element: null, lines: [] };
  }
  const rows = source.lines.map((text, k) => {
    const nodes = source.nodes[String(source.first + k)];
    const marks = nodes ? { class: "line", "data-g": nodes.join(" "), tabindex: "0" } : {};
    return make("li", marks, make("code", {}, text || " "));
  });
  const element = make("section", { class: "card", "aria-labelledby": "h-source" },
    make("h2", { id: "h-source" }, "Source"),
    make("p", { class: "hint" }, source.file),
    make("ol", { id: "source", class: "source", start: String(source.first) }, ...rows),
    ...source.remarks.map((remark) => make("p", { class: "hint" }, remark)));
  return { element, lines: rows.filter((item) => item.dataset.g) };
}
